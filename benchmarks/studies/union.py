"""A `Union` of three environments: its cost beside three vectors of one environment each, and one policy in all three.

    python benchmarks/studies/union.py --rows 1 16 256 2048     CPU seconds and wall time
    python benchmarks/studies/union.py --train                  returns of one PPO agent in each environment

For the cost, both play the same steps of the same numbers of rows, in turn, in one process: a rollout without a
trajectory, steps in a compiled loop of one's own, and steps from Python. Reported are medians and their ratios.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

import funcenv
from funcenv.train import ppo
from funcenv.train.loop import Learner

IDS = "CartPole-v1", "Acrobot-v1", "MountainCar-v0"
NUM_PYTHON_STEPS = 200
NUM_ACTIONS = 2  # that all of the environments have


def policy(observation: Any, key: jax.Array) -> jax.Array:
    """Return a random action."""
    del observation
    return jax.random.randint(key, (), 0, NUM_ACTIONS)


def rollouts(venvs: Sequence[Any], num_steps: int) -> Callable[[], Any]:
    """Return a function that rolls out each vector."""
    return lambda: [funcenv.rollout(v, policy, funcenv.key(0), num_steps, collect=None)[2] for v in venvs]


def compiled_loops(venvs: Sequence[Any], num_steps: int) -> Callable[[], Any]:
    """Return a function that steps each vector in a compiled loop, and adds up rewards."""

    def program(venv: Any) -> Callable[[], Any]:
        vstate, _ = venv.reset(funcenv.key(0))

        @jax.jit
        def loop(vstate: Any, key: jax.Array) -> Any:
            def step(vstate: Any, key: jax.Array) -> Any:
                actions = jax.random.randint(key, (venv.num_envs,), 0, NUM_ACTIONS)
                vstate, timestep = venv.step(vstate, actions)
                return vstate, timestep.reward.sum()

            return jax.lax.scan(step, vstate, jax.random.split(key, num_steps))

        return lambda: loop(vstate, funcenv.key(1))

    programs = [program(venv) for venv in venvs]
    return lambda: [run() for run in programs]


def python_loops(venvs: Sequence[Any], num_steps: int) -> Callable[[], Any]:
    """Return a function that steps each vector from Python, as often as is enough to measure."""
    del num_steps
    starts = [(jax.jit(venv.step), venv.reset(funcenv.key(0))[0], np.zeros(venv.num_envs, np.int32)) for venv in venvs]

    def run() -> list[Any]:
        last = []
        for step, vstate, actions in starts:
            for _ in range(NUM_PYTHON_STEPS):
                vstate, timestep = step(vstate, actions)
            last.append(timestep.reward)
        return last

    return run


def timed(run: Callable[[], Any]) -> tuple[float, float]:
    """Return the CPU seconds and the wall time of a run."""
    cpu, wall = time.process_time(), time.perf_counter()
    jax.block_until_ready(run())
    return time.process_time() - cpu, time.perf_counter() - wall


def make_union() -> funcenv.Union:
    """Return the union of the environments."""
    return funcenv.Union([funcenv.make(name) for name in IDS])


def train(total_timesteps: int, num_evaluations: int = 4, num_episodes: int = 32) -> None:
    """Train one agent of PPO, and print its greedy returns in each environment."""
    funcenv.register("studies/Union-v0", make_union)
    config = ppo.Config(
        env_id="studies/Union-v0",
        num_envs=48,
        num_steps=128,
        total_timesteps=total_timesteps,
        normalize_observation=True,
    )
    learner, start = Learner(ppo, config), time.process_time()
    state = learner.init(funcenv.key(0))
    for part in range(1, num_evaluations + 1):
        done = config.num_updates * part // num_evaluations
        state, _ = learner.advance_to(state, done)
        agent = learner.agent(state)
        returns = funcenv.evaluate(learner.env, agent, num_episodes * len(IDS), funcenv.key(1)).episode_return
        means = ", ".join(f"{float(own.mean()):.1f}" for own in np.split(np.asarray(returns), len(IDS)))
        print(f"{done * config.batch_size:,} steps, {time.process_time() - start:.0f} CPU-s: {means}", flush=True)


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 16, 256, 2048], help="rows of each environment")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--train", action="store_true", help="train an agent instead")
    parser.add_argument("--total-timesteps", type=int, default=1_000_000, help="of the agent")
    options = parser.parse_args()
    if options.train:
        train(options.total_timesteps)
        return
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    envs = [funcenv.make(name) for name in IDS]
    for rows in options.rows:
        union = [funcenv.FuncVectorEnv(funcenv.Union(envs), len(envs) * rows)]
        apart = [funcenv.FuncVectorEnv(env, rows) for env in envs]
        for make in (rollouts, compiled_loops, python_loops):
            one, other = make(union, options.steps), make(apart, options.steps)
            timed(one), timed(other)  # compile
            times = np.array([(timed(one), timed(other)) for _ in range(options.repeats)])  # [repeats, 2, cpu and wall]
            (cpu, wall), (own_cpu, own_wall) = np.median(times, axis=0)
            print(
                f"{rows} rows each, {make.__name__}: {1e3 * cpu:.1f} ms of CPU against {1e3 * own_cpu:.1f}, ratio "
                f"{cpu / own_cpu:.2f}; of wall time {wall / own_wall:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
