"""The mapping from pressed keys to actions.

A key has as its name the character it types, or one of "left", "right", "up", "down", "space", "return", "escape" and
"tab".
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
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
        rests: True if no key plays an action of its own, which no combination plays.

    Raises:
        TypeError: `keys_to_action` is not a mapping, or a combination is not a string, an integer or a tuple of these.
        ValueError: A combination is empty or occurs twice, the name of a key is unknown, or an action is not in the
            space.

    >>> from funcenv.spaces import Discrete
    >>> keymap = Keymap({("left",): 0, "wd": 1}, 0, Discrete(2))
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
        self.rests = not any(np.array_equal(action, self.noop) for action in self._actions.values())

    def plays(self, pressed: Iterable[str]) -> bool:
        """Return whether these keys together are a combination."""
        return frozenset(pressed) in self._actions

    def action(self, pressed: Iterable[str]) -> Any:
        """Return the action for the pressed keys; keys that occur in no combination are ignored."""
        return self._actions.get(frozenset(pressed) & self.keys, self.noop)

    def lines(self, names: Sequence[str] = (), start: int = 0, *, with_noop: bool = False) -> list[str]:
        """Return a line of text for each combination, which says what it plays.

        A combination that plays the sum of its keys is left out.

        Args:
            names: what the actions do, as `FuncEnv.action_names`.
            start: the action to which the first name belongs.
            with_noop: Whether to say what no key plays.

        >>> from funcenv.spaces import Discrete
        >>> keymap = Keymap({("left",): 0, "wd": 1}, 0, Discrete(2))
        >>> keymap.lines(), keymap.lines(["left", "go"], with_noop=True)
        (['left: 0', 'd + w: 1'], ['left', 'd + w: go', 'no key: left'])
        """
        said = {keys: action for keys, action in self._actions.items() if not self._is_sum(keys, action)}
        played = {" + ".join(sorted(keys)): action for keys, action in said.items()}
        if with_noop:
            played["no key"] = self.noop
        texts = {keys: describe_action(action, names, start) for keys, action in played.items()}
        return [keys if keys == text else f"{keys}: {text}" for keys, text in texts.items()]

    def _is_sum(self, keys: Keys, action: Any) -> bool:
        """Check whether an array of numbers is the sum of those that the keys play alone, counted from `noop`."""
        alone = [self._actions.get(frozenset({key})) for key in keys]
        if len(keys) < 2 or np.ndim(action) == 0 or any(single is None for single in alone):
            return False
        return np.array_equal(action, self.noop + sum(single - self.noop for single in alone))


def describe_action(action: Any, names: Sequence[str] = (), start: int = 0) -> str:
    """Return what an action does, in words where names are given, of which those with the number 0 are left out.

    >>> describe_action(2, ["left", "right"], start=1), describe_action(np.array([-1.5]), ["torque"])
    ('right', 'torque -1.5')
    >>> describe_action(7, ["left", "right"]), describe_action(np.array([1.0, 0.5]))
    ('7', '1, 0.5')
    >>> describe_action(np.array([0.0, 1.0]), ["hip", "knee"]), describe_action(np.zeros(2), ["hip", "knee"])
    ('knee 1', 'nothing')
    """
    if np.ndim(action) == 0:
        index = int(action) - start if np.issubdtype(np.asarray(action).dtype, np.integer) else -1
        return names[index] if 0 <= index < len(names) else f"{action}"
    numbers = [f"{number:g}" for number in np.ravel(action).tolist()]
    if len(names) != len(numbers):
        return ", ".join(numbers)
    pairs = zip(names, numbers, strict=True)
    return ", ".join(f"{name} {number}" for name, number in pairs if number not in ("0", "-0")) or "nothing"


def motor_keys(low: Any, high: Any) -> dict[Any, Any]:
    """Return keys for full control of one motor each: the arrows for a single motor, else pairs such as a and q.

    Args:
        low: The lowest controls `[num_motors]`; motors beyond the seventeenth have no keys.
        high: The highest ones.

    >>> keys = motor_keys(np.array([-1.0, -2.0]), np.array([1.0, 2.0]))
    >>> {key: action.tolist() for key, action in keys.items()}
    {(): [0.0, 0.0], ('a',): [-1.0, 0.0], ('q',): [1.0, 0.0], ('s',): [0.0, -2.0], ('w',): [0.0, 2.0]}
    """
    pairs = [("left", "right")] if len(low) == 1 else [tuple(pair.split()) for pair in _MOTOR_KEYS]
    keys: dict[Any, Any] = {(): np.zeros_like(low)}
    for motor, names in enumerate(pairs[: len(low)]):
        for name, bound in zip(names, (low, high), strict=True):
            keys[(name,)] = np.where(np.arange(len(low)) == motor, bound, np.zeros_like(low))
    return keys


def wrap_items(items: Sequence[str], width: int, measure: Callable[[str], int]) -> list[str]:
    """Return short texts in lines that are no wider than `width`, as far as their texts allow.

    >>> wrap_items(["left: 0", "right: 1", "escape: leave"], 20, len)
    ['left: 0   right: 1', 'escape: leave']
    """
    lines: list[str] = []
    for item in items:
        longer = f"{lines[-1]}   {item}" if lines else item
        if lines and measure(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(item)
    return lines


def parse_combination(combination: Any) -> Keys:
    """Return the keys of a combination, given by name or in any form that Gymnasium accepts.

    A string stands for the keys that type its characters. A tuple contains characters, code points or names.

    Raises:
        TypeError: The combination has another form.
        ValueError: It is empty, names an unknown key, or is the name of a key outside of a tuple.

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
    if isinstance(parts, str) and parts.lower() in _CODES:
        letters = ", ".join(f'"{letter}"' for letter in parts)
        raise ValueError(
            f'the string "{parts}" stands for the keys {", ".join(parts)} pressed together; write ("{parts}",) for the '
            f"key {parts}, or ({letters}) for the letters"
        )
    for part in parts:
        if isinstance(part, str) and len(part) != 1 and part.lower() not in _CODES:
            raise ValueError(
                f"{part!r} in {combination!r} is not the name of a key; the names are {', '.join(_CODES)} and single "
                "characters, and pygame's key codes stand for all other keys"
            )
    return frozenset(key_name(part) for part in parts)


