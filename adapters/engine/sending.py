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
        infos = {**timestep.info, "env_id": jnp.arange(num_envs, dtype=jnp.int32)}
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


def _require_all(env_id: Any, num_envs: int) -> NDArray:
    ids = np.asarray(env_id)
    if ids.shape != (num_envs,) or not np.array_equal(np.sort(ids), np.arange(num_envs)):
        raise ValueError(
            f"env_id must name each of the {num_envs} environments once, because they are stepped together, "
            f"got {ids.tolist()}"
        )
    return ids
