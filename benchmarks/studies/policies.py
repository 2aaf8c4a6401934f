"""Time agents of the zoo in rollouts, loops and evaluations: `python benchmarks/studies/policies.py`.

Four programs take turns in one process: `rollout` as it chooses, as one kernel, and as a plain program, and a loop of
the user's over `FuncVectorEnv.step`. Times are CPU microseconds of a step of one environment, medians of runs of the
same length, in which nothing is collected. `evaluate` plays whole episodes in the first three ways, and its times are
CPU seconds of all of them. With `--clock wall` they are those of the wall, which several cores shorten.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import pathlib
import statistics
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp

import funcenv

IDS = ("CartPole-v1", "MinAtar/Breakout-v1", "MinAtar/Asterix-v1", "MinAtar/Freeway-v1", "arcade/Breakout-v0")
SWITCH = "FUNCENV_NO_FAST_PATH"


def loop(venv: Any, agent: Any, num_steps: int) -> Callable[[jax.Array], Any]:
    """Return a loop as a user writes it, from a key to the sums of rewards."""

    @jax.jit
    def play(key: jax.Array) -> jax.Array:
        def step(carry: Any, index: jax.Array) -> tuple[Any, None]:
            vstate, observation, total = carry
            keys = jax.random.split(jax.random.fold_in(key, index), venv.num_envs)
            vstate, timestep = venv.step(vstate, jax.vmap(agent)(observation, keys))
            return (vstate, timestep.observation, total + timestep.reward), None

        vstate, timestep = venv.reset(key)
        carry = vstate, timestep.observation, jnp.zeros_like(timestep.reward)
        total: jax.Array = jax.lax.scan(step, carry, jnp.arange(num_steps))[0][2]
        return total

    return play


def in_three_ways(
    play: Callable[[Any, jax.Array], Any], agent: Any
) -> dict[str, tuple[str, Callable[[jax.Array], Any]]]:
    """Return a call as it chooses its program, as one kernel and as a plain program; each with a value of `SWITCH`."""
    other = jax.tree_util.Partial(lambda agent, *args: agent(*args), agent)  # is compiled by itself

    def as_kernel(key: jax.Array) -> Any:
        with mock.patch("funcenv._compile.rollout.program.acts_outside", lambda *args: False):
            return play(other, key)

    chosen = functools.partial(play, agent)
    return {"chosen": ("0", chosen), "kernel": ("0", as_kernel), "plain": ("1", chosen)}


def compare(programs: dict[str, tuple[str, Callable[[jax.Array], Any]]], repeats: int, clock: str) -> dict[str, float]:
    """Return the median seconds of programs, which take turns; each comes with the value of `SWITCH`."""
    now = {"cpu": time.process_time, "wall": time.perf_counter}[clock]
    times: dict[str, list[float]] = {name: [] for name in programs}
    for seed in range(repeats + 1):
        for name, (os.environ[SWITCH], play) in programs.items():
            start = now()
            jax.block_until_ready(play(funcenv.key(seed)))
            times[name].append(now() - start)
    return {name: statistics.median(measured[1:]) for name, measured in times.items()}  # the first compiles


def time_steps(env_id: str, num_envs: int, env_steps: int, repeats: int, clock: str) -> dict[str, float]:
    """Return the microseconds of a step of one environment."""
    venv, agent = funcenv.FuncVectorEnv(funcenv.make(env_id), num_envs), funcenv.load_policy(f"zoo/{env_id}")
    num_steps = max(env_steps // num_envs, 20)

    def rollout(agent: Any, key: jax.Array) -> Any:
        return funcenv.rollout(venv, agent, key, num_steps, collect=None)

    programs = {**in_three_ways(rollout, agent), "loop": ("0", loop(venv, agent, num_steps))}
    times = compare(programs, repeats, clock)
    return {name: round(seconds / (num_steps * num_envs) * 1e6, 2) for name, seconds in times.items()}


def time_episodes(env_id: str, num_episodes: int, repeats: int, clock: str) -> dict[str, float]:
    """Return the seconds of whole episodes."""
    env, agent = funcenv.make(env_id), funcenv.load_policy(f"zoo/{env_id}")

    def evaluate(agent: Any, key: jax.Array) -> Any:
        return funcenv.evaluate(env, agent, num_episodes, key)

    times = compare(in_three_ways(evaluate, agent), repeats, clock)
    return {name: round(seconds, 3) for name, seconds in times.items()}


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", nargs="+", default=list(IDS), help="of agents of the zoo")
    parser.add_argument("--num-envs", nargs="+", type=int, default=[1, 16, 256])
    parser.add_argument("--env-steps", type=int, default=100_000, help="of all environments of a run together")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--clock", choices=["cpu", "wall"], default="cpu")
    parser.add_argument("--output", type=pathlib.Path, help="write the results to this file")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for env_id in options.ids:
        settings = options.repeats, options.clock
        steps = {count: time_steps(env_id, count, options.env_steps, *settings) for count in options.num_envs}
        episodes = time_episodes(env_id, options.episodes, *settings)
        results[env_id] = {"steps": steps, "episodes": episodes}
        print(env_id, results[env_id], flush=True)
        if options.output is not None:
            options.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
