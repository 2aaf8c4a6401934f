"""CartPole learned by PPO from grey images of 84 x 84 pixels: `python benchmarks/studies/ppo_pixels.py`.

The agent observes only the last few frames. Training stops when the mean return of the last 100 episodes reaches the
goal. The deterministic agent is then evaluated over whole episodes.
"""

from __future__ import annotations

import argparse
import time

import funcenv
from funcenv.train import ppo
from funcenv.train.loop import Learner

GOAL = 150.0


def make_pixels(frames: int) -> funcenv.FuncEnv:
    env = funcenv.wrappers.PixelObservation(funcenv.make("CartPole-v1"), 84, 84, grayscale=True)
    return funcenv.wrappers.FrameStackObservation(env, frames)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=2, help="frames in an observation")
    parser.add_argument("--total", type=int, default=2_000_000, help="largest number of environment steps")
    arguments = parser.parse_args()
    funcenv.register("Pixels-v0", entry_point=make_pixels, kwargs={"frames": arguments.frames})
    config = ppo.Config(
        env_id="Pixels-v0",
        total_timesteps=arguments.total,
        num_envs=64,
        num_steps=32,
        num_epochs=4,
        learning_rate=1e-3,
        activation="relu",
        hidden_sizes=(128,),
    )
    start = time.process_time()
    learner = Learner(ppo, config)
    state = learner.init(funcenv.key(0))
    while learner.num_updates_done(state) < config.num_updates:
        state, metrics = learner.advance(state, 10)
        steps, mean_return = (float(metrics[name][-1, 0]) for name in ("env_steps", "mean_return"))
        print(f"{steps:,.0f} steps, {time.process_time() - start:.0f} CPU-s: mean return {mean_return:.1f}", flush=True)
        if mean_return >= GOAL:
            break
    played = funcenv.evaluate(learner.env, learner.agent(state), 32, funcenv.key(1), max_steps=1000)
    print(f"without exploration: {float(played.episode_return.mean()):.1f}")


if __name__ == "__main__":
    main()
