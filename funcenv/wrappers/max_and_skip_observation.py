"""Repeat every action, and observe the elementwise maximum of the last two frames."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from funcenv.checks import require_size
from funcenv.func_env import Action, first_state, observe, placeholder_outcome
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.repeat_action import Repeat, RepeatWrapper, repeat


class MaxAndSkipObservationState(PyTreeNode):
    """The inner state, its last two frames, and the outcome of the last action."""

    env_state: Any
    previous: Any  # the frame before the latest; at the start of an episode, the latest
    latest: Any
    reward: Float[Array, ""]  # the sum over the skipped steps
    info: dict[str, Any]  # the transition info of the last step


class MaxAndSkipObservation(RepeatWrapper[MaxAndSkipObservationState, Action, Shaped[Array, "*shape"]]):
    """Repeats every action `skip` times, as `RepeatAction` does, and observes the maximum of the last two frames.

    The keys of the repeats are those of `RepeatAction`. If the episode ends before the last repeat, the two frames are
    the last ones of the episode. Gymnasium 1.4.0 returns frames of an earlier step there, against its documentation.

    Wrappers inside see every repeat, and wrappers outside see one step: a `TimeLimit` inside counts the environment's
    steps and ends the repeats early, one outside counts the agent's actions. Put `FrameStackObservation` outside, to
    stack the maxima, and all of them inside `Autoreset`.

    Args:
        env: an environment whose observations are single arrays.
        skip: at least 2.

    Raises:
        TypeError: The observations are not single arrays, or `skip` is not an integer.
        ValueError: `skip` is below 2.

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
        space = first_env(self.env).observation_space
        if space.shape is None:
            raise TypeError(
                f"MaxAndSkipObservation needs observations that are one array, got {space!r}; "
                "put FlattenObservation inside"
            )

    @property
    def _num_repeats(self) -> int:
        return self.skip

    def initial(self, key: jax.Array) -> MaxAndSkipObservationState:
        """Return the first state, with its frame."""
        env_state = first_state(self.env, key)
        reward, info = placeholder_outcome(self.env, env_state)
        frame = observe(self.env, env_state, self.extra_key(key))
        return MaxAndSkipObservationState(env_state=env_state, previous=frame, latest=frame, reward=reward, info=info)

    def transition(
        self, state: MaxAndSkipObservationState, action: Action, key: jax.Array
    ) -> MaxAndSkipObservationState:
        """Perform all repeats."""
        frames, keys = (state.previous, state.latest), (key, self.extra_key(key))
        repeated = repeat(self.env, state.env_state, action, keys, self.skip, frames, self._observe)
        previous, latest = repeated.seen
        return MaxAndSkipObservationState(
            env_state=repeated.env_state,
            previous=previous,
            latest=latest,
            reward=repeated.reward,
            info=repeated.info,
        )

    def _observe(self, frames: tuple[Any, Any], repeat: Repeat) -> tuple[tuple[Any, Any], Bool[Array, ""]]:
        return (frames[1], observe(self.env, repeat.env_state, repeat.observation_key)), repeat.done

    def observation(self, state: MaxAndSkipObservationState, key: jax.Array) -> Shaped[Array, "*shape"]:
        """Return the elementwise maximum of the last two frames."""
        del key
        return jnp.maximum(state.previous, state.latest)
