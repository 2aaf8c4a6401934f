"""The cost of random numbers on a CPU, by generator: `python benchmarks/random_speed.py`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import funcenv
from funcenv import FuncVectorEnv
from funcenv._compile.single_kernel import compile_single_kernel
from funcenv.bench import time_in_turns
from funcenv.random import find_impl
from funcenv.rollout import random_policy, rollout

NAMES = ("threefry2x32", "philox4x32", "threefry")
NUM_KEYS = 256


def scalar(key: jax.Array, number: jax.Array) -> jax.Array:
    """Draw one word from a key that differs at each step, at little cost."""
    data = jax.random.key_data(key) ^ number
    return jax.random.bits(jax.random.wrap_key_data(data, impl=jax.random.key_impl(key)))


def fold(key: jax.Array, number: jax.Array) -> jax.Array:
    data = jax.random.key_data(jax.random.fold_in(key, number))
    return data[0] ^ data[1]


def fold_then_split(key: jax.Array, number: jax.Array) -> jax.Array:
    first, second = map(jax.random.key_data, jax.random.split(jax.random.fold_in(key, number)))
    return (first[0] ^ first[1]) + (second[0] ^ second[1])


def fold_then_uniform_4(key: jax.Array, number: jax.Array) -> jax.Array:
    a, b, c, d = jax.random.uniform(jax.random.fold_in(key, number), (4,))
    return a + b * c + d


def repeated(draw: Callable[[Any, Any], Any], name: str, steps: int) -> Callable[[], Any]:
    """Return a program that repeats a draw from each of many keys, compiled as one kernel like a rollout."""
    keys = jax.random.split(jax.random.key(0, impl=find_impl(name)), NUM_KEYS)

    def run(keys: jax.Array) -> jax.Array:
        def step(total: jax.Array, number: jax.Array) -> tuple[jax.Array, None]:
            return total + jax.vmap(draw, (0, None))(keys, number).astype(jnp.float32), None

        return jax.lax.scan(step, jnp.zeros(NUM_KEYS), jnp.arange(steps, dtype=jnp.uint32))[0]

    program = compile_single_kernel(run, keys)
    if program is None:
        raise RuntimeError(
            f"XLA does not compile {draw.__name__} with {name} as one kernel; unset FUNCENV_NO_FAST_PATH"
        )
    return lambda: program(keys).block_until_ready()


def rolled_out(env_id: str, num_envs: int, name: str, steps: int) -> Callable[[], Any]:
    env, key = funcenv.make(env_id), funcenv.key(0, name)
    venv, policy = FuncVectorEnv(env, num_envs), random_policy(env)
    return lambda: jax.block_until_ready(rollout(venv, policy, key, steps, collect=None))


def median_seconds(programs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    timings = time_in_turns(programs, seconds=0.0, rounds=rounds)
    return {name: timing.median for name, timing in timings.items()}


def show(title: str, results: dict[str, float], unit: str) -> None:
    print(f"{title:<24}" + "  ".join(f"{name} {result:7.2f}" for name, result in results.items()), unit, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="CartPole-v1")
    parser.add_argument("--num-envs", type=int, nargs="*", default=[1, 16, 256])
    parser.add_argument("--steps", type=int, default=150_000, help="length of the loops of draws")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    for draw in (scalar, fold, fold_then_split, fold_then_uniform_4):
        seconds = median_seconds({name: repeated(draw, name, arguments.steps) for name in NAMES}, arguments.rounds)
        show(draw.__name__, {name: 1e9 * s / arguments.steps / NUM_KEYS for name, s in seconds.items()}, "ns")
    for num_envs in arguments.num_envs:
        steps = max(200, min(200_000, 2_000_000 // num_envs))
        programs = {name: rolled_out(arguments.env, num_envs, name, steps) for name in NAMES}
        speeds = {name: 1e-6 * num_envs * steps / s for name, s in median_seconds(programs, arguments.rounds).items()}
        show(f"{arguments.env} x {num_envs}", speeds, "M steps/CPU-s")


if __name__ == "__main__":
    main()