def key_name(key: str | int) -> str:
    """Return the name of a key given by a character, a name, a code point or a pygame key code.

    >>> key_name("W"), key_name(13), key_name(" "), key_name("Left")
    ('w', 'return', 'space', 'left')
    """
    if isinstance(key, int):
        if key in _NAMES:
            return _NAMES[key]
        if key > 0x10FFFF:  # the last code point; pygame's codes of keys that type no character are larger
            return str(importlib.import_module("pygame").key.name(key))
        key = chr(key)
    return _NAMES.get(ord(key), key.lower()) if len(key) == 1 else key.lower()


def key_code(name: str) -> int:
    """Return pygame's code of the key with a name, which `gymnasium.utils.play` takes.

    >>> key_code("w"), key_code("space"), key_name(key_code("left"))
    (119, 32, 'left')
    """
    return ord(name) if len(name) == 1 else _CODES[name]


# Keys for the lowest and the highest control of each motor.
_MOTOR_KEYS: tuple[str, ...] = (
    *("a q", "s w", "d e", "f r", "g t", "h y", "j u", "k i", "l o"),
    *("z 1", "x 2", "c 3", "v 4", "b 5", "n 6", "m 7", "p 0"),
)
_ARROWS = {"right": 0x4000004F, "left": 0x40000050, "down": 0x40000051, "up": 0x40000052}  # codes of SDL
_CODES = {"space": 32, "return": 13, "escape": 27, "tab": 9, **_ARROWS}
_NAMES = {10: "return"} | {code: name for name, code in _CODES.items()}


def _require_member(what: str, action: Any, action_space: Any) -> Any:
    dtype = getattr(action_space, "dtype", None)
    if isinstance(action, (list, float)) and dtype is not None:
        action = np.asarray(action, dtype)
    if not action_space.contains(action):
        raise ValueError(
            f"{what} must be in the action space {action_space}, got {action!r}; choose one of its members"
        )
    return action
