"""Delay observations by a random number of steps."""

from __future__ import annotations

from typing import Any

import jax
from jaxtyping import Array, Int

from funcenv.checks import require_flag
from funcenv.func_env import Action, Obs
from funcenv.struct import field
from funcenv.wrappers._delays import Delay, draw_delay, read_delay
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.frame_stack_observation import FrameBuffer, FrameBufferState


class RandomDelayObservationState(FrameBufferState):
    """The inner state, the latest observations, and the delay of the one that is shown."""

    delay: Int[Array, ""]


class RandomDelayObservation(FrameBuffer[Action, Obs]):
    """Delays observations by a number of steps that is drawn for every episode, or for every step.

    The observations before the first of an episode are the member of the space that is closest to zero, as in
    `DelayObservation`, which this wrapper is for a single number. With `each_step=True` an observation may be shown
    twice, or never. Rewards, flags and `info` are not delayed. Put it inside `Autoreset`.

    Args:
        env: the environment.
        delay: a pair (least, most) of steps, both included, or a single number.
        each_step: draw the delay in every step.

    Raises:
        TypeError: `delay` is neither an integer nor a pair of integers, or the space has no zero.
        ValueError: `delay` is below 0, or least > most.

    >>> import funcenv
    >>> env = RandomDelayObservation(funcenv.make("CartPole-v1"), delay=(1, 3))
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> timestep.observation.tolist(), 1 <= int(state.delay) <= 3
    ([0.0, 0.0, 0.0, 0.0], True)
    """

    delay: Delay = field(pytree_node=False)
    each_step: bool = field(pytree_node=False, default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        read_delay(self.delay)
        require_flag("each_step", self.each_step)
        jax.eval_shape(first_env(self.env).observation_space.zero)

    @property
    def _num_frames(self) -> int:
        return read_delay(self.delay)[1] + 1

    def _padding(self, newest: Any) -> Any:
        return self.env.observation_space.zero()

    def initial(self, key: jax.Array) -> RandomDelayObservationState:
        """Return the first state, with a delay."""
        state = super().initial(key)
        return RandomDelayObservationState(**vars(state), delay=self._draw(key))

    def transition(self, state: FrameBufferState, action: Action, key: jax.Array) -> RandomDelayObservationState:
        """Return the next state, with the delay of its observation."""
        following = super().transition(state, action, key)
        delay = self._draw(key) if self.each_step else state.delay  # type: ignore[attr-defined]  # from `initial`
        return RandomDelayObservationState(**vars(following), delay=delay)

    def observation(self, state: FrameBufferState, key: jax.Array) -> Obs:
        """Return the frame of `delay` steps ago."""
        del key
        age = state.delay  # type: ignore[attr-defined]  # from `initial`
        return jax.tree.map(lambda frames: frames[self._num_frames - 1 - age], state.frames)

    def _draw(self, key: jax.Array) -> Int[Array, ""]:
        # The extra key itself observes the inner state.
        return draw_delay(self.delay, jax.random.fold_in(self.extra_key(key), 1))
