"""The contract: an environment is six pure functions over an immutable state.

    initial(key)                        -> state          the first state of an episode
    transition(state, action, key)      -> next_state     the dynamics
    observation(state, key)             -> observation    what the agent observes
    reward(state, action, next_state)   -> reward         depends on its arguments only
    terminal(state)                     -> bool           the MDP ended here
    truncated(state)                    -> bool           the episode was stopped from outside the MDP

An environment defines these functions and its two spaces. `reset` and `step` are composed from them in this file, and
nowhere else. Everything works for one environment and one state; `jax.vmap` makes batches.

All other members have defaults. Here are `state_info` and `transition_info`, `initial_after` and `stateful_attributes`.
`funcenv/traits.py` has what programs ask of an environment, and `funcenv/drawable.py` what people see of it.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeAlias, TypeVar, final

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float

from funcenv.checks import Function, explain_calls, require_numeric, takes_numbers
from funcenv.drawable import Drawable
from funcenv.hints import OF_ENV, OF_TIMESTEP
from funcenv.random import require_typed_key
from funcenv.sharding import vary_over, varying_axes
from funcenv.spaces import Space
from funcenv.stateful import StatefulAttribute
from funcenv.struct import PyTreeNode, changed_fields, parameter_ndim, unknown_field_remedy
from funcenv.traits import Traits

if TYPE_CHECKING:  # a wrapper whose types cannot be inferred, because it changes them, has Any for them
    from typing_extensions import TypeVar as TypeVarWithDefault

    State = TypeVarWithDefault("State", default=Any)
    Action = TypeVarWithDefault("Action", default=Any)
    Obs = TypeVarWithDefault("Obs", default=Any)
else:
    State = TypeVar("State")
    Action = TypeVar("Action")
    Obs = TypeVar("Obs")


# Names that others give to the six functions, and what they are called here.
_OTHER_NAMES = {
    "initial": ("init", "initial_state", "reset_state"),
    "transition": ("dynamics", "next_state", "transit"),
    "observation": ("observe_state", "get_obs", "get_observation", "obs"),
    "reward": ("get_reward", "reward_function", "rewards"),
    "terminal": ("terminated", "is_terminal", "termination", "terminate", "done", "is_done"),
    "truncated": ("is_truncated", "truncation", "truncate", "truncates"),
}


def _explain_batches(function: Function) -> Function:
    """Return a method that adds a note to its errors if the environment is a batch of environments."""

    @functools.wraps(function)
    def call(self: AnyEnv, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(self, *args, **kwargs)
        except Exception as error:
            for path, leaf in jax.tree_util.tree_leaves_with_path(self):
                if np.ndim(leaf) > parameter_ndim(self, path):
                    name, size = jax.tree_util.keystr(path[-1:], simple=True), np.shape(leaf)[0]
                    error.add_note(
                        f"this environment is a batch of {size}, because its {name} has the shape {np.shape(leaf)}; "
                        f"step it with FuncVectorEnv(env, num_envs={size}), or map over it with jax.vmap"
                    )
                    break
            raise

    return call  # type: ignore[return-value]  # it has the signature of `function`


class Timestep(PyTreeNode, Generic[Obs]):
    """The time step that the agent receives from `reset` or `step`.

    Both return the same structure, shapes and dtypes, so that `jax.lax.scan` can carry a time step. After `reset` the
    reward is 0, both flags are False, and the entries of `info` that come from `transition_info` are zeros.
    """

    observation: Obs
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]  # the MDP reached a terminal state: the value of what follows is 0
    truncated: Bool[Array, ""]  # the episode was cut off, say by a time limit: bootstrap from the observation
    info: dict[str, Any]

    _names_elsewhere = OF_TIMESTEP

    if not TYPE_CHECKING:

        def __iter__(self) -> NoReturn:
            """Refuse to be unpacked as the five values of Gymnasium."""
            raise TypeError(
                "a Timestep has fields and cannot be unpacked: timestep.observation, timestep.reward, "
                "timestep.terminated, timestep.truncated, timestep.info"
            )

    @property
    def done(self) -> Bool[Array, ""]:
        """True if the episode ended here, for either reason."""
        return self.terminated | self.truncated


class FuncEnv(Traits, Drawable[State, Action], PyTreeNode, Generic[State, Action, Obs]):
    """An environment whose fields are its parameters.

    A subclass is a frozen dataclass and a pytree: `env.replace(gravity=1.6)` is another environment,
    `jax.vmap(lambda g: Env(gravity=g))(gs)` is a batch of them, and `jax.grad` with respect to `env` differentiates
    through the dynamics. Declare sizes, flags and other compile-time choices `funcenv.field(pytree_node=False)`.
    Derived values are properties, never fields.

    The state is a `PyTreeNode` of arrays whose shapes and dtypes never change. Randomness enters only through the keys
    of `initial`, `transition` and `observation`.

    The inherited members are optional: `Traits` declares what programs and checks ask, and `Drawable` what people see.

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

    _names_elsewhere = OF_ENV

    def __init_subclass__(cls, **kwargs: Any) -> None:
        kwargs.setdefault("repr", False)  # a dataclass's own shows every parameter, arrays of a model among them
        for name in ("reset", "step"):
            if name in cls.__dict__:
                raise TypeError(
                    f"{cls.__name__}.{name} must not be overridden: it is composed from initial, transition, "
                    "observation, reward, terminal and truncated; override those"
                )
        for name, others in _OTHER_NAMES.items():
            for other in others:
                if callable(cls.__dict__.get(other)) and getattr(cls, name) is getattr(FuncEnv, name):
                    raise TypeError(
                        f"{cls.__name__}.{other} is never called; name it {name}, or _{other} if it is a helper"
                    )
        super().__init_subclass__(**kwargs)
        _check_parameters(cls)

    def __repr__(self) -> str:
        """Return the class and the parameters that differ from their defaults, in one line."""
        return f"{type(self).__name__}({', '.join(changed_fields(self))})"

    @property
    def observation_space(self) -> Space[Obs]:
        """The space that contains every observation."""
        raise NotImplementedError(f"{type(self).__name__} must define the property observation_space")

    @property
    def action_space(self) -> Space[Action]:
        """The space of the actions that the dynamics are defined for."""
        raise NotImplementedError(f"{type(self).__name__} must define the property action_space")

    def initial(self, key: jax.Array) -> State:
        """Return the first state of an episode."""
        raise NotImplementedError(f"{type(self).__name__} must define initial(key)")

    def initial_after(self, last: State, key: jax.Array) -> State:
        """Return the first state of the episode that follows one with the state `last`; by default `initial(key)`.

        Override it, and the property `remembers`, to keep something from one episode to the next, as running moments.
        """
        del last
        return self.initial(key)

    def transition(self, state: State, action: Action, key: jax.Array) -> State:
        """Return the next state, with the structure, shapes and dtypes of the first one."""
        raise NotImplementedError(f"{type(self).__name__} must define transition(state, action, key)")

    def observation(self, state: State, key: jax.Array) -> Obs:
        """Return what the agent observes in a state, a member of `observation_space`."""
        raise NotImplementedError(f"{type(self).__name__} must define observation(state, key)")

    def reward(self, state: State, action: Action, next_state: State) -> Float[Array, ""]:
        """Return the reward of a transition. Draw a random reward in `transition` and keep it in the state."""
        raise NotImplementedError(f"{type(self).__name__} must define reward(state, action, next_state)")

    def terminal(self, state: State) -> Bool[Array, ""]:
        """Return whether the MDP ended in this state."""
        raise NotImplementedError(f"{type(self).__name__} must define terminal(state)")

    def truncated(self, state: State) -> Bool[Array, ""]:
        """Return whether the episode is stopped here from outside the MDP; never by default."""
        del state
        return jnp.zeros((), bool)

    def state_info(self, state: State) -> dict[str, Any]:
        """Return extra arrays about a state, by name, for `Timestep.info`; none by default."""
        del state
        return {}

    def transition_info(self, state: State, action: Action, next_state: State) -> dict[str, Any]:
        """Return extra arrays about a transition, by name, for `Timestep.info`; none by default."""
        del state, action, next_state
        return {}

    @property
    def stateful_attributes(self) -> dict[str, StatefulAttribute]:
        """The attributes that only stateful environments have, such as Gymnasium's `P` and `s`; none by default."""
        return {}

    @property
    def unwrapped(self) -> AnyEnv:
        """The environment inside all wrappers."""
        return self

    @final
    @_explain_batches
    @explain_calls(
        "reset takes a key: env.reset(funcenv.key(0)). The interface that takes a seed is funcenv.adapters.make(id)"
    )
    def reset(self, key: jax.Array, *, after: State | None = None) -> tuple[State, Timestep[Obs]]:
        """Start an episode.

        Args:
            key: a typed key.
            after: the last state of the episode before, from which wrappers such as `NormalizeObservation` keep what
                they remember. Other environments ignore it.

        Returns:
            The first state and its time step, with reward 0 and both flags False.

        Raises:
            TypeError: a legacy uint32 key.
        """
        initial_key, observation_key = split_call_key(key)
        state = first_state(self, initial_key, after)
        timestep = self._timestep_without_transition(state, observation_key)
        never = jnp.zeros((), bool)
        started = state, timestep.replace(terminated=never, truncated=never)
        return vary_over(varying_axes(self, key), started)

    @final
    @_explain_batches
    @explain_calls(
        "step takes a state, an action and a key: state, timestep = env.step(state, action, funcenv.key(1)). "
        "The interface that takes only an action is funcenv.adapters.make(id)"
    )
    def step(self, state: State, action: Action | ArrayLike, key: jax.Array) -> tuple[State, Timestep[Obs]]:
        """Perform one action.

        Nothing resets the environment when an episode ends; that is up to the caller. A step after the end is defined
        by the environment, which usually continues its dynamics.

        Args:
            state: a state that `reset` or `step` returned. It is not changed, so it can be stepped from again.
            action: a member of `action_space`.
            key: a typed key, a new one for every call.

        Returns:
            The next state and its time step.

        Raises:
            TypeError: a legacy uint32 key, a time step in place of the state, floats where the action space holds
                integers, or a flag that is not a bool.
            ValueError: an action of another shape than those of the action space; a reward or a flag that is not a
                scalar.
        """
        if isinstance(state, Timestep) or (
            isinstance(state, tuple) and any(isinstance(one, Timestep) for one in state)
        ):
            raise TypeError(f"step needs a state, got a {type(state).__name__}; {RESULT_ORDER}")
        if hasattr(type(state), "of_many"):
            raise TypeError(
                f"step needs the state of one environment, got a {type(state).__name__}; write "
                "venv.step(vstate, actions)"
            )
        if isinstance(state, jax.Array) and jnp.issubdtype(state.dtype, jax.dtypes.prng_key):
            raise TypeError("step needs a state first, got a key; write env.step(state, action, key)")
        transition_key, observation_key = split_call_key(key)
        self.action_space.require_kind(action)
        following = next_state(self, state, action, transition_key)
        stepped = following, outcome(self, state, action, following, observation_key)
        return vary_over(varying_axes(self, state, action, key), stepped)

    @final
    def observe(self, state: State, key: jax.Array) -> Timestep[Obs]:
        """Observe a state again, without a transition.

        Given a state and the key of the `reset` or `step` that returned it, the observation is the one of that call,
        bit for bit. The flags are those of the state. The reward and the entries of `transition_info` are 0.
        """
        _, observation_key = split_call_key(key)
        return self._timestep_without_transition(state, observation_key)

    def _timestep_without_transition(self, state: State, observation_key: jax.Array) -> Timestep[Obs]:
        reward, transition_info = placeholder_outcome(self, state)
        return Timestep(
            observation=observe(self, state, observation_key),
            reward=reward,
            terminated=_flag(self, "terminal", self.terminal(state)),
            truncated=_flag(self, "truncated", self.truncated(state)),
            info={**transition_info, **_strip_weak_types(self.state_info(state))},
        )


