"""A wrapper that writes the episodes of a stateful vector environment to a dataset."""

from __future__ import annotations

import os
from typing import Any

import jax
import numpy as np

from funcenv.adapters.env import ActType, ObsType
from funcenv.adapters.functional_vector_env import FunctionalVectorEnv
from funcenv.adapters.vector_env import VectorEnv
from funcenv.adapters.wrappers.record_dataset import EpisodeWriter
from funcenv.adapters.wrappers.vector.wrapper import VectorWrapper
from funcenv.datasets.leaves import to_words
from funcenv.datasets.writer import CHUNK_STEPS, MAX_BYTES
from funcenv.func_env import AnyEnv
from funcenv.struct import NDArray
from funcenv.vector import AutoresetMode, VectorState
from funcenv.vector_step import call_key, map_rows


class RecordDataset(VectorWrapper[ObsType, ActType]):
    """A wrapper that writes every episode of a vector to a dataset when it ends, in any autoreset mode.

    Put it directly around the vector. States, keys and observations are those of the functional environment inside. A
    step that resets, in the mode NEXT_STEP, is no transition, and is not written. An episode that `reset` or `close`
    cuts off is written with neither flag set. `close` finishes the dataset.

    Args:
        env: Vector environment to wrap, a `FunctionalVectorEnv`.
        path: Folder to write to; see `funcenv.datasets.DatasetWriter`.
        states: Whether states are stored.
        source: More about how the data are made, in JSON values, such as the name of the algorithm.
        chunk_steps: Number of steps from which a chunk is written. If the process is killed, the last chunk is lost.
        max_bytes: Bound on the size of the dataset before compression.
        append: Add to a dataset of the same environment.

    Raises:
        TypeError: `env` is not a `FunctionalVectorEnv`.
        ValueError: Environments differ in their parameters, or episodes depend on those before them.
        RuntimeError: The vector was stepped, or its state was set, past this wrapper.
        FileExistsError: The folder holds files.
        funcenv.datasets.DatasetError: With `append`, there is another dataset.
        funcenv.datasets.DatasetFullError: The dataset would exceed `max_bytes`.

    >>> import tempfile
    >>> from funcenv import adapters
    >>> from funcenv.datasets import Dataset
    >>> folder = f"{tempfile.mkdtemp()}/mine"
    >>> envs = RecordDataset(adapters.make_vec("CartPole-v1", 2), folder)
    >>> _ = envs.reset(seed=0)
    >>> for _ in range(8):
    ...     _ = envs.step(np.array([0, 1]))
    >>> envs.close()
    >>> Dataset(folder).num_steps
    16
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType],
        path: str | os.PathLike[str],
        *,
        states: bool = True,
        source: dict[str, Any] | None = None,
        chunk_steps: int = CHUNK_STEPS,
        max_bytes: int = MAX_BYTES,
        append: bool = False,
    ) -> None:
        super().__init__(env)
        if not isinstance(env, FunctionalVectorEnv):
            raise TypeError(f"RecordDataset takes a FunctionalVectorEnv, got {env}; put it directly around the vector")
        self._inner: FunctionalVectorEnv[Any, Any] = env
        self._func_env = env.func_env
        about = {"num_envs": env.num_envs, **(source or {})}
        self._writer = EpisodeWriter(env, path, states, about, chunk_steps, max_bytes, append)
        # Of the episode in each environment: batches of the state, observation and key of each call, and batches of the
        # action, reward and flags of each step. A batch holds all environments, and lists share it.
        self._calls: list[list[Any]] = [[] for _ in range(env.num_envs)]
        self._steps: list[list[Any]] = [[] for _ in range(env.num_envs)]
        self._vstate: VectorState[Any] | None = None  # after the latest call

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> Any:
        """Write what was played in the environments that are reset, and start their episodes."""
        if options and set(options) != {"reset_mask"}:
            raise ValueError(
                f"all episodes of a dataset have the same parameters, got options={options}; leave them out"
            )
        result = super().reset(seed=seed, options=options)
        self._vstate = self._inner.state
        is_new = np.ones(self.num_envs, bool) if not options else np.asarray(options["reset_mask"])
        self._begin(is_new, _latest_calls(self._func_env, self._vstate))
        return result

    def step(self, actions: ActType) -> Any:
        """Play one action in each environment, and write the episodes that end."""
        before = self._vstate
        if before is None:
            return super().step(actions)  # raises
        if not _same_calls(before, self._inner.state):
            raise RuntimeError("the vector was stepped, or its state set, past its recorder; call reset() first")
        result = super().step(actions)
        after = self._vstate = self._inner.state
        latest = _latest_calls(self._func_env, after)
        step = action, _, terminated, truncated = self._writer.step(actions, *result[1:4])
        ended = terminated | truncated
        if self._inner.autoreset_mode is AutoresetMode.SAME_STEP:
            begins, played = ended, np.ones_like(ended)
            last = _steps(self._func_env, before, action) if ended.any() else latest
        else:
            begins = np.asarray(before.done)
            last, played = latest, ~begins
        for row in np.flatnonzero(played):
            self._steps[row].append(step)
            self._calls[row].append(last if ended[row] else latest)
        self._write(ended)
        self._begin(begins, latest)
        return result

    def close(self, **kwargs: Any) -> None:
        """Write what was played, finish the dataset, and close the vector."""
        self._write(np.ones(self.num_envs, bool))
        self._writer.close()
        super().close(**kwargs)

    def _begin(self, begins: NDArray, latest: Any) -> None:
        """Start the episodes of some environments with the latest calls."""
        self._write(begins)
        for row in np.flatnonzero(begins):
            self._calls[row] = [latest]

    def _write(self, mask: NDArray) -> None:
        """Write the episodes so far of some environments, if they have steps."""
        for row in np.flatnonzero(mask):
            calls, steps, self._calls[row], self._steps[row] = self._calls[row], self._steps[row], [], []
            self._writer.add(calls, steps, row)


def _latest_calls(env: AnyEnv, vstate: VectorState[Any]) -> Any:
    """Return the stored states, the observations, and the words of the keys of the latest calls, on the host."""
    return jax.device_get(_observed(env, vstate))


def _steps(env: AnyEnv, vstate: VectorState[Any], action: Any) -> Any:
    """Return the same of the next steps, which the vector's own resets have overwritten."""
    return jax.device_get(_stepped(env, vstate, action))


@jax.jit
def _observed(env: AnyEnv, vstate: VectorState[Any]) -> tuple[Any, Any, jax.Array]:
    key = jax.vmap(call_key)(vstate.key, vstate.num_calls - np.uint32(1))
    timestep = map_rows(lambda env, state, key: env.observe(state, key), env, len(key), vstate.env_state, key)
    return to_words(vstate.env_state), timestep.observation, jax.random.key_data(key)


@jax.jit
def _stepped(env: AnyEnv, vstate: VectorState[Any], action: Any) -> tuple[Any, Any, jax.Array]:
    key = jax.vmap(call_key)(vstate.key, vstate.num_calls)
    state, timestep = map_rows(lambda env, *args: env.step(*args), env, len(key), vstate.env_state, action, key)
    return to_words(state), timestep.observation, jax.random.key_data(key)


def _same_calls(one: VectorState[Any], other: VectorState[Any]) -> bool:
    """Return whether two states of a vector were reached by the same calls."""
    return bool((one.num_calls == other.num_calls).all() and (one.key == other.key).all())
