"""Delay observations by a number of steps."""

from __future__ import annotations

from typing import Any

import jax

from funcenv.checks import require_size
from funcenv.func_env import Action, Obs
from funcenv.struct import field
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.frame_stack_observation import FrameBuffer, FrameBufferState


class DelayObservation(FrameBuffer[Action, Obs]):
    """Delays every observation by `delay` steps.

    The first `delay` observations of an episode are the member of the space that is closest to zero. Rewards, flags
    and `info` are not delayed. Put it inside `Autoreset`. Outside `RepeatAction` it counts the agent's actions, inside
    the environment's steps.

    Args:
        env: the environment.
        delay: at least 0.

    Raises:
        TypeError: `delay` is not an integer, or the space has no zero.
        ValueError: `delay` is below 0.

    >>> import funcenv
    >>> env = DelayObservation(funcenv.make("CartPole-v1"), delay=2)
    >>> env.reset(funcenv.key(0))[1].observation
    Array([0., 0., 0., 0.], dtype=float32)
    """

    delay: int = field(pytree_node=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "delay", require_size("delay", self.delay, minimum=0))
        jax.eval_shape(first_env(self.env).observation_space.zero)

    @property
    def _num_frames(self) -> int:
        return self.delay + 1

    def _padding(self, newest: Any) -> Any:
        return self.env.observation_space.zero()

    def observation(self, state: FrameBufferState, key: jax.Array) -> Obs:
        """Return the oldest frame."""
        del key
        return jax.tree.map(lambda frames: frames[0], state.frames)