AnyEnv: TypeAlias = FuncEnv[Any, Any, Any]


def _check_parameters(cls: type[AnyEnv]) -> None:
    """Let the constructor refuse text and containers where a parameter is a number or an array.

    JAX rebuilds environments without the constructor, so the check sees only what users pass, to it or to `replace`.
    """
    construct, entries = cls.__init__, dataclasses.fields(cls)
    names = [entry.name for entry in entries]
    numeric = {entry.name: entry for entry in entries if takes_numbers(entry)}

    @functools.wraps(construct)
    def checked(self: AnyEnv, *args: Any, **kwargs: Any) -> None:
        for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
            if name in numeric:
                require_numeric(cls.__name__, numeric[name], value)
        try:
            construct(self, *args, **kwargs)
        except TypeError as error:
            unknown = next((name for name in kwargs if name not in names), None)
            if unknown is None or "unexpected keyword argument" not in str(error):
                raise
            remedy = unknown_field_remedy(cls, unknown, f"it has: {', '.join(names) or 'none'}")
            message = f"{cls.__name__} got an unexpected keyword argument {unknown!r}; {remedy}"
            raise TypeError(message) from None

    cls.__init__ = checked  # type: ignore[method-assign, assignment]  # with the same signature


def require_env(what: str, env: Any) -> None:
    """Raise `TypeError` unless `env` is an environment; `what` takes it.

    >>> require_env("record", "CartPole-v1")
    Traceback (most recent call last):
        ...
    TypeError: record takes a FuncEnv, got 'CartPole-v1'; build it first, as in funcenv.make('CartPole-v1')
    """
    if isinstance(env, FuncEnv):
        return
    shown, remedy = repr(env), "build it first, as in funcenv.make(id)"
    if isinstance(env, str):
        remedy = f"build it first, as in funcenv.make({shown})"
    elif isinstance(env, type):
        shown, remedy = env.__name__, f"build it first, as in {env.__name__}()"
    elif hasattr(env, "get_wrapper_attr"):
        remedy = "pass the functional environment inside, env.get_wrapper_attr('func_env')"
    elif isinstance(env, PyTreeNode):
        shown, remedy = type(env).__name__, "pass the one environment, such as venv.env"
    raise TypeError(f"{what} takes a FuncEnv, got {shown}; {remedy}")


