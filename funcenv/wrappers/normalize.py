"""Normalize observations or rewards by their running mean and variance."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.checks import require_positive, require_probability
from funcenv.func_env import Action, AnyEnv, Obs, State, first_state, next_state, observe
from funcenv.moments import RunningMoments, SharedMoments, pool_moments
from funcenv.spaces import Box
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers._spaces import first_env
from funcenv.wrappers.base import StatefulWrapper, Wrapper, layers

_FIRST_COUNT = 1e-4  # the weight of mean 0 and variance 1 before the first vector, as in Gymnasium


class NormalizeWrapper(StatefulWrapper[State, Action, Obs]):
    """A wrapper that normalizes by running moments: the field `moments` of its state, with which new episodes begin."""

    @property
    def remembers(self) -> bool:
        """True: moments go on from one episode to the next."""
        return True

    def _first_moments(self, size: int) -> SharedMoments:
        given: RunningMoments | None = getattr(self, "moments")  # noqa: B009  (a field of the subclasses)
        if given is None:
            return SharedMoments.begin(RunningMoments.empty((size,), count=_FIRST_COUNT))
        return SharedMoments.begin(jax.tree.map(lambda leaf: jnp.asarray(leaf, float), given))


class NormalizeObservationState(PyTreeNode):
    """The inner state, the running moments, and the inner observation that they include last."""

    env_state: Any
    moments: SharedMoments
    inner_observation: Any


class NormalizeObservation(NormalizeWrapper[NormalizeObservationState, Action, Float[Array, "*shape"]]):
    """Shifts and scales observations to mean 0 and variance 1, by the moments of all observations so far.

    The moments are in the state. They include every observation before it is normalized, and go on in the next episode:
    after an automatic reset, and after `env.reset(key, after=state)`. `funcenv.wrappers.share_moments(vstate)` merges
    those of all environments of a batch. A plain `env.reset(key)` begins with `moments`.

    For evaluation, `freeze_moments(env, vstate.env_state)` returns an environment with the moments that were collected,
    and does not update them.

    Put it outside `TimeLimit` and wrappers that change single observations, and inside `FrameStackObservation` and
    `Autoreset`.

    Args:
        env: an environment whose observations are single arrays.
        epsilon: added to the variance; above 0. A parameter.
        moments: what to begin with; by default mean 0 and variance 1 with a weight of 0.0001 observations. A parameter.
        update_running_mean: whether observations are added to the moments.

    Raises:
        ValueError: `epsilon` is not above 0, or the observations are not single arrays.

    >>> import funcenv
    >>> env = NormalizeObservation(funcenv.make("CartPole-v1"))
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, 1, funcenv.key(1))
    >>> round(float(state.moments.total.count)), timestep.observation.dtype
    (2, dtype('float32'))
    """

    epsilon: float = 1e-8
    moments: RunningMoments | None = field(default=None, kw_only=True)
    update_running_mean: bool = field(pytree_node=False, default=True, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(epsilon=self.epsilon)
        space = first_env(self.env).observation_space
        if space.shape is None:
            raise ValueError(
                f"NormalizeObservation needs observations that are one array, got {space!r}; "
                "put FlattenObservation inside"
            )

    def initial(self, key: jax.Array) -> NormalizeObservationState:
        """Return the first state, with the moments that the wrapper begins with and the first observation."""
        return self._observed(first_state(self.env, key), self._first_moments(self._size), key)

    def initial_after(self, last: NormalizeObservationState, key: jax.Array) -> NormalizeObservationState:
        """Return the first state of the next episode, with the moments so far."""
        return self._observed(first_state(self.env, key, last.env_state), last.moments, key)

    def transition(self, state: NormalizeObservationState, action: Action, key: jax.Array) -> NormalizeObservationState:
        """Perform the inner step and add the observation to the moments."""
        return self._observed(next_state(self.env, state.env_state, action, key), state.moments, key)

    def _observed(self, env_state: Any, moments: SharedMoments, key: jax.Array) -> NormalizeObservationState:
        observation = observe(self.env, env_state, self.extra_key(key))
        if self.update_running_mean:
            moments = moments.add(observation.reshape(-1).astype(float))
        return NormalizeObservationState(env_state=env_state, moments=moments, inner_observation=observation)

    def observation(self, state: NormalizeObservationState, key: jax.Array) -> Float[Array, "*shape"]:
        """Return the normalized observation."""
        del key
        raw = state.inner_observation
        normalized = state.moments.total.normalize(raw.reshape(-1).astype(float), None, _as_float(self.epsilon))
        return normalized.reshape(raw.shape).astype(np.float32)

    @property
    def observation_space(self) -> Box:
        """All float32 arrays of the shape of the inner observations."""
        return Box(-np.inf, np.inf, self.env.observation_space.shape, np.float32)

    @property
    def _size(self) -> int:
        return math.prod(self.env.observation_space.shape or ())


class NormalizeRewardState(PyTreeNode):
    """The inner state, the running moments of the discounted return, and the discounted return."""

    env_state: Any
    moments: SharedMoments
    discounted_return: Float[Array, ""]


class NormalizeReward(NormalizeWrapper[NormalizeRewardState, Action, Obs]):
    """Scales rewards so that the discounted return, summed from the start of the episode, has a variance of about 1.

    The moments are those of the discounted return after every step. They are in the state, and are carried on, shared
    and frozen as those of `NormalizeObservation`. The return begins at 0 in every episode; Gymnasium's single
    environment, but not its vector environment, carries it over the end of a truncated episode.

    Put it outside wrappers that change rewards and inside `Autoreset`. `EpisodeStatistics` inside it reports the
    rewards of the environment, outside it the scaled ones.

    Args:
        env: the environment.
        gamma: the discount factor, from 0 to 1. A parameter.
        epsilon: added to the variance; above 0. A parameter.
        moments: what to begin with; by default variance 1 with a weight of 0.0001 rewards. A parameter.
        update_running_mean: whether returns are added to the moments.

    Raises:
        ValueError: `gamma` is outside [0, 1], or `epsilon` is not above 0.

    >>> import funcenv
    >>> env = NormalizeReward(funcenv.make("CartPole-v1"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> for number in range(3):
    ...     state, timestep = env.step(state, 1, funcenv.key(number))
    >>> bool(0 < timestep.reward < 2)
    True
    """

    gamma: float = 0.99
    epsilon: float = 1e-8
    moments: RunningMoments | None = field(default=None, kw_only=True)
    update_running_mean: bool = field(pytree_node=False, default=True, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_probability(gamma=self.gamma)
        require_positive(epsilon=self.epsilon)

    def initial(self, key: jax.Array) -> NormalizeRewardState:
        """Return the first state, with the moments that the wrapper begins with."""
        return self._begun(first_state(self.env, key), self._first_moments(1))

    def initial_after(self, last: NormalizeRewardState, key: jax.Array) -> NormalizeRewardState:
        """Return the first state of the next episode, with the moments so far."""
        return self._begun(first_state(self.env, key, last.env_state), last.moments)

    def _begun(self, env_state: Any, moments: SharedMoments) -> NormalizeRewardState:
        return NormalizeRewardState(env_state=env_state, moments=moments, discounted_return=jnp.zeros((), float))

    def transition(self, state: NormalizeRewardState, action: Action, key: jax.Array) -> NormalizeRewardState:
        """Perform the inner step and add the discounted return to the moments."""
        env_state = next_state(self.env, state.env_state, action, key)
        reward = jnp.asarray(self.env.reward(state.env_state, action, env_state), float)
        # Gymnasium forgets the return at a termination, too.
        before = jnp.where(self.env.terminal(env_state), 0.0, state.discounted_return)
        discounted_return = _as_float(self.gamma) * before + reward
        moments = state.moments.add(discounted_return[None]) if self.update_running_mean else state.moments
        return NormalizeRewardState(env_state=env_state, moments=moments, discounted_return=discounted_return)

    def reward(self, state: NormalizeRewardState, action: Action, next_state: NormalizeRewardState) -> Float[Array, ""]:
        """Return the scaled reward."""
        reward = jnp.asarray(self.env.reward(state.env_state, action, next_state.env_state), float)
        return next_state.moments.total.scale(reward[None], None, _as_float(self.epsilon))[0]


def freeze_moments(env: AnyEnv, env_state: Any) -> AnyEnv:
    """Return the environment with the moments that a state has collected, which it does not update any more.

    The state is one of `env`, or a batch of them, as in `vstate.env_state`, whose moments are merged. Use the result
    for evaluation; `replace(update_running_mean=True)` updates again.

    Raises:
        ValueError: No layer of `env` normalizes.

    >>> import funcenv
    >>> env = NormalizeObservation(funcenv.make("CartPole-v1"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> frozen = freeze_moments(env, state)
    >>> frozen.update_running_mean, round(float(frozen.moments.count))
    (False, 1)
    """
    if not any(isinstance(layer, NormalizeWrapper) for layer in layers(env)):
        raise ValueError(f"no layer of {type(env).__name__} normalizes; wrap it in NormalizeObservation first")
    return _freeze(env, env_state)


def _freeze(env: AnyEnv, env_state: Any) -> AnyEnv:
    if not isinstance(env, Wrapper):
        return env
    changes: dict[str, Any] = {"env": _freeze(env.env, env.inner(env_state))}
    if isinstance(env, NormalizeWrapper):
        changes.update(moments=pool_moments(env_state.moments), update_running_mean=False)
    return env.replace(**changes)


def _as_float(parameter: Any) -> jax.Array:
    return jnp.asarray(parameter, float)
