"""What a vector environment hands out: numpy arrays, JAX arrays or torch tensors, and infos in Gymnasium's form."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.adapters.vector.programs import Shown, VectorPrograms
from funcenv.spaces import Space

StepResult = tuple[Any, Any, Any, Any, dict[str, Any]]


class NumpyOutput:
    """Fresh, writable arrays; `final_obs` and `final_info` are there if an episode ended."""

    packed = True

    def __init__(self, programs: VectorPrograms, space: Space[Any]) -> None:
        self._readers, self._own, self._read_flags = programs.readers(), programs.own, programs.read_flags
        self._read_observation = _tree_reader(self._readers.observation)
        self._decode = space.decode

    def step(self, output: jax.Array) -> StepResult:
        """Observations, rewards, terminations, truncations, infos of a step."""
        words, readers = self._own(output), self._readers
        terminated, truncated = self._read_flags(words)
        infos: dict[str, Any] = {}
        if readers.info:
            infos = with_masks(_read(readers.info, words), np.ones(terminated.shape, bool))
        if readers.final_observation is not None:
            ended = terminated | truncated
            if ended.any():
                final_observation = _read(readers.final_observation, words)
                infos |= self._final(final_observation, _read(readers.final_info, words), ended)
        return self._read_observation(words), readers.reward(words), terminated, truncated, infos

    def reset(self, output: jax.Array, mask: np.ndarray[Any, Any]) -> StepResult:
        """The same of a reset of the environments in `mask`."""
        words, readers = self._own(output), self._readers
        infos = with_masks(_read(readers.info, words), mask)
        return self._read_observation(words), readers.reward(words), *self._read_flags(words), infos

    def play(self, shown: Shown) -> StepResult:
        """The same of many steps, with a leading axis `[num_steps]`."""
        shown = jax.tree.map(np.array, shown)
        infos = with_masks(shown.info, np.ones(shown.terminated.shape, bool))
        if shown.final_observation is not None:
            ended = shown.terminated | shown.truncated
            if ended.any():
                infos |= self._final(shown.final_observation, shown.final_info, ended)
        return shown.observation, shown.reward, shown.terminated, shown.truncated, infos

    def _final(self, observation: Any, info: dict[str, Any], ended: np.ndarray[Any, Any]) -> dict[str, Any]:
        if not isinstance(observation, np.ndarray):  # of a compound space: one object for each environment
            rows = np.full(ended.shape, None, object)
            for index in zip(*np.nonzero(ended), strict=True):
                rows[index] = self._decode(jax.tree.map(lambda leaf, index=index: leaf[index], observation))
            observation = rows
        return _final_infos(observation, with_masks(info, ended), ended, np.copy)


class DeviceOutput:
    """What the compiled call returned, untouched: no wait for the device and no copy.

    Infos hold `final_obs` and `final_info` at every step, because whether an episode ended is not known on the host.
    """

    packed = False

    def __init__(self, convert: Callable[[jax.Array], Any], copy: Callable[[Any], Any]) -> None:
        self._convert, self._copy = convert, copy

    def step(self, output: tuple[Shown, jax.Array]) -> StepResult:
        """Observations, rewards, terminations, truncations, infos of a step."""
        return self.play(output[0])

    def reset(self, output: tuple[Shown, jax.Array], mask: np.ndarray[Any, Any]) -> StepResult:
        """The same of a reset of the environments in `mask`."""
        shown = self._converted(output[0])
        infos = with_masks(shown.info, self._convert(jnp.asarray(mask)), self._copy) if shown.info else {}
        return shown.observation, shown.reward, shown.terminated, shown.truncated, infos

    def play(self, shown: Shown) -> StepResult:
        """The same of many steps, with a leading axis `[num_steps]`."""
        everywhere = jnp.ones(shown.terminated.shape, bool) if shown.info else None
        shown = self._converted(shown)
        infos = {} if everywhere is None else with_masks(shown.info, self._convert(everywhere), self._copy)
        if shown.final_observation is not None:
            final_info = with_masks(shown.final_info, shown.ended, self._copy)
            infos |= _final_infos(shown.final_observation, final_info, shown.ended, self._copy)
        return shown.observation, shown.reward, shown.terminated, shown.truncated, infos

    def _converted(self, shown: Shown) -> Shown:
        converted: Shown = jax.tree.map(self._convert, shown)
        return converted


def jax_output() -> DeviceOutput:
    """JAX arrays."""
    return DeviceOutput(lambda leaf: leaf, lambda leaf: leaf)


def torch_output() -> DeviceOutput:
    """Torch tensors on the device where JAX computed them, which share its memory.

    Raises:
        ImportError: torch is not installed.
    """
    try:
        import torch  # type: ignore[import-not-found]  # optional
    except ImportError as error:
        raise ImportError('output="torch" needs torch; install it with: pip install torch') from error
    return DeviceOutput(torch.from_dlpack, torch.clone)


def with_masks(info: dict[str, Any], mask: Any, copy: Callable[[Any], Any] = np.copy) -> dict[str, Any]:
    """Infos as Gymnasium hands them out: each key with a mask `_key` of the environments that have it.

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


def _read(readers: Any, words: np.ndarray[Any, Any]) -> Any:
    return jax.tree.map(lambda read: read(words), readers)


def _tree_reader(readers: Any) -> Callable[[np.ndarray[Any, Any]], Any]:
    """One function for all leaves; the leaf's own where there is just one."""
    return readers if callable(readers) else functools.partial(_read, readers)
