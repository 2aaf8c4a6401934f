"""The mapping from pressed keys to actions.

A key has as its name the character it types, or one of "left", "right", "up", "down", "space", "return", "escape".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

Keys = frozenset[str]  # pressed together


class Keymap:
    """A mapping from the set of pressed keys to an action.

    Args:
        keys_to_action: Mapping from key combinations to actions, as `play` takes it.
        noop: Action for no key and for unknown combinations. If actions are arrays, 0 stands for zeros.
        action_space: Space with a method `contains`, which every action must belong to.

    Attributes:
        keys: All keys that occur in a combination.

    Raises:
        TypeError: `keys_to_action` is not a mapping, or a combination is not a string, an integer or a tuple of these.
        ValueError: A combination is empty or occurs twice, or an action is not in the space.

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
        shape = getattr(action_space, "shape", None)
        if np.ndim(noop) == 0 and noop == 0 and shape:
            noop = np.zeros(shape, action_space.dtype)
        self.noop = _require_member("noop", noop, action_space)
        self._actions: dict[Keys, Any] = {}
        for combination, action in keys_to_action.items():
            keys = parse_combination(combination)
            if keys in self._actions:
                raise ValueError(f"keys_to_action names {' + '.join(sorted(keys))} twice; give each its one action")
            self._actions[keys] = _require_member(f"the action of {combination!r}", action, action_space)
        self.keys: Keys = frozenset().union(*self._actions)

    def action(self, pressed: Iterable[str]) -> Any:
        """Return the action for the pressed keys; keys that occur in no combination are ignored."""
        return self._actions.get(frozenset(pressed) & self.keys, self.noop)

    def lines(self) -> list[str]:
        """Return a line of text for each combination.

        >>> from funcenv.adapters import Space
        >>> from funcenv.spaces import Discrete
        >>> Keymap({("left",): 0, "wd": 1}, 0, Space(Discrete(2))).lines()
        ['left: 0', 'd + w: 1']
        """
        plain = [(keys, getattr(action, "tolist", lambda a=action: a)()) for keys, action in self._actions.items()]
        return [f"{' + '.join(sorted(keys))}: {action}" for keys, action in plain]


def parse_combination(combination: Any) -> Keys:
    """Return the keys of a combination, given by name or in any form that Gymnasium accepts.

    A string stands for the keys that type its characters. A tuple contains characters, code points or names.

    >>> sorted(parse_combination("w ")), sorted(parse_combination((ord("w"), " "))), parse_combination(("left",))
    (['space', 'w'], ['space', 'w'], frozenset({'left'}))
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
    """Return the name of a key given by a character, a name, a code point or a pygame key code.

    >>> key_name("W"), key_name(13), key_name(" "), key_name("Left")
    ('w', 'return', 'space', 'left')
    """
    if isinstance(key, int):
        if key > 0x10FFFF:  # the last code point; pygame's codes of keys that type no character are larger
            from funcenv.adapters.rendering.display import load_pygame

            return str(load_pygame().key.name(key))
        key = chr(key)
    named = {" ": "space", "\r": "return", "\n": "return", "\x1b": "escape", "\t": "tab"}
    return named.get(key, key.lower())


def _require_member(what: str, action: Any, action_space: Any) -> Any:
    dtype = getattr(action_space, "dtype", None)
    if isinstance(action, (list, float)) and dtype is not None:
        action = np.asarray(action, dtype)
    if not action_space.contains(action):
        raise ValueError(
            f"{what} must be in the action space {action_space}, got {action!r}; choose one of its members"
        )
    return action
