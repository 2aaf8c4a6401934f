"""Repeat every action several times."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.checks import require_size
from funcenv.func_env import Action, AnyEnv, Obs, State, placeholder_outcome
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers.base import StatefulWrapper


class RepeatActionState(PyTreeNode):
    """The inner state and the outcome of the last action."""

    env_state: Any
    reward: Float[Array, ""]  # the sum over the repeats
    info: dict[str, Any]  # the transition info of the last repeat


class RepeatWrapper(StatefulWrapper[State, Action, Obs]):
    """A wrapper whose step is several inner steps. Its state holds their summed `reward` and the last `info`."""

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

    def transition_info(self, state: State, action: Action, next_state: Any) -> dict[str, Any]:
        """Return the transition info of the last repeat."""
        del state, action
        return next_state.info


class RepeatAction(RepeatWrapper[RepeatActionState, Action, Obs]):
    """Repeats every action `num_repeats` times, or until the episode ends, and returns the sum of the rewards.

    The observation, flags and `info` are those of the last repeat. Repeat number i, from 0, is the step
    `env.step(state, action, jax.random.fold_in(k, i))`, where k is the key that `step` passes on to `transition`. As
    with a plain step, the first repeat happens even after the end of an episode.

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
        env_state, reward, info, _ = repeat(self.env, state.env_state, action, key, self.num_repeats)
        return RepeatActionState(env_state=env_state, reward=reward, info=info)


def repeat(
    env: AnyEnv, env_state: Any, action: Any, key: jax.Array, num_repeats: int, frames: Any = ()
) -> tuple[Any, Float[Array, ""], dict[str, Any], Any]:
    """Perform an action up to `num_repeats` times, until the episode ends.

    Args:
        env: the environment.
        env_state: the state to start from.
        action: the action.
        key: repeat number i, from 0, has the key `jax.random.fold_in(key, i)`.
        num_repeats: at least 1.
        frames: a tuple of the last observations, the newest last.

    Returns:
        The last state, the sum of the rewards, the last `transition_info`, and as many of the last observations as
        `frames` has.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1", max_episode_steps=3)
    >>> state, reward, *_ = repeat(env, env.initial(funcenv.key(0)), 0, funcenv.key(1), num_repeats=5)
    >>> float(reward), int(state.elapsed_steps)
    (3.0, 3)
    """

    def play(played: Any, index: jax.Array) -> tuple[Any, None]:
        done, env_state, total, _, frames = played
        next_state, timestep = env.step(env_state, action, jax.random.fold_in(key, index))
        info = jax.tree.map(jnp.asarray, env.transition_info(env_state, action, next_state))
        frames = (*frames, timestep.observation)[1:]
        latest = done | timestep.done, next_state, total + timestep.reward, info, frames
        return jax.tree.map(lambda old, new: jnp.where(done, old, new), played, latest), None

    first = jnp.zeros((), bool), env_state, *placeholder_outcome(env, env_state), frames
    (_, *outcome), _ = jax.lax.scan(play, first, jnp.arange(num_repeats, dtype=jnp.uint32))
    return tuple(outcome)
