"""Which keys play which action.

A key is named by the character it types, or by a word: "left", "right", "up", "down", "space", "return", "escape".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

Keys = frozenset[str]  # pressed together


class Keymap:
    """From the keys that are pressed together to an action.

    Args:
        keys_to_action: as `play` takes it.
        noop: played when nothing is pressed, or a combination that plays nothing.
        action_space: with `contains`: every action must lie in it.

    Attributes:
        keys: all keys that mean something.

    Raises:
        TypeError: not a mapping, or a key that is neither a string, nor an integer, nor a tuple of these.
        ValueError: an empty combination, two for the same keys, or an action outside of the space.

    >>> from funcenv.adapters import Space
    >>> from funcenv.spaces import Discrete
    >>> keymap = Keymap({("left",): 0, "wd": 1}, 0, Space(Discrete(2)))
    >>> keymap.action({"w", "d"}), keymap.action({"w"}), sorted(keymap.keys)
    (1, 0, ['d', 'left', 'w'])
    """

    def __init__(self, keys_to_action: Mapping[Any, Any], noop: Any, action_space: Any) -> None:
        if not isinstance(keys_to_action, Mapping):
            raise TypeError(
                f"keys_to_action must be a dictionary from keys to actions, got {type(keys_to_action).__name__}; "
                'write {("left",): 0, "wd": 1}'
            )
        self.noop = _noop(noop, action_space)
        self._actions: dict[Keys, Any] = {}
        for combination, action in keys_to_action.items():
            keys = keys_of(combination)
            if keys in self._actions:
                raise ValueError(f"keys_to_action names {' + '.join(sorted(keys))} twice; give each its one action")
            self._actions[keys] = _member(action, action_space, f"the action of {combination!r}")
        self.keys: Keys = frozenset().union(*self._actions)

    def action(self, pressed: Iterable[str]) -> Any:
        """What the pressed keys play."""
        return self._actions.get(frozenset(pressed) & self.keys, self.noop)

    def lines(self) -> list[str]:
        """One line for each combination, to be shown.

        >>> from funcenv.adapters import Space
        >>> from funcenv.spaces import Discrete
        >>> Keymap({("left",): 0, "wd": 1}, 0, Space(Discrete(2))).lines()
        ['left: 0', 'd + w: 1']
        """
        return [f"{' + '.join(sorted(keys))}: {_shown(action)}" for keys, action in self._actions.items()]


def keys_of(combination: Any) -> Keys:
    """The keys of a combination, in any of the forms that Gymnasium takes, and by name.

    A string is the keys that type its characters; a tuple holds characters, code points or names.

    >>> sorted(keys_of("w ")), sorted(keys_of((ord("w"), ord(" ")))), sorted(keys_of(("left", "space")))
    (['space', 'w'], ['space', 'w'], ['left', 'space'])
    """
    parts = (combination,) if isinstance(combination, int) else combination
    if not isinstance(parts, (str, tuple)) or not all(isinstance(part, (str, int)) for part in parts):
        raise TypeError(
            "a combination of keys must be a string of characters, or a tuple of characters, code points and names "
            f'such as ("w", "left"); got {combination!r}'
        )
    if not parts:
        raise ValueError("a combination of keys must have at least one, got none; play(noop=...) is for no key")
    return frozenset(key_name(part) for part in parts)


def key_name(key: str | int) -> str:
    """The name of a key given by a character, a name or a code: a code point, or pygame's.

    >>> key_name("W"), key_name(13), key_name(" "), key_name("Left")
    ('w', 'return', 'space', 'left')
    """
    if isinstance(key, int):
        if key > 0x10FFFF:  # pygame's codes for keys that type nothing
            from funcenv.adapters.rendering.display import load_pygame

            return str(load_pygame().key.name(key))
        key = chr(key)
    named = {" ": "space", "\r": "return", "\n": "return", "\x1b": "escape", "\t": "tab"}
    return named.get(key, key.lower())


def _noop(noop: Any, action_space: Any) -> Any:
    """The action for no key; 0 means all zeros where an action is an array."""
    shape = getattr(action_space, "shape", None)
    if np.ndim(noop) == 0 and noop == 0 and shape:
        noop = np.zeros(shape, action_space.dtype)
    return _member(noop, action_space, "noop")


def _member(action: Any, action_space: Any, what: str) -> Any:
    dtype = getattr(action_space, "dtype", None)
    if isinstance(action, (list, float)) and dtype is not None:
        action = np.asarray(action, dtype)
    if not action_space.contains(action):
        raise ValueError(
            f"{what} must be in the action space {action_space}, got {action!r}; choose one of its members"
        )
    return action


def _shown(action: Any) -> str:
    return str(action.tolist() if isinstance(action, np.ndarray) else action)
