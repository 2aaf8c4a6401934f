"""Windows with SDL's dummy driver: their pixels, how they close, and that they are independent."""

import gc
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from funcenv.adapters.rendering.display import load_pygame
from funcenv.adapters.rendering.window import Window

FRAME = np.random.default_rng(0).integers(0, 256, (60, 90, 3), np.uint8)


def post(kind, **attributes):
    pygame = load_pygame()
    pygame.event.post(pygame.event.Event(getattr(pygame, kind), **attributes))


@pytest.fixture
def window():
    with Window("a test", fps=None) as window:
        yield window


def test_it_shows_the_frame_pixel_for_pixel(window):
    assert not window.is_open and not window.was_closed
    with pytest.raises(RuntimeError, match="not open"):
        window.pixels()
    for frame in (FRAME, 255 - FRAME, FRAME[::-1]):  # the last is not contiguous
        window.show(frame)
        np.testing.assert_array_equal(window.pixels(), frame)
    assert window.is_open and window.caption == "a test"
    window.caption = "another"
    assert window.caption == "another"


@pytest.mark.parametrize("event", ["QUIT", "WINDOWCLOSE"])
def test_the_user_closes_it_and_showing_goes_on(window, event):
    window.show(FRAME)
    post(event)
    window.show(FRAME)
    assert window.was_closed and not window.is_open
    window.show(FRAME)
    assert not window.is_open
    assert not load_pygame().display.get_init()


def test_closing_twice_and_before_it_opened():
    window = Window()
    window.close()
    window.close()
    window.show(FRAME)
    assert window.was_closed and not window.is_open


def test_two_windows_at_once(window):
    with Window("another", fps=None) as other:
        window.show(FRAME)
        other.show(FRAME[:30])
        post("WINDOWCLOSE", window=other._window)
        window.show(255 - FRAME)
        assert other.was_closed and window.is_open
        np.testing.assert_array_equal(window.pixels(), 255 - FRAME)
    with Window("a third", fps=None) as third:
        third.show(FRAME)
        window.close()
        np.testing.assert_array_equal(third.pixels(), FRAME)
        post("QUIT")  # which is for all
        third.events()
        assert third.was_closed


def test_events_are_told_once_and_to_whom_they_concern(window):
    pygame = load_pygame()
    with Window("another", fps=None) as other:
        window.show(FRAME)
        other.show(FRAME)
        window.events(), other.events()
        post("KEYDOWN", key=pygame.K_LEFT, window=other._window)
        post("KEYDOWN", key=pygame.K_UP)
        keys = [[event.key for event in heard.events() if event.type == pygame.KEYDOWN] for heard in (window, other)]
        assert keys == [[pygame.K_UP], [pygame.K_LEFT, pygame.K_UP]]
        assert window.events() == other.events() == []


def test_it_opens_again_after_other_code_ended_pygame(window):
    window.show(FRAME)
    load_pygame().quit()
    window.events()
    assert not window.is_open and not window.was_closed
    window.show(FRAME)
    np.testing.assert_array_equal(window.pixels(), FRAME)
    load_pygame().display.quit()
    window.caption = "still here"
    window.show(255 - FRAME)
    np.testing.assert_array_equal(window.pixels(), 255 - FRAME)


def test_it_closes_when_nobody_has_it():
    window = Window(fps=None)
    window.show(FRAME)
    assert load_pygame().display.get_init()
    del window
    gc.collect()
    assert not load_pygame().display.get_init()


def test_zoom_magnifies_as_far_as_the_screen_goes():
    grey = np.full((60, 90, 3), 77, np.uint8)
    with Window(fps=None, zoom=2) as window:
        window.show(grey)
        assert window.pixels().shape == (120, 180, 3) and (window.pixels() == 77).all()
    with Window(fps=None, zoom=100) as window:
        window.show(grey)
        height, width, _ = window.pixels().shape
        screen_width, screen_height = load_pygame().display.get_desktop_sizes()[0]
        assert (width == round(0.9 * screen_width) or height == round(0.9 * screen_height)) and abs(
            width / height - 1.5
        ) < 0.01


def test_a_frame_of_other_proportions_keeps_them(window):
    window.show(np.zeros((60, 90, 3), np.uint8))
    window.show(np.full((60, 30, 3), 255, np.uint8))
    lit = window.pixels()[..., 0] > 0
    assert lit[:, 30:60].all() and lit.sum() == 60 * 30


def test_frames_are_paced(monkeypatch):
    waits = []

    class Clock:
        def tick(self, fps):
            waits.append(fps)

    monkeypatch.setattr(load_pygame().time, "Clock", Clock)
    with Window(fps=25) as window:
        window.show(FRAME)
        window.fps = 50
        window.show(FRAME)
        window.fps = None
        window.show(FRAME)
    assert waits == [25, 50]


def test_events_nobody_asks_for_are_bounded(window):
    pygame = load_pygame()
    window.show(FRAME)
    for _ in range(30):
        for _ in range(100):
            post("KEYDOWN", key=pygame.K_a)
        window.show(FRAME)
    assert len(window.events()) == 1000


@pytest.mark.parametrize("frame", [FRAME.astype(float), FRAME[0], np.zeros((4, 4, 4), np.uint8), FRAME.tolist(), None])
def test_other_things_are_no_frames(window, frame):
    with pytest.raises(TypeError, match=r"uint8 \[height, width, 3\]"):
        window.show(frame)


@pytest.mark.parametrize("argument", [{"fps": 0}, {"fps": -1.0}, {"zoom": 0.0}, {"zoom": float("nan")}])
def test_bad_numbers(argument):
    with pytest.raises(ValueError, match="must be a finite number above 0"):
        Window(**argument)


def test_a_program_with_a_window_can_be_terminated():
    code = (
        "import time, numpy as np\nfrom funcenv.adapters.rendering.window import Window\n"
        "window = Window()\nwindow.show(np.zeros((4, 4, 3), np.uint8))\nprint('shown', flush=True)\n"
        "while True: window.show(np.zeros((4, 4, 3), np.uint8))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "SDL_NO_SIGNAL_HANDLERS"}
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"shown\n"  # and nothing of pygame's
        process.terminate()
        assert process.wait(timeout=20) == -signal.SIGTERM
