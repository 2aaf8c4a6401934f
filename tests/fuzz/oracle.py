"""The oracle: which outcomes of a call are right, whatever it was given.

A call may return a value, which the test compares with a reference. Or it may refuse its arguments by one of `KINDS`.
Every other exception is a crash, and fails the test. The message of a refusal is clear if a `raise` statement of the
package raises the error, or Python does for a call that does not fit the signature, and if the message names a
parameter of the call or shows a value that was given, or its kind, shape or length. Every other message is obscure.
"""

import collections
import dis
import pathlib
import re
import warnings

import numpy as np

import funcenv
from funcenv import adapters
from funcenv.train.runs.lock import RunLockedError

KINDS = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ImportError,
    NotImplementedError,
    OSError,
    adapters.error.Error,
    RunLockedError,
)
"""The kinds of errors that the package documents."""

MAX_OBSCURE_SHARE = 0.03  # of the refusals of a file
FREE = 2  # obscure messages that a part of the cases may have by chance, where 3% are fewer

ROOT = pathlib.Path(funcenv.__file__).parents[1]
_OURS = tuple(str(ROOT / folder) + "/" for folder in ("funcenv", "envs", "adapters"))

REFUSED = object()
"""Stands for the result of a call that refused its arguments."""


class Ledger:
    """Counts the calls of a file, and keeps the refusals with obscure messages."""

    def __init__(self, area):
        self.area, self.num_calls, self.num_refusals = area, 0, 0
        self.obscure, self.examples = collections.Counter(), {}

    def attempt(self, function, *args, names=(), **kwargs):
        """Return what a call returns, or `REFUSED`; an exception of another kind than `KINDS` passes through.

        Args:
            function: What is called.
            *args: Positional arguments of the call.
            names: Names of parameters beside those of `kwargs`, for values that are given by position.
            **kwargs: Arguments of the call by name.
        """
        self.num_calls += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                warnings.simplefilter("ignore", DeprecationWarning)
                return function(*args, **kwargs)
        except KINDS as error:
            self.refuse(error, {*names, *kwargs}, [*args, *kwargs.values()], getattr(function, "__name__", "call"))
            return REFUSED

    def refuse(self, error, names, values, call):
        """Count a refusal, given the names and values of the call."""
        self.num_refusals += 1
        if not is_clear(error, names, values):
            place = f"{call}: {type(error).__name__} at {place_of(error)}"
            self.obscure[place] += 1
            self.examples[place] = f"{message_of(error):.160} | given {values!r:.160}"

    def refuse_text(self, message, names, values, call):
        """Count a refusal that is known by its message only, as that of a command."""
        self.num_calls += 1
        self.num_refusals += 1
        if not shows(message, names, values):
            self.obscure[call] += 1
            self.examples[call] = message

    @property
    def is_good(self):
        return sum(self.obscure.values()) <= max(FREE, MAX_OBSCURE_SHARE * self.num_refusals)

    def summary(self):
        """Return the counts in a line."""
        num_obscure = sum(self.obscure.values())
        return f"{self.area}: {self.num_calls} calls, {self.num_refusals} refusals, {num_obscure} with obscure messages"

    def report(self):
        """Return the counts and all obscure messages."""
        return "\n".join(
            [
                self.summary(),
                *(f"  {count} x {place}: {self.examples[place]}" for place, count in self.obscure.most_common()),
            ]
        )


def is_clear(error, names, values):
    """Return whether the message of a refusal is clear."""
    return is_raised_here(error) and shows(message_of(error), names, values)


def shows(message, names, values):
    """Return whether a message names a parameter or shows a value."""
    shown = {text for value in _all(values) for text in _shown(value)}
    return any(_holds(message, text) for text in {*names, *shown})


def is_raised_here(error):
    """Return whether a `raise` statement of the package raised an error, or Python at the call itself."""
    if error.__traceback__.tb_next is None:
        return True  # the call does not fit the signature
    place = _innermost(error)
    code = place.tb_frame.f_code
    is_statement = dis.opname[code.co_code[place.tb_lasti]] == "RAISE_VARARGS"
    return is_statement and str(pathlib.Path(code.co_filename).resolve()).startswith(_OURS)


def place_of(error):
    """Return the file and the line that raised an error."""
    place = _innermost(error)
    return f"{pathlib.Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}"


def _innermost(error):
    place = error.__traceback__
    while place.tb_next is not None:
        place = place.tb_next
    return place


def message_of(error):
    """Return the text of an error with its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


def _all(values):
    """Yield values and the items of containers among them."""
    for value in values:
        yield value
        if isinstance(value, (list, tuple, set)) or (isinstance(value, str) and len(value) > 1):
            yield from _all(value)
        elif isinstance(value, np.ndarray) and value.size <= 9:
            yield from value.reshape(-1)
        elif isinstance(value, dict):
            yield from _all([*value, *value.values()])


def _shown(value):
    """Yield the texts by which a message may show a value."""
    yield from (repr(value), str(value), type(value).__name__)
    if isinstance(value, str):
        yield repr(value)[1:-1]  # as in a message that shows control characters by their codes
    if isinstance(value, (int, float, np.ndarray, np.generic)):
        array = np.asarray(value)
        yield from (str(array.dtype), str(array.shape), str(array.tolist()))
    if isinstance(value, (list, tuple, dict, set)):
        yield str(len(value) or "none")
    if isinstance(value, type) or callable(value):
        yield getattr(value, "__name__", repr(value))


def _holds(message, text):
    """Return whether a message holds a text as a word of its own."""
    return bool(text) and re.search(rf"(?<![\w.]){re.escape(text)}(?!\w)", message) is not None
