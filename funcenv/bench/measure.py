"""Speed, compile time and memory of an environment under a random policy.

Seconds are CPU seconds of this process if JAX runs on a CPU: they count every thread, and other processes affect them
least. On an accelerator, which costs the host little CPU time, seconds are wall time.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax

from funcenv._compile.verified import recorded_choices
from funcenv._jax import block_until_ready
from funcenv.checks import require_size
from funcenv.func_env import AnyEnv
from funcenv.random import impl_name
from funcenv.random import key as new_key
from funcenv.random.keys import is_key
from funcenv.rollout import random_policy, rollout
from funcenv.vector import AnyVectorEnv, FuncVectorEnv


@dataclasses.dataclass(frozen=True)
class Timing:
    """The duration of one program."""

    seconds: tuple[float, ...]
    """seconds of one run, for each round"""
    first_seconds: float
    """seconds of the first call, which compiles the program"""

    @property
    def median(self) -> float:
        """Median over rounds of the seconds of one run."""
        return statistics.median(self.seconds)

    @property
    def compile_seconds(self) -> float:
        """Seconds of tracing and compiling: the difference between the first call and a later one."""
        return max(self.first_seconds - self.median, 0.0)


@dataclasses.dataclass(frozen=True)
class Footprint:
    """Bytes of memory for each environment of a vector environment."""

    state: float
    """bytes carried from step to step: the environment's state, its key, counters and running totals"""
    outputs: float | None
    """bytes that the compiled rollout returns, according to XLA; None if the backend does not report them"""
    temporaries: float | None
    """bytes of the compiled rollout's working memory, according to XLA"""


@dataclasses.dataclass(frozen=True)
class Measurement:
    """The cost of a random-policy rollout without a trajectory."""

    num_envs: int
    num_steps: int
    clock: str
    """the clock of all seconds here: "cpu" or "wall\""""
    steps_per_second: float
    """environment steps per second over all environments; median over rounds"""
    steps_per_second_range: tuple[float, float]
    """smallest and largest value over rounds"""
    compile_seconds: float
    """seconds of tracing and compiling, which a persistent compilation cache of JAX reduces"""
    bytes_per_env: Footprint
    episodes: int
    """episodes that ended in one rollout"""
    mean_length: float
    """mean length of these episodes; NaN if there are none"""
    engine: dict[str, str]
    """how the rollout is compiled; see `describe_engine`"""


def measure(
    env: AnyEnv,
    num_envs: int,
    *,
    num_steps: int | None = None,
    seconds: float = 0.2,
    rounds: int = 5,
    impl: str | None = None,
) -> Measurement:
    """Measure `rollout` with `random_policy` and `collect=None` on JAX's default backend.

    Args:
        env: One environment.
        num_envs: Number of environments in the batch, at least 1.
        num_steps: Steps of one rollout; by default those of `default_num_steps`.
        seconds: Approximate duration of the work in each round.
        rounds: Number of rounds.
        impl: The random generator; see `funcenv.key`.

    Raises:
        ValueError: A number is below 1, or the generator is unknown.

    >>> import funcenv
    >>> result = measure(funcenv.make("CartPole-v1"), num_envs=8, num_steps=100, seconds=0.001, rounds=1)
    >>> result.steps_per_second > 0, result.episodes > 0
    (True, True)
    """
    num_envs, rounds = require_size("num_envs", num_envs), require_size("rounds", rounds)
    num_steps = require_size("num_steps", num_steps or default_num_steps(num_envs, env.calls_host))
    venv = FuncVectorEnv(env, num_envs)
    policy, key = random_policy(env), new_key(0, impl)

    def run() -> Any:
        return rollout(venv, policy, key, num_steps, collect=None)

    timing = time_in_turns({"rollout": run}, seconds=seconds, rounds=rounds)["rollout"]
    statistics = run()[2]
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


