"""Attributes that an environment has with the stateful interface alone, in the form that its reference gives them.

Code for Gymnasium reads `env.P` and sets `env.s` in toy text, and reads `env.ale` in Atari games. An environment names
such attributes in `FuncEnv.stateful_attributes`, so that the stateful interface knows no environment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol


class StatefulView(Protocol):
    """What an attribute may read of a stateful environment."""

    @property
    def state(self) -> Any:
        """The present state of the environment inside all wrappers."""

    @property
    def action(self) -> Any:
        """The last action of this episode; None after a reset."""


class StatefulAttribute(NamedTuple):
    """An attribute of the stateful interface.

    >>> attribute = StatefulAttribute(lambda view: int(view.state), write=lambda value: value)
    >>> attribute.write(3), attribute.is_constant
    (3, False)
    """

    read: Callable[[StatefulView], Any]
    """returns the value"""
    write: Callable[[Any], Any] | None = None
    """returns the state of the environment after a value was set; None if it cannot be set"""
    is_constant: bool = False
    """whether the value follows from the environment, so that it is read once and kept"""


def constant(read: Callable[[], Any]) -> StatefulAttribute:
    """Return an attribute whose value follows from the environment alone.

    >>> constant(lambda: 16).read(None)
    16
    """
    return StatefulAttribute(lambda view: read(), is_constant=True)
