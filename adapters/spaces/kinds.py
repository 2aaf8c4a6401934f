"""The kinds of spaces with a generator.

`Box`, `Discrete` and the others take the arguments of the pure spaces of the same names, and `seed`. Each returns a
`Space`, and `isinstance(space, Box)` holds for those that are boxes.
"""

from __future__ import annotations

from collections.abc import Iterator, ValuesView
from typing import Any

from funcenv import spaces as pure_spaces
from funcenv.adapters.spaces.space import GeneratorSpace, Space
from funcenv.spaces.space import AnySpace


class _Kind(type):
    """The class of `Box` and the others, which are called and tested like classes, and make a `Space`."""

    pure: type[AnySpace]

    def __call__(cls, *args: Any, seed: Any = None, **kwargs: Any) -> Space[Any]:
        return Space(cls.pure(*map(_without_generators, args), **_without_generators(kwargs)), seed)

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is GeneratorSpace and isinstance(instance.pure, cls.pure)


def _without_generators(value: Any) -> Any:
    """Return the pure spaces in an argument of a pure space."""
    if type(value) is GeneratorSpace:
        return value.pure
    if isinstance(value, dict):
        return {name: _without_generators(part) for name, part in value.items()}
    if isinstance(value, (Iterator, ValuesView)):
        value = list(value)
    return type(value)(map(_without_generators, value)) if type(value) in (list, tuple) else value


def _kind(pure: type[AnySpace]) -> Any:
    doc = f"A `funcenv.spaces.{pure.__name__}` with a generator; it takes the same arguments, and `seed`."
    return _Kind(pure.__name__, (), {"pure": pure, "__doc__": doc, "__module__": __name__})


Box = _kind(pure_spaces.Box)
Dict = _kind(pure_spaces.Dict)
Discrete = _kind(pure_spaces.Discrete)
Graph = _kind(pure_spaces.Graph)
MultiBinary = _kind(pure_spaces.MultiBinary)
MultiDiscrete = _kind(pure_spaces.MultiDiscrete)
OneOf = _kind(pure_spaces.OneOf)
Sequence = _kind(pure_spaces.Sequence)
Text = _kind(pure_spaces.Text)
Tuple = _kind(pure_spaces.Tuple)
