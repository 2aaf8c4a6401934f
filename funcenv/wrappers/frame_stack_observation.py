"""Show the agent the last few observations at once."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.checks import require_size
from funcenv.func_env import Action
from funcenv.spaces import Space, batch_space
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers.base import Wrapper
from funcenv.wrappers.single import single


class FrameStackObservationState(PyTreeNode):
    """The inner state and the frames; every leaf of them has a leading axis `[stack_size]`, the oldest first."""

    env_state: Any
    frames: Any


class Constant:
    """A pytree of numpy arrays that can be a compile-time choice: equal and hashed by value."""

    def __init__(self, value: Any) -> None:
        self.value = jax.tree.map(np.asarray, value)

    def _identity(self) -> Any:
        leaves, structure = jax.tree.flatten(self.value)
        return structure, tuple((leaf.shape, str(leaf.dtype), leaf.tobytes()) for leaf in leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return repr(self.value)


class FrameStackObservation(Wrapper[FrameStackObservationState, Action, Any]):
    """Stacks the last `stack_size` observations along a new first axis, the newest last.

    Frames are kept as they were shown, so that each observation is drawn once. A step with key k shows as its newest
    frame what `env.step` shows with the key that `step` passes on to `transition`.

    It may stand anywhere inside `Autoreset`: inside `RepeatAction` it stacks every frame, outside one in
    `num_repeats`. `DelayObservation` inside delays every frame alike.

    Args:
        env: the environment.
        stack_size: at least 1.
        padding_type: what fills the stack before there are frames enough: `"reset"` (the first frame), `"zero"` (the
            member of the space that is closest to zero), or a frame of your own.

    Raises:
        TypeError: `stack_size` is not an integer.
        ValueError: `stack_size` below 1, another word for `padding_type`, or a frame outside the observation space.

    >>> import funcenv
    >>> env = FrameStackObservation(funcenv.make("CartPole-v1"), 3, padding_type="zero")
    >>> env.reset(funcenv.key(0))[1].observation[:, 0] != 0
    Array([False, False,  True], dtype=bool)
    """

    stack_size: int = field(pytree_node=False)
    padding_type: Any = field(pytree_node=False, default="reset", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "stack_size", require_size("stack_size", self.stack_size))
        space = single(self.env).observation_space
        if isinstance(self.padding_type, str):
            if self.padding_type not in ("reset", "zero"):
                raise ValueError(f'padding_type must be "reset", "zero" or an observation, got {self.padding_type!r}')
            jax.eval_shape(space.zero)
        elif not isinstance(self.padding_type, Constant):
            member = space.contains(self.padding_type)
            if not isinstance(member, jax.core.Tracer) and not member:
                raise ValueError(f"padding_type must be a member of {space!r}, got {self.padding_type!r}")
            object.__setattr__(self, "padding_type", Constant(self.padding_type))

    def inner(self, state: FrameStackObservationState) -> Any:
        """The state of the environment inside."""
        return state.env_state

    def initial(self, key: jax.Array) -> FrameStackObservationState:
        """The first state, with its frame and padding."""
        env_state, timestep = self.env.reset(key)
        newest = timestep.observation
        if isinstance(self.padding_type, Constant):
            padding = self.padding_type.value
        else:
            padding = newest if self.padding_type == "reset" else self.env.observation_space.zero()

        def fill(old: Any, new: jax.Array) -> jax.Array:
            rest = jnp.broadcast_to(jnp.asarray(old, new.dtype), (self.stack_size - 1, *new.shape))
            return jnp.concatenate([rest, new[None]])

        return FrameStackObservationState(env_state=env_state, frames=jax.tree.map(fill, padding, newest))

    def transition(
        self, state: FrameStackObservationState, action: Action, key: jax.Array
    ) -> FrameStackObservationState:
        """The inner step; its frame pushes the oldest out."""
        env_state, timestep = self.env.step(state.env_state, action, key)
        return FrameStackObservationState(env_state=env_state, frames=push(state.frames, timestep.observation))

    def observation(self, state: FrameStackObservationState, key: jax.Array) -> Any:
        """The frames."""
        del key
        return state.frames

    @property
    def observation_space(self) -> Space[Any]:
        """The space of `stack_size` observations."""
        return batch_space(self.env.observation_space, self.stack_size)


def push(frames: Any, newest: Any) -> Any:
    """Drop the oldest frame, append the newest; the leading axis keeps its length.

    >>> push(jnp.array([1, 2, 3]), jnp.int32(4))
    Array([2, 3, 4], dtype=int32)
    """
    return jax.tree.map(lambda old, new: jnp.concatenate([old[1:], new[None]]), frames, newest)