def default_num_steps(num_envs: int, calls_host: bool = False) -> int:
    """Return the length of a rollout that is long enough to be representative and short enough to be repeated.

    It takes about 2**18 environment steps, or 2**12 of a simulator on the host, where a step takes a hundred times as
    long.

    >>> default_num_steps(1), default_num_steps(256), default_num_steps(65536)
    (8192, 1024, 64)
    >>> default_num_steps(1, calls_host=True), default_num_steps(256, calls_host=True)
    (4096, 16)
    """
    total, least = (2**12, 4) if calls_host else (2**18, 64)
    return min(max(total // num_envs, least), 8192)


def footprint(venv: AnyVectorEnv, num_steps: int = 100, impl: str | None = None) -> Footprint:
    """Return the memory that a random-policy rollout without a trajectory takes; compile it, but do not run it.

    Args:
        venv: The environments.
        num_steps: Length of the rollout. The result should not depend on it.
        impl: The random generator; see `funcenv.key`.

    >>> import funcenv
    >>> bytes_per_env = footprint(FuncVectorEnv(funcenv.make("CartPole-v1"), num_envs=64))
    >>> 16 <= bytes_per_env.state < 200
    True
    """
    key, policy = new_key(0, impl), random_policy(venv)

    def without_key(leaf: jax.Array) -> jax.Array:
        return jax.random.key_data(leaf) if is_key(leaf) else leaf

    def run(venv: AnyVectorEnv, key: jax.Array) -> Any:
        return rollout(venv, policy, key, num_steps, collect=None)

    vstate = jax.eval_shape(lambda key: jax.tree.map(without_key, venv.reset(key)[0]), key)
    analysis = jax.jit(run).lower(venv, key).compile().memory_analysis()
    return Footprint(
        state=sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(vstate)) / venv.num_envs,
        outputs=None if analysis is None else analysis.output_size_in_bytes / venv.num_envs,
        temporaries=None if analysis is None else analysis.temp_size_in_bytes / venv.num_envs,
    )


def describe_engine(venv: AnyVectorEnv, num_steps: int | None = None, impl: str | None = None) -> dict[str, str]:
    """Describe how a random-policy rollout without a trajectory is compiled, by running one.

    Args:
        venv: The environments.
        num_steps: Steps of the rollout; by default as in `measure`.
        impl: The random generator; see `funcenv.key`.

    >>> import funcenv
    >>> engine = describe_engine(FuncVectorEnv(funcenv.make("CartPole-v1"), 2), num_steps=10)
    >>> list(engine), engine["generator"]
    (['backend', 'program', 'resets', 'generator'], 'threefry')
    """
    key, num_steps = new_key(0, impl), num_steps or default_num_steps(venv.num_envs, venv.env.calls_host)
    with recorded_choices() as choices:
        rollout(venv, random_policy(venv), key, num_steps, collect=None)
    fused = choices[0].refusal is None
    as_needed = venv.chosen_reset_strategy() == "lazy" or (fused and venv.reset_strategy == "auto")
    return {
        "backend": jax.default_backend(),
        "program": "one function" if fused else "plain",
        "resets": "as needed" if as_needed else "at every step, selected",
        "generator": impl_name(key),
    }


def clock_name() -> str:
    """Return the clock to measure JAX's default backend by: "cpu" or "wall".

    >>> clock_name() in ("cpu", "wall")
    True
    """
    return "cpu" if jax.default_backend() == "cpu" else "wall"


def time_in_turns(
    programs: Mapping[str, Callable[[], Any]], *, seconds: float = 0.2, rounds: int = 5
) -> dict[str, Timing]:
    """Time several programs, each of which has a turn in every round.

    Args:
        programs: Functions without arguments that return arrays. The first call of each compiles it.
        seconds: Approximate duration of a turn; a short program runs several times in it.
        rounds: Number of rounds, at least 1.

    Returns:
        A `Timing` for each name.

    >>> timings = time_in_turns({"sum": lambda: sum(range(1000))}, seconds=0.001, rounds=3)
    >>> len(timings["sum"].seconds)
    3
    """
    first: dict[str, float] = {}
    repeats: dict[str, int] = {}
    for name, program in programs.items():
        first[name] = _seconds_of(program, 1)
        repeats[name] = max(1, math.ceil(seconds / max(_seconds_of(program, 1), 1e-7)))
    turns: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(max(rounds, 1)):
        for name, program in programs.items():
            turns[name].append(_seconds_of(program, repeats[name]) / repeats[name])
    return {name: Timing(seconds=tuple(turns[name]), first_seconds=first[name]) for name in programs}


def _seconds_of(program: Callable[[], Any], repeats: int) -> float:
    clock = time.process_time if clock_name() == "cpu" else time.perf_counter
    before = clock()
    for _ in range(repeats):
        block_until_ready(program())
    return clock() - before
