"""A field for a space that is the inner environment's where it is left out."""

from __future__ import annotations

from typing import Any


class InheritedSpace:
    """Reads as the space that was passed, or as that of `env` under the same name where None was passed.

    A plain default of None would hide the property of the environment inside; a space copied from it would go stale
    when the environment is replaced.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        own = vars(instance)[self.name]
        return getattr(instance.env, self.name) if own is None else own

    def __set__(self, instance: Any, space: Any) -> None:
        vars(instance)[self.name] = None if space is self else space

    def __repr__(self) -> str:
        return "None"
