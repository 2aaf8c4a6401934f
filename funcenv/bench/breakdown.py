"""The cost of each part of a step, measured as the difference between programs with and without that part.

XLA fuses the parts into each other, so parts that are timed alone would be other programs. `ReducedEnv` is an
environment without some of its work.
"""

from __future__ import annotations

import dataclasses
import statistics
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from funcenv.bench.measure import clock_name, default_num_steps, time_in_turns
from funcenv.func_env import Action, AnyEnv, Obs, State
from funcenv.random import key as new_key
from funcenv.rollout import RandomPolicy, random_policy, rollout
from funcenv.struct import PyTreeNode, field
from funcenv.vector import FuncVectorEnv
from funcenv.wrappers import Wrapper

PARTS = ("bookkeeping", "physics", "randomness", "reset", "observation")
"""The parts of a step, in the order in which they are added to the program."""


@dataclasses.dataclass(frozen=True)
class Breakdown:
    """The duration of each part of a step, for one environment."""

    num_envs: int
    clock: str
    """the clock of the durations: "cpu" or "wall\""""
    nanoseconds: dict[str, float]
    """nanoseconds of each part; noise may make a cheap part slightly negative"""
    spread: dict[str, tuple[float, float]]
    """smallest and largest value over rounds"""

    @property
    def total(self) -> float:
        """Nanoseconds of the whole step."""
        return sum(self.nanoseconds.values())


def break_down(
    env: AnyEnv,
    num_envs: int,
    *,
    num_steps: int | None = None,
    seconds: float = 0.1,
    rounds: int = 7,
    impl: str | None = None,
) -> Breakdown:
    """Time five programs, each with one part more than the one before, and return the differences.

    - bookkeeping: the loop, episode statistics, counters, and the selection of environments to reset, around a state
      that never changes
    - physics: transition, reward and flags, with a constant action and a constant key
    - randomness: sampling actions, deriving keys, and the random numbers of the dynamics
    - reset: sampling initial states
    - observation: computing the observations and reading them

    Args:
        env: One environment.
        num_envs: Number of environments in the batch.
        num_steps: Steps of one rollout; by default those of `default_num_steps`.
        seconds: Approximate duration of each program in each round.
        rounds: Number of rounds.
        impl: The random generator; see `funcenv.key`.

    >>> import funcenv
    >>> breakdown = break_down(funcenv.make("CartPole-v1"), num_envs=8, num_steps=10, seconds=0.001, rounds=1)
    >>> sorted(breakdown.nanoseconds) == sorted(PARTS)
    True
    """
    num_steps = num_steps or default_num_steps(num_envs, env.calls_host)
    constants, random, key = Constants(env, new_key(0, impl)), random_policy(env), new_key(1, impl)
    constant = ConstantPolicy(constants)

    def program(policy: Any, **included: bool) -> Any:
        venv: Any = FuncVectorEnv(ReducedEnv(env, constants, **included), num_envs)
        return lambda: rollout(venv, policy, key, num_steps, collect=None)

    programs = {
        "bookkeeping": program(constant, physics=False, draws=False, resets=False),
        "physics": program(constant, draws=False, resets=False),
        "randomness": program(random, resets=False),
        "reset": program(random),
        "observation": program(ReadingPolicy(random)),
    }
    timings = time_in_turns(programs, seconds=seconds, rounds=rounds)
    turns = np.array([timings[name].seconds for name in PARTS]) * 1e9 / (num_envs * num_steps)
    differences = dict(zip(PARTS, np.diff(turns, axis=0, prepend=0.0).tolist(), strict=True))
    return Breakdown(
        num_envs=num_envs,
        clock=clock_name(),
        nanoseconds={name: statistics.median(numbers) for name, numbers in differences.items()},
        spread={name: (min(numbers), max(numbers)) for name, numbers in differences.items()},
    )