RESULT_ORDER = "reset and step return the state first: state, timestep = env.reset(key)"


def first_state(env: AnyEnv, key: jax.Array, last: Any = None) -> Any:
    """Return `env.initial(key)`, strongly typed as `reset` returns it; wrappers that store results call this.

    With the last state of the episode before, it is `env.initial_after(last, key)` if `env.remembers`.
    """
    remembers = last is not None and env.remembers
    return _strip_weak_types(env.initial_after(last, key) if remembers else env.initial(key))


def next_state(env: AnyEnv, state: Any, action: Any, key: jax.Array) -> Any:
    """Return `env.transition(state, action, key)`, strongly typed as `step` returns it."""
    return _strip_weak_types(env.transition(state, action, key))


def observe(env: AnyEnv, state: Any, key: jax.Array) -> Any:
    """Return `env.observation(state, key)`, strongly typed as in a time step."""
    return _strip_weak_types(env.observation(state, key))


def outcome(env: AnyEnv, state: Any, action: Any, next_state: Any, observation_key: jax.Array) -> Timestep[Any]:
    """Return the time step of a transition.

    >>> import funcenv
    >>> env, key = funcenv.make("CartPole-v1"), funcenv.key(0)
    >>> state = first_state(env, key)
    >>> float(outcome(env, state, 1, next_state(env, state, 1, key), key).reward)
    1.0
    """
    reward, terminated, truncated = reward_and_flags(env, state, action, next_state)
    return Timestep(
        observation=observe(env, next_state, observation_key),
        reward=reward,
        terminated=terminated,
        truncated=truncated,
        info=_strip_weak_types({**env.transition_info(state, action, next_state), **env.state_info(next_state)}),
    )


