"""The spaces of a wrapped environment: reading them at construction, and fields that default to them.

At construction the environment may be a batch, which has no single space; its first environment then stands for all.
Its parameters may also be traced; shapes and dtypes are known then, but bounds are not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np

from funcenv._jax import kinds, uses_64_bits
from funcenv.func_env import AnyEnv, first_state
from funcenv.random import default_impl
from funcenv.random import key as new_key
from funcenv.spaces import Box
from funcenv.spaces.space import AnySpace
from funcenv.struct import parameter_ndim

Env = TypeVar("Env", bound=AnyEnv)


def first_env(env: Env) -> Env:
    """Return the first environment of a batch, or a single environment unchanged.

    >>> import jax.numpy as jnp
    >>> from funcenv.envs import Pendulum
    >>> first_env(Pendulum(max_torque=jnp.array([1.0, 2.0]))).action_space
    Box(-1.0, 1.0, (1,), float32)
    """

    def first(path: tuple[Any, ...], leaf: Any) -> Any:
        if np.ndim(leaf) <= parameter_ndim(env, path):
            return leaf
        return leaf[0] if isinstance(leaf, jax.core.Tracer) else np.asarray(leaf)[0]

    return jax.tree_util.tree_map_with_path(first, env)


def info_shapes(env: AnyEnv) -> dict[str, Any]:
    """Return what `state_info` holds, as shapes and dtypes.

    >>> import funcenv
    >>> {name: leaf.shape for name, leaf in info_shapes(funcenv.make("Taxi-v4")).items()}
    {'action_mask': (6,), 'prob': ()}
    """
    return dict(_shapes_of(_first_info, env))


def state_shapes(env: AnyEnv) -> Any:
    """Return a state, as shapes and dtypes.

    >>> import funcenv
    >>> state_shapes(funcenv.make("CartPole-v1")).elapsed_steps
    ShapeDtypeStruct(shape=(), dtype=int32)
    """
    return _shapes_of(first_state, env)


def _first_info(env: AnyEnv, key: jax.Array) -> dict[str, Any]:
    return env.state_info(env.initial(key))


def _shapes_of(function: Callable[[AnyEnv, jax.Array], Any], env: AnyEnv) -> Any:
    """Return the shapes and dtypes of what a function returns for an environment, traced once for each kind of it."""
    return _traced_shapes(function, (default_impl(), uses_64_bits()), *kinds(first_env(env)))


@functools.lru_cache(maxsize=256)
def _traced_shapes(
    function: Callable[[AnyEnv, jax.Array], Any], settings: Any, structure: Any, *parameters: Any
) -> Any:
    del settings  # they only keep apart what differs in its dtypes
    return jax.eval_shape(lambda env: function(env, new_key(0)), jax.tree.unflatten(structure, parameters))


def require_lives(env: AnyEnv) -> None:
    """Raise `ValueError` unless `info` counts lives, which `terminal_on_life_loss` needs."""
    info = info_shapes(env)
    if "lives" not in info:
        raise ValueError(
            f"terminal_on_life_loss needs an entry 'lives' in info, and {type(env.unwrapped).__name__} has "
            f"{sorted(info)}; leave it out"
        )


def array_space(array: Any) -> Box:
    """Return a `Box` for an array, with the bounds of its dtype.

    >>> array_space(jax.ShapeDtypeStruct((2,), np.float32)), array_space(jax.ShapeDtypeStruct((), bool))
    (Box(-inf, inf, (2,), float32), Box(False, True, (), bool))
    """
    dtype = np.dtype(array.dtype)
    if dtype == np.bool_:
        return Box(False, True, array.shape, dtype)
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return Box(limits.min, limits.max, array.shape, dtype)
    return Box(-np.inf, np.inf, array.shape, dtype)


def require_box(wrapper: Any, name: str, env: Any = None) -> Box:
    """Return the space with this name of `env`, by default the environment inside a wrapper; it must be a `Box`.

    >>> import funcenv
    >>> require_box(funcenv.Wrapper(funcenv.make("CartPole-v1")), "action_space")
    Traceback (most recent call last):
        ...
    TypeError: Wrapper needs an environment whose action_space is a Box, got Discrete(2)
    """
    space = getattr(wrapper.env if env is None else env, name)
    if not isinstance(space, Box):
        raise TypeError(f"{type(wrapper).__name__} needs an environment whose {name} is a Box, got {space!r}")
    return space


def holds_images(space: AnySpace, channels: tuple[int, ...] | None = None) -> bool:
    """Check whether a space is a `Box` of uint8 from 0 to 255, `[height, width]` or `[height, width, channels]`.

    Args:
        space: the space.
        channels: the axes that must follow height and width, `()` for none; none or one by default.

    >>> [holds_images(Box(0, 255, (8, 8), np.uint8), channels) for channels in (None, (), (3,))]
    [True, True, False]
    """
    if not (isinstance(space, Box) and len(space.shape) >= 2 and space.dtype == np.uint8):
        return False
    fits = len(space.shape) <= 3 if channels is None else space.shape[2:] == channels
    return bool(fits and (space.low == 0).all() and (space.high == 255).all())


def require_image(wrapper: Any, space: AnySpace, channels: tuple[int, ...] | None = None) -> Box:
    """Return a space of images: a `Box` of uint8 from 0 to 255, `[height, width]` or `[height, width, channels]`.

    Args:
        wrapper: the wrapper, which the errors name.
        space: the observation space.
        channels: the axes that must follow height and width; none or one by default.

    >>> import funcenv
    >>> require_image(funcenv.Wrapper(funcenv.make("CartPole-v1")), Box(0, 255, (8, 8), np.uint8), channels=(3,))
    Traceback (most recent call last):
        ...
    ValueError: Wrapper needs images, a Box(0, 255, (height, width, 3), uint8), got Box(0, 255, (8, 8), uint8); put
        PixelObservation or AddRenderObservation inside
    """
    name = type(wrapper).__name__
    if not isinstance(space, Box):
        raise TypeError(f"{name} needs images, a Box of uint8, got {space!r}; put PixelObservation inside")
    if not holds_images(space, channels):
        wanted = "(height, width[, channels])" if channels is None else f"(height, width, {channels[0]})"
        raise ValueError(
            f"{name} needs images, a Box(0, 255, {wanted}, uint8), got {space!r}; "
            "put PixelObservation or AddRenderObservation inside"
        )
    return space


def require_member(wrapper: str, value: Any, name: str, space: AnySpace, remedy: str) -> None:
    """Raise `ValueError` unless abstract values have the structure, shapes and dtypes of members of the space.

    >>> import funcenv
    >>> require_member("Half", jax.ShapeDtypeStruct((2,), np.float32), "observation_space",
    ...                funcenv.spaces.Box(-1, 1, (4,)), remedy="pass observation_space")
    Traceback (most recent call last):
        ...
    ValueError: the func of Half returns float32[2], but a member of observation_space is float32[4]; pass
        observation_space
    """
    given, wanted = _show(value), _show(space.abstract_member())
    if given != wanted:
        raise ValueError(f"the func of {wrapper} returns {given}, but a member of {name} is {wanted}; {remedy}")


def _show(tree: Any) -> str:
    leaves, structure = jax.tree.flatten(tree)
    shown = [f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]" for leaf in leaves]
    return shown[0] if jax.tree_util.treedef_is_leaf(structure) else str(jax.tree.unflatten(structure, shown))


class InheritedSpace:
    """The default of a field for a space: the space of `env` with the same name.

    A default of None would hide the property of the environment inside, and a copy of its space would become stale
    when the environment is replaced.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        own = vars(instance)[self.name]
        return getattr(instance.env, self.name) if own is None else own

    def __set__(self, instance: Any, space: Any) -> None:
        vars(instance)[self.name] = None if space is self else space

    def __repr__(self) -> str:
        return "None"
