"""The mapping from keys to actions, in all accepted forms."""

import numpy as np
import pytest

from funcenv.adapters import Space
from funcenv.keyboard import Keymap, key_name, parse_combination
from funcenv.spaces import Box, Discrete

THREE = Space(Discrete(3))


@pytest.mark.parametrize("combination", ["wd", ("w", "d"), (ord("w"), ord("d")), ("d", ord("w"))])
def test_gymnasiums_forms_mean_the_same(combination):
    assert parse_combination(combination) == {"w", "d"}


def test_pygames_codes_and_names_mean_the_same(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    from funcenv.adapters.rendering.display import load_pygame

    pygame = load_pygame()
    pygame.display.init()
    for code, name in [(pygame.K_LEFT, "left"), (pygame.K_UP, "up"), (pygame.K_SPACE, "space"), (pygame.K_a, "a")]:
        assert key_name(code) == name
    assert (
        parse_combination((pygame.K_LEFT, pygame.K_RETURN))
        == {"left", "return"}
        == parse_combination(("left", "return"))
    )
    assert parse_combination(pygame.K_RIGHT) == {"right"}


def test_only_the_whole_combination_plays_it():
    keymap = Keymap({"w": 1, "wd": 2}, 0, THREE)
    played = [keymap.action(keys) for keys in ({"w"}, {"w", "d"}, {"d"}, set(), {"w", "x"})]
    assert played == [1, 2, 0, 0, 1]  # keys that mean nothing are not heard


def test_zero_means_no_force_in_a_box():
    keymap = Keymap({("left",): [-1.0], ("right",): np.array([1.0], np.float32)}, 0, Space(Box(-1, 1, (1,))))
    np.testing.assert_array_equal(keymap.action(()), [0.0])
    np.testing.assert_array_equal(keymap.action({"left"}), [-1.0])
    assert keymap.action({"left"}).dtype == np.float32


@pytest.mark.parametrize(
    ("keys", "noop", "error", "message"),
    [
        ([("a", 0)], 0, TypeError, "must be a dictionary from keys to actions, got list"),
        ({1.5: 0}, 0, TypeError, "a tuple of characters, code points and names"),
        ({("a", None): 0}, 0, TypeError, "got .'a', None."),
        ({"": 0}, 0, ValueError, "at least one, got none"),
        ({"ab": 0, "ba": 1}, 0, ValueError, "names a \\+ b twice"),
        ({"a": 3}, 0, ValueError, "the action of 'a' must be in the action space Discrete.3., got 3"),
        ({"left": 0}, 0, ValueError, 'the keys l, e, f, t pressed together; write \\("left",\\)'),
        ({("w", "rihgt"): 0}, 0, ValueError, "'rihgt' in .* is not the name of a key; the names are space, return,"),
        ({"a": 0}, 7, ValueError, "noop must be in the action space Discrete.3., got 7"),
    ],
)
def test_what_makes_no_sense_is_refused(keys, noop, error, message):
    with pytest.raises(error, match=message):
        Keymap(keys, noop, THREE)


def test_a_combination_that_plays_both_keys_is_not_explained():
    keys = {("left",): [-1.0, 0.0], ("up",): [0.0, 1.0], ("left", "up"): [-1.0, 1.0], ("up", "space"): [0.0, 0.5]}
    plane = Space(Box(-1, 1, (2,)))
    keymap = Keymap(keys, 0, plane)
    assert keymap.lines(["steer", "gas"]) == ["left: steer -1", "up: gas 1", "space + up: gas 0.5"]
    engines = Keymap({("left",): [-1.0, -1.0], ("up",): [1.0, 0.0], ("left", "up"): [1.0, -1.0]}, [-1.0, 0.0], plane)
    assert len(engines.lines()) == 2
    assert len(Keymap({"a": 1, "b": 1, "ab": 2}, 0, THREE).lines()) == 3  # actions that are no quantities


@pytest.mark.parametrize(("keys", "noop", "rests"), [({"a": 0, "b": 1}, 0, False), ({"a": 0, "b": 2}, 1, True)])
def test_no_key_may_play_an_action_of_its_own(keys, noop, rests):
    assert Keymap(keys, noop, THREE).rests is rests
