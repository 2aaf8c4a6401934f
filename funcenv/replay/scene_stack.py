"""The scenes of an episode as one scene whose arrays have a leading axis of steps.

An array that never changes is stored once: it is a read-only view with a stride of 0 along the steps, which has the
shape of any other array and takes no space.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.func_env import AnyEnv, FuncEnv
from funcenv.scene import Scene, require_same_structure
from funcenv.scene._fields import canonical
from funcenv.struct import NDArray

_SHORT_CALL, _LONG_CALL = 16, 128  # states drawn by one call; two sizes, so that at most two programs are compiled


def can_draw(env: AnyEnv) -> bool:
    """Return whether an environment defines `scene`; nothing is computed.

    >>> import funcenv
    >>> class Blind(funcenv.envs.CartPole):
    ...     scene = funcenv.FuncEnv.scene
    >>> can_draw(Blind())
    False
    """
    return type(env.unwrapped).scene is not FuncEnv.scene


def draw_states(env: AnyEnv, states: Any) -> Scene:
    """Return the stacked scenes of states whose arrays have a leading axis.

    Raises:
        NotImplementedError: the environment defines no scene.
    """
    count = len(jax.tree.leaves(states)[0])
    size = _SHORT_CALL if count <= _SHORT_CALL else _LONG_CALL
    parts = []
    for start in range(0, count, size):
        index = np.minimum(np.arange(start, start + size), count - 1)
        drawn = _draw(env, jax.tree.map(lambda leaf, index=index: jnp.asarray(leaf)[index], states))
        kept = min(size, count - start)
        parts.append(jax.tree.map(lambda leaf, kept=kept: _compact(leaf[:kept]), jax.device_get(drawn)))
    return jax.tree.map(lambda *leaves: _concatenate(leaves), *parts)


def stack_scenes(scenes: Sequence[Scene]) -> Scene:
    """Return a sequence of scenes as one stacked scene.

    Raises:
        ValueError: the sequence is empty, or a scene has other shapes than the first.
    """
    if not scenes:
        raise ValueError("a replay needs at least one scene, got none")
    for step, scene in enumerate(scenes[1:], 1):
        require_same_structure(scenes[0], scene, f"after step {step}")
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *jax.device_get(list(scenes)))
    return jax.tree.map(_compact, canonical(stacked, np))


def is_constant(leaf: NDArray) -> bool:
    """Return whether an array of a stacked scene is stored once for all steps.

    >>> is_constant(np.broadcast_to(np.ones(2), (5, 2))), is_constant(np.ones((5, 2)))
    (True, False)
    """
    return leaf.shape[0] == 1 or leaf.strides[0] == 0


def take_steps(scenes: Scene, index: Any) -> Scene:
    """Return some steps of a stacked scene; an integer gives a single scene."""
    return jax.tree.map(lambda leaf: _view(leaf[0], leaf[index].shape) if is_constant(leaf) else leaf[index], scenes)


@jax.jit
def _draw(env: AnyEnv, states: Any) -> Scene:
    return jax.vmap(lambda state: env.scene(state).canonical())(states)


def _compact(leaf: Any) -> NDArray:
    leaf = np.asarray(leaf)
    return _view(leaf[0], leaf.shape) if (leaf == leaf[:1]).all() else leaf


def _view(row: Any, shape: tuple[int, ...]) -> NDArray:
    """Return a copy of one row, repeated without taking space."""
    return np.broadcast_to(np.array(row), shape)


def _concatenate(parts: Sequence[NDArray]) -> NDArray:
    first = parts[0]
    if all(is_constant(part) and np.array_equal(part[0], first[0]) for part in parts):
        return _view(first[0], (sum(map(len, parts)), *first.shape[1:]))
    return np.concatenate(parts)
