"""Windows that show frames and receive keyboard events.

Several windows may be open at once, and each is closed on its own. They use SDL's window interface in
`pygame._sdl2.video`, because `pygame.display` supports only one window per process.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

import numpy as np
from jaxtyping import UInt8

from funcenv.adapters.engine.lifecycle import ClosesAtExit
from funcenv.adapters.rendering.display import load_pygame, require_display
from funcenv.checks import require_positive

_MAX_EVENTS = 1000  # kept between two calls of `Window.events`
_MAX_SCREEN_FRACTION = 0.9  # of a side of the screen, for a new window

_open_windows: weakref.WeakSet[Window] = weakref.WeakSet()  # SDL has one event queue for all of them


class Window(ClosesAtExit):
    """A window that shows frames and receives keyboard events.

    The first frame opens the window. The user may resize the window, which keeps the aspect ratio of the frame. Once
    the user closes the window, it stays closed and `show` does nothing. All calls must come from the thread that opened
    the window, as window systems require.

    Args:
        caption: Text in the title bar.
        fps: Maximum frames per second, to which `show` slows down; None for no limit.
        zoom: Screen pixels per frame pixel when the window opens, if the screen is large enough.

    Attributes:
        fps: As given; may be changed at any time.
        was_closed: Whether the window was closed, by the user or by `close`.

    Raises:
        ModuleNotFoundError: pygame is not installed.
        RuntimeError: There is no display.
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
        require_positive(zoom=zoom, fps=fps)
        self.fps = fps
        self.was_closed = False
        self._caption = caption
        self._zoom = zoom
        self._events: deque[Any] = deque(maxlen=_MAX_EVENTS)
        self._window: Any = None
        self._renderer: Any = None
        self._clock: Any = None

    @property
    def is_open(self) -> bool:
        """True if the window is on the screen."""
        return self._window is not None

    @property
    def caption(self) -> str:
        """Text in the title bar; may be changed at any time."""
        return self._caption

    @caption.setter
    def caption(self, caption: str) -> None:
        self._caption = caption
        if self._is_alive():
            self._window.title = caption

    def show(self, frame: UInt8[np.ndarray, "height width 3"]) -> None:
        """Show a frame as large as the window allows, then wait until the next frame is due.

        Raises:
            TypeError: The argument is not a frame.
        """
        if not isinstance(frame, np.ndarray) or frame.dtype != np.uint8 or frame.shape[2:] != (3,):
            given = f"{frame.dtype}{list(frame.shape)}" if hasattr(frame, "shape") else repr(frame)
            raise TypeError(
                f"a window shows a numpy array uint8 [height, width, 3], got {type(frame).__name__} {given}"
            )
        if self.was_closed:
            return
        pygame = load_pygame()
        height, width, _ = frame.shape
        if not self._is_alive():
            self._open(pygame, width, height)
        from pygame._sdl2 import video

        surface = pygame.image.frombuffer(np.ascontiguousarray(frame), (width, height), "RGB")
        self._renderer.clear()
        video.Texture.from_surface(self._renderer, surface).draw(dstrect=self._frame_rectangle(width, height))
        self._renderer.present()
        _dispatch_events(pygame)
        if self.fps is not None and self._clock is not None:
            self._clock.tick(self.fps)

    def events(self) -> list[Any]:
        """Return pygame's events in this window since the last call, such as pressed and released keys.

        There is no event for a closed window; see `was_closed`.
        """
        if self._is_alive():
            _dispatch_events(load_pygame())
        events = list(self._events)
        self._events.clear()
        return events

    def pixels(self) -> UInt8[np.ndarray, "height width 3"]:
        """Return the pixels of the window as a new array.

        Raises:
            RuntimeError: The window is not open.
        """
        if not self._is_alive():
            raise RuntimeError("the window is not open; show a frame first")
        columns = load_pygame().surfarray.array3d(self._renderer.to_surface())
        return np.ascontiguousarray(columns.swapaxes(0, 1))

    def close(self) -> None:
        """Close the window for good; a second call does nothing."""
        self.was_closed = True
        self._release()
        if self._clock is not None and not _open_windows:
            load_pygame().display.quit()
        self._clock = None

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _open(self, pygame: Any, width: int, height: int) -> None:
        from pygame._sdl2 import video

        pygame.display.init()
        screen_width, screen_height = (_MAX_SCREEN_FRACTION * side for side in pygame.display.get_desktop_sizes()[0])
        zoom = min(self._zoom, screen_width / width, screen_height / height)
        size = max(1, round(width * zoom)), max(1, round(height * zoom))
        self._window = video.Window(self._caption, size=size, resizable=True)
        self._renderer = video.Renderer(self._window)
        self._clock = pygame.time.Clock()
        if not _open_windows:
            pygame.register_quit(_release_all)
        _open_windows.add(self)
        self.close_by_itself()

    def _frame_rectangle(self, width: int, height: int) -> tuple[int, int, int, int]:
        """Return the left, top, width and height of the largest centered frame in the window."""
        window_width, window_height = self._window.size
        zoom = min(window_width / width, window_height / height)
        width, height = round(width * zoom), round(height * zoom)
        return (window_width - width) // 2, (window_height - height) // 2, width, height

    def _is_alive(self) -> bool:
        """Check whether the window still exists; other code may have quit pygame, which destroys all windows."""
        if self._window is not None and not load_pygame().display.get_init():
            self._release()
        return self._window is not None

    def _receive(self, event: Any, pygame: Any) -> None:
        if event.type in (pygame.QUIT, pygame.WINDOWCLOSE):
            self.close()
        else:
            self._events.append(event)

    def _release(self) -> None:
        _open_windows.discard(self)
        self._renderer = None  # SDL requires this before its window is destroyed
        if self._window is not None:
            self._window.destroy()
        self._window = None


def window_title(env: Any) -> str:
    """Return the id of a stateful environment, or its description if it was made without one.

    >>> from funcenv.adapters import make
    >>> window_title(make("FrozenLake-v1"))
    'FrozenLake-v1'
    """
    spec = getattr(env, "spec", None)
    return str(env) if spec is None else str(spec.id)


def _dispatch_events(pygame: Any) -> None:
    """Give each event in SDL's queue to the window it belongs to, or to all windows if it belongs to none."""
    for event in pygame.event.get():
        target = getattr(event, "window", None)
        for window in list(_open_windows):
            if target is None or target is window._window:
                window._receive(event, pygame)
        if not _open_windows:
            return


def _release_all() -> None:
    for window in list(_open_windows):
        window._release()
