"""Pytrees as arrays by name, in the form in which files hold them.

Typed keys are stored as their words, and types that NumPy has no format for, such as bfloat16, as unsigned integers of
their size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.func_env import AnyEnv
from funcenv.random import key as new_key
from funcenv.random.keys import is_key
from funcenv.struct import NDArray, PyTreeNode

PARTS = ("state", "observation", "action", "reward")
"""The parts of a transition whose shapes the environment decides, the state first."""


class Layout(PyTreeNode):
    """The pytrees of an environment's transitions, whose leaves are shapes and dtypes.

    >>> import funcenv
    >>> Layout.of(funcenv.make("CartPole-v1")).leaves()["state.env_state.theta"]
    ('float32', ())
    """

    state: Any
    observation: Any
    action: Any
    reward: Any

    @classmethod
    def of(cls, env: AnyEnv) -> Layout:
        """Return the layout of an environment's transitions; nothing is computed."""
        state, timestep = jax.eval_shape(env.reset, new_key(0))
        return cls(state, timestep.observation, env.action_space.abstract_member(), timestep.reward)

    def leaves(self, states: bool = True) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Return the dtype and shape of every stored leaf by name, with those of states or without them."""
        return {
            name: (str(leaf.dtype), tuple(leaf.shape))
            for part in (PARTS if states else PARTS[1:])
            for name, leaf in named(part, jax.eval_shape(to_words, getattr(self, part))).items()
        }


def named(part: str, tree: Any) -> dict[str, Any]:
    """Return the leaves of a pytree by name, such as "state.env_state.theta".

    >>> named("observation", {"position": 1.0, "speed": (2.0, 3.0)})
    {'observation.position': 1.0, 'observation.speed.0': 2.0, 'observation.speed.1': 3.0}
    """
    return {
        ".".join([part, *([jax.tree_util.keystr(path, simple=True, separator=".")] if path else [])]): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def from_named(part: str, template: Any, leaves: Mapping[str, Any]) -> Any:
    """Return the pytree whose leaves `named` returned, in the structure of a template."""
    return jax.tree.unflatten(jax.tree.structure(template), [leaves[name] for name in named(part, template)])


def to_words(tree: Any) -> Any:
    """Return a pytree with the words of typed keys in place of the keys."""
    return jax.tree.map(lambda leaf: jax.random.key_data(leaf) if is_key(leaf) else jnp.asarray(leaf), tree)


def from_words(tree: Any, template: Any) -> Any:
    """Return a pytree with keys where the template has them, from what `to_words` returned."""
    return jax.tree.map(
        lambda leaf, like: (
            jax.random.wrap_key_data(leaf, impl=jax.random.key_impl(like)) if is_key(like) else jnp.asarray(leaf)
        ),
        tree,
        template,
    )


def to_file(array: NDArray) -> NDArray:
    """Return an array in a dtype that a `.npy` file can hold without pickling.

    >>> to_file(np.zeros(3, jnp.bfloat16)).dtype
    dtype('uint16')
    """
    array = np.asarray(array)
    return array if array.dtype.isbuiltin == 1 else np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def from_file(array: NDArray, dtype: str) -> NDArray:
    """Return an array in the dtype that it had before `to_file`."""
    wanted = jnp.dtype(dtype)
    return array if wanted.isbuiltin == 1 else array.view(wanted)
