"""Show the agent every few frames only, and of the last two the greater, element by element."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from funcenv.checks import require_size
from funcenv.func_env import Action
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers._placeholders import no_outcome
from funcenv.wrappers.base import Wrapper
from funcenv.wrappers.repeat_action import repeat, repeated_range
from funcenv.wrappers.single import single


class MaxAndSkipObservationState(PyTreeNode):
    """The inner state, its last two frames, and what the last action brought."""

    env_state: Any
    previous: Any  # the frame before the latest; at the beginning of an episode, the latest
    latest: Any
    reward: Float[Array, ""]  # the sum over the skipped steps
    info: dict[str, Any]  # the transition info of the last of them


class MaxAndSkipObservation(Wrapper[MaxAndSkipObservationState, Action, Shaped[Array, "*shape"]]):
    """Plays every action `skip` times, as `RepeatAction` does, and shows the maximum of the last two frames.

    Frames are kept as they were shown. Repeat number i, from 0, is the step `env.step(state, action,
    jax.random.fold_in(k, i))`, k being the key that `step` passes on to `transition`. Where the episode ends before the
    last repeat, the two are the last frames that there were; Gymnasium 1.4.0 has frames of an earlier step there,
    against its documentation.

    Wrappers inside see every repeat, wrappers outside see one step: a `TimeLimit` inside counts the steps of the
    environment and cuts repeats short, one outside counts the agent's actions. Put `FrameStackObservation` outside, to
    stack the maxima, and all of them inside `Autoreset`.

    Args:
        env: an environment whose observations are single arrays.
        skip: at least 2.

    Raises:
        TypeError: observations that are not single arrays, or `skip` is not an integer.
        ValueError: `skip` below 2.

    >>> import funcenv
    >>> env = MaxAndSkipObservation(funcenv.make("CartPole-v1"), skip=4)
    >>> state, _ = env.reset(funcenv.key(0))
    >>> float(env.step(state, 0, funcenv.key(1))[1].reward)
    4.0
    """

    skip: int = field(pytree_node=False, default=4)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "skip", require_size("skip", self.skip))
        if self.skip < 2:
            raise ValueError(f"skip must be at least 2, got {self.skip}; leave the wrapper out to see every frame")
        space = single(self.env).observation_space
        if space.shape is None:
            raise TypeError(
                f"MaxAndSkipObservation needs observations that are one array, got {space!r}; "
                "put FlattenObservation inside"
            )

    def inner(self, state: MaxAndSkipObservationState) -> Any:
        """The state of the environment inside."""
        return state.env_state

    def initial(self, key: jax.Array) -> MaxAndSkipObservationState:
        """The first state, with its one frame."""
        env_state, timestep = self.env.reset(key)
        reward, info = no_outcome(self.env, env_state)
        frame = timestep.observation
        return MaxAndSkipObservationState(env_state=env_state, previous=frame, latest=frame, reward=reward, info=info)

    def transition(
        self, state: MaxAndSkipObservationState, action: Action, key: jax.Array
    ) -> MaxAndSkipObservationState:
        """All the repeats."""
        frames = state.previous, state.latest
        env_state, reward, info, (previous, latest) = repeat(self.env, state.env_state, action, key, self.skip, frames)
        return MaxAndSkipObservationState(
            env_state=env_state, previous=previous, latest=latest, reward=reward, info=info
        )

    def observation(self, state: MaxAndSkipObservationState, key: jax.Array) -> Shaped[Array, "*shape"]:
        """The greater of the last two frames, element by element."""
        del key
        return jnp.maximum(state.previous, state.latest)

    def reward(
        self, state: MaxAndSkipObservationState, action: Action, next_state: MaxAndSkipObservationState
    ) -> Float[Array, ""]:
        """The sum over the repeats that led to `next_state`."""
        del state, action
        return next_state.reward

    @property
    def reward_range(self) -> tuple[float, float]:
        """From one up to `skip` rewards in the range of the environment inside."""
        return repeated_range(self.env, self.skip)

    def transition_info(
        self, state: MaxAndSkipObservationState, action: Action, next_state: MaxAndSkipObservationState
    ) -> dict[str, Any]:
        """That of the last repeat."""
        del state, action
        return next_state.info
