"""The contract: an environment is six pure functions over an immutable state.

    initial(key)                        -> state          the first state of an episode
    transition(state, action, key)      -> next_state     the dynamics
    observation(state, key)             -> observation    what the agent sees
    reward(state, action, next_state)   -> reward         a function of its arguments alone
    terminal(state)                     -> bool           the MDP ended here
    truncated(state)                    -> bool           stopped from outside the MDP

`reset` and `step` are composed from these, here and nowhere else.
"""

from __future__ import annotations

import math
from typing import Any, Generic, TypeAlias, TypeVar, final

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from funcenv.random import require_typed_key
from funcenv.scene import Scene
from funcenv.spaces import Space
from funcenv.struct import PyTreeNode

State = TypeVar("State")
Action = TypeVar("Action")
Obs = TypeVar("Obs")


class Timestep(PyTreeNode, Generic[Obs]):
    """What an agent is told after `reset` or `step`.

    The two give the same structure, shapes and dtypes, so a time step can be carried through `jax.lax.scan`. After
    `reset` the reward is 0, both flags are False, and the keys that `transition_info` adds hold zeros.
    """

    observation: Obs
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]  # the MDP reached a terminal state: the value of what follows is 0
    truncated: Bool[Array, ""]  # the episode was cut off, say by a time limit: bootstrap from the observation
    info: dict[str, Any]

    @property
    def done(self) -> Bool[Array, ""]:
        """The episode ended here, for either reason."""
        return self.terminated | self.truncated


