"""The parts of EnvPool's interface that are not those of Gymnasium: environments by number, and `xla`.

Weng et al., "EnvPool: A highly parallel reinforcement learning environment execution engine", 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.struct import NDArray, PyTreeNode
from funcenv.vector import AnyVectorEnv, VectorState, VectorTimestep


class XlaHandle(PyTreeNode):
    """The state of all environments and the results that `recv` returns, which the functions of `xla` pass on."""

    vstate: VectorState[Any]
    timestep: VectorTimestep[Any]


class XlaFunctions(NamedTuple):
    """The result of `xla`."""

    handle: XlaHandle
    recv: Callable[..., Any]
    send: Callable[..., Any]
    step: Callable[..., Any]


def xla_functions(venv: AnyVectorEnv, vstate: VectorState[Any]) -> XlaFunctions:
    """Return a handle of a state, and pure functions for compiled loops."""
    num_envs = venv.num_envs

    def recv(handle: XlaHandle) -> tuple[XlaHandle, Any]:
        timestep = handle.timestep
        infos = with_envpool_infos(timestep.info, jnp.arange(num_envs, dtype=jnp.int32), handle.vstate.episode_length)
        results = timestep.observation, timestep.reward, timestep.terminated, timestep.truncated, infos
        return handle, results

    def send(handle: XlaHandle, actions: Any, env_id: Any = None) -> XlaHandle:
        if env_id is not None:
            order = jnp.argsort(jnp.asarray(env_id))
            actions = jax.tree.map(lambda leaf: leaf[order], actions)
        return XlaHandle(*venv.step(handle.vstate, actions))

    def step(handle: XlaHandle, actions: Any, env_id: Any = None) -> tuple[XlaHandle, Any]:
        return recv(send(handle, actions, env_id))

    present = jax.jit(lambda vstate: venv.reset(vstate=vstate, mask=jnp.zeros(num_envs, bool)))
    return XlaFunctions(XlaHandle(*present(vstate)), recv, send, step)


def in_order(actions: Any, env_id: Any, num_envs: int) -> Any:
    """Return actions in the order of the environments.

    Args:
        actions: A batch of actions, `[num_envs, ...]`.
        env_id: The environment of each action; None if they are in order.
        num_envs: Number of environments.

    Raises:
        ValueError: `env_id` does not name every environment once.

    >>> in_order(np.array([10, 20]), [1, 0], 2)
    array([20, 10])
    """
    if env_id is None:
        return actions
    order = np.argsort(_require_all(env_id, num_envs))
    return jax.tree.map(lambda leaf: np.asarray(leaf)[order], actions)


def with_envpool_infos(infos: dict[str, Any], env_id: Any, elapsed_step: Any) -> dict[str, Any]:
    """Return infos with EnvPool's: the number of each environment, also as that of its player, and the steps so far."""
    return {**infos, "env_id": env_id, "players": {"env_id": env_id}, "elapsed_step": elapsed_step.astype(np.int32)}


def rows_of(results: Any, env_id: Any) -> Any:
    """Return the rows of some environments, in the order of `env_id`.

    >>> rows_of((np.array([1.0, 2.0]), {"env_id": np.array([0, 1])}), [1])
    (array([2.]), {'env_id': array([1])})
    """
    return jax.tree.map(lambda leaf: leaf[np.asarray(env_id)], results)


def mask_of(env_id: Any, num_envs: int) -> NDArray:
    """Return which environments `env_id` names, `[num_envs]`.

    Raises:
        ValueError: `env_id` names none, or one twice, or one that does not exist.

    >>> mask_of([2, 0], 3)
    array([ True, False,  True])
    """
    ids = np.asarray(env_id)
    if ids.ndim != 1 or ids.dtype.kind not in "iu" or not 0 < len(np.unique(ids)) == len(ids) <= num_envs:
        raise ValueError(f"env_id must be a vector of different numbers below {num_envs}, got {ids.tolist()}")
    if ids.min() < 0 or ids.max() >= num_envs:
        raise ValueError(f"env_id must name environments from 0 to {num_envs - 1}, got {ids.tolist()}")
    return np.isin(np.arange(num_envs), ids)


def _require_all(env_id: Any, num_envs: int) -> NDArray:
    ids = np.asarray(env_id)
    if ids.shape != (num_envs,) or not np.array_equal(np.sort(ids), np.arange(num_envs)):
        raise ValueError(
            f"env_id must name each of the {num_envs} environments once, because they are stepped together, "
            f"got {ids.tolist()}"
        )
    return ids
