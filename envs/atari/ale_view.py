"""A view of the state with the methods of ALE that Gymnasium's wrappers call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcenv.struct import NDArray


class AleView:
    """Stands for ALE's interface object, as far as it can be read; to act, step the environment.

    Args:
        env: an `Atari`.
        read_state: returns the current state, with NumPy arrays.
    """

    def __init__(self, env: Any, read_state: Callable[[], Any]) -> None:
        self._env, self._read_state = env, read_state

    def lives(self) -> int:
        """Return how many lives are left."""
        return int(self._read_state().lives)

    def game_over(self, *, with_truncation: bool = True) -> bool:
        """Return whether the game is over, or the episode has lasted for its maximal number of frames."""
        state = self._read_state()
        return bool(state.terminal or (with_truncation and state.truncated))

    def game_truncated(self) -> bool:
        """Return whether the episode has lasted for its maximal number of frames."""
        return bool(self._read_state().truncated)

    def getEpisodeFrameNumber(self) -> int:  # noqa: N802  # ALE's name, as those below
        """Return the number of frames since the reset."""
        return int(self._read_state().frame)

    def getScreenDims(self) -> tuple[int, int]:  # noqa: N802
        """Return the height and the width of the screen."""
        return self._env.console.screen_shape

    def getScreen(self, out: NDArray | None = None) -> NDArray:  # noqa: N802
        """Return the indices of colours of the screen, or write them to an array."""
        return _given(_bytes(self._read_state().screen).reshape(self.getScreenDims()), out)

    def getScreenRGB(self, out: NDArray | None = None) -> NDArray:  # noqa: N802
        """Return the screen in colours, or write it to an array."""
        return _given(self._env.colors[self.getScreen()], out)

    def getScreenGrayscale(self, out: NDArray | None = None) -> NDArray:  # noqa: N802
        """Return the screen in grey levels, or write it to an array."""
        return _given(self._env.gray_levels[self.getScreen()], out)

    def getRAM(self, out: NDArray | None = None) -> NDArray:  # noqa: N802
        """Return the memory, or write it to an array."""
        return _given(_bytes(self._read_state().ram), out)


def _bytes(words: Any) -> NDArray:
    return np.ascontiguousarray(words).view(np.uint8)


def _given(values: NDArray, out: NDArray | None) -> NDArray:
    if out is None:
        return values
    out[...] = values
    return out