class FuncEnv(PyTreeNode, Generic[State, Action, Obs]):
    """An environment whose parameters are its fields.

    A subclass is a frozen dataclass and a pytree: `env.replace(gravity=1.6)` is another environment,
    `jax.vmap(lambda g: Env(gravity=g))(gs)` is a batch of them, and `jax.grad` with respect to `env` differentiates
    through the dynamics. Mark sizes, flags and other compile-time choices with `funcenv.field(pytree_node=False)`.
    Derived values are properties, never fields.

    The state is a `PyTreeNode` of arrays whose shapes and dtypes never change. Randomness enters through the explicit
    keys of `initial`, `transition` and `observation` only.

    >>> import funcenv
    >>> class Walk(FuncEnv[jax.Array, jax.Array, jax.Array]):
    ...     goal: int = 3
    ...     @property
    ...     def observation_space(self): return funcenv.spaces.Box(-jnp.inf, jnp.inf, ())
    ...     @property
    ...     def action_space(self): return funcenv.spaces.Discrete(2)
    ...     def initial(self, key): return jnp.float32(0)
    ...     def transition(self, state, action, key): return state + jnp.where(action == 1, 1.0, -1.0)
    ...     def observation(self, state, key): return state
    ...     def reward(self, state, action, next_state): return -1.0
    ...     def terminal(self, state): return state >= self.goal
    >>> env = Walk(goal=1)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> state, timestep = env.step(state, jnp.int32(1), funcenv.key(1))
    >>> float(timestep.reward), bool(timestep.terminated), bool(timestep.truncated)
    (-1.0, True, False)
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        for name in ("reset", "step"):
            if name in cls.__dict__:
                raise TypeError(
                    f"{cls.__name__}.{name} must not be overridden: it is composed from initial, transition, "
                    "observation, reward, terminal and truncated; override those"
                )
        super().__init_subclass__(**kwargs)

    @property
    def observation_space(self) -> Space[Obs]:
        """The set that every observation lies in."""
        raise NotImplementedError(f"{type(self).__name__} must define the property observation_space")

    @property
    def action_space(self) -> Space[Action]:
        """The set of actions that the dynamics are defined for."""
        raise NotImplementedError(f"{type(self).__name__} must define the property action_space")

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the greatest reward of a step of an episode, for actions in the space; unbounded by default.

        Read on the host, from concrete parameters; for a batch of environments the loosest bounds. They are those of
        exact arithmetic: a computed reward may lie beyond by a rounding error.
        """
        return -math.inf, math.inf

    @property
    def unwrapped(self) -> FuncEnv[Any, Any, Any]:
        """The environment beneath every wrapper: this one."""
        return self

    @property
    def fixed_start(self) -> bool:
        """Whether every episode is meant to start alike, so that `initial` may ignore its key; False by default.

        For `check_func_env`; a class attribute `fixed_start = True` says the same.
        """
        return False

    @property
    def differentiable(self) -> bool | None:
        """Whether a step has finite gradients: promised (True), denied (False), or not said (None, the default).

        For `check_func_env`; a class attribute `differentiable = False` says the same.
        """
        return None

    @property
    def render_fps(self) -> float:
        """How many steps a second a window or a video shows; 30 by default. A class attribute says the same."""
        return 30

    def initial(self, key: jax.Array) -> State:
        """The first state of an episode."""
        raise NotImplementedError(f"{type(self).__name__} must define initial(key)")

    def transition(self, state: State, action: Action, key: jax.Array) -> State:
        """The state that follows."""
        raise NotImplementedError(f"{type(self).__name__} must define transition(state, action, key)")

    def observation(self, state: State, key: jax.Array) -> Obs:
        """What the agent sees of a state."""
        raise NotImplementedError(f"{type(self).__name__} must define observation(state, key)")

    def reward(self, state: State, action: Action, next_state: State) -> Float[Array, ""]:
        """The reward of a transition; a random one is drawn in `transition` and kept in the state."""
        raise NotImplementedError(f"{type(self).__name__} must define reward(state, action, next_state)")

    def terminal(self, state: State) -> Bool[Array, ""]:
        """Whether the MDP ended here."""
        raise NotImplementedError(f"{type(self).__name__} must define terminal(state)")

    def truncated(self, state: State) -> Bool[Array, ""]:
        """Whether the episode is stopped here from outside the MDP; never, unless overridden."""
        del state
        return jnp.zeros((), bool)

    def state_info(self, state: State) -> dict[str, Any]:
        """Extra facts about a state, for `Timestep.info`."""
        del state
        return {}

    def transition_info(self, state: State, action: Action, next_state: State) -> dict[str, Any]:
        """Extra facts about a transition, for `Timestep.info`."""
        del state, action, next_state
        return {}

    def scene(self, state: State) -> Scene:
        """A picture of the state: the same number of shapes whatever the state, so that it traces and batches."""
        del state
        raise NotImplementedError(f"{type(self).__name__} draws nothing: define scene(state) to give it a picture")

    def text(self, state: State, action: Action | None = None) -> str:
        """The state in a terminal, for environments that are told in characters better than in a picture.

        Unlike all else here it runs on the host, never traced: `state` holds numpy arrays. `action` is the one that led
        here, None after `reset`.
        """
        del state, action
        raise NotImplementedError(f"{type(self).__name__} has no text: define text(state, action) to give it one")

    @final
    def reset(self, key: jax.Array) -> tuple[State, Timestep[Obs]]:
        """Start an episode.

        Args:
            key: a typed key; legacy uint32 keys raise `TypeError`.

        Returns:
            The first state and its time step (reward 0, not ended).
        """
        initial_key, observation_key = _split_call_key(key)
        state = _strip_weak_types(self.initial(initial_key))
        timestep = self._timestep_without_transition(state, observation_key)
        never = jnp.zeros((), bool)
        return state, timestep.replace(terminated=never, truncated=never)

    @final
    def step(self, state: State, action: Action, key: jax.Array) -> tuple[State, Timestep[Obs]]:
        """Play one action.

        Args:
            state: from `reset` or an earlier `step`; it is not changed, so it can be stepped from again.
            action: a member of `action_space`.
            key: a typed key, a fresh one for every call.

        Returns:
            The next state and its time step. What follows the end of an episode is defined by the environment, usually
            more of the same dynamics: resetting is the caller's choice.

        Raises:
            TypeError: a legacy key, or a flag that is not a bool.
            ValueError: a reward or a flag that is not a scalar.
        """
        transition_key, observation_key = _split_call_key(key)
        next_state = _strip_weak_types(self.transition(state, action, transition_key))
        timestep = Timestep(
            observation=_strip_weak_types(self.observation(next_state, observation_key)),
            reward=self._scalar("reward", self.reward(state, action, next_state)),
            terminated=self._flag("terminal", self.terminal(next_state)),
            truncated=self._flag("truncated", self.truncated(next_state)),
            info=_strip_weak_types({**self.transition_info(state, action, next_state), **self.state_info(next_state)}),
        )
        return next_state, timestep

    @final
    def observe(self, state: State, key: jax.Array) -> Timestep[Obs]:
        """The time step of a state without a transition, with the observation that the call with this key gave.

        `reset` and `step` draw the observation with a part of their key. Given the same key and the state they
        returned, `look` draws it again, bit for bit. The reward and the keys of `transition_info` are 0, as after
        `reset`; the flags are those of the state.
        """
        return self._timestep_without_transition(state, _split_call_key(key)[1])

    def _timestep_without_transition(self, state: State, observation_key: jax.Array) -> Timestep[Obs]:
        action = jax.eval_shape(self.action_space.sample, observation_key)
        reward, transition_info = jax.eval_shape(
            lambda state, action: _strip_weak_types(
                (self.reward(state, action, state), self.transition_info(state, action, state))
            ),
            state,
            action,
        )
        nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), transition_info)
        return Timestep(
            observation=_strip_weak_types(self.observation(state, observation_key)),
            reward=jnp.zeros(reward.shape, reward.dtype),
            terminated=self._flag("terminal", self.terminal(state)),
            truncated=self._flag("truncated", self.truncated(state)),
            info={**nothing, **_strip_weak_types(self.state_info(state))},
        )

    def _scalar(self, name: str, value: Any) -> jax.Array:
        array: jax.Array = _strip_weak_types(value)
        if array.shape != ():
            raise ValueError(
                f"{type(self).__name__}.{name} must return a scalar, got shape {array.shape}; index or sum it"
            )
        return array

    def _flag(self, name: str, value: Any) -> jax.Array:
        array = self._scalar(name, value)
        if array.dtype != bool:
            raise TypeError(
                f"{type(self).__name__}.{name} must return a bool, got {array.dtype}; "
                "return a comparison such as x > limit"
            )
        return array


AnyEnv: TypeAlias = FuncEnv[Any, Any, Any]


def reward_bounds(*rewards: Any) -> tuple[float, float]:
    """The least and the greatest of some numbers, or arrays of them where parameters are batched: a `reward_range`.

    >>> reward_bounds(-1.0, jnp.array([20.0, 10.0]))
    (-1.0, 20.0)
    """
    return min(float(np.min(reward)) for reward in rewards), max(float(np.max(reward)) for reward in rewards)


def _split_call_key(key: jax.Array) -> jax.Array:
    """The two keys of one call: for the state (`initial` or `transition`) and for `observation`."""
    require_typed_key(key)
    return jax.random.split(key)


def _strip_weak_types(tree: Any) -> Any:
    """Python scalars become arrays and weak types strong ones, so that a state has the same type after every step."""
    return jax.tree.map(_strong_leaf, tree)


def _strong_leaf(leaf: Any) -> jax.Array:
    array = leaf if isinstance(leaf, jax.Array) else jnp.asarray(leaf)
    return jax.lax.convert_element_type(array, array.dtype) if array.weak_type else array
