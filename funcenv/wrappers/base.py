"""The base classes of wrappers: environments around environments."""

from __future__ import annotations

import copy
import dataclasses
import difflib
import math
import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import numpy as np
from jaxtyping import Array, Bool, Float

from funcenv.func_env import Action, AnyEnv, FuncEnv, Obs, State
from funcenv.spaces import Space
from funcenv.struct import NDArray

if TYPE_CHECKING:
    from funcenv.scene import Scene

_EXTRA_KEYS = 2**31  # beyond the numbers of draws and splits, which coincide with `fold_in` in JAX's generators


class Wrapper(FuncEnv[State, Action, Obs]):
    """An environment that forwards every function to the environment inside; a subclass overrides what it changes.

    A `Wrapper` has no state of its own and passes the inner state through; see `StatefulWrapper` for one that has.
    A subclass that checks its arguments in `__post_init__` calls `super().__post_init__()` first.

    Parameters and other public attributes of the layers inside can be read and replaced from outside: `env.gravity` and
    `env.replace(gravity=1.6)` work on a wrapped `CartPole`. If several layers have the name, the outermost counts;
    `env.unwrapped` is the innermost layer. A method that is found inside takes the states of its own layer.

    Raises:
        TypeError: `env` is not a `FuncEnv`.
        ValueError: The wrapper has a state, and `env` contains a wrapper that starts new episodes (`Autoreset`).

    >>> import funcenv
    >>> class HalfReward(Wrapper):
    ...     def reward(self, state, action, next_state):
    ...         return 0.5 * self.env.reward(self.inner(state), action, self.inner(next_state))
    >>> env = HalfReward(funcenv.make("CartPole-v1"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> float(env.step(state, 1, funcenv.key(1))[1].reward)
    0.5
    >>> env.replace(gravity=1.6).gravity
    1.6
    """

    env: AnyEnv

    resets_itself: ClassVar[bool] = False  # true if `transition` may start a new episode

    def __post_init__(self) -> None:
        name = type(self).__name__
        if isinstance(self.env, type):
            raise TypeError(f"{name} wraps an environment, got the class {self.env.__name__}: call it first")
        if not isinstance(self.env, FuncEnv):
            raise TypeError(
                f"{name} wraps a FuncEnv, such as funcenv.make gives, got {type(self.env).__name__}; "
                f"{_remedy(name, self.env)}"
            )
        if type(self).inner is Wrapper.inner:
            return
        if (layer := resetting_layer(self.env)) is not None:
            other = type(layer).__name__
            raise ValueError(
                f"{name} keeps a state for each episode and does not see where {other} begins a new one; "
                f"put {other} outside of it: {other}({name}(env, ...))"
            )

    def __getattr__(self, name: str) -> Any:
        """Return a public attribute of the outermost layer inside that has it."""
        if hasattr(type(self), name):
            return object.__getattribute__(
                self, name
            )  # A property of this layer failed; its own error is the right one.
        env = vars(self).get("env")  # missing while pickle or copy rebuilds the wrapper, a placeholder inside JAX
        layer = layer_with(env, name) if isinstance(env, FuncEnv) and not name.startswith("_") else None
        if layer is None:
            hint = self._names_elsewhere.get(name)
            guess = f"; {hint}" if hint else _suggestion(name, dir(self), beginning="; ")
            raise AttributeError(f"no layer of {type(self).__name__} has {name!r}{guess}")
        return getattr(layer, name)

    def __dir__(self) -> list[str]:
        inside = dir(vars(self).get("env"))
        return sorted({*super().__dir__(), *(name for name in inside if not name.startswith("_"))})

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, each in the outermost layer that has it.

        Raises:
            TypeError: No layer has a field with one of the names.

        >>> import funcenv
        >>> env = funcenv.make("CartPole-v1").replace(gravity=1.6, max_episode_steps=100)
        >>> env.unwrapped.gravity, env.max_episode_steps
        (1.6, 100)
        >>> env.replace(gravty=9.8)
        Traceback (most recent call last):
            ...
        TypeError: no layer of TimeLimit has a field 'gravty'; did you mean 'gravity'? TimeLimit has env,
            max_episode_steps; CartPole has gravity, masscart, ...
        """
        fields = {type(layer).__name__: [entry.name for entry in dataclasses.fields(layer)] for layer in layers(self)}
        known = {name for names in fields.values() for name in names}
        for name in changes:
            if name not in known:
                lists = "; ".join(f"{layer} has {', '.join(names) or 'none'}" for layer, names in fields.items())
                guess = _suggestion(name, known, ending="? ")
                raise TypeError(f"no layer of {type(self).__name__} has a field {name!r}; {guess}{lists}")
        own = {entry.name for entry in dataclasses.fields(self)}
        inside = {name: value for name, value in changes.items() if name not in own}
        changes = {name: value for name, value in changes.items() if name in own}
        if inside:
            changes["env"] = changes.get("env", self.env).replace(**inside)
        return super().replace(**changes)

    def inner(self, state: Any) -> Any:
        """Return the state of the environment inside."""
        return state

    def inner_env(self, state: Any) -> AnyEnv:
        """Return the environment inside, which a subclass may let depend on the state."""
        del state
        return self.env

    def extra_key(self, key: jax.Array) -> jax.Array:
        """Return a key for what this wrapper draws, so that `key` itself can go on to the environment inside.

        A wrapper that passes on the keys of `initial` and `transition` leaves the episode of a seed as it is. The
        extra key depends on the name of this class and on how many layers of the class are inside. It differs from the
        extra keys of other layers, and does not change when other wrappers are added.
        """
        kind = self._kind()
        twins = sum(isinstance(layer, Wrapper) and layer._kind() is kind for layer in layers(self.env))
        number = zlib.crc32(f"{kind.__name__} {twins}".encode())
        return jax.random.fold_in(key, np.uint32(number | _EXTRA_KEYS))

    def _kind(self) -> type:
        """Return the class that names the extra keys."""
        return type(self)

    @property
    def observation_space(self) -> Space[Obs]:
        """The space that contains every observation."""
        return self.env.observation_space

    @property
    def action_space(self) -> Space[Action]:
        """The space of the actions that the dynamics are defined for."""
        return self.env.action_space

    @property
    def reward_range(self) -> tuple[float, float]:
        """The lowest and the highest reward; unbounded for a subclass that overrides `reward` but not this."""
        if type(self).reward is not Wrapper.reward:
            return -math.inf, math.inf
        return self.env.reward_range

    @property
    def unwrapped(self) -> AnyEnv:
        """The environment inside all wrappers."""
        return self.env.unwrapped

    @property
    def fixed_start(self) -> bool:
        """True if every episode of the wrapped environment is meant to start alike."""
        return self.env.fixed_start

    @property
    def differentiable(self) -> bool | None:
        """True if a step of the wrapped environment is meant to have finite gradients, None if it does not say."""
        return self.env.differentiable

    @property
    def calls_host(self) -> bool:
        """True if a step of the wrapped environment calls a simulator on the host."""
        return self.env.calls_host

    @property
    def remembers(self) -> bool:
        """True if an episode of the wrapped environment depends on the one before it."""
        return self.env.remembers

    @property
    def noise_bounds(self) -> tuple[float, ...] | None:
        """Those of the wrapped environment, for this class alone; a subclass declares its own."""
        return self.env.noise_bounds

    @property
    def render_fps(self) -> float:
        """The number of steps a second that a window or a video shows."""
        return self.env.render_fps

    @property
    def action_names(self) -> tuple[str, ...]:
        """Effect of each action; empty for a subclass that overrides `action_space` but not this."""
        return self.env.action_names if type(self).action_space is Wrapper.action_space else ()

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the keys of the actions; none for a subclass that overrides `action_space` but not this."""
        return self.env.get_keys_to_action() if type(self).action_space is Wrapper.action_space else {}

    def initial(self, key: jax.Array) -> State:
        """Return the first state of an episode."""
        return self.env.initial(key)

    def initial_after(self, last: State, key: jax.Array) -> State:
        """Return the first state of the next episode: `initial(key)`, for which the environment inside remembers."""
        following = copy.copy(self)
        object.__setattr__(following, "env", _Following(self.env, self.inner(last)))
        return following.initial(key)

    def transition(self, state: State, action: Action, key: jax.Array) -> State:
        """Return the next state."""
        return self.inner_env(state).transition(self.inner(state), action, key)

    def observation(self, state: State, key: jax.Array) -> Obs:
        """Return what the agent observes in a state."""
        return self.inner_env(state).observation(self.inner(state), key)

    def reward(self, state: State, action: Action, next_state: State) -> Float[Array, ""]:
        """Return the reward of a transition."""
        return self.inner_env(state).reward(self.inner(state), action, self.inner(next_state))

    def terminal(self, state: State) -> Bool[Array, ""]:
        """Return whether the MDP ended in this state."""
        return self.inner_env(state).terminal(self.inner(state))

    def truncated(self, state: State) -> Bool[Array, ""]:
        """Return whether the episode is stopped here from outside the MDP."""
        return self.inner_env(state).truncated(self.inner(state))

    def state_info(self, state: State) -> dict[str, Any]:
        """Return extra arrays about a state, by name."""
        return self.inner_env(state).state_info(self.inner(state))

    def transition_info(self, state: State, action: Action, next_state: State) -> dict[str, Any]:
        """Return extra arrays about a transition, by name."""
        return self.inner_env(state).transition_info(self.inner(state), action, self.inner(next_state))

    def scene(self, state: State) -> Scene:
        """Return a drawing of the state."""
        return self.inner_env(state).scene(self.inner(state))

    def host_image(self, state: State, size: tuple[int, int]) -> NDArray | None:
        """Return an image that a library draws in place of the scene, or None for the scene."""
        return self.inner_env(state).host_image(self.inner(state), size)

    def host_rgbd(self, state: State, size: tuple[int, int]) -> tuple[NDArray, NDArray]:
        """Return `host_image` and the depth of its pixels, where `draws_depth` is true."""
        return self.inner_env(state).host_rgbd(self.inner(state), size)

    @property
    def draws_images(self) -> bool:
        """True if `host_image` draws every state, although there is no scene."""
        return self.env.draws_images

    @property
    def draws_depth(self) -> bool:
        """True if a library draws the images, and `host_rgbd` returns them with their depth."""
        return self.env.draws_depth

    @property
    def why_undrawn(self) -> str:
        """The reason why there are no images, with the remedy, for messages."""
        return self.env.why_undrawn

    @property
    def image_size(self) -> tuple[int, int] | None:
        """Height and width of images for which no size is asked; None if they follow from the scene."""
        return self.env.image_size

    def text(self, state: State, action: Action | None = None) -> str:
        """Return a text rendering of the state for a terminal."""
        return self.inner_env(state).text(self.inner(state), action)


