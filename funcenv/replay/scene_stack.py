"""The scenes of an episode as one scene whose arrays have a leading axis of steps.

What never changes is stored once: such an array is a read-only view with a stride of 0 along its steps, so it looks
like any other and takes no space.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.func_env import FuncEnv
from funcenv.scene import Scene, require_same_structure

_FEW, _MANY = 16, 128  # states in a call: two sizes, so that at most two programs are compiled


def can_draw(env: FuncEnv[Any, Any, Any]) -> bool:
    """Whether an environment defines `scene`; nothing is computed.

    >>> import funcenv
    >>> class Blind(funcenv.envs.CartPole):
    ...     scene = funcenv.FuncEnv.scene
    >>> can_draw(Blind())
    False
    """
    return type(env.unwrapped).scene is not FuncEnv.scene


def draw_states(env: FuncEnv[Any, Any, Any], states: Any) -> Scene:
    """The scenes of states whose arrays have a leading axis, in a few calls of one compiled program.

    Raises:
        NotImplementedError: the environment draws nothing.
    """
    count = len(jax.tree.leaves(states)[0])
    size = _FEW if count <= _FEW else _MANY
    parts = []
    for start in range(0, count, size):
        index = np.minimum(np.arange(start, start + size), count - 1)
        drawn = _draw(env, jax.tree.map(lambda leaf, index=index: jnp.asarray(leaf)[index], states))
        kept = min(size, count - start)
        parts.append(jax.tree.map(lambda leaf, kept=kept: _stored(leaf[:kept]), jax.device_get(drawn)))
    return jax.tree.map(lambda *leaves: _joined(leaves), *parts)


def stack_scenes(scenes: Sequence[Scene]) -> Scene:
    """One scene after another, drawn earlier.

    Raises:
        ValueError: there is none, or one has other shapes than the first.
    """
    if not scenes:
        raise ValueError("a replay needs at least one scene, got none")
    for step, scene in enumerate(scenes[1:], 1):
        require_same_structure(scenes[0], scene, f"after step {step}")
    strong = [jax.tree.map(_canonical, scene) for scene in jax.device_get(list(scenes))]
    return jax.tree.map(lambda *leaves: _stored(np.stack(leaves)), *strong)


def is_constant(leaf: np.ndarray[Any, Any]) -> bool:
    """Whether an array of a stacked scene is the same at every step.

    >>> is_constant(np.broadcast_to(np.ones(2), (5, 2))), is_constant(np.ones((5, 2)))
    (True, False)
    """
    return leaf.shape[0] == 1 or leaf.strides[0] == 0


def take_steps(scenes: Scene, index: Any) -> Scene:
    """Some steps of a stacked scene; an integer gives one scene."""
    return jax.tree.map(lambda leaf: _repeated(leaf[0], leaf[index]) if is_constant(leaf) else leaf[index], scenes)


@jax.jit
def _draw(env: FuncEnv[Any, Any, Any], states: Any) -> Scene:
    return jax.vmap(lambda state: env.scene(state).canonical())(states)


def _canonical(leaf: Any) -> np.ndarray[Any, Any]:
    """As `Scene.canonical`, on the host."""
    if isinstance(leaf, (bool, int, float)):
        return np.asarray(leaf, np.float32)
    leaf = np.asarray(leaf)
    if leaf.dtype == np.uint8:
        return leaf
    return leaf.astype(np.int32 if np.issubdtype(leaf.dtype, np.integer) else np.float32)


def _stored(leaf: Any) -> np.ndarray[Any, Any]:
    leaf = np.asarray(leaf)
    return _repeated(leaf[0], leaf) if (leaf == leaf[:1]).all() else leaf


def _repeated(row: Any, like: Any) -> np.ndarray[Any, Any]:
    if np.ndim(like) == np.ndim(row):
        return np.asarray(row)
    return np.broadcast_to(np.array(row), np.shape(like))


def _joined(parts: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    first = parts[0]
    if all(is_constant(part) and np.array_equal(part[0], first[0]) for part in parts):
        return np.broadcast_to(np.array(first[0]), (sum(map(len, parts)), *first.shape[1:]))
    return np.concatenate(parts)
