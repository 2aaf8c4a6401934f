"""Checks of arguments: each error names the rule, the value and the remedy.

Parameters may be traced, batched or placeholders. The checks examine concrete numbers and accept everything else.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import numbers
import operator
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

import jax
import numpy as np

from funcenv._jax import uses_64_bits
from funcenv.struct import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])

_NO_NUMBERS = ("U", "S", "O", "M", "m")  # kinds of NumPy's dtypes: text, objects and dates
_FLOAT_ANNOTATIONS = (float, "float", float | None, "float | None")
_LARGEST_FLOAT = np.float64(np.finfo(np.float32).max)
_NUMERIC = (bool, int, float, np.generic, np.ndarray, jax.Array)


def explain_calls(note: str) -> Callable[[Function], Function]:
    """Return a decorator that adds a note to the `TypeError` of a call whose arguments do not fit the function.

    Errors that the function raises itself stay as they are.

    >>> @explain_calls("write double(3)")
    ... def double(x): return 2 * x
    >>> try: double(y=3)
    ... except TypeError as error: print(error.__notes__)
    ['write double(3)']
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                traceback = error.__traceback__
                if traceback is not None and traceback.tb_next is None:  # raised by the call, not inside of it
                    error.add_note(note)
                raise

        return call  # type: ignore[return-value]  # it has the signature of `function`

    return decorate


def require_at_least(minimum: float, name: str, value: Any, remedy: str) -> None:
    """Raise `ValueError` unless every concrete number in `value` is at least `minimum`.

    >>> require_at_least(1, "max_episode_steps", 0, remedy="leave it out for no limit")
    Traceback (most recent call last):
        ...
    ValueError: max_episode_steps must be at least 1, got 0; leave it out for no limit
    """
    values = _concrete(value)
    if values is not None and not np.all(values >= minimum):
        raise ValueError(f"{name} must be at least {minimum}, got {value}; {remedy}")


def require_positive(**parameters: Any) -> None:
    """Raise `ValueError` for the first parameter that holds a concrete number that is not finite and above 0.

    >>> require_positive(masscart=1.0, length=-0.5)
    Traceback (most recent call last):
        ...
    ValueError: length must be a finite number above 0, got -0.5
    """
    for name, value in parameters.items():
        values = _concrete(value)
        if values is not None and not np.all((values > 0) & np.isfinite(values)):
            raise ValueError(f"{name} must be a finite number above 0, got {value}")


def require_finite(**parameters: Any) -> None:
    """Raise `ValueError` for the first parameter that holds a concrete NaN or infinity.

    >>> require_finite(gravity=float("nan"))
    Traceback (most recent call last):
        ...
    ValueError: gravity must be a finite number, got nan
    """
    for name, value in parameters.items():
        values = _concrete(value)
        if values is not None and not np.all(np.isfinite(values)):
            raise ValueError(f"{name} must be a finite number, got {value}")


def require_probability(**parameters: Any) -> None:
    """Raise `ValueError` for the first parameter that holds a concrete number outside `[0, 1]`.

    >>> require_probability(success_rate=1.5)
    Traceback (most recent call last):
        ...
    ValueError: success_rate must lie in [0, 1], got 1.5
    """
    for name, value in parameters.items():
        values = _concrete(value)
        if values is not None and not np.all((values >= 0) & (values <= 1)):
            raise ValueError(f"{name} must lie in [0, 1], got {value}")


def require_below_one(**parameters: Any) -> None:
    """Raise `ValueError` for the first parameter that holds a concrete number outside `[0, 1)`.

    >>> require_below_one(repeat_action_probability=1.0)
    Traceback (most recent call last):
        ...
    ValueError: repeat_action_probability must be at least 0 and below 1, got 1.0
    """
    for name, value in parameters.items():
        values = _concrete(value)
        if values is not None and not np.all((values >= 0) & (values < 1)):
            raise ValueError(f"{name} must be at least 0 and below 1, got {value}")


def require_one_of(name: str, value: Any, choices: Iterable[str], remedy: str | None = None) -> None:
    """Raise `ValueError` unless `value` is one of `choices`; the remedy names a similar one by default.

    >>> require_one_of("fidelity", "fats", ("exact", "fast"))
    Traceback (most recent call last):
        ...
    ValueError: fidelity must be one of exact, fast, got 'fats'; try 'fast'
    """
    names = list(choices)
    if isinstance(value, jax.core.Tracer):
        raise ValueError(f"{name} must be one of {', '.join(names)}, got {value!r}{_fixed_choice(value)}")
    if isinstance(value, Hashable) and value in names:  # arrays, which are not, compare part by part
        return
    lowered = {name.casefold(): name for name in names}
    similar = difflib.get_close_matches(str(value).casefold(), lowered, n=1)
    remedy = f"try {lowered[similar[0]]!r}" if remedy is None and similar else remedy
    raise ValueError(f"{name} must be one of {', '.join(names)}, got {value!r}" + (f"; {remedy}" if remedy else ""))


def _fixed_choice(value: Any) -> str:
    """Return the remedy where a traced value is given for a choice that programs are compiled for."""
    remedy = (
        "; it is fixed when a program is compiled, so build one environment for each choice, outside of vmap and jit"
    )
    return remedy if isinstance(value, jax.core.Tracer) else ""


def require_ordered(low_name: str, low: Any, high_name: str, high: Any) -> None:
    """Raise `ValueError` unless `low <= high`.

    >>> require_ordered("low", 0.1, "high", -0.1)
    Traceback (most recent call last):
        ...
    ValueError: low must not exceed high, got low=0.1 and high=-0.1
    """
    lows, highs = _concrete(low), _concrete(high)
    if lows is not None and highs is not None and not np.all(lows <= highs):
        raise ValueError(f"{low_name} must not exceed {high_name}, got {low_name}={low} and {high_name}={high}")


