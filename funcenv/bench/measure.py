"""Speed, compile time and memory of one environment under a random policy."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax

from funcenv._compile import rollout as engine
from funcenv.bench.breakdown import default_num_steps
from funcenv.bench.memory import Footprint, footprint
from funcenv.bench.timing import clock_name, time_in_turns
from funcenv.checks import require_size
from funcenv.func_env import FuncEnv
from funcenv.random import impl_name
from funcenv.random import key as new_key
from funcenv.rollout import random_policy, rollout
from funcenv.vector import FuncVectorEnv


@dataclasses.dataclass(frozen=True)
class Measurement:
    """What a random-policy rollout costs that keeps no trajectory."""

    num_envs: int
    num_steps: int
    clock: str
    """of the seconds here: "cpu", the process's, or "wall" on an accelerator"""
    steps_per_second: float
    """environment steps, all environments together; the median over rounds"""
    steps_per_second_range: tuple[float, float]
    compile_seconds: float
    """tracing and compiling; what it takes from JAX's persistent cache, if one is set up and holds the program"""
    bytes_per_env: Footprint
    episodes: int
    """that ended in one rollout"""
    mean_length: float
    """of those; NaN if none ended"""
    engine: dict[str, str]
    """how the rollout is run, where the engine says so"""


def measure(
    env: FuncEnv[Any, Any, Any],
    num_envs: int,
    *,
    num_steps: int | None = None,
    seconds: float = 0.2,
    rounds: int = 5,
    impl: str | None = None,
) -> Measurement:
    """Measure `rollout` with `random_policy` and `collect=None`, on JAX's default backend.

    Args:
        env: one environment.
        num_envs: how many are stepped together, at least 1.
        num_steps: steps of one rollout; by default such that it makes about 2**18 environment steps.
        seconds: about how long the work runs in a round.
        rounds: how often.
        impl: the random generator, as `funcenv.key` takes it.

    Raises:
        ValueError: a number below 1; an unknown generator.

    >>> import funcenv
    >>> result = measure(funcenv.make("CartPole-v1"), num_envs=8, num_steps=100, seconds=0.001, rounds=1)
    >>> result.steps_per_second > 0, result.episodes > 0
    (True, True)
    """
    num_envs, rounds = require_size("num_envs", num_envs), require_size("rounds", rounds)
    num_steps = require_size("num_steps", num_steps or default_num_steps(num_envs))
    venv = FuncVectorEnv(env, num_envs)
    policy, key = random_policy(env), new_key(0, impl)

    def play() -> Any:
        return rollout(venv, policy, key, num_steps, collect=None)

    timing = time_in_turns({"rollout": play}, seconds=seconds, rounds=rounds)["rollout"]
    statistics = play()[2]
    steps = num_envs * num_steps
    return Measurement(
        num_envs=num_envs,
        num_steps=num_steps,
        clock=clock_name(),
        steps_per_second=steps / timing.median,
        steps_per_second_range=(steps / max(timing.seconds), steps / min(timing.seconds)),
        compile_seconds=timing.compile_seconds,
        bytes_per_env=footprint(venv, num_steps, impl),
        episodes=int(statistics.count),
        mean_length=float(statistics.mean_length),
        engine=describe_engine(venv, num_steps, impl),
    )


def describe_engine(
    venv: FuncVectorEnv[Any, Any, Any], num_steps: int | None = None, impl: str | None = None
) -> dict[str, str]:
    """How a random-policy rollout that keeps no trajectory is run, in words: it is tried.

    Args:
        venv: the environments.
        num_steps: steps of the rollout; by default as for `measure`.
        impl: the random generator, as `funcenv.key` takes it.

    >>> import funcenv
    >>> told = describe_engine(FuncVectorEnv(funcenv.make("CartPole-v1"), 2), num_steps=10)
    >>> list(told), told["generator"]
    (['backend', 'program', 'resets', 'generator'], 'threefry')
    """
    key, num_steps = new_key(0, impl), num_steps or default_num_steps(venv.num_envs)
    policy = engine.Policy.of(random_policy(venv))
    fused = engine.run(engine.EPISODES, venv, policy, key, None, num_steps) is not None
    as_needed = venv.chosen_reset_strategy() == "lazy" or (fused and venv.reset_strategy == "auto")
    return {
        "backend": jax.default_backend(),
        "program": "one function" if fused else "plain",
        "resets": "as needed" if as_needed else "at every step, selected",
        "generator": impl_name(key),
    }
