"""Conversion of results to what a vector environment returns: NumPy, JAX or torch arrays, and Gymnasium's infos."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.adapters.engine.programs_vector import Result, StepOutput, VectorPrograms
from funcenv.spaces import Dict, Tuple
from funcenv.spaces.space import AnySpace, in_declared_dtype
from funcenv.struct import NDArray

StepResult = tuple[Any, Any, Any, Any, dict[str, Any]]


class NumpyOutput:
    """Fresh, writable NumPy arrays. Infos hold `final_obs` and `final_info` only if an episode ended."""

    packs_output = True

    def __init__(self, programs: VectorPrograms, space: AnySpace) -> None:
        self._readers = StepOutput(*programs.layout.readers()[0])
        spans = programs.layout.spans()[0]
        self._num_output_words = max(span.stop for span in jax.tree.leaves(spans))
        self._flags = slice(spans.terminated.start, spans.truncated.stop)
        self._num_envs = spans.terminated.stop - spans.terminated.start
        self._decode, self._space = space.decode, space

    def step(self, result: Result) -> StepResult:
        """Return observations, rewards, terminations, truncations and infos of a step."""
        words, readers = self._own_words(result), self._readers
        terminated, truncated = self._read_flags(words)
        infos: dict[str, Any] = {}
        if readers.info:
            infos = with_masks(_read(readers.info, words), np.ones(terminated.shape, bool))
        if readers.final_observation is not None:
            ended = terminated | truncated
            if ended.any():
                infos |= self._final(_read((readers.final_observation, readers.final_info), words), ended)
        return self._observation(words), readers.reward(words), terminated, truncated, infos

    def reset(self, result: Result, mask: NDArray) -> StepResult:
        """Return the same for a reset of the environments in `mask`."""
        words, readers = self._own_words(result), self._readers
        infos = with_masks(_read(readers.info, words), mask)
        return self._observation(words), readers.reward(words), *self._read_flags(words), infos

    def rollout(self, outputs: StepOutput) -> StepResult:
        """Return the same for many steps, with a leading axis `[num_steps]`."""
        outputs = jax.tree.map(np.array, outputs)
        infos = with_masks(outputs.info, np.ones(outputs.terminated.shape, bool))
        if outputs.final_observation is not None:
            ended = outputs.terminated | outputs.truncated
            if ended.any():
                infos |= self._final((outputs.final_observation, outputs.final_info), ended)
        observation = _in_declared_dtype(self._space, outputs.observation)
        return observation, outputs.reward, outputs.terminated, outputs.truncated, infos

    def _observation(self, words: NDArray) -> Any:
        return _in_declared_dtype(self._space, _read(self._readers.observation, words))

    def _own_words(self, result: Result) -> NDArray:
        """Return a copy of the words of the output, which the returned arrays are views of."""
        return np.asarray(result[1])[: self._num_output_words].copy()

    def _read_flags(self, words: NDArray) -> tuple[NDArray, NDArray]:
        """Read both flags at once, which are adjacent."""
        flags = words[self._flags] != 0
        return flags[: self._num_envs], flags[self._num_envs :]

    def _final(self, final: tuple[Any, Any], ended: NDArray) -> dict[str, Any]:
        observation, info = final
        if not isinstance(observation, np.ndarray):  # of a compound space: an object for each environment
            rows = np.full(ended.shape, None, object)
            for index in zip(*np.nonzero(ended), strict=True):
                rows[index] = self._decode(jax.tree.map(lambda leaf, index=index: leaf[index], observation))
            observation = rows
        else:
            observation = in_declared_dtype(self._space, observation)
        return _final_infos(observation, with_masks(info, ended), ended, np.copy)


class DeviceOutput:
    """The arrays of the compiled call, without a wait for the device and without a copy.

    Infos hold `final_obs` and `final_info` at every step, because the host does not know whether an episode ended.

    Args:
        convert: converts a JAX array to an array of the library.
        copy: copies such an array.
    """

    packs_output = False

    def __init__(self, convert: Callable[[jax.Array], Any], copy: Callable[[Any], Any]) -> None:
        self._convert, self._copy = convert, copy

    def step(self, result: Result) -> StepResult:
        """Return observations, rewards, terminations, truncations and infos of a step."""
        return self.rollout(result[0])

    def reset(self, result: Result, mask: NDArray) -> StepResult:
        """Return the same for a reset of the environments in `mask`."""
        output: Any = jax.tree.map(self._convert, result[0])
        infos = with_masks(output.info, self._convert(jnp.asarray(mask)), self._copy) if output.info else {}
        return output.observation, output.reward, output.terminated, output.truncated, infos

    def rollout(self, outputs: StepOutput | None) -> StepResult:
        """Return the same for many steps, with a leading axis `[num_steps]`."""
        output: Any = jax.tree.map(self._convert, outputs)
        infos: dict[str, Any] = {}
        if output.info:
            infos = with_masks(output.info, self._convert(jnp.ones(output.terminated.shape, bool)), self._copy)
        if output.final_observation is not None:
            final_info = with_masks(output.final_info, output.ended, self._copy)
            infos |= _final_infos(output.final_observation, final_info, output.ended, self._copy)
        return output.observation, output.reward, output.terminated, output.truncated, infos


def jax_output() -> DeviceOutput:
    """Return the conversion to JAX arrays."""
    return DeviceOutput(lambda leaf: leaf, lambda leaf: leaf)


def torch_output() -> DeviceOutput:
    """Return the conversion to torch tensors, on the device where JAX computed them, in the same memory.

    Raises:
        ImportError: torch is not installed.
    """
    try:
        import torch  # type: ignore[import-not-found]  # optional
    except ImportError as error:
        raise ImportError('output="torch" needs torch; install it with: pip install torch') from error
    return DeviceOutput(torch.from_dlpack, torch.clone)


def with_masks(info: dict[str, Any], mask: Any, copy: Callable[[Any], Any] = np.copy) -> dict[str, Any]:
    """Return infos in Gymnasium's form: every key has a mask `_key` of the environments that have it.

    >>> with_masks({"prob": np.ones(2)}, np.array([True, False]))
    {'prob': array([1., 1.]), '_prob': array([ True, False])}
    """
    infos: dict[str, Any] = {}
    for name, value in info.items():
        infos[name] = with_masks(value, mask, copy) if isinstance(value, dict) else value
        infos[f"_{name}"] = copy(mask)
    return infos


def _final_infos(observation: Any, info: dict[str, Any], ended: Any, copy: Callable[[Any], Any]) -> dict[str, Any]:
    masks = {"_final_obs": copy(ended), "_final_info": copy(ended)}
    return {"final_obs": observation, "final_info": info, **masks}


def _in_declared_dtype(space: AnySpace, observation: Any) -> Any:
    """Cast the observations of a batch to the dtypes of the space, which JAX reduces to 32 bits."""
    if isinstance(space, Tuple):
        return tuple(map(_in_declared_dtype, space.spaces, observation))
    if isinstance(space, Dict):
        return {name: _in_declared_dtype(space.spaces[name], part) for name, part in observation.items()}
    return in_declared_dtype(space, observation) if isinstance(observation, np.ndarray) else observation


def _read(readers: Any, words: NDArray) -> Any:
    return readers(words) if callable(readers) else jax.tree.map(lambda read: read(words), readers)