def require_flag(name: str, value: Any) -> bool:
    """Return a flag of any type as a `bool`.

    >>> require_flag("pop_frames", "yes")
    Traceback (most recent call last):
        ...
    TypeError: pop_frames must be True or False, got 'yes'
    """
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def require_integer(name: str, value: Any) -> int:
    """Return an integer of any type as an `int`.

    >>> require_integer("start", 2.5)
    Traceback (most recent call last):
        ...
    TypeError: start must be an integer, got 2.5 of type float
    """
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r} of type {type(value).__name__}") from None


MAX_COUNT = 2**31 - 1
"""The largest number of environments, steps or episodes: int32 counts them."""


def require_size(name: str, value: Any, minimum: int = 1, maximum: int = 2**63 - 1) -> int:
    """Return an integer of at least `minimum` and at most `maximum` as an `int`.

    Raises:
        TypeError: `value` is not an integer.

    >>> require_size("num_envs", 0)
    Traceback (most recent call last):
        ...
    ValueError: num_envs must be at least 1, got 0
    """
    size = require_integer(name, value)
    if size < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {size}")
    if size > maximum:
        raise ValueError(f"{name} must be at most {maximum}, got {size}")
    return size


def takes_numbers(entry: dataclasses.Field[Any]) -> bool:
    """Return whether a field of an environment holds numbers, as its default or annotation shows.

    Parameters and static flags do.
    """
    if not entry.metadata.get("pytree_node", True):
        return isinstance(entry.default, bool)
    is_declared = entry.metadata.get("ndim") is not None or entry.type in _FLOAT_ANNOTATIONS
    return is_declared or isinstance(entry.default, _NUMERIC)


def require_numeric(owner: str, entry: dataclasses.Field[Any], value: Any) -> None:
    """Raise `ValueError` if the value of a parameter is no real number or array that JAX can hold, or no flag.

    Everything that JAX may put in place of a number is accepted: arrays, traced values, placeholders.

    >>> from funcenv.envs import CartPole
    >>> gravity = dataclasses.fields(CartPole)[0]
    >>> require_numeric("CartPole", gravity, "low")
    Traceback (most recent call last):
        ...
    ValueError: gravity of CartPole must be a number, got 'low'
    >>> require_numeric("CartPole", gravity, [9.8, 1.6])
    Traceback (most recent call last):
        ...
    ValueError: gravity of CartPole must be a number or an array, got [9.8, 1.6]; write jnp.array([9.8, 1.6])
    """
    if value is None and entry.default is None:
        return
    name, is_static = f"{entry.name} of {owner}", not entry.metadata.get("pytree_node", True)
    not_a_flag = not isinstance(value, (bool, np.bool_)) if is_static else isinstance(value, (str, bytes))
    if isinstance(entry.default, bool) and not_a_flag:
        raise ValueError(f"{name} must be True or False, got {value!r}{_fixed_choice(value)}")
    if isinstance(value, (list, tuple)):
        raise ValueError(f"{name} must be a number or an array, got {value!r}; write jnp.array({list(value)!r})")
    dtype = getattr(value, "dtype", None)
    kind = dtype.kind if isinstance(dtype, np.dtype) else None
    if isinstance(value, complex) or kind == "c":
        raise ValueError(f"{name} must be a real number, got {value!r}")
    is_number = isinstance(value, (int, float, np.generic))
    if not is_number and isinstance(value, numbers.Number):
        raise ValueError(f"{name} must be a number, got {value!r}; write float({value!r})")
    is_space = hasattr(value, "contains")  # spaces have a dtype, as arrays do
    if (
        value is None
        or is_space
        or callable(value)
        or isinstance(value, (str, bytes, dict, set))
        or kind in _NO_NUMBERS
    ):
        raise ValueError(f"{name} must be a number, got {value!r}")
    if isinstance(value, int) or (isinstance(value, (np.generic, np.ndarray)) and kind in ("i", "u")):
        _require_integers_of_jax(name, value)
    if isinstance(value, float) or (isinstance(value, (np.generic, np.ndarray)) and kind == "f"):
        _require_floats_of_jax(name, value)


def _require_integers_of_jax(name: str, value: Any) -> None:
    """Raise `ValueError` if integers have more bits than those of JAX."""
    bits = 64 if uses_64_bits() else 32
    limits = np.iinfo(f"uint{bits}" if getattr(value, "dtype", np.dtype(int)).kind == "u" else f"int{bits}")
    if np.all((limits.min <= value) & (value <= limits.max)):
        return
    remedy = f"float({value!r})" if np.ndim(value) == 0 else "value.astype(float)"
    raise ValueError(f"{name} must be an integer of {bits} bits or a float, got {value!r}; write {remedy}")


def _require_floats_of_jax(name: str, value: Any) -> None:
    size = abs(value)
    if ((size > _LARGEST_FLOAT) & (size < np.inf)).any() and not uses_64_bits():
        raise ValueError(
            f"{name} must lie within {_LARGEST_FLOAT:.2g} of 0, got {value!r}; write float('inf') for no bound"
        )


def _concrete(value: Any) -> NDArray | None:
    """Return the numbers in `value`, or None if they are not concrete."""
    if isinstance(value, jax.core.Tracer) or not isinstance(value, _NUMERIC):
        return None
    return np.asarray(value)
