"""The play window on a dummy display, with posted key events."""

import gymnasium
import numpy as np
import pytest

from funcenv.adapters import make, play
from funcenv.adapters.playing import PlayPlot
from funcenv.adapters.playing.window import PlayWindow
from funcenv.adapters.rendering.display import load_pygame


@pytest.fixture(autouse=True)
def dummy_display(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


class Player:
    """A callback that counts the steps and posts pygame's key events."""

    def __init__(self, *keys):
        self.keys, self.steps = list(keys), []

    def __call__(self, before, after, action, reward, terminated, truncated, info):
        self.steps.append(action)
        pygame = load_pygame()
        if not self.keys:
            pygame.event.post(pygame.event.Event(pygame.QUIT))
            return
        for kind, key in self.keys.pop(0):
            pygame.event.post(pygame.event.Event({"down": pygame.KEYDOWN, "up": pygame.KEYUP}[kind], key=key))


def test_keys_pressed_held_and_released(corridor):
    pygame = load_pygame()
    right, left = pygame.K_RIGHT, pygame.K_LEFT
    player = Player([("down", left)], [], [("up", left)], [("down", right), ("up", right)], [])
    env = corridor()
    play(env, callback=player, seed=3)
    assert player.steps == [0, 1, 1, 1, 2, 0]  # held for three frames; a tap within a frame counts
    assert env.seeds == [3]


def test_escape_ends_the_game(corridor):
    player = Player([("down", load_pygame().K_ESCAPE)])
    play(corridor(), callback=player)
    assert player.steps == [0]


def test_an_environment_may_say_what_no_key_plays(corridor):
    env = corridor()
    env.get_keys_to_action = lambda: {(): 2, ("left",): 1}
    player = Player([("down", load_pygame().K_LEFT)])
    play(env, callback=player)
    assert player.steps == [2, 1]


def test_a_gymnasium_environment_is_played_too():
    player = Player([("down", ord("d"))], [])
    env = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    play(env, keys_to_action={"d": 1}, callback=player, fps=1000, seed=0, zoom=0.5)
    assert player.steps == [0, 1, 1]
    env.close()


def test_the_window_shows_the_frame_and_the_score(corridor, monkeypatch):
    frames = []
    pressed = PlayWindow.pressed

    def look(self):
        frames.append(self.window.pixels())
        self.window.close()
        return pressed(self)

    monkeypatch.setattr(PlayWindow, "pressed", look)
    play(corridor(), seed=0)
    play(corridor(), seed=0, wait_for_start=True)
    frame, waiting = frames
    height = 60 * 5
    assert frame.shape == waiting.shape == (height + 3 * 22 + 10, 80 * 5, 3)
    assert frame[10, 10].tolist() == [200, 40, 40] and frame[10, 390].tolist() == [255, 255, 255]
    below = frame[height:]
    assert below.max() > 200 > below.mean()  # light letters on dark
    assert waiting[height - 1].max() < 255 and waiting[:60].max() == 255  # a message on a darker frame


def test_the_window_is_named_after_the_id_and_lists_keys_with_their_meanings(monkeypatch):
    made = []
    init = PlayWindow.__init__
    monkeypatch.setattr(PlayWindow, "__init__", lambda self, *given: made.append(given) or init(self, *given))
    monkeypatch.setattr(PlayWindow, "is_open", False)
    with make("Taxi-v4", render_mode="rgb_array", render_width=50) as env:
        play(env, wait_on_player=True)
    ((title, _, _, keys),) = made
    assert title == "Taxi-v4"
    assert keys == [
        ["down: south", "up: north", "right: east", "left: west", "p: pick up", "d: drop off"],
        ["escape: leave"],
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"zoom": 0}, "zoom must be a finite number above 0, got 0"),
        ({"fps": -1}, "fps must be a finite number above 0, got -1"),
        ({"keys_to_action": {"a": 9}}, "the action of 'a' must be in the action space"),
    ],
)
def test_bad_arguments_open_no_window(corridor, arguments, message):
    env = corridor()
    with pytest.raises(ValueError, match=message):
        play(env, **arguments)
    assert env.seeds == []


def test_an_environment_without_keys_says_so():
    env = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    with pytest.raises(ValueError, match=r"pass play\(env, keys_to_action="):
        play(env)
    env.close()


def test_no_display_is_told(corridor, monkeypatch):
    for name in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(
        RuntimeError, match="there is no display, which a window needs; play in this terminal with funcenv play"
    ):
        play(corridor())


def test_plots_follow_the_game(corridor):
    import matplotlib

    matplotlib.use("agg")
    plot = PlayPlot(lambda before, after, action, reward, *rest: [reward, float(after)], 3, ["reward", "place"])
    player = Player([("down", load_pygame().K_RIGHT)], [], [], [], [])

    def both(*arguments):
        plot.callback(*arguments)
        player(*arguments)

    env = corridor()
    play(env, callback=both, seed=0)
    assert plot.num_steps == len(player.steps) > 3
    line = plot.figure.axes[1].lines[0]
    np.testing.assert_array_equal(line.get_xdata(), np.arange(plot.num_steps - 3, plot.num_steps) + 1)
    np.testing.assert_allclose(line.get_ydata(), list(plot.values[1]))
    with pytest.raises(ValueError, match="one number for each of the 2 plots, got 1"):
        PlayPlot(lambda *arguments: [0.0], 3, ["a", "b"]).callback(None, None, 0, 0.0, False, False, {})
    matplotlib.pyplot.close("all")
