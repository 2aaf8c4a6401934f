"""What a wrapper can learn of an environment's spaces when it is built.

The environment may be a batch, whose spaces cannot be asked for: its first row then stands for all. Or its parameters
may be traced; shapes and dtypes are known then, bounds are not.
"""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import numpy as np

from funcenv.func_env import FuncEnv
from funcenv.parameters import parameter_ndim
from funcenv.spaces import Box, Space

Env = TypeVar("Env", bound=FuncEnv[Any, Any, Any])


def single(env: Env) -> Env:
    """The first of a batch of environments, and any other environment as it is.

    >>> import jax.numpy as jnp
    >>> from funcenv.envs import Pendulum
    >>> single(Pendulum(max_torque=jnp.array([1.0, 2.0]))).action_space
    Box(-1.0, 1.0, (1,), float32)
    """

    def first(path: tuple[Any, ...], leaf: Any) -> Any:
        if np.ndim(leaf) <= parameter_ndim(env, path):
            return leaf
        return leaf[0] if isinstance(leaf, jax.core.Tracer) else np.asarray(leaf)[0]

    return jax.tree_util.tree_map_with_path(first, env)


def require_box(wrapper: str, env: FuncEnv[Any, Any, Any], name: str) -> Box:
    """The space of that name, which must be a `Box`.

    >>> import funcenv
    >>> require_box("ClipAction", funcenv.make("CartPole-v1"), "action_space")
    Traceback (most recent call last):
        ...
    TypeError: ClipAction needs an environment whose action_space is a Box, got Discrete(2)
    """
    space = getattr(env, name)
    if not isinstance(space, Box):
        raise TypeError(f"{wrapper} needs an environment whose {name} is a Box, got {space!r}")
    return space


def abstract(space: Space[Any]) -> Any:
    """Structure, shapes and dtypes of a member, as `jax.ShapeDtypeStruct`s.

    >>> import funcenv
    >>> abstract(funcenv.spaces.Discrete(2))
    ShapeDtypeStruct(shape=(), dtype=int32)
    """
    return jax.eval_shape(lambda: space.sample(jax.random.key(0)))


def require_member(wrapper: str, value: Any, name: str, space: Space[Any], remedy: str) -> None:
    """Raise `ValueError` unless abstract values have the structure, shapes and dtypes of members of the space.

    >>> import funcenv
    >>> require_member("Half", jax.ShapeDtypeStruct((2,), np.float32), "observation_space",
    ...                funcenv.spaces.Box(-1, 1, (4,)), remedy="pass observation_space")
    Traceback (most recent call last):
        ...
    ValueError: the func of Half returns float32[2], but a member of observation_space is float32[4]; pass
        observation_space
    """
    given, wanted = _show(value), _show(abstract(space))
    if given != wanted:
        raise ValueError(f"the func of {wrapper} returns {given}, but a member of {name} is {wanted}; {remedy}")


def _show(tree: Any) -> str:
    leaves, structure = jax.tree.flatten(tree)
    shown = [f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]" for leaf in leaves]
    return shown[0] if jax.tree_util.treedef_is_leaf(structure) else str(jax.tree.unflatten(structure, shown))
