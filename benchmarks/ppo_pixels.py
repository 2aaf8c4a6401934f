"""CartPole learned by PPO from grey images of 84 x 84 pixels: `python benchmarks/ppo_pixels.py`.

The agent observes only the last few frames. Training stops when the mean return of the last 100 episodes reaches the
goal. The deterministic agent is then evaluated over whole episodes.
"""

from __future__ import annotations

import argparse
import json
import time

import funcenv
from funcenv.train import ppo
from funcenv.train.loop import Learner


def make_pixels(env_id: str, size: int, frames: int) -> funcenv.FuncEnv:
    env = funcenv.wrappers.PixelObservation(funcenv.make(env_id), size, size, grayscale=True)
    return funcenv.wrappers.FrameStackObservation(env, frames)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="CartPole-v1")
    parser.add_argument("--size", type=int, default=84, help="height and width of a frame")
    parser.add_argument("--frames", type=int, default=2, help="frames in an observation")
    parser.add_argument("--goal", type=float, default=150.0, help="mean return of 100 episodes")
    parser.add_argument("--total", type=int, default=2_000_000, help="largest number of environment steps")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--num-steps", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--num-epochs", type=int, default=4)
    parser.add_argument("--json", help="write the results to this file")
    arguments = parser.parse_args()
    kwargs = {"env_id": arguments.env, "size": arguments.size, "frames": arguments.frames}
    funcenv.register("Pixels-v0", entry_point=make_pixels, kwargs=kwargs)
    config = ppo.Config(
        env_id="Pixels-v0",
        total_timesteps=arguments.total,
        num_envs=arguments.num_envs,
        num_steps=arguments.num_steps,
        num_epochs=arguments.num_epochs,
        learning_rate=arguments.learning_rate,
        num_seeds=1,
        activation="relu",
        hidden_sizes=(128,),
    )
    rows, start = [], time.process_time()
    learner = Learner(ppo, config)
    state = learner.init(funcenv.key(arguments.seed))
    while learner.num_updates_done(state) < config.num_updates:
        state, metrics = learner.advance(state, 10)
        row = {name: float(metrics[name][-1, 0]) for name in ("env_steps", "mean_return", "entropy", "approx_kl")}
        rows.append({**row, "cpu": time.process_time() - start})
        print(json.dumps(rows[-1]), flush=True)
        if row["mean_return"] >= arguments.goal:
            break
    played = funcenv.evaluate(learner.env, learner.agent(state), 32, funcenv.key(1), max_steps=1000)
    summary = {**rows[-1], "evaluation": float(played.episode_return.mean())}
    print(json.dumps(summary))
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"summary": summary, "rows": rows}, file, indent=2)


if __name__ == "__main__":
    main()
