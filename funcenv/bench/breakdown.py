"""Where the time of a step goes, found by timing reduced programs."""

from __future__ import annotations

import dataclasses
import statistics
from typing import Any

from funcenv.bench.reduced import ConstantPolicy, Fixed, LookingPolicy, Reduced
from funcenv.bench.timing import clock_name, time_in_turns
from funcenv.func_env import FuncEnv
from funcenv.random import key as new_key
from funcenv.rollout import random_policy, rollout
from funcenv.vector import FuncVectorEnv

PARTS = ("bookkeeping", "physics", "randomness", "reset", "observation")
"""The parts of a step, in the order in which they are added to the program."""


@dataclasses.dataclass(frozen=True)
class Breakdown:
    """Nanoseconds of each part of one environment's step."""

    num_envs: int
    clock: str
    """"cpu" or "wall\""""
    nanoseconds: dict[str, float]
    """by part; a part that costs less than the noise may come out slightly below 0"""
    spread: dict[str, tuple[float, float]]
    """the least and the greatest over rounds"""

    @property
    def total(self) -> float:
        """Nanoseconds of the whole step."""
        return sum(self.nanoseconds.values())


def break_down(
    env: FuncEnv[Any, Any, Any],
    num_envs: int,
    *,
    num_steps: int | None = None,
    seconds: float = 0.1,
    rounds: int = 7,
    impl: str | None = None,
) -> Breakdown:
    """Time five programs, each with one part more than the one before, and take the differences.

    bookkeeping: the loop, episode statistics, counters and the choice of who begins anew, around a state that stands
    still. physics: transition, reward and flags, with a constant action and the same key every time. randomness:
    drawing actions, deriving keys, and what the dynamics draw. reset: drawing first states. observation: making what
    the policy sees, and reading it.

    Args:
        env: one environment.
        num_envs: how many are stepped together.
        num_steps: steps of one rollout; by default such that it makes about 2**18 environment steps.
        seconds: about how long each program runs in a round.
        rounds: how often each has its turn.
        impl: the random generator, as `funcenv.key` takes it.

    >>> import funcenv
    >>> breakdown = break_down(funcenv.make("CartPole-v1"), num_envs=8, num_steps=10, seconds=0.001, rounds=1)
    >>> sorted(breakdown.nanoseconds) == sorted(PARTS)
    True
    """
    num_steps = num_steps or default_num_steps(num_envs)
    programs = {name: _program(*pieces, num_envs, num_steps, impl) for name, pieces in _pieces(env, impl).items()}
    timings = time_in_turns(programs, seconds=seconds, rounds=rounds)
    scale = 1e9 / (num_envs * num_steps)
    differences: dict[str, list[float]] = {}
    before = [0.0] * len(timings[PARTS[0]].seconds)
    for name in PARTS:
        now = [scale * turn for turn in timings[name].seconds]
        differences[name] = [later - earlier for later, earlier in zip(now, before, strict=True)]
        before = now
    return Breakdown(
        num_envs=num_envs,
        clock=clock_name(),
        nanoseconds={name: statistics.median(numbers) for name, numbers in differences.items()},
        spread={name: (min(numbers), max(numbers)) for name, numbers in differences.items()},
    )


def default_num_steps(num_envs: int) -> int:
    """Steps of a rollout that is long enough to forget how it began, and short enough to be repeated.

    >>> default_num_steps(1), default_num_steps(256), default_num_steps(65536)
    (8192, 1024, 64)
    """
    return min(max(2**18 // num_envs, 64), 8192)


def _pieces(env: FuncEnv[Any, Any, Any], impl: str | None) -> dict[str, tuple[FuncEnv[Any, Any, Any], Any]]:
    """The environment and the policy of each program, by the part that it adds."""
    fixed = Fixed(env, new_key(0, impl))
    constant, random = ConstantPolicy(fixed), random_policy(env)
    return {
        "bookkeeping": (Reduced(env, fixed, physics=False, draws=False, resets=False), constant),
        "physics": (Reduced(env, fixed, draws=False, resets=False), constant),
        "randomness": (Reduced(env, fixed, resets=False), random),
        "reset": (Reduced(env, fixed), random),
        "observation": (Reduced(env, fixed), LookingPolicy(random)),
    }


def _program(env: FuncEnv[Any, Any, Any], policy: Any, num_envs: int, num_steps: int, impl: str | None) -> Any:
    venv, key = FuncVectorEnv(env, num_envs), new_key(1, impl)
    return lambda: rollout(venv, policy, key, num_steps, collect=None)
