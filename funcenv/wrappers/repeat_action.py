"""Play every action several times."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from funcenv.checks import require_size
from funcenv.func_env import Action, FuncEnv, Obs
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers._placeholders import no_outcome
from funcenv.wrappers.base import Wrapper


class RepeatActionState(PyTreeNode):
    """The inner state and what the last action brought."""

    env_state: Any
    reward: Float[Array, ""]  # the sum over the repeats
    info: dict[str, Any]  # the transition info of the last repeat


class RepeatAction(Wrapper[RepeatActionState, Action, Obs]):
    """Plays every action `num_repeats` times and pays the sum of the rewards, stopping at the end of the episode.

    The agent sees the last observation, flags and `info`. Repeat number i, from 0, is the step `env.step(state, action,
    jax.random.fold_in(k, i))`, k being the key that `step` passes on to `transition`. The first is played even after
    the end of an episode, as a plain step would be.

    Wrappers inside see every repeat, wrappers outside see one step: a `TimeLimit` inside counts the steps of the
    environment and cuts repeats short, one outside counts the agent's actions. Put it inside `Autoreset`.

    Args:
        env: the environment.
        num_repeats: at least 1.

    Raises:
        TypeError: `num_repeats` is not an integer.
        ValueError: `num_repeats` below 1.

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

    def inner(self, state: RepeatActionState) -> Any:
        """The state of the environment inside."""
        return state.env_state

    def initial(self, key: jax.Array) -> RepeatActionState:
        """The first state, with nothing earned."""
        env_state = self.env.initial(key)
        reward, info = no_outcome(self.env, env_state)
        return RepeatActionState(env_state=env_state, reward=reward, info=info)

    def transition(self, state: RepeatActionState, action: Action, key: jax.Array) -> RepeatActionState:
        """All the repeats."""
        env_state, reward, info, _ = repeat(self.env, state.env_state, action, key, self.num_repeats)
        return RepeatActionState(env_state=env_state, reward=reward, info=info)

    def reward(self, state: RepeatActionState, action: Action, next_state: RepeatActionState) -> Float[Array, ""]:
        """The sum over the repeats that led to `next_state`."""
        del state, action
        return next_state.reward

    @property
    def reward_range(self) -> tuple[float, float]:
        """From one up to `num_repeats` rewards in the range of the environment inside."""
        return repeated_range(self.env, self.num_repeats)

    def transition_info(
        self, state: RepeatActionState, action: Action, next_state: RepeatActionState
    ) -> dict[str, Any]:
        """That of the last repeat."""
        del state, action
        return next_state.info


def repeated_range(env: FuncEnv[Any, Any, Any], num_repeats: int) -> tuple[float, float]:
    """The range of the sum of from one up to `num_repeats` rewards.

    >>> import funcenv
    >>> repeated_range(funcenv.make("CartPole-v1"), 4)
    (1.0, 4.0)
    """
    lowest, highest = env.reward_range
    return min(lowest, num_repeats * lowest), max(highest, num_repeats * highest)


def repeat(
    env: FuncEnv[Any, Any, Any], env_state: Any, action: Any, key: jax.Array, num_repeats: int, frames: Any = ()
) -> tuple[Any, Float[Array, ""], dict[str, Any], Any]:
    """Play an action up to `num_repeats` times, stopping at the end of the episode.

    Args:
        env: the environment.
        env_state: where to begin.
        action: what to play.
        key: repeat number i is played with `jax.random.fold_in(key, i)`, from 0.
        num_repeats: at least 1.
        frames: a tuple of the last observations, the newest at the end.

    Returns:
        The last state, the sum of the rewards, the last `transition_info`, and as many of the last observations as
        were passed in.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1", max_episode_steps=3)
    >>> state, reward, *_ = repeat(env, env.initial(funcenv.key(0)), 0, funcenv.key(1), num_repeats=5)
    >>> float(reward), int(state.elapsed_steps)
    (3.0, 3)
    """

    def play(played: Any, number: jax.Array) -> tuple[Any, None]:
        done, env_state, total, _, frames = played
        next_state, timestep = env.step(env_state, action, jax.random.fold_in(key, number))
        info = jax.tree.map(jnp.asarray, env.transition_info(env_state, action, next_state))
        frames = (*frames, timestep.observation)[1:]
        latest = done | timestep.done, next_state, total + timestep.reward, info, frames
        return jax.tree.map(lambda old, new: jnp.where(done, old, new), played, latest), None

    first = jnp.zeros((), bool), env_state, *no_outcome(env, env_state), frames
    (_, *outcome), _ = jax.lax.scan(play, first, jnp.arange(num_repeats, dtype=jnp.uint32))
    return tuple(outcome)
