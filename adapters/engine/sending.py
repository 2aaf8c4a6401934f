"""The interface of EnvPool to a vector environment: `send`, `recv`, `async_reset` and `xla` (Weng et al., 2022)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.adapters.engine.attributes import AttributedVectorEnv
from funcenv.adapters.engine.lifecycle import exclusive
from funcenv.adapters.engine.programs_vector import Result
from funcenv.adapters.env import ActType, ObsType
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


class SendingVectorEnv(AttributedVectorEnv[ObsType, ActType]):
    """A vector environment that sends actions and receives results in two calls."""

    _venv: AnyVectorEnv
    _parameters: Any
    _packed_state: Any
    _pending: Result | None
    state: Any

    @exclusive
    def async_reset(self) -> None:
        """Start new episodes everywhere, and return while they are computed. `recv` returns the first observations.

        >>> import funcenv.adapters
        >>> envs = funcenv.adapters.make_vec("CartPole-v1", num_envs=3)
        >>> envs.async_reset()
        >>> for _ in range(20):
        ...     observations, rewards, terminations, truncations, infos = envs.recv()
        ...     envs.send((observations[:, 2] > 0).astype(int), infos["env_id"])
        """
        self._require_nothing_pending("async_reset")
        self._last_actions = None
        self._pending = self._start_reset(None, {})[0]

    def send(self, actions: ActType, env_id: Any = None) -> None:
        """Start a step, and return while it is computed.

        Args:
            actions: a batch of actions, `[num_envs, ...]`.
            env_id: the environment of each action; all of them are stepped together. By default they are in order.

        Raises:
            ValueError: `env_id` does not name every environment once; and what `step` raises.
            RuntimeError: the results of the last `send` were not received.
        """
        if env_id is not None:
            order = np.argsort(_require_all(env_id, self.num_envs))
            actions = jax.tree.map(lambda leaf: np.asarray(leaf)[order], actions)
        self.step_async(actions)

    def recv(self) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Return the results of the last `send` or `async_reset`, those of `step`; rewards of a reset are 0.

        `infos["env_id"]` holds the number of each environment, `[num_envs]`; they are always in order.

        Raises:
            RuntimeError: nothing was sent.
        """
        *results, infos = self.step_wait()
        return (*results, {**infos, "env_id": np.arange(self.num_envs, dtype=np.int32)})

    def xla(self) -> XlaFunctions:
        """Return a handle, and pure functions for compiled loops: `recv`, `send` and `step`.

        `recv(handle)` returns a handle and the results, `send(handle, actions, env_id=None)` returns a handle, and
        `step(handle, actions, env_id=None)` is both. Results are those of `recv` of this class as JAX arrays, with the
        observations in the form of functional environments.

        In EnvPool the handle points to the environments. Here it is a value, the state of the environments at the call
        of `xla` (after a first `reset`, if there was none), and the loop does not change this object. A handle can be
        used again, and `jax.vmap` maps over handles.

        Raises:
            RuntimeError: actions were sent and their results not received, or present episodes have other parameters
                because of `reset(options=...)` or `set_attr`.

        >>> import jax, funcenv.adapters
        >>> envs = funcenv.adapters.make_vec("CartPole-v1", num_envs=3)
        >>> handle, recv, send, step = envs.xla()
        >>> def actor_step(index, loop_state):
        ...     handle, (observations, *_) = loop_state
        ...     return step(handle, (observations[:, 2] > 0).astype(int))
        >>> run = jax.jit(lambda handle: jax.lax.fori_loop(0, 20, actor_step, recv(handle)))
        >>> handle, (observations, rewards, terminations, truncations, infos) = run(handle)
        >>> observations.shape, infos["env_id"].tolist()
        ((3, 4), [0, 1, 2])
        """
        self._require_nothing_pending("xla")
        if self._packed_state is None:
            self.reset()
        if self._parameters is not None:
            raise RuntimeError(
                "xla() steps environments with the parameters that they were made with, but present episodes have "
                "others; make the environment with them, or call reset() without options"
            )
        venv, num_envs = self._venv, self.num_envs

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
        return XlaFunctions(XlaHandle(*present(self.state)), recv, send, step)

    def step_async(self, actions: ActType) -> None:
        """Start a step, and return while it is computed."""
        raise NotImplementedError

    def step_wait(self) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Return the results of the step that `step_async` started."""
        raise NotImplementedError

    def _start_reset(self, seed: Any, options: dict[str, Any]) -> tuple[Result, NDArray]:
        raise NotImplementedError

    def _require_nothing_pending(self, method: str) -> None:
        raise NotImplementedError


def _require_all(env_id: Any, num_envs: int) -> NDArray:
    ids = np.asarray(env_id)
    if ids.shape != (num_envs,) or not np.array_equal(np.sort(ids), np.arange(num_envs)):
        raise ValueError(
            f"env_id must name each of the {num_envs} environments once, because they are stepped together, "
            f"got {ids.tolist()}"
        )
    return ids
