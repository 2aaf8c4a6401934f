"""Check before opening a window whether one can be opened, with clear errors."""

import sys

import pytest

from funcenv import adapters
from funcenv.adapters.rendering.display import can_open_window, require_display

VARIABLES = ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY")


@pytest.mark.parametrize(
    ("variables", "there"),
    [
        ({}, False),
        ({"SDL_VIDEODRIVER": "dummy"}, True),
        ({"SDL_VIDEODRIVER": "offscreen"}, True),
        ({"SDL_VIDEODRIVER": "x11"}, False),
        ({"DISPLAY": ":0"}, True),
        ({"WAYLAND_DISPLAY": "wayland-0", "SDL_VIDEODRIVER": "wayland"}, True),
    ],
)
def test_what_counts_as_a_display(monkeypatch, variables, there):
    monkeypatch.setattr(sys, "platform", "linux")
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert can_open_window() is there
    if there:
        adapters.make("CartPole-v1", render_mode="human").close()
        return
    with pytest.raises(RuntimeError, match="no display .* set SDL_VIDEODRIVER=dummy"):
        require_display()
    with pytest.raises(RuntimeError, match='choose render_mode="rgb_array"'):
        adapters.make("CartPole-v1", render_mode="human")
    with pytest.raises(RuntimeError, match="no display"):
        adapters.make_vec("CartPole-v1", 2, render_mode="human")


def test_other_systems_always_have_one(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert can_open_window()


def test_without_pygame_the_install_command_is_told_at_construction(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "funcenv\[render\]"'):
        adapters.make("CartPole-v1", render_mode="human")
    env = adapters.make("CartPole-v1", render_mode="rgb_array")  # which needs none
    env.reset(seed=0)
    assert env.render().ndim == 3
