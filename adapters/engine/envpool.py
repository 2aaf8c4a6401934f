"""The methods of EnvPool's interface that are not those of Gymnasium.

Weng et al., "EnvPool: A highly parallel reinforcement learning environment execution engine", 2022.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv.adapters.engine.lifecycle import exclusive
from funcenv.adapters.engine.outputs import StepResult
from funcenv.adapters.engine.programs_vector import Result
from funcenv.adapters.engine.sending import XlaFunctions, in_order, rows_of, with_envpool_infos, xla_functions
from funcenv.adapters.engine.vector_session import VectorSession
from funcenv.adapters.env import ActType, ObsType
from funcenv.adapters.vector_env import VectorEnv
from funcenv.func_env import AnyEnv
from funcenv.registry import EnvSpec
from funcenv.struct import NDArray


class EnvPoolMethods(VectorEnv[ObsType, ActType]):
    """Methods of EnvPool for a vector environment that keeps its state in a `VectorSession`."""

    output: str
    spec: EnvSpec | None
    _session: VectorSession
    _last_actions: Any

    @property
    def func_env(self) -> AnyEnv:
        """The functional environment, or a batch of `num_envs`, with its present parameters."""
        return self._session.func_env

    def step_async(self, actions: ActType) -> None:
        """Start a step, and return while it is computed."""
        raise NotImplementedError

    def step_wait(self) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Return the results of the step that `step_async` started."""
        raise NotImplementedError

    def _start_reset(self, seed: Any, options: dict[str, Any]) -> tuple[Result, NDArray]:
        """Start episodes, and return their result and the mask of the environments that were reset."""
        raise NotImplementedError

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
        self._session.require_nothing_pending("async_reset")
        self._last_actions = None
        self._session.pending = self._start_reset(None, {})[0]

    def send(self, actions: ActType, env_id: Any = None) -> None:
        """Start a step, and return while it is computed.

        Args:
            actions: a batch of actions, `[num_envs, ...]`.
            env_id: the environment of each action; all of them are stepped together. By default they are in order.

        Raises:
            ValueError: `env_id` does not name every environment once; and what `step` raises.
            RuntimeError: the results of the last `send` were not received.
        """
        self.step_async(in_order(actions, env_id, self.num_envs))

    def recv(self) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Return the results of the last `send` or `async_reset`, those of `step`; rewards of a reset are 0.

        `infos["env_id"]` and `infos["players"]["env_id"]` hold the number of each environment, `[num_envs]`, which are
        always in order, and `infos["elapsed_step"]` the number of steps of its episode.

        Raises:
            RuntimeError: nothing was sent.
        """
        *results, infos = self.step_wait()
        return (*results, self._envpool_infos(infos))

    @property
    def all_env_ids(self) -> NDArray:
        """The numbers of all environments, int32 `[num_envs]`."""
        return np.arange(self.num_envs, dtype=np.int32)

    @property
    def config(self) -> dict[str, Any]:
        """EnvPool's settings, as far as they apply."""
        limit = getattr(self.func_env, "max_episode_steps", None)
        return {
            "num_envs": self.num_envs,
            "batch_size": self.num_envs,
            "max_num_players": 1,
            "seed": self.np_random_seed,
            "max_episode_steps": limit,
            "reward_threshold": None if self.spec is None else self.spec.reward_threshold,
        }

    def __len__(self) -> int:
        return self.num_envs

    def xla(self) -> XlaFunctions:
        """Return a handle, and pure functions for compiled loops: `recv`, `send` and `step`.

        `recv(handle)` returns a handle and the results, `send(handle, actions, env_id=None)` a handle, and
        `step(handle, actions, env_id=None)` both. Observations have the form of functional environments. Unlike
        EnvPool's, the handle is a value, the state at the call of `xla`: it can be used again, and `jax.vmap` maps over
        handles.

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
        self._session.require_nothing_pending("xla")
        if self._session.packed is None:
            self.reset()
        if self._session.parameters is not None:
            raise RuntimeError(
                "xla() steps environments with the parameters that they were made with, but present episodes have "
                "others; make the environment with them, or call reset() without options"
            )
        return xla_functions(self._session.venv, self._session.state)

    def _step_in_order(self, actions: Any, env_id: Any) -> StepResult:
        """Take a step with actions in the order of `env_id`, and return the results in the same order."""
        *results, infos = self.step(in_order(actions, env_id, self.num_envs))
        returned: StepResult = rows_of((*results, self._envpool_infos(infos)), env_id)
        return returned

    def _envpool_infos(self, infos: dict[str, Any]) -> dict[str, Any]:
        lengths = self._session.state.episode_length
        return with_envpool_infos(infos, self.all_env_ids, np.asarray(lengths) if self.output == "numpy" else lengths)