def reward_and_flags(env: AnyEnv, state: Any, action: Any, next_state: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the reward of a transition, and whether the episode is terminated and truncated after it."""
    reward = _scalar(env, "reward", env.reward(state, action, next_state))
    terminated = _flag(env, "terminal", env.terminal(next_state))
    return reward, terminated, _flag(env, "truncated", env.truncated(next_state))


def placeholder_outcome(env: AnyEnv, state: Any) -> tuple[jax.Array, dict[str, Any]]:
    """Return reward 0 and zeros for `transition_info`, which are reported where there was no transition.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> placeholder_outcome(env, env.initial(funcenv.key(0)))
    (Array(0., dtype=float32), {})
    """

    def paid(state: Any, action: Any) -> Any:
        return _strip_weak_types((env.reward(state, action, state), env.transition_info(state, action, state)))

    action = jax.eval_shape(lambda: env.action_space.sample(jax.random.key(0)))
    shapes = jax.eval_shape(paid, state, action)
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)


def reward_bounds(*rewards: Any) -> tuple[float, float]:
    """Return the lowest and the highest of some rewards, which may be arrays where parameters are batched.

    >>> reward_bounds(-1.0, jnp.array([20.0, 10.0]))
    (-1.0, 20.0)
    """
    return min(float(np.min(reward)) for reward in rewards), max(float(np.max(reward)) for reward in rewards)


def _scalar(env: AnyEnv, name: str, value: Any) -> jax.Array:
    array: jax.Array = _strip_weak_types(value)
    if array.shape != ():
        raise ValueError(
            f"{type(env).__name__}.{name} must return a scalar, got shape {array.shape}; index or sum it, or map step "
            "over a batch of states, with jax.vmap or a FuncVectorEnv"
        )
    return array


def _flag(env: AnyEnv, name: str, value: Any) -> jax.Array:
    array = _scalar(env, name, value)
    if array.dtype != bool:
        raise TypeError(
            f"{type(env).__name__}.{name} must return a bool, got {array.dtype}; return a comparison such as x > limit"
        )
    return array


def split_call_key(key: jax.Array) -> jax.Array:
    """Split the key of one call: one for the state (`initial` or `transition`), one for `observation`."""
    require_typed_key(key)
    return jax.random.split(key)


def _strip_weak_types(tree: Any) -> Any:
    """Convert Python scalars and weakly typed leaves to strongly typed arrays, so that every state has equal types."""

    def strip(leaf: Any) -> jax.Array:
        array = leaf if isinstance(leaf, jax.Array) else jnp.asarray(leaf)
        return jax.lax.convert_element_type(array, array.dtype) if array.weak_type else array

    return jax.tree.map(strip, tree)
