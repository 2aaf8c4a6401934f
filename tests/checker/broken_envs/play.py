"""Environments with wrong names of actions or wrong keys."""

from __future__ import annotations

from typing import Any

from .line import Line, expect


@expect()
class PlayableLine(Line):
    """Names and keys as they should be."""

    action_names = ("left", "right")

    def get_keys_to_action(self) -> dict[Any, Any]:
        return {("left",): 0, "d": 1, (): 1}


@expect("action-names")
class MissingName(Line):
    """A name for the first of two actions only."""

    action_names = ("left",)


@expect("action-names")
class NamesInOneString(Line):
    """Two letters in place of two names."""

    action_names = "lr"


@expect("keys-invalid")
class NameOfKeyAsString(Line):
    """A string that stands for the four keys l, e, f and t."""

    def get_keys_to_action(self) -> dict[Any, Any]:
        return {"left": 0}


@expect("keys-invalid")
class MisspeltKey(Line):
    """A key that no keyboard has."""

    def get_keys_to_action(self) -> dict[Any, Any]:
        return {("rihgt",): 1}


@expect("keys-invalid")
class KeyOutsideOfSpace(Line):
    """A key that plays a third action of two."""

    def get_keys_to_action(self) -> dict[Any, Any]:
        return {("left",): 0, ("right",): 2}


@expect("keys-invalid")
class NoKeyOutsideOfSpace(Line):
    """An action for no key that does not exist."""

    def get_keys_to_action(self) -> dict[Any, Any]:
        return {("left",): 0, (): -1}
