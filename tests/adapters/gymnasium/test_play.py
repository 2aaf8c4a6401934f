"""Gymnasium's `play` takes the keys that the environments name."""

import gymnasium
import numpy as np
import pygame
import pytest
from gymnasium.utils.play import play

import funcenv
import funcenv.adapters.gymnasium  # noqa: F401  (it registers)
from funcenv import adapters
from funcenv.keyboard import Keymap, key_code, key_name
from tests.support.tiny_envs import Echo

IDS = [id for id in funcenv.registry if "/" not in id and not id.endswith("v0")]


@pytest.mark.parametrize("id", IDS)
def test_every_key_has_pygames_code(id):
    env = gymnasium.make(f"funcenv/{id}")
    codes = env.get_wrapper_attr("get_keys_to_action")()
    names = adapters.make(id).get_wrapper_attr("get_keys_to_action")()
    assert all(type(code) is int for combination in codes for code in combination)
    assert [[pygame.key.name(code) for code in combination] for combination in codes] == [
        list(names) for names in names
    ]
    codes.pop((), None), names.pop((), None)  # what no key plays
    keymap = Keymap(codes, next(iter(codes.values())), adapters.make(id).action_space)  # our own `play` takes them too
    assert keymap.keys == {name for combination in names for name in combination}


def test_codes_and_names_belong_together():
    for name in ("left", "right", "up", "down", "space", "return", "escape", "tab", "w"):
        assert key_name(key_code(name)) == name == pygame.key.name(key_code(name))


def test_the_wrapped_attribute_is_missing_where_there_are_no_keys():
    env = adapters.gymnasium.GymnasiumEnv(Echo(funcenv.spaces.Discrete(2)))
    assert not env.has_wrapper_attr("get_keys_to_action")


def test_gymnasiums_play(monkeypatch):
    """Press the right arrow for some frames, then Escape."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    events = [[pygame.event.Event(pygame.KEYDOWN, key=pygame.K_RIGHT)], [], [], []]
    events += [[pygame.event.Event(pygame.KEYDOWN, key=pygame.K_ESCAPE)]]
    monkeypatch.setattr(pygame.event, "get", lambda: events.pop(0))
    actions = []
    env = gymnasium.make("funcenv/CartPole-v1", render_mode="rgb_array")
    play(env, callback=lambda *transition: actions.append(transition[2]), fps=500, noop=0, seed=0)
    assert actions[1:4] == [1, 1, 1] and np.isin(actions, [0, 1]).all()
