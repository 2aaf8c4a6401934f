"""Steps a CPU-second of dm_control's tasks against its own loop and a bare loop in C, on one core, interleaved.

`python benchmarks/studies/dm_control_loop.py` prints a table. All play random actions. "bare C" is `mjb_step` without
controls, observations or rewards: MuJoCo's own loop over `mj_step` and `mj_step1` for the whole batch, without Python.
No time includes a reset, which settles the cheetah for 200 steps of physics. The best of the rounds counts, for each
of the three.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ["MUJOCO_GL"] = "disable"

import jax
import numpy as np

import funcenv
from funcenv.envs.mujoco.batch import POSITIONS_AND_VELOCITIES, Batch

NAMES = ("cheetah-run", "walker-walk", "humanoid-run", "quadruped-walk", "finger-spin")
NUM_STEPS, NUM_LARGE_STEPS, NUM_ROUNDS = 200, 50, 5  # the second is for more than 64 environments


def _reward(timestep: funcenv.Timestep, action: Any) -> Any:
    """Return what a rollout collects; one function for all calls, because each new one is compiled."""
    del action
    return timestep.reward


def ours(id: str, num_envs: int, num_steps: int) -> Callable[[], float]:
    """Return a function that plays a rollout, and returns its steps a CPU-second."""
    env = funcenv.make(id, num_threads=1)
    venv, policy, key = funcenv.FuncVectorEnv(env, num_envs), funcenv.random_policy(env), funcenv.key(0)
    begin = jax.block_until_ready(jax.jit(venv.reset)(key)[0])

    def run() -> float:
        start = time.process_time()
        found = funcenv.rollout(venv, policy, key, num_steps, collect=_reward, vstate=begin)
        jax.block_until_ready(found)
        return num_steps * num_envs / (time.process_time() - start)

    run()
    return run


def theirs(name: str) -> Callable[[], float]:
    """Return the same for dm_control's environment, stepped by Python."""
    from dm_control import suite

    domain, task = name.split("-")
    env: Any = suite.load(domain, task, task_kwargs={"random": 0})
    bounds = env.action_spec()
    actions = np.random.default_rng(0).uniform(bounds.minimum, bounds.maximum, (NUM_STEPS, *bounds.shape))

    def run() -> float:
        env.reset()
        start = time.process_time()
        for action in actions:
            env.step(action)
        return NUM_STEPS / (time.process_time() - start)

    return run


def bare(id: str, num_envs: int, num_steps: int) -> Callable[[], float]:
    """Return the same for MuJoCo's loop, with random controls that stay as they are."""
    env = funcenv.make(id).unwrapped
    batch = Batch(env.model.mjmodel, num_envs, 1, (), contact_forces=False)
    batch.reset()
    batch.state[:, batch.component(_bit("mjSTATE_QPOS"))] = np.asarray(env.initial(funcenv.key(0)).qpos)
    controls = batch.state[:, batch.component(_bit("mjSTATE_CTRL"))]
    random = np.random.default_rng(0)

    def run() -> float:
        draws = random.uniform(-1, 1, (num_steps, *controls.shape))
        start = time.process_time()
        for draw in draws:
            controls[:] = draw
            batch.step(env.frame_skip, POSITIONS_AND_VELOCITIES)
        return num_steps * num_envs / (time.process_time() - start)

    return run


def _bit(name: str) -> int:
    import mujoco

    return int(getattr(mujoco.mjtState, name).value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", nargs="+", type=int, default=[1, 16, 64, 1024])
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print("| task | environments | funcenv | dm_control | bare C | of dm_control | of bare C |")
    print("|---|---|---|---|---|---|---|")
    for task in NAMES:
        id = f"dm_control/{task}-v0"
        for num_envs in arguments.envs:
            num_steps = NUM_STEPS if num_envs <= 64 else NUM_LARGE_STEPS
            runs = {
                "ours": ours(id, num_envs, num_steps),
                "theirs": theirs(task),
                "bare": bare(id, num_envs, num_steps),
            }
            best = {name: 0.0 for name in runs}
            for _ in range(NUM_ROUNDS):
                for name, run in runs.items():
                    best[name] = max(best[name], run())
            cells = [f"{best[name]:,.0f}" for name in runs]
            ratios = [f"{best['ours'] / best[name]:.2f}" for name in ("theirs", "bare")]
            print(f"| `{task}` | {num_envs} | {' | '.join(cells)} | {' | '.join(ratios)} |", flush=True)


if __name__ == "__main__":
    main()
