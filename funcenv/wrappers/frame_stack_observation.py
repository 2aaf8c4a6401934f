"""Stack the last few observations."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.checks import require_size
from funcenv.func_env import Action, Obs, first_state, next_state, observe
from funcenv.spaces import batch_space
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.base import StatefulWrapper


class FrameBufferState(PyTreeNode):
    """The inner state and the last observations; their leaves have a leading axis `[num_frames]`, the oldest first."""

    env_state: Any
    frames: Any


class FrameBuffer(StatefulWrapper[FrameBufferState, Action, Obs]):
    """A wrapper that stores the last observations, so that each observation is computed once.

    The states are those of the environment inside with the same keys. Observations that draw have `extra_key`.
    """

    @property
    def _num_frames(self) -> int:
        raise NotImplementedError

    def _padding(self, newest: Any) -> Any:
        """Return what stands for the frames before the first."""
        raise NotImplementedError

    def initial(self, key: jax.Array) -> FrameBufferState:
        """Return the first state, with its frame and padding."""
        env_state = first_state(self.env, key)
        newest = observe(self.env, env_state, self.extra_key(key))

        def fill(old: Any, new: jax.Array) -> jax.Array:
            rest = jnp.broadcast_to(jnp.asarray(old, new.dtype), (self._num_frames - 1, *new.shape))
            return jnp.concatenate([rest, new[None]])

        frames = jax.tree.map(fill, self._padding(newest), newest)
        return FrameBufferState(env_state=env_state, frames=frames)

    def transition(self, state: FrameBufferState, action: Action, key: jax.Array) -> FrameBufferState:
        """Perform the inner step, drop the oldest frame and append the newest."""
        env_state = next_state(self.env, state.env_state, action, key)
        newest = observe(self.env, env_state, self.extra_key(key))

        def push(old: jax.Array, new: jax.Array) -> jax.Array:
            return jnp.concatenate([old[1:], new[None]])

        return FrameBufferState(env_state=env_state, frames=jax.tree.map(push, state.frames, newest))


class Constant:
    """A pytree of NumPy arrays that can be a static field: it is compared and hashed by value."""

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


class FrameStackObservation(FrameBuffer[Action, Any]):
    """Stacks the last `stack_size` observations along a new first axis, the newest last.

    Put it inside `Autoreset`. Inside `RepeatAction` it stacks every frame, outside one in `num_repeats`.
    `DelayObservation` inside delays all frames alike.

    Args:
        env: the environment.
        stack_size: at least 1.
        padding_type: what stands for the frames before the first: `"reset"` (the first frame), `"zero"` (the member of
            the space that is closest to zero), or an observation.

    Raises:
        TypeError: `stack_size` is not an integer, or the space has no zero.
        ValueError: `stack_size` is below 1, or `padding_type` is another string or not in the observation space.

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
        space = first_env(self.env).observation_space
        if isinstance(self.padding_type, str):
            if self.padding_type not in ("reset", "zero"):
                raise ValueError(f'padding_type must be "reset", "zero" or an observation, got {self.padding_type!r}')
            jax.eval_shape(space.zero)
        elif not isinstance(self.padding_type, Constant):
            member = space.contains(self.padding_type)
            if not isinstance(member, jax.core.Tracer) and not member:
                raise ValueError(f"padding_type must be a member of {space!r}, got {self.padding_type!r}")
            object.__setattr__(self, "padding_type", Constant(self.padding_type))

    @property
    def _num_frames(self) -> int:
        return self.stack_size

    def _padding(self, newest: Any) -> Any:
        if isinstance(self.padding_type, Constant):
            return self.padding_type.value
        return newest if self.padding_type == "reset" else self.env.observation_space.zero()

    def observation(self, state: FrameBufferState, key: jax.Array) -> Any:
        """Return the frames."""
        del key
        return state.frames

    @property
    def observation_space(self) -> AnySpace:
        """The space of `stack_size` stacked observations."""
        return batch_space(self.env.observation_space, self.stack_size)
