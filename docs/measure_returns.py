"""Measures the returns that the pages of the environments show, and writes them to docs/returns.json.

python docs/measure_returns.py                    random policies
python docs/measure_returns.py --train [ID ...]   agents of the presets as well, for all ids or for some
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import funcenv
from funcenv.envs.atari import Atari
from funcenv.envs.box2d import BipedalWalker, CarRacing
from funcenv.envs.mujoco.mujoco_env import MujocoEnv
from funcenv.registry import load_entry_points

FILE = pathlib.Path(__file__).parent / "returns.json"
NUM_EPISODES, MAX_STEPS = {"random": 1000, "random, slow": 100, "trained": 100}, 10_000


def measure(env: Any, policy: Any, num_episodes: int) -> list[float]:
    """Return the mean and the standard deviation of the returns of whole episodes."""
    played = funcenv.evaluate(env, policy, num_episodes, funcenv.key(0), max_steps=MAX_STEPS)
    return [round(float(played.mean_return), 4), round(float(played.std_return), 4)]


def trained(env_id: str) -> dict[str, Any]:
    """Train with the preset of an id, and return the returns of the agent and the steps that it learned from."""
    from funcenv.train import ppo
    from funcenv.train.loop import MAX_UPDATES_PER_CALL, Learner
    from funcenv.train.presets import preset

    learner = Learner(ppo, preset(env_id))
    state = learner.init(funcenv.key(0))
    while learner.num_updates_done(state) < learner.config.num_updates:
        state, _ = learner.advance(state, MAX_UPDATES_PER_CALL)
    steps = learner.config.num_updates * learner.config.batch_size
    return {"trained": measure(learner.env, learner.agent(state), NUM_EPISODES["trained"]), "steps": steps}


def main(arguments: list[str]) -> None:
    """Measure, and keep the figures that are not measured again."""
    load_entry_points()
    built_in = [spec.id for spec in funcenv.registry.values() if str(spec.entry_point).startswith("funcenv.envs.")]
    found = json.loads(FILE.read_text()) if FILE.exists() else {}
    chosen = arguments[1:] or built_in
    for env_id in built_in:
        env = funcenv.make(env_id)
        row = found.setdefault(env_id, {})
        kind = "random, slow" if isinstance(env.unwrapped, (Atari, BipedalWalker, CarRacing, MujocoEnv)) else "random"
        row["random"] = measure(env, funcenv.random_policy(env), NUM_EPISODES[kind])
        if arguments[:1] == ["--train"] and env_id in chosen:
            row.update(trained(env_id))
        print(env_id, row, flush=True)
        FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
