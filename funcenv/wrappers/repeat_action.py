"""Repeat every action several times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from funcenv.checks import require_size
from funcenv.func_env import Action, AnyEnv, Obs, State, next_state, placeholder_outcome, reward_and_flags
from funcenv.struct import PyTreeNode, field
from funcenv.trees import select
from funcenv.wrappers.base import StatefulWrapper


class RepeatActionState(PyTreeNode):
    """The inner state and the outcome of the last action."""

    env_state: Any
    reward: Float[Array, ""]  # the sum over the repeats
    info: dict[str, Any]  # the transition info of the last repeat


class RepeatWrapper(StatefulWrapper[State, Action, Obs]):
    """A wrapper whose step is several inner steps. Its state holds their summed `reward` and the last `info`."""

    def _kind(self) -> type:
        return RepeatWrapper  # all of them then repeat with the same keys

    @property
    def _num_repeats(self) -> int:
        raise NotImplementedError

    def reward(self, state: State, action: Action, next_state: Any) -> Float[Array, ""]:
        """Return the sum of the rewards of the repeats that led to `next_state`."""
        del state, action
        return next_state.reward

    @property
    def reward_range(self) -> tuple[float, float]:
        """The range of the sum of 1 to `num_repeats` rewards of the environment inside."""
        lowest, highest = self.env.reward_range
        return min(lowest, self._num_repeats * lowest), max(highest, self._num_repeats * highest)

    @property
    def render_fps(self) -> float:
        """The number of steps a second that a window or a video shows: time passes as fast as without the repeats."""
        return self.env.render_fps / self._num_repeats

    def transition_info(self, state: State, action: Action, next_state: Any) -> dict[str, Any]:
        """Return the transition info of the last repeat."""
        del state, action
        return next_state.info


class RepeatAction(RepeatWrapper[RepeatActionState, Action, Obs]):
    """Repeats every action `num_repeats` times, or until the episode ends, and returns the sum of the rewards.

    The observation, flags and `info` are those of the last repeat. The first repeat is `env.transition(state, action,
    k)` with the key k that `transition` receives, and repeat number i, from 1, has the key `fold_in(extra_key(k), i)`.
    As with a plain step, the first repeat happens even after the end of an episode.

    Wrappers inside see every repeat, and wrappers outside see one step: a `TimeLimit` inside counts the environment's
    steps and ends the repeats early, one outside counts the agent's actions. Put it inside `Autoreset`.

    Args:
        env: the environment.
        num_repeats: at least 1.

    Raises:
        TypeError: `num_repeats` is not an integer.
        ValueError: `num_repeats` is below 1.

    >>> import funcenv
    >>> env = RepeatAction(funcenv.make("CartPole-v1"), num_repeats=4)
    >>> state, _ = env.reset(funcenv.key(0))
    >>> float(env.step(state, 0, funcenv.key(1))[1].reward)
    4.0
    """

    num_repeats: int = field(pytree_node=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "num_repeats", require_size("num_repeats", self.num_repeats))

    @property
    def _num_repeats(self) -> int:
        return self.num_repeats

    def initial(self, key: jax.Array) -> RepeatActionState:
        """Return the first state, with reward 0."""
        env_state = self.env.initial(key)
        reward, info = placeholder_outcome(self.env, env_state)
        return RepeatActionState(env_state=env_state, reward=reward, info=info)

    def transition(self, state: RepeatActionState, action: Action, key: jax.Array) -> RepeatActionState:
        """Perform all repeats."""
        keys = key, self.extra_key(key)
        repeated = repeat(self.env, state.env_state, action, keys, self.num_repeats)
        return RepeatActionState(env_state=repeated.env_state, reward=repeated.reward, info=repeated.info)


class Repeat(NamedTuple):
    """One repeat of an action, after its transition."""

    number: Int[Array, ""]  # index of the repetition, from 0
    env_state: Any
    done: Bool[Array, ""]  # the episode of the environment has ended
    observation_key: Key[Array, ""]


class Repeated(NamedTuple):
    """The result of all repeats of an action."""

    env_state: Any
    reward: Float[Array, ""]  # the sum over the repeats
    info: dict[str, Any]  # the transition info of the last repeat
    seen: Any  # the last result of `observe`


Observe = Callable[[Any, Repeat], tuple[Any, Bool[Array, ""]]]
"""From what was seen before a repeat and the repeat, to what is seen after it and whether the repeats end with it."""


def observe_nothing(seen: Any, repeat: Repeat) -> tuple[Any, Bool[Array, ""]]:
    """Leave what was seen as it is, and end with the episode; an `Observe` function."""
    return seen, repeat.done


def repeat(
    env: AnyEnv,
    env_state: Any,
    action: Any,
    keys: tuple[jax.Array, jax.Array],
    num_repeats: int,
    seen: Any = (),
    observe: Observe = observe_nothing,
) -> Repeated:
    """Perform an action up to `num_repeats` times, until `observe` says that the repeats end.

    Args:
        env: the environment.
        env_state: the state to start from.
        action: the action.
        keys: the key of the first repeat, and an extra key. Repeat number i, from 1, has the fold i of the extra key,
            and the observation after repeat number i, from 0, has the fold `num_repeats + i`.
        num_repeats: at least 1.
        seen: what was seen before the first repeat; a pytree of arrays.
        observe: called after every repeat.

    >>> import funcenv
    >>> env, keys = funcenv.make("CartPole-v1", max_episode_steps=3), (funcenv.key(1), funcenv.key(2))
    >>> repeated = repeat(env, env.initial(funcenv.key(0)), 0, keys, num_repeats=5)
    >>> float(repeated.reward), int(repeated.env_state.elapsed_steps)
    (3.0, 3)
    """
    first_key, extra_key = keys
    numbers = jnp.arange(num_repeats, dtype=jnp.int32)
    folds = jax.vmap(jax.random.fold_in, (None, 0))(extra_key, jnp.arange(1, 2 * num_repeats, dtype=jnp.uint32))
    transition_keys = jnp.concatenate([first_key[None], folds[: num_repeats - 1]])

    def play(played: tuple[jax.Array, Repeated], numbered: tuple[jax.Array, ...]) -> tuple[Any, None]:
        (ended, old), (number, transition_key, observation_key) = played, numbered
        following = next_state(env, old.env_state, action, transition_key)
        reward, terminated, truncated = reward_and_flags(env, old.env_state, action, following)
        info = jax.tree.map(jnp.asarray, env.transition_info(old.env_state, action, following))
        seen, ends = observe(old.seen, Repeat(number, following, terminated | truncated, observation_key))
        new = Repeated(following, old.reward + reward, info, seen)
        return (ended | ends, select(ended, old, new)), None

    start = Repeated(env_state, *placeholder_outcome(env, env_state), seen)
    xs = numbers, transition_keys, folds[num_repeats - 1 :]
    (_, last), _ = jax.lax.scan(play, (jnp.zeros((), bool), start), xs)
    return last
