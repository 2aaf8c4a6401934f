"""The specification of a wrapper: its class and arguments, from which it can be made again."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

from funcenv.func_env import FuncEnv
from funcenv.names import import_object


@dataclasses.dataclass(frozen=True)
class WrapperSpec:
    """A wrapper that `make` applies: a class or function, or `"module:attribute"`, and its arguments after `env`.

    `kwargs` is None if the wrapper was made from arguments without names (`*args`); it cannot be made again.

    >>> from funcenv import adapters
    >>> limited = adapters.wrappers.RecordEpisodeStatistics(adapters.make("CartPole-v1"), buffer_length=9)
    >>> limited.spec.additional_wrappers[0].kwargs
    {'buffer_length': 9}
    """

    name: str
    entry_point: str | Callable[..., Any]
    kwargs: Mapping[str, Any] | None = dataclasses.field(default_factory=dict)

    @property
    def is_pure(self) -> bool:
        """True for a wrapper of functional environments."""
        loaded = load_object(self.entry_point)
        loaded = getattr(loaded, "func", loaded)  # a functools.partial holds it
        return isinstance(loaded, type) and issubclass(loaded, FuncEnv)

    def apply(self, env: Any) -> Any:
        """Wrap an environment.

        Raises:
            ValueError: the arguments are not known.
        """
        if self.kwargs is None:
            raise ValueError(
                f"the wrapper {self.name} took arguments without names, which no specification records; "
                "give its __init__ a name for each"
            )
        return load_object(self.entry_point)(env, **self.kwargs)


def load_object(entry_point: str | Callable[..., Any]) -> Any:
    """Return what an entry point names."""
    return entry_point if callable(entry_point) else import_object(entry_point)


def spec_of_class(wrapper_class: type, kwargs: Mapping[str, Any] | None) -> WrapperSpec:
    """Return the specification of a class, by its name if its module has it."""
    name, module = wrapper_class.__name__, wrapper_class.__module__
    is_in_module = getattr(sys.modules.get(module), name, None) is wrapper_class
    return WrapperSpec(name, f"{module}:{name}" if is_in_module else wrapper_class, kwargs)


def named_arguments(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of a call by their names, without the first two; None if some have none.

    >>> named_arguments(lambda self, env, size, **more: None, ("self", "env", 3), {"color": "red"})
    {'size': 3, 'color': 'red'}
    >>> named_arguments(lambda self, env, *more: None, ("self", "env", 3), {})
    """
    bound = inspect.signature(call).bind(*args, **kwargs)
    named: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[2:]:
        kind = bound.signature.parameters[name].kind
        if kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY):
            return None
        named |= value if kind is inspect.Parameter.VAR_KEYWORD else {name: value}
    return named
