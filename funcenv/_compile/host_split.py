"""Programs with one call to the host, divided at it.

A callback from a compiled program costs a tenth of a millisecond, most of it in waking threads. Code that steps a
single environment can do without: it runs the part of the program before the call, calls the function of
`funcenv.host` itself, and runs the rest. Where the part before the call only moves words about, as it does without
wrappers that change actions, nothing is run before the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from funcenv._compile.jaxpr import inner_jaxprs, is_literal, iter_eqns
from funcenv.host import Field, HostFunction, split_words
from funcenv.struct import NDArray

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr

_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "custom_jvp_call": "call_jaxpr"}  # and the parameter that is called


class SplitProgram:
    """A program that returns one array, before and after its call to the host.

    Args:
        call: what the host is asked.
        before: a function from the arguments to the words that the host is sent.
        after: a function from the host's words and the arguments to the result.
        compile: compiles a function for example arguments.
        args: example arguments.
    """

    def __init__(
        self,
        call: HostFunction,
        before: Callable[..., jax.Array],
        after: Callable[..., jax.Array],
        compile: Callable[..., Any],
        args: tuple[Any, ...],
    ) -> None:
        self._call, self._before = call, compile(before, *args)
        self._after = compile(after, call(np.asarray(self._before(*args))), *args)

    def __call__(self, *args: Any) -> jax.Array:
        """Run the program."""
        result: jax.Array = self._after(self._call(np.asarray(self._before(*args))), *args)
        return result


class DirectProgram:
    """A program whose host call is sent words of the arguments as they are, so that nothing comes before it.

    Arguments and answer lie side by side in one array of words: the host reads from it and writes to it, and the
    program after the call reads it all.

    Args:
        call: what the host is asked.
        sent: what the host is sent for each of its arguments: a slice of the words of the arguments, or constant words.
        after: a function from the host's words and the arguments to the result.
        compile: compiles a function for example arguments.
        args: example arguments.
    """

    def __init__(
        self,
        call: HostFunction,
        sent: list[NDArray | slice],
        after: Callable[..., jax.Array],
        compile: Callable[..., Any],
        args: tuple[Any, ...],
    ) -> None:
        self._call, self._sent, self._fields = call, sent, _fields(args)
        num_words = [field.num_words for field in (*self._fields, *call.result_fields)]
        self._num_sent, self._num_words = sum(num_words[: len(self._fields)]), sum(num_words)
        structure: Any = jax.tree.structure(args)

        def read(words: jax.Array) -> jax.Array:
            parts = split_words(words, self._fields)
            leaves = [field.from_bits(part) for field, part in zip(self._fields, parts, strict=True)]
            return after(words[self._num_sent :], *jax.tree.unflatten(structure, leaves))

        self._read = compile(read, np.zeros(self._num_words, np.uint32))
        self._desks: list[_Desk] = []  # idle ones

    def _make_desk(self) -> _Desk:
        words = np.zeros(self._num_words, np.uint32)
        rows = words[None, : self._num_sent]
        inputs = [
            field.read(rows[:, part] if isinstance(part, slice) else part[None])
            for field, part in zip(self._call.fields, self._sent, strict=True)
        ]
        parts = split_words(words, self._fields)
        arrays = [field.read(part[None]) for field, part in zip(self._fields, parts, strict=True)]
        return _Desk(words, arrays, self._call.prepare(inputs, words[None, self._num_sent :]))

    def __call__(self, *args: Any) -> jax.Array:
        """Run the program."""
        try:
            desk = self._desks.pop()  # atomic, so no other thread has it; faster than a `Pool`
        except IndexError:
            desk = self._make_desk()
        for array, arg in zip(desk.arrays, args, strict=True):
            array[0] = arg
        desk.run()
        result: jax.Array = self._read(desk.words).block_until_ready()
        self._desks.append(desk)
        return result


class _Desk(NamedTuple):
    """Memory for one call at a time."""

    words: NDArray
    arrays: list[NDArray]  # the arguments in it, with a leading axis of 1
    run: Callable[[], None]  # calls the host


def split_host_call(
    function: Callable[..., Any], *args: Any, compile: Callable[..., Any] = lambda function, *args: jax.jit(function)
) -> SplitProgram | DirectProgram | None:
    """Compile a function that returns one array as a program that is divided at its only call to the host.

    Args:
        function: a pure function.
        *args: arguments with the shapes to compile for.
        compile: compiles the parts: it is called with a function and example arguments.

    Returns:
        The program; None if there is no such call, or more than one, or one inside a loop or a branch.

    >>> from funcenv.host import host_call
    >>> shape = jax.ShapeDtypeStruct((), np.float32)
    >>> program = split_host_call(lambda x: 1 + host_call(np.sqrt, shape, x * x), np.float32(1))
    >>> float(program(np.float32(3)))
    4.0
    """
    closed = jax.make_jaxpr(function)(*args)
    names = [eqn.primitive.name for eqn in iter_eqns(closed.jaxpr)]
    if sum("callback" in name for name in names) != 1:
        return None
    flat = _flattened(closed)
    if flat is None:
        return None
    eqn = flat.eqns[flat.place]
    call = eqn.params["callback"].callback_func
    if not isinstance(call, HostFunction):
        return None
    (sent,), (received,), inputs = eqn.invars, eqn.outvars, closed.jaxpr.invars
    leading, following = _needed(flat.eqns[: flat.place], sent), flat.eqns[flat.place + 1 :]
    first = flat.program(closed, inputs, leading, [sent])
    second = flat.program(closed, [received, *inputs], [*flat.eqns[: flat.place], *following], flat.outvars)

    def before(*args: Any) -> Any:
        return first(*jax.tree.leaves(args))[0]

    def after(answer: Any, *args: Any) -> Any:
        return second(answer, *jax.tree.leaves(args))[0]

    moved = _moved(before, leading, call, args)
    if moved is None:
        return SplitProgram(call, before, after, compile, args)
    return DirectProgram(call, moved, after, compile, args)


def _needed(eqns: list[Any], result: Any) -> list[Any]:
    """Return the equations that a result depends on."""
    needed, kept = {result}, []
    for eqn in reversed(eqns):
        if needed.intersection(eqn.outvars):
            needed.update(atom for atom in eqn.invars if not is_literal(atom))
            kept.append(eqn)
    return kept[::-1]


def _fields(args: Any) -> tuple[Field, ...]:
    leaves = jax.tree.leaves(args)
    return tuple(Field(np.shape(leaf), np.dtype(jax.dtypes.result_type(leaf))) for leaf in leaves)


def _moved(
    before: Callable[..., Any], eqns: list[Any], call: HostFunction, args: tuple[Any, ...]
) -> list[NDArray | slice] | None:
    """Return what each argument of the host function is: a slice of the words of the arguments, or constant words.

    It is None if something is computed rather than moved. The program is run with the positions of the words as words,
    and with larger numbers: words that grow with them have been moved, and words that stay are constants.
    """
    fields = _fields(args)
    every = [each for eqn in eqns for each in (eqn, *_inside(eqn))]
    if not all(map(_is_move, every)) or any(field.dtype.itemsize != 4 for field in fields) or len(fields) != len(args):
        return None
    found = []
    for first in (0, _FAR):
        words = np.arange(first, first + sum(field.num_words for field in fields), dtype=np.uint32)
        parts = split_words(words, fields)
        leaves = [field.read(part[None])[0] for field, part in zip(fields, parts, strict=True)]
        found.append(np.asarray(jax.jit(before)(*leaves)))
    sources: list[NDArray | slice] = []
    for start, far in zip(*(split_words(words, call.fields) for words in found), strict=True):
        if np.array_equal(start, far):
            sources.append(start)
        elif np.array_equal(far, start + np.uint32(_FAR)) and (np.diff(start) == 1).all():
            sources.append(slice(int(start[0]), int(start[-1]) + 1))
        else:
            return None
    return sources


def _is_move(eqn: Any) -> bool:
    """Return whether an equation moves numbers and does not change them, or calls such equations."""
    if eqn.primitive.name == "dynamic_slice":
        return all(is_literal(start) for start in eqn.invars[1:])
    return eqn.primitive.name in _MOVES


def _inside(eqn: Any) -> list[Any]:
    return [each for program in inner_jaxprs(list(eqn.params.values())) for each in iter_eqns(program)]


# The primitives that move words and do not change them, and those that call others.
_MOVES = frozenset(
    ["slice", "squeeze", "reshape", "broadcast_in_dim", "concatenate", "bitcast_convert_type", "convert_element_type"]
    + ["copy", "transpose", "expand_dims", "jit", "pjit"]
)
_FAR = 1 << 20  # more words than arguments have


class _Flat(NamedTuple):
    """A program whose call to the host is one of its own equations."""

    eqns: list[Any]
    place: int  # index of that equation
    outvars: list[Any]
    constants: dict[Any, Any]  # by variable

    def program(self, closed: ClosedJaxpr, inputs: list[Any], eqns: list[Any], outvars: list[Any]) -> Any:
        """Return a function from some variables to others; the compiler removes what it does not need."""
        from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

        parts: dict[str, Any] = {"constvars": list(self.constants), "invars": inputs, "eqns": eqns, "outvars": outvars}
        return jaxpr_as_fun(ClosedJaxpr(closed.jaxpr.replace(**parts), list(self.constants.values())))


def _flattened(closed: ClosedJaxpr) -> _Flat | None:
    """Return a program with the functions inlined that lead to its call to the host; None if a loop or branch does."""
    eqns, outvars = list(closed.jaxpr.eqns), list(closed.jaxpr.outvars)
    constants = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    while True:
        (place,) = (place for place, eqn in enumerate(eqns) if _calls_host(eqn))
        eqn = eqns[place]
        if "callback" in eqn.primitive.name:
            return _Flat(eqns, place, outvars, constants)
        if eqn.primitive.name not in _CALLS:
            return None
        called = eqn.params[_CALLS[eqn.primitive.name]]
        inner = called.jaxpr
        constants |= dict(zip(inner.constvars, called.consts, strict=True))
        names: dict[Any, Any] = dict(zip(inner.invars, eqn.invars, strict=True))
        results = dict(zip(eqn.outvars, (_renamed(atom, names) for atom in inner.outvars), strict=True))
        eqns = [
            *eqns[:place],
            *(_with_inputs(each, names) for each in inner.eqns),
            *(_with_inputs(each, results) for each in eqns[place + 1 :]),
        ]
        outvars = [_renamed(atom, results) for atom in outvars]


def _with_inputs(eqn: Any, names: dict[Any, Any]) -> Any:
    return eqn.replace(invars=[_renamed(atom, names) for atom in eqn.invars])


def _calls_host(eqn: Any) -> bool:
    """Return whether an equation is a callback or contains one."""
    if "callback" in eqn.primitive.name:
        return True
    inner = inner_jaxprs(list(eqn.params.values()))
    return any("callback" in each.primitive.name for program in inner for each in iter_eqns(program))


def _renamed(atom: Any, names: dict[Any, Any]) -> Any:
    return atom if is_literal(atom) else names.get(atom, atom)
