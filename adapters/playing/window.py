"""A window to play in: the frame, lines below it that show the score and the keys, and the keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcenv.adapters.playing.loop import Pressed, Score
from funcenv.adapters.playing.pace import Pace
from funcenv.adapters.rendering.display import load_pygame
from funcenv.adapters.rendering.window import Window
from funcenv.checks import require_positive
from funcenv.keyboard import key_name, wrap_items
from funcenv.struct import NDArray

_BACKGROUND_COLOR, _TEXT_COLOR, _FAINT_COLOR = (24, 26, 30), (235, 237, 240), (160, 166, 174)
_MARGIN, _LINE_HEIGHT, _FONT_SIZE, _MESSAGE_SIZE = 10, 22, 20, 26  # pixels
_MIN_WIDTH = 400  # pixels of a frame, so that the score and the keys fit; smaller frames are enlarged


class PlayWindow:
    """A screen of `loop.run` in a window.

    Args:
        title: Title of the window.
        fps: Frames per second.
        zoom: Initial size of the window relative to a frame.
        keys: Groups of short texts that explain the keys; every group begins a line.

    Raises:
        ModuleNotFoundError: pygame is not installed.
        RuntimeError: There is no display.
        ValueError: `fps` or `zoom` is not above 0.
    """

    def __init__(self, title: str, fps: float, zoom: float = 1.0, keys: Sequence[Sequence[str]] = ()) -> None:
        require_positive(fps=fps)
        self.window = Window(title, fps=None, zoom=zoom)
        self._pace, self._keys = Pace(fps), keys
        self._down: set[str] = set()
        self._has_left = False

    def show(self, frame: Any, score: Score) -> None:
        """Show a frame, then wait until the next one is due."""
        frame = np.asarray(frame)
        scale = -(-_MIN_WIDTH // frame.shape[1])
        frame = frame.repeat(scale, axis=0).repeat(scale, axis=1)
        if score.message:
            frame = _with_message(frame, score.message)
        self.window.show(np.concatenate([frame, _status_lines(frame.shape[1], score, self._keys)]))
        self.skip(score)

    def skip(self, score: Score) -> None:
        """Wait until the next frame is due, without showing one."""
        self._pace.wait(score.speed)

    @property
    def is_late(self) -> bool:
        """True if the game is behind its pace."""
        return self._pace.is_late

    def pressed(self) -> Pressed:
        """Return the keys that were pressed since the last call."""
        pygame, keys, new = load_pygame(), set(self._down), set()
        for event in self.window.events():
            if event.type == pygame.KEYDOWN:
                key = _typed_key(event)
                self._down.add(key)
                new.add(key)
                self._has_left |= key == "escape"
            elif event.type == pygame.KEYUP:
                self._down.discard(_typed_key(event))
            elif event.type == pygame.WINDOWFOCUSLOST:
                self._down.clear()  # no event reports their release
        return Pressed(frozenset(keys | new), frozenset(new))

    @property
    def is_open(self) -> bool:
        """False once the window was closed or escape was pressed."""
        return not (self._has_left or self.window.was_closed)

    def close(self) -> None:
        """Close the window; a second call does nothing."""
        self.window.close()


def _typed_key(event: Any) -> str:
    """Return the name of a key; the keys plus and minus of a number pad count as the characters."""
    pygame = load_pygame()
    number_pad = {pygame.K_KP_PLUS: "+", pygame.K_KP_MINUS: "-", pygame.K_KP_ENTER: "return"}
    return number_pad.get(event.key) or key_name(event.key)


def _status_lines(width: int, score: Score, keys: Sequence[Sequence[str]]) -> NDArray:
    """Draw the score and the keys as an image of this width."""
    pygame = load_pygame()
    font = _font(_FONT_SIZE)
    inside = width - 2 * _MARGIN
    lines = [line for group in keys for line in wrap_items(group, inside, lambda text: font.size(text)[0])]
    surface = pygame.Surface((width, _LINE_HEIGHT * (1 + len(lines)) + _MARGIN))
    surface.fill(_BACKGROUND_COLOR)
    middle = _MARGIN // 2 + _LINE_HEIGHT // 2
    status = font.render(score.status, True, _TEXT_COLOR)
    surface.blit(status, (_MARGIN, middle - status.get_height() // 2))
    last = font.render("" if score.message else score.last_status, True, _FAINT_COLOR)
    if status.get_width() + last.get_width() + 2 * _MARGIN <= inside:
        surface.blit(last, (width - _MARGIN - last.get_width(), middle - last.get_height() // 2))
    for i, line in enumerate(lines, 1):
        text = font.render(line, True, _FAINT_COLOR)
        surface.blit(text, (_MARGIN, middle + i * _LINE_HEIGHT - text.get_height() // 2))
    return _pixels(surface)


def _with_message(frame: NDArray, message: str) -> NDArray:
    """Return a darker frame with a message at the top, one line for each part between colons."""
    pygame = load_pygame()
    height, width, _ = frame.shape
    surface = pygame.image.frombuffer(np.ascontiguousarray(frame // 2 + frame // 4), (width, height), "RGB")
    font = _font(_MESSAGE_SIZE)
    texts = [font.render(part.strip(), True, (255, 255, 255)) for part in message.split(":")]
    gap = font.get_linesize()
    widest = max(text.get_width() for text in texts)
    plate = pygame.Rect(0, 0, widest + 4 * _MARGIN, gap * len(texts) + 2 * _MARGIN)
    plate.midtop = (width // 2, _MARGIN)
    pygame.draw.rect(surface, _BACKGROUND_COLOR, plate, border_radius=_MARGIN)
    for i, text in enumerate(texts):
        surface.blit(text, text.get_rect(center=(width // 2, plate.top + _MARGIN + gap * i + gap // 2)))
    return _pixels(surface)


def _font(size: int) -> Any:
    pygame = load_pygame()
    pygame.font.init()  # each time, because other code may have quit pygame and its fonts
    return pygame.font.Font(None, size)


def _pixels(surface: Any) -> NDArray:
    return np.ascontiguousarray(load_pygame().surfarray.array3d(surface).swapaxes(0, 1))
