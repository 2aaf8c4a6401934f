"""Now and then, play the last action again instead of the one chosen."""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_at_least, require_ordered
from funcenv.func_env import Action, Obs
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers._placeholders import zeros_of
from funcenv.wrappers.base import Wrapper
from funcenv.wrappers.single import abstract


class StickyActionState(PyTreeNode):
    """The inner state and what is being repeated."""

    env_state: Any
    last_action: Any  # what was played last; zeros before the first step
    started: Bool[Array, ""]  # there was a first step
    repeats_left: Int[Array, ""]  # steps at which the last action will be played again, whatever is chosen


class StickyAction(Wrapper[StickyActionState, Action, Obs]):
    """With some probability plays the last action again, so that the environment cannot be learned by heart.

    Machado et al., "Revisiting the Arcade Learning Environment", JAIR 61, 2018, section 5.2, where the repeat lasts one
    step. The reward and `info` are those of the action that was played; `state.last_action` says which. The first
    action of an episode is always played.

    Outside wrappers that change actions, it is the agent's action that sticks; inside `RepeatAction` and
    `MaxAndSkipObservation` every frame may stick, as in the paper. Put it inside `Autoreset`.

    Args:
        env: the environment.
        repeat_action_probability: at least 0 and below 1; a parameter.
        repeat_action_duration: for how many steps, or a tuple (least, most) to draw from, both included.

    Raises:
        TypeError: a duration that is not an integer or a pair of them.
        ValueError: a probability outside [0, 1), a duration below 1, or least > most.

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
        probability = self.repeat_action_probability
        if not isinstance(probability, jax.core.Tracer):
            numbers = np.asarray(probability)
            if not np.all((numbers >= 0) & (numbers < 1)):
                raise ValueError(f"repeat_action_probability must be at least 0 and below 1, got {probability}")
        least, most = _durations(self.repeat_action_duration)
        require_at_least(1, "repeat_action_duration", least, remedy="1 repeats an action once")
        require_ordered("the least repeat_action_duration", least, "the most", most)

    def inner(self, state: StickyActionState) -> Any:
        """The state of the environment inside."""
        return state.env_state

    def initial(self, key: jax.Array) -> StickyActionState:
        """The first state, with nothing to repeat."""
        return StickyActionState(
            env_state=self.env.initial(key),
            last_action=zeros_of(abstract(self.action_space)),
            started=jnp.zeros((), bool),
            repeats_left=jnp.zeros((), jnp.int32),
        )

    def transition(self, state: StickyActionState, action: Action, key: jax.Array) -> StickyActionState:
        """The inner transition, with the action or the last one."""
        stick_key, duration_key, transition_key = jax.random.split(key, 3)
        least, most = _durations(self.repeat_action_duration)
        duration = least if least == most else jax.random.randint(duration_key, (), least, most + 1, jnp.int32)
        caught = state.started & jax.random.bernoulli(stick_key, self.repeat_action_probability)
        stuck = state.repeats_left > 0
        played = jax.tree.map(
            lambda last, chosen: jnp.where(stuck | caught, last, jnp.asarray(chosen, last.dtype)),
            state.last_action,
            action,
        )
        left = jnp.where(stuck, state.repeats_left, jnp.where(caught, duration, 1)) - 1
        return StickyActionState(
            env_state=self.env.transition(state.env_state, played, transition_key),
            last_action=played,
            started=jnp.ones((), bool),
            repeats_left=left.astype(jnp.int32),
        )

    def reward(self, state: StickyActionState, action: Action, next_state: StickyActionState) -> Float[Array, ""]:
        """The reward of the action that was played."""
        del action
        return self.env.reward(state.env_state, next_state.last_action, next_state.env_state)

    def transition_info(
        self, state: StickyActionState, action: Action, next_state: StickyActionState
    ) -> dict[str, Any]:
        """Extra facts about the action that was played."""
        del action
        return self.env.transition_info(state.env_state, next_state.last_action, next_state.env_state)

    def text(self, state: StickyActionState, action: Action | None = None) -> str:
        """The state in a terminal, with the action that was played."""
        return self.env.text(state.env_state, None if action is None else state.last_action)


def _durations(given: Any) -> tuple[int, int]:
    """The least and the most steps."""
    pair = given if isinstance(given, tuple) else (given, given)
    try:
        least, most = (operator.index(steps) for steps in pair)
    except (TypeError, ValueError):
        raise TypeError(f"repeat_action_duration must be an integer or a pair of them, got {given!r}") from None
    return least, most
