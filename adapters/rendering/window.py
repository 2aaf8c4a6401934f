"""A window that shows pictures and hears the keyboard.

    show(picture)   draw it, hear what happened, wait for the time of the next picture
    events()        what happened since the last call
    close()         give the window back

Any number of windows may be open at once, and each closes by itself: they are SDL's own, which pygame has in
`pygame._sdl2.video`, because `pygame.display` knows one window only, which all users of a process share.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

import numpy as np
from jaxtyping import UInt8

from funcenv.adapters._lifecycle import ClosesAtExit
from funcenv.adapters.rendering.display import load_pygame, require_display
from funcenv.checks import require_positive

_MOST_EVENTS = 1000  # kept for who does not ask
_SHARE_OF_SCREEN = 0.9  # that a new window takes at most, each way

_shown: weakref.WeakSet[Window] = weakref.WeakSet()  # windows on the screen; SDL has one queue of events for all


class Window(ClosesAtExit):
    """A window that shows pictures and hears the keyboard.

    It opens with the first picture. The user may resize it, and the picture keeps its proportions; where the user
    closes it, it stays closed, and `show` does nothing from then on.

    All calls come from the thread that opened it, as window systems demand.

    Args:
        caption: what stands in its title bar.
        fps: how many pictures a second `show` lets through at most; None for no limit.
        zoom: how many pixels of the screen a pixel of the picture gets when the window opens, if there is room.

    Attributes:
        fps: as given; it may be set at any time.
        was_closed: whether it was closed, by the user or by `close`.

    Raises:
        ModuleNotFoundError: pygame is not installed.
        RuntimeError: there is no display.
        ValueError: `fps` or `zoom` is not above 0.

    >>> with Window("a red square", fps=1000) as window:
    ...     window.show(np.full((64, 64, 3), (255, 0, 0), np.uint8))
    ...     window.is_open, window.pixels()[0, 0].tolist()
    (True, [255, 0, 0])
    >>> window.is_open
    False
    """

    def __init__(self, caption: str = "funcenv", fps: float | None = 30, zoom: float = 1.0) -> None:
        require_display()
        require_positive(zoom=zoom, **({} if fps is None else {"fps": fps}))
        self.fps = fps
        self.was_closed = False
        self._caption = caption
        self._zoom = zoom
        self._events: deque[Any] = deque(maxlen=_MOST_EVENTS)
        self._window: Any = None
        self._renderer: Any = None
        self._clock: Any = None

    @property
    def is_open(self) -> bool:
        """Whether it is on the screen."""
        return self._window is not None

    @property
    def caption(self) -> str:
        """What stands in the title bar."""
        return self._caption

    @caption.setter
    def caption(self, caption: str) -> None:
        self._caption = caption
        if self._is_alive():
            self._window.title = caption

    def show(self, picture: UInt8[np.ndarray, "height width 3"]) -> None:
        """Show a picture, in the whole window; then wait until the next one is due.

        Raises:
            TypeError: something else than a picture.
        """
        _require_picture(picture)
        if self.was_closed:
            return
        pygame = load_pygame()
        height, width, _ = picture.shape
        if not self._is_alive():
            self._open(pygame, width, height)
        from pygame._sdl2 import video

        surface = pygame.image.frombuffer(np.ascontiguousarray(picture), (width, height), "RGB")
        self._renderer.clear()
        video.Texture.from_surface(self._renderer, surface).draw(dstrect=self._place(width, height))
        self._renderer.present()
        _hear(pygame)
        if self.fps is not None and self._clock is not None:
            self._clock.tick(self.fps)

    def events(self) -> list[Any]:
        """What happened in the window since the last call: pygame's events, keys pressed and released among them.

        That the window was closed is told by `was_closed`.
        """
        if self._is_alive():
            _hear(load_pygame())
        heard = list(self._events)
        self._events.clear()
        return heard

    def pixels(self) -> UInt8[np.ndarray, "height width 3"]:
        """What is to be seen now, a fresh array.

        Raises:
            RuntimeError: it is not open.
        """
        if not self._is_alive():
            raise RuntimeError("the window is not open; show a picture first")
        shown = load_pygame().surfarray.array3d(self._renderer.to_surface())
        return np.ascontiguousarray(shown.swapaxes(0, 1))

    def close(self) -> None:
        """Close it for good; calling it again does nothing."""
        self.was_closed = True
        self._forget()
        if self._clock is not None and not _shown:
            load_pygame().display.quit()
        self._clock = None

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _open(self, pygame: Any, width: int, height: int) -> None:
        from pygame._sdl2 import video

        pygame.display.init()
        zoom = self._zoom
        for room, wanted in zip(pygame.display.get_desktop_sizes()[0], (width, height), strict=True):
            zoom = min(zoom, _SHARE_OF_SCREEN * room / wanted)
        size = max(1, round(width * zoom)), max(1, round(height * zoom))
        self._window = video.Window(self._caption, size=size, resizable=True)
        self._renderer = video.Renderer(self._window)
        self._clock = pygame.time.Clock()
        if not _shown:
            pygame.register_quit(_forget_all)
        _shown.add(self)
        self.close_by_itself()

    def _place(self, width: int, height: int) -> tuple[int, int, int, int]:
        """Left, top, width and height of the picture in the window."""
        room_x, room_y = self._window.size
        zoom = min(room_x / width, room_y / height)
        across, down = round(width * zoom), round(height * zoom)
        return (room_x - across) // 2, (room_y - down) // 2, across, down

    def _is_alive(self) -> bool:
        """Whether it is on the screen still: other code may have ended pygame, which takes every window away."""
        if self._window is not None and not load_pygame().display.get_init():
            self._forget()
        return self._window is not None

    def _take(self, event: Any, pygame: Any) -> None:
        if event.type in (pygame.QUIT, pygame.WINDOWCLOSE):
            self.close()
        else:
            self._events.append(event)

    def _forget(self) -> None:
        _shown.discard(self)
        self._renderer = None  # before its window
        if self._window is not None:
            self._window.destroy()
        self._window = None


def _hear(pygame: Any) -> None:
    """Hand every event to the window that it happened in; to all, where it belongs to none."""
    for event in pygame.event.get():
        place = getattr(event, "window", None)
        for window in list(_shown):
            if place is None or place is window._window:
                window._take(event, pygame)
        if not _shown:
            return


def _forget_all() -> None:
    for window in list(_shown):
        window._forget()


def _require_picture(picture: Any) -> None:
    if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or picture.shape[2:] != (3,):
        shown = f"{picture.dtype}{list(picture.shape)}" if hasattr(picture, "shape") else repr(picture)
        raise TypeError(f"a window shows a numpy array uint8 [height, width, 3], got {type(picture).__name__} {shown}")