class _Following(Wrapper[State, Action, Obs]):
    """An environment whose first state follows a given last one."""

    last: Any

    def initial(self, key: jax.Array) -> State:
        return self.env.initial_after(self.last, key)


class StatefulWrapper(Wrapper[State, Action, Obs]):
    """A wrapper with a state of its own, whose field `env_state` is the state of the environment inside.

    A subclass declares the state's class, and builds states in `initial` and `transition`. It goes inside `Autoreset`.

    >>> import funcenv, jax.numpy as jnp
    >>> class CountState(funcenv.struct.PyTreeNode):
    ...     env_state: Any
    ...     count: jax.Array
    >>> class Count(StatefulWrapper):
    ...     def initial(self, key):
    ...         return CountState(self.env.initial(key), jnp.int32(0))
    ...     def transition(self, state, action, key):
    ...         return CountState(self.env.transition(state.env_state, action, key), state.count + 1)
    >>> env = Count(funcenv.make("CartPole-v1"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> int(env.step(state, 1, funcenv.key(1))[0].count)
    1
    """

    def inner(self, state: Any) -> Any:
        """Return the state of the environment inside."""
        return state.env_state


def layers(env: AnyEnv) -> Iterator[AnyEnv]:
    """Yield the environment, the one it wraps, and so on to the innermost.

    >>> import funcenv
    >>> [type(layer).__name__ for layer in layers(funcenv.make("CartPole-v1"))]
    ['TimeLimit', 'CartPole']
    """
    yield env
    while isinstance(env, Wrapper):
        env = env.env
        yield env


