"""A window to play in: the frame, a status line below it, and the keyboard."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv.adapters.playing.keys import key_name
from funcenv.adapters.playing.loop import Score
from funcenv.adapters.rendering.display import load_pygame
from funcenv.adapters.rendering.window import Window
from funcenv.struct import NDArray

_BACKGROUND_COLOR, _TEXT_COLOR = (24, 26, 30), (235, 237, 240)
_STATUS_HEIGHT, _STATUS_MARGIN, _FONT_SIZE = 28, 10, 20  # pixels
_MIN_WIDTH = 360  # pixels of a frame, so that the status line fits; smaller frames are enlarged


class PlayWindow:
    """A screen of `loop.run` in a window.

    Args:
        title: Title of the window.
        fps: Frames per second.
        zoom: Initial size of the window relative to a frame.

    Raises:
        ModuleNotFoundError: pygame is not installed.
        RuntimeError: There is no display.
        ValueError: `fps` or `zoom` is not above 0.
    """

    def __init__(self, title: str, fps: float, zoom: float = 1.0) -> None:
        self.window = Window(title, fps=fps, zoom=zoom)
        self._down: set[str] = set()
        self._has_left = False

    def show(self, frame: Any, score: Score) -> None:
        """Show a frame, or the last of a list of frames, then wait until the next one is due."""
        frame = np.asarray(frame[-1] if isinstance(frame, list) else frame)
        scale = -(-_MIN_WIDTH // frame.shape[1])
        frame = frame.repeat(scale, axis=0).repeat(scale, axis=1)
        self.window.show(np.concatenate([frame, _status_line(frame.shape[1], score)]))

    def pressed(self) -> frozenset[str]:
        """Return the keys that were down at any time since the last call."""
        pygame, keys = load_pygame(), set(self._down)
        for event in self.window.events():
            if event.type == pygame.KEYDOWN:
                key = key_name(event.key)
                self._down.add(key)
                keys.add(key)
                self._has_left |= key == "escape"
            elif event.type == pygame.KEYUP:
                self._down.discard(key_name(event.key))
            elif event.type == pygame.WINDOWFOCUSLOST:
                self._down.clear()  # no event reports their release
        return frozenset(keys)

    @property
    def is_open(self) -> bool:
        """False once the window was closed or escape was pressed."""
        return not (self._has_left or self.window.was_closed)

    def close(self) -> None:
        """Close the window; a second call does nothing."""
        self.window.close()


def _status_line(width: int, score: Score) -> NDArray:
    """Draw the score as an image `[_STATUS_HEIGHT, width, 3]`."""
    pygame = load_pygame()
    pygame.font.init()  # each time, because other code may have quit pygame and its fonts
    font = pygame.font.Font(None, _FONT_SIZE)
    surface = pygame.Surface((width, _STATUS_HEIGHT))
    surface.fill(_BACKGROUND_COLOR)
    status = font.render(score.status, True, _TEXT_COLOR)
    last = font.render(score.last_status, True, _TEXT_COLOR)
    texts = [(status, _STATUS_MARGIN), (last, width - _STATUS_MARGIN - last.get_width())]
    if status.get_width() + last.get_width() + 4 * _STATUS_MARGIN > width:
        del texts[1]
    for text, left in texts:
        surface.blit(text, (left, (_STATUS_HEIGHT - text.get_height()) // 2))
    return np.ascontiguousarray(pygame.surfarray.array3d(surface).swapaxes(0, 1))
