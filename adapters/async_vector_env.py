"""The asynchronous calls of Gymnasium's `AsyncVectorEnv`, in one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.error import AlreadyPendingCallError, ClosedEnvironment, NoAsyncCallError
from funcenv.adapters.sync_vector_env import SyncVectorEnv
from funcenv.struct import NDArray
from funcenv.vector import AutoresetMode


class AsyncVectorEnv(SyncVectorEnv[ObsType, ActType]):
    """A `SyncVectorEnv` with the asynchronous calls of Gymnasium's class of this name, for programs that use them.

    There are no worker processes, because processes forked after JAX has started cannot use it: an asynchronous call
    runs when its result is fetched. Functional environments run in parallel as one compiled program, in
    `FunctionalVectorEnv`. For handwritten environments that are slow enough to pay for processes, put
    `HandwrittenGymnasiumEnv` around each and use Gymnasium's class.

    Args:
        env_fns: Functions without arguments that make one environment each; their action spaces must be equal.
        shared_memory: Accepted and ignored, as `copy`, `context` and `daemon` are: they are about processes.
        copy: See `shared_memory`.
        context: See `shared_memory`.
        daemon: See `shared_memory`.
        worker: None; the loop of a process cannot be replaced.
        observation_mode: As for `SyncVectorEnv`.
        autoreset_mode: As for `SyncVectorEnv`.

    Raises:
        ValueError: As for `SyncVectorEnv`, or there is a `worker`.

    >>> from funcenv import adapters
    >>> envs = AsyncVectorEnv([lambda: adapters.make("CartPole-v1")] * 3)
    >>> envs.reset_async(seed=0)
    >>> observations, infos = envs.reset_wait()
    >>> envs.step_async([0, 1, 1])
    >>> envs.step_wait()[1]
    array([1., 1., 1.])
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env[Any, Any]]],
        shared_memory: bool = True,
        copy: bool = True,
        context: str | None = None,
        daemon: bool = True,
        worker: Callable[..., None] | None = None,
        observation_mode: str | tuple[Any, Any] = "same",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        del shared_memory, context, daemon
        if worker is not None:
            raise ValueError(f"worker={worker!r} is for processes, which AsyncVectorEnv does not have; leave it out")
        super().__init__(env_fns, copy, observation_mode, autoreset_mode=autoreset_mode)
        self._pending: tuple[str, Callable[[], Any]] | None = None

    def reset_async(self, seed: Any = None, options: dict[str, Any] | None = None) -> None:
        """Ask for `reset`, whose result `reset_wait` returns.

        Raises:
            AlreadyPendingCallError: The result of another call was not fetched.
            ClosedEnvironment: `close` was called.
        """
        self._ask("reset", lambda: super(AsyncVectorEnv, self).reset(seed=seed, options=options))

    def reset_wait(self, timeout: float | None = None) -> tuple[ObsType, dict[str, Any]]:
        """Return the result of `reset_async`; `timeout` is Gymnasium's, and nothing times out.

        Raises:
            NoAsyncCallError: `reset_async` was not called.
        """
        observations_and_infos: tuple[ObsType, dict[str, Any]] = self._fetch("reset", timeout)
        return observations_and_infos

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode in every environment, as `SyncVectorEnv.reset` does."""
        self.reset_async(seed, options)
        return self.reset_wait()

    def step_async(self, actions: ActType) -> None:
        """Ask for `step`, whose result `step_wait` returns; errors are those of `reset_async`."""
        self._ask("step", lambda: super(AsyncVectorEnv, self).step(actions))

    def step_wait(self, timeout: float | None = None) -> tuple[ObsType, NDArray, NDArray, NDArray, dict[str, Any]]:
        """Return the result of `step_async`; arguments and errors are those of `reset_wait`."""
        result: tuple[ObsType, NDArray, NDArray, NDArray, dict[str, Any]] = self._fetch("step", timeout)
        return result

    def step(self, actions: ActType) -> tuple[ObsType, NDArray, NDArray, NDArray, dict[str, Any]]:
        """Take an action in each environment, as `SyncVectorEnv.step` does."""
        self.step_async(actions)
        return self.step_wait()

    def call_async(self, name: str, /, *args: Any, **kwargs: Any) -> None:
        """Ask for `call`, whose result `call_wait` returns; errors are those of `reset_async`."""
        self._ask("call", lambda: super(AsyncVectorEnv, self).call(name, *args, **kwargs))

    def call_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """Return the result of `call_async`; arguments and errors are those of `reset_wait`."""
        results: tuple[Any, ...] = self._fetch("call", timeout)
        return results

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of each environment, or read an attribute, and return the results."""
        self.call_async(name, *args, **kwargs)
        return self.call_wait()

    def close_extras(self, timeout: float | None = None, terminate: bool = False, **kwargs: Any) -> None:
        """Close the environments; a call that was asked for and not fetched does not run."""
        del timeout, terminate
        self._pending = None
        super().close_extras(**kwargs)

    def _ask(self, name: str, call: Callable[[], Any]) -> None:
        if self.closed:
            raise ClosedEnvironment(f"{name}_async came after close(); make a new vector environment")
        if self._pending is not None:
            pending = self._pending[0]
            raise AlreadyPendingCallError(f"{name}_async came before {pending}_wait(); fetch that result first")
        self._pending = name, call

    def _fetch(self, name: str, timeout: float | None) -> Any:
        del timeout
        if self.closed:
            raise ClosedEnvironment(f"{name}_wait came after close(); make a new vector environment")
        if self._pending is None or self._pending[0] != name:
            raise NoAsyncCallError(f"{name}_wait came without {name}_async; call that first")
        (_, call), self._pending = self._pending, None
        return call()
