"""The name `gymnasium.utils.ezpickle`: objects that are pickled by the arguments of their constructor."""

from __future__ import annotations

from typing import Any

__all__ = ["EzPickle"]


class EzPickle:
    """A base of handwritten environments that cannot be pickled otherwise, such as those with handles of C libraries.

    A copy is made by the constructor, so it begins anew. Environments of this package need no such base.

    >>> import pickle
    >>> class Grid(EzPickle):
    ...     def __init__(self, size):
    ...         EzPickle.__init__(self, size)
    ...         self.cells = (lambda: size * size)()
    >>> copy = Grid.__new__(Grid)
    >>> copy.__setstate__(Grid(3).__getstate__())
    >>> copy.cells
    9
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._ezpickle_args, self._ezpickle_kwargs = args, kwargs

    def __getstate__(self) -> dict[str, Any]:
        return {"_ezpickle_args": self._ezpickle_args, "_ezpickle_kwargs": self._ezpickle_kwargs}

    def __setstate__(self, state: dict[str, Any]) -> None:
        made = type(self)(*state["_ezpickle_args"], **state["_ezpickle_kwargs"])
        self.__dict__.update(made.__dict__)
