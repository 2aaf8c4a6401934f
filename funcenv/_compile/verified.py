"""Fast programs that are used only after their results have equalled the plain program's.

XLA does not promise that a program compiles to one kernel, nor that its results do not depend on how it is compiled.
Every fast program of this package is therefore a `VerifiedProgram`: the first call of a kind compiles it, and compares
it with the plain program. Whatever speaks against it is raised as a `Refusal`, in words, and the plain program runs.
The outcome is kept with the compiled programs, where they are kept (`funcenv._compile.store`), so that no later process
tries again.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile import store
from funcenv._jax import finfo
from funcenv.struct import NDArray

Program = TypeVar("Program", bound=Callable[..., Any])
Result = TypeVar("Result")

_MAX_ROUNDINGS = 64  # how far floats may lie apart, in units of their dtype's epsilon
DIFFERENT_RESULTS = "the kernel's results differ from the plain program's"


class Refusal(Exception):
    """The reason why a fast program is not used, in words."""


class Choice(NamedTuple):
    """A choice between a fast program and the plain one."""

    entry: str
    """what was called, such as "rollout" """
    num_envs: int | None
    refusal: str | None
    """why the plain program runs; None if the fast program does"""


class VerifiedProgram(Generic[Program]):
    """A fast program that is used only after its results have equalled the plain program's.

    Args:
        make: `make(meanwhile, *args)` returns the fast program for example arguments, or raises `Refusal`. It may call
            `meanwhile` while the program is compiled in another thread; this compiles the reference.
        matches: `matches(program, reference, *args)` returns whether results equal those of the plain program. It may
            raise `Refusal`, too.
        describe: from the arguments to the name under which the outcome is kept; None for none.
        reference: compiles what the program is compared with, for the arguments.

    >>> def make(meanwhile, x):
    ...     return lambda x: x + x
    >>> VerifiedProgram(make, lambda double, _, x: double(x) == 2 * x).get(3)(4)
    8
    """

    def __init__(
        self,
        make: Callable[..., Program],
        matches: Callable[..., bool],
        describe: Callable[..., str | None] = lambda *args: None,
        reference: Callable[..., Any] = lambda *args: None,
    ) -> None:
        self._make, self._matches, self._describe, self._reference = make, matches, describe, reference
        self._lock = threading.Lock()
        self._program: Program | None = None
        self._refusal: str | None = None

    def get(self, *args: Any) -> Program:
        """Return the fast program, which the first call makes and verifies.

        Raises:
            Refusal: the program cannot be made, or its results differ.
        """
        with self._lock:
            if self._program is None and self._refusal is None:
                try:
                    self._program = self._verified(args)
                except Refusal as refusal:
                    self._refusal = str(refusal)
        if self._program is None:
            raise Refusal(self._refusal)
        return self._program

    def _verified(self, args: tuple[Any, ...]) -> Program:
        name = self._describe(*args)
        known = store.find(name)
        if known is not None and known.value is not None:
            raise Refusal(known.value)
        reference = functools.cache(functools.partial(self._reference, *args))
        try:
            program = self._make(reference if known is None else lambda: None, *args)
            if known is None and not self._matches(program, reference(), *args):
                raise Refusal(DIFFERENT_RESULTS)
        except Refusal as refusal:
            store.keep(name, store.Fact(str(refusal)))
            raise
        if known is None:
            store.keep(name, store.Fact(None))
        return program


def fast_or_plain(entry: str, num_envs: int, fast: Callable[[], Result], plain: Callable[[], Result]) -> Result:
    """Return the result of a fast program, or of the plain program if the fast one is refused.

    Args:
        entry: what is called.
        num_envs: the number of environments.
        fast: runs the fast program, or raises `Refusal`.
        plain: runs the plain program.
    """
    try:
        result = fast()
    except Refusal as refusal:
        reason = str(refusal)
    else:
        record(Choice(entry, num_envs, None))
        return result
    record(Choice(entry, num_envs, reason))
    return plain()


_recorded: contextvars.ContextVar[list[Choice] | None] = contextvars.ContextVar("_recorded", default=None)


@contextlib.contextmanager
def recorded_choices() -> Iterator[list[Choice]]:
    """Record the choices between fast programs and plain ones in this block, each kind of choice once.

    >>> with recorded_choices() as choices:
    ...     fast_or_plain("sum", 1, fast=lambda: 1 + 1, plain=lambda: 2)
    2
    >>> choices
    [Choice(entry='sum', num_envs=1, refusal=None)]
    """
    choices: list[Choice] = []
    token = _recorded.set(choices)
    try:
        yield choices
    finally:
        _recorded.reset(token)


def record(choice: Choice) -> None:
    """Record a choice, if someone listens and does not know it."""
    choices = _recorded.get()
    if choices is not None and choice not in choices:
        choices.append(choice)


def agree(result: Any, expected: Any) -> bool:
    """Return whether two pytrees hold equal integers and flags, and floats that differ by rounding alone.

    >>> agree({"x": np.float32(1)}, {"x": np.nextafter(np.float32(1), np.float32(2))}), agree(1, 2)
    (True, False)
    """
    leaves = zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True)
    return all(_equal(np.asarray(a), np.asarray(b)) for a, b in leaves)


def _equal(a: NDArray, b: NDArray) -> bool:
    if not jnp.issubdtype(a.dtype, jnp.floating):
        return bool(np.array_equal(a, b))
    return bool(np.allclose(a, b, rtol=_MAX_ROUNDINGS * float(finfo(a.dtype).eps), atol=1e-6, equal_nan=True))
