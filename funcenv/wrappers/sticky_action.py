"""Repeat the last action with some probability."""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_at_least, require_below_one, require_ordered
from funcenv.func_env import Action, Obs
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers.base import StatefulWrapper


class StickyActionState(PyTreeNode):
    """The inner state and the action that may be repeated."""

    env_state: Any
    last_action: Any  # the action of the last inner step; zeros before the first step
    started: Bool[Array, ""]  # true after the first step
    repeats_left: Int[Array, ""]  # the number of steps that will repeat the last action


class StickyAction(StatefulWrapper[StickyActionState, Action, Obs]):
    """Repeats the last action with some probability, so that an agent cannot memorise a sequence of actions.

    Machado et al., "Revisiting the Arcade Learning Environment", JAIR 61, 2018, section 5.2, where a repeat lasts one
    step. The reward and `info` are those of the inner action, which is `state.last_action`. The first action of an
    episode is never replaced.

    Outside wrappers that change actions, it repeats the agent's action. Inside `RepeatAction` and
    `MaxAndSkipObservation` it may repeat an action at every frame, as in the paper. Put it inside `Autoreset`.

    Args:
        env: the environment.
        repeat_action_probability: at least 0 and below 1; a parameter.
        repeat_action_duration: the number of steps that a repeat lasts, or a pair (least, most), both included, to
            draw it from uniformly.

    Raises:
        TypeError: The duration is not an integer or a pair of integers.
        ValueError: The probability is outside [0, 1), a duration is below 1, or least > most.

    >>> import funcenv
    >>> env = StickyAction(funcenv.make("CartPole-v1"), repeat_action_probability=0.25)
    >>> state, _ = env.reset(funcenv.key(0))
    >>> state, _ = env.step(state, 1, funcenv.key(1))
    >>> int(state.last_action)
    1
    """

    repeat_action_probability: float
    repeat_action_duration: int | tuple[int, int] = field(pytree_node=False, default=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_below_one(repeat_action_probability=self.repeat_action_probability)
        least, most = _durations(self.repeat_action_duration)
        require_at_least(1, "repeat_action_duration", least, remedy="1 repeats an action once")
        require_ordered("the least repeat_action_duration", least, "the most", most)

    def initial(self, key: jax.Array) -> StickyActionState:
        """Return the first state, which has no action to repeat."""
        return StickyActionState(
            env_state=self.env.initial(key),
            last_action=jax.tree.map(jnp.zeros_like, self.action_space.abstract_member()),
            started=jnp.zeros((), bool),
            repeats_left=jnp.zeros((), jnp.int32),
        )

    def transition(self, state: StickyActionState, action: Action, key: jax.Array) -> StickyActionState:
        """Return the next state, after the action or the last one."""
        stick_key, duration_key = jax.random.split(self.extra_key(key))
        least, most = _durations(self.repeat_action_duration)
        duration = least if least == most else jax.random.randint(duration_key, (), least, most + 1, jnp.int32)
        caught = state.started & jax.random.bernoulli(stick_key, jnp.asarray(self.repeat_action_probability, float))
        stuck = state.repeats_left > 0
        played = jax.tree.map(
            lambda last, chosen: jnp.where(stuck | caught, last, jnp.asarray(chosen, last.dtype)),
            state.last_action,
            action,
        )
        left = jnp.where(stuck, state.repeats_left, jnp.where(caught, duration, 1)) - 1
        return StickyActionState(
            env_state=self.env.transition(state.env_state, played, key),
            last_action=played,
            started=jnp.ones((), bool),
            repeats_left=left.astype(jnp.int32),
        )

    def reward(self, state: StickyActionState, action: Action, next_state: StickyActionState) -> Float[Array, ""]:
        """Return the reward of the inner action."""
        del action
        return self.env.reward(state.env_state, next_state.last_action, next_state.env_state)

    def transition_info(
        self, state: StickyActionState, action: Action, next_state: StickyActionState
    ) -> dict[str, Any]:
        """Return the extra arrays of the inner action."""
        del action
        return self.env.transition_info(state.env_state, next_state.last_action, next_state.env_state)

    def text(self, state: StickyActionState, action: Action | None = None) -> str:
        """Return a text rendering of the state and the inner action."""
        return self.env.text(state.env_state, None if action is None else state.last_action)


def _durations(given: Any) -> tuple[int, int]:
    pair = given if isinstance(given, tuple) else (given, given)
    try:
        least, most = (operator.index(steps) for steps in pair)
    except (TypeError, ValueError):
        raise TypeError(f"repeat_action_duration must be an integer or a pair of them, got {given!r}") from None
    return least, most