class Constants:
    """An initial state, an action and a key that replace random ones. Instances are hashed by identity."""

    def __init__(self, env: AnyEnv, key: jax.Array) -> None:
        reset_key, action_key, draw_key = jax.random.split(key, 3)
        self._impl = jax.random.key_impl(key)
        self._key_data = np.asarray(jax.random.key_data(draw_key))
        self.initial_state = jax.tree.map(np.asarray, jax.jit(lambda env, key: env.reset(key)[0])(env, reset_key))
        self.action = jax.tree.map(np.asarray, env.action_space.sample(action_key))

    def key(self) -> jax.Array:
        """Return the key, which is always the same."""
        return jax.random.wrap_key_data(jnp.asarray(self._key_data), impl=self._impl)


class ReducedEnv(Wrapper[State, Action, Obs]):
    """An environment without its physics, its random numbers, or its random initial states.

    Without `physics`, the state never changes, rewards are 0 and no episode ends. The terminal flag still depends on
    the state, so XLA does not remove what follows from it. Without `draws`, the functions get a constant key, so random
    numbers are drawn once for the whole batch. Without `resets`, every episode starts in the same state.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> still = ReducedEnv(env, Constants(env, funcenv.key(0)), physics=False, draws=False, resets=False)
    >>> state, _ = still.reset(funcenv.key(1))
    >>> bool(still.step(state, 0, funcenv.key(2))[0].env_state.x == state.env_state.x)
    True
    """

    constants: Constants = field(pytree_node=False)
    physics: bool = field(pytree_node=False, default=True)
    draws: bool = field(pytree_node=False, default=True)
    resets: bool = field(pytree_node=False, default=True)

    def initial(self, key: jax.Array) -> State:
        """Return a random or the constant initial state."""
        if self.resets:
            return self.env.initial(key)
        state: State = jax.tree.map(jnp.asarray, self.constants.initial_state)
        return state

    def transition(self, state: State, action: Action, key: jax.Array) -> State:
        """Return the next state, or the same state without physics."""
        return self.env.transition(state, action, self._key(key)) if self.physics else state

    def observation(self, state: State, key: jax.Array) -> Obs:
        """Return the observation."""
        return self.env.observation(state, self._key(key))

    def reward(self, state: State, action: Action, next_state: State) -> Float[Array, ""]:
        """Return the reward, or 0 without physics."""
        return self.env.reward(state, action, next_state) if self.physics else jnp.zeros((), float)

    def terminal(self, state: State) -> Bool[Array, ""]:
        """Check whether the state is terminal; none is without physics."""
        return self.env.terminal(state) if self.physics else _opaque_false(state)

    def truncated(self, state: State) -> Bool[Array, ""]:
        """Check whether the episode is truncated; none is without physics."""
        return self.env.truncated(state) if self.physics else jnp.zeros((), bool)

    def _key(self, key: jax.Array) -> jax.Array:
        return key if self.draws else self.constants.key()


class ConstantPolicy(PyTreeNode):
    """A policy that always takes the same action."""

    constants: Constants = field(pytree_node=False)

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """Return the action."""
        del observation, key
        return jax.tree.map(jnp.asarray, self.constants.action)


class ReadingPolicy(PyTreeNode):
    """A random policy that reads every number of the observation, so XLA must compute the observation."""

    random: RandomPolicy

    def key_of_step(self, policy_key: jax.Array, number: jax.Array) -> jax.Array:
        """Return the key that the random policy would use."""
        return self.random.key_of_step(policy_key, number)

    def __call__(self, observation: Any, key: jax.Array) -> Any:
        """Return a random action."""
        never = _opaque_false(observation)
        return jax.tree.map(lambda leaf: jnp.where(never, jnp.zeros_like(leaf), leaf), self.random(observation, key))


def _opaque_false(tree: Any) -> jax.Array:
    """Return a bool that is never true, but depends on every number in the tree as far as XLA can tell."""
    total = sum((leaf.astype(jnp.float32).sum() for leaf in jax.tree.leaves(tree)), start=jnp.zeros((), jnp.float32))
    return total == np.float32(1.2345678e33)
