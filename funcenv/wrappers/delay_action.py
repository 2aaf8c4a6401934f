"""Let actions take effect later, as those of a robot behind a network do."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from funcenv.checks import require_flag
from funcenv.func_env import Action, Obs
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers._delays import Delay, draw_delay, read_delay
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.base import StatefulWrapper


class DelayActionState(PyTreeNode):
    """The inner state, and the actions that are on their way."""

    env_state: Any
    waiting: Any  # actions of the latest steps, `[most, ...]`, the newest last
    played: Any  # action that the environment received in the last step
    delay: Int[Array, ""]  # steps between an action and its effect


class DelayAction(StatefulWrapper[DelayActionState, Action, Obs]):
    """Plays every action `delay` steps later.

    The first actions of an episode are the member of the space that is closest to zero. With a pair, the delay is drawn
    at the start of every episode; with `each_step=True` it is drawn in every step, so that an action may be played
    twice, or never. Reward and `info` are those of the inner action, which is `state.played`.

    Put it outside wrappers that change actions, and inside `Autoreset`. Outside `RepeatAction` it counts the agent's
    actions. `HistoryObservation` outside shows the actions that are on their way.

    Args:
        env: the environment.
        delay: a number of steps, or a pair (least, most), both included.
        each_step: draw the delay in every step.

    Raises:
        TypeError: `delay` is neither an integer nor a pair of integers, or the space has no zero.
        ValueError: `delay` is below 0, or least > most.

    >>> import funcenv
    >>> env = DelayAction(funcenv.make("Pendulum-v1"), delay=1)
    >>> state, _ = env.reset(funcenv.key(0))
    >>> for action in 2.0, 1.0:
    ...     state, _ = env.step(state, jnp.array([action]), funcenv.key(1))
    >>> state.played.tolist()
    [2.0]
    """

    delay: Delay = field(pytree_node=False)
    each_step: bool = field(pytree_node=False, default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        read_delay(self.delay)
        require_flag("each_step", self.each_step)
        jax.eval_shape(first_env(self.env).action_space.zero)

    def initial(self, key: jax.Array) -> DelayActionState:
        """Return the first state, with zeros on their way."""
        _, most = read_delay(self.delay)
        zero = self._zero()
        return DelayActionState(
            env_state=self.env.initial(key),
            waiting=jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (most, *leaf.shape)), zero),
            played=zero,
            delay=draw_delay(self.delay, self.extra_key(key)),
        )

    def transition(self, state: DelayActionState, action: Action, key: jax.Array) -> DelayActionState:
        """Return the next state, after an earlier action."""
        _, most = read_delay(self.delay)
        delay = draw_delay(self.delay, self.extra_key(key)) if self.each_step else state.delay
        queue = jax.tree.map(
            lambda waiting, new, zero: jnp.concatenate([waiting, jnp.asarray(new, zero.dtype)[None]]),
            state.waiting,
            action,
            state.played,
        )
        played = jax.tree.map(lambda leaf: leaf[most - delay], queue)
        return DelayActionState(
            env_state=self.env.transition(state.env_state, played, key),
            waiting=jax.tree.map(lambda leaf: leaf[1:], queue),
            played=played,
            delay=delay,
        )

    def reward(self, state: DelayActionState, action: Action, next_state: DelayActionState) -> Float[Array, ""]:
        """Return the reward of the inner action."""
        del action
        return self.env.reward(state.env_state, next_state.played, next_state.env_state)

    def transition_info(self, state: DelayActionState, action: Action, next_state: DelayActionState) -> dict[str, Any]:
        """Return the extra arrays of the inner action."""
        del action
        return self.env.transition_info(state.env_state, next_state.played, next_state.env_state)

    def text(self, state: DelayActionState, action: Action | None = None) -> str:
        """Return a text rendering of the state and the inner action."""
        return self.env.text(state.env_state, None if action is None else state.played)

    def _zero(self) -> Any:
        members = self.env.action_space.abstract_member()
        return jax.tree.map(lambda leaf, like: jnp.asarray(leaf, like.dtype), self.env.action_space.zero(), members)
