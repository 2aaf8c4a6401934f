"""A window to play in: the picture, with a line of text below it, and the keyboard."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv.adapters.playing.keys import key_name
from funcenv.adapters.playing.loop import Score
from funcenv.adapters.rendering.display import load_pygame
from funcenv.adapters.rendering.window import Window

_PAPER, _INK = (24, 26, 30), (235, 237, 240)
_BAR, _MARGIN, _TEXT = 28, 10, 20  # height of the line of text, room beside it, size of its letters [pixels]
_LEAST_WIDTH = 360  # of the picture, so that there is room for the text; a smaller frame is magnified


class PlayWindow:
    """Where a game is shown, and its keys are read.

    Args:
        title: of the window.
        fps: frames a second.
        zoom: how much larger than a frame the window is at first.

    Raises:
        ModuleNotFoundError: pygame is not installed.
        RuntimeError: there is no display.
    """

    def __init__(self, title: str, fps: float, zoom: float = 1.0) -> None:
        self.window = Window(title, fps=fps, zoom=zoom)
        self._down: set[str] = set()
        self._left = False

    def show(self, picture: Any, score: Score) -> None:
        """A frame, uint8 `[height, width, 3]`, or the last of a list; then wait until the next one is due."""
        frame = np.asarray(picture[-1] if isinstance(picture, list) else picture)
        magnified = -(-_LEAST_WIDTH // frame.shape[1])
        frame = frame.repeat(magnified, axis=0).repeat(magnified, axis=1)
        self.window.show(np.concatenate([frame, _bar(frame.shape[1], score)]))

    def pressed(self) -> frozenset[str]:
        """The keys that were down at any time since the last call."""
        pygame, seen = load_pygame(), set(self._down)
        for event in self.window.events():
            if event.type == pygame.KEYDOWN:
                key = key_name(event.key)
                self._down.add(key)
                seen.add(key)
                self._left |= key == "escape"
            elif event.type == pygame.KEYUP:
                self._down.discard(key_name(event.key))
            elif event.type == pygame.WINDOWFOCUSLOST:
                self._down.clear()  # their release will not be heard of
        return frozenset(seen)

    @property
    def is_open(self) -> bool:
        """False once the window was closed or escape was pressed."""
        return not (self._left or self.window.was_closed)

    def close(self) -> None:
        """Take the window away; calling it again does nothing."""
        self.window.close()


def _bar(width: int, score: Score) -> np.ndarray[Any, Any]:
    """How the game goes, as a picture."""
    pygame = load_pygame()
    surface = pygame.Surface((width, _BAR))
    surface.fill(_PAPER)
    font = _font()
    now = font.render(f"episode {score.episode}   step {score.step}   return {score.episode_return:g}", True, _INK)
    surface.blit(now, (_MARGIN, (_BAR - now.get_height()) // 2))
    before = font.render(score.last and f"last: {score.last}", True, _INK)
    if now.get_width() + before.get_width() + 4 * _MARGIN <= width:
        surface.blit(before, (width - _MARGIN - before.get_width(), (_BAR - before.get_height()) // 2))
    return np.ascontiguousarray(pygame.surfarray.array3d(surface).swapaxes(0, 1))


def _font() -> Any:
    """Made anew each time, because other code may have ended pygame, which takes fonts away too."""
    pygame = load_pygame()
    pygame.font.init()
    return pygame.font.Font(None, _TEXT)