def layer_with(env: AnyEnv, name: str) -> AnyEnv | None:
    """Return the outermost layer that has an attribute of its own, or None if there is none.

    >>> import funcenv
    >>> type(layer_with(funcenv.make("CartPole-v1"), "gravity")).__name__
    'CartPole'
    """
    return next((layer for layer in layers(env) if name in vars(layer) or hasattr(type(layer), name)), None)


def resetting_layer(env: AnyEnv) -> AnyEnv | None:
    """Return the outermost layer that begins new episodes by itself, or None if there is none.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> resetting_layer(env), type(resetting_layer(funcenv.wrappers.Autoreset(env))).__name__
    (None, 'Autoreset')
    """
    return next((layer for layer in layers(env) if isinstance(layer, Wrapper) and layer.resets_itself), None)


def _remedy(name: str, env: Any) -> str:
    """Return what to do about an environment that is not functional."""
    if hasattr(env, "func_env") and not hasattr(env, "num_envs"):
        inside = f"adapters.FunctionalEnv({name}(env.func_env, ...))"
        return f"wrap the functional environment inside it: {inside}, or see funcenv.adapters.wrappers"
    if hasattr(env, "render_mode") and not hasattr(env, "num_envs"):
        return "around a stateful environment that is written by hand goes a class of funcenv.adapters.wrappers"
    return "a vector environment is built last, around the wrapped one"


def _suggestion(name: str, known: Iterable[str], beginning: str = "", ending: str = "?") -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"{beginning}did you mean {close[0]!r}{ending}" if close else ""
