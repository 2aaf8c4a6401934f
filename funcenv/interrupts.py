"""Answers to SIGINT (Ctrl-C) and SIGTERM.

Python runs a signal handler between two instructions of the main thread, so never during a compilation or a long
compiled call, and an exception that it raises there may be lost or end the process in a crash. Signals are therefore
answered by a thread of their own. `leave_at_once` suits commands with nothing to save, `note_requests` a loop that
saves its state before it stops. `raise_interrupted` does raise an exception, for what must restore a terminal.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)

Answer = Callable[[int], None]
Handler = Callable[[int, FrameType | None], None]
_answers: list[Answer] = []  # answers of the enclosing contexts, innermost last


class Interrupted(BaseException):
    """SIGINT or SIGTERM has arrived; the attribute `number` says which."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def raise_interrupted() -> Iterator[None]:
    """Raise `Interrupted` in the main thread when SIGINT or SIGTERM arrives, also inside of `leave_at_once`.

    Where Python ignores exceptions, as in callbacks of its garbage collector, it is raised again soon after.

    >>> try:
    ...     with raise_interrupted():
    ...         signal.raise_signal(signal.SIGTERM)
    ... except Interrupted as interrupted:
    ...     print(interrupted.number)
    15
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Interrupted(number)

    with _handled_by(interrupt), _unheard_by_threads(), _raised_again():
        yield


@contextmanager
def _raised_again() -> Iterator[None]:
    """Let a signal arrive again whose exception Python has ignored."""
    before = sys.unraisablehook

    def answer(unraisable: Any) -> None:
        ignored = unraisable.exc_value
        if isinstance(ignored, Interrupted):
            threading.Timer(0.01, _thread.interrupt_main, [ignored.number]).start()
        else:
            before(unraisable)

    sys.unraisablehook = answer
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def leave_at_once(farewell: Callable[[], str]) -> Iterator[None]:
    """End the process when SIGINT or SIGTERM arrives, with a line on standard error and the status 128 + number.

    Outside of the main thread, where signals cannot be handled, this does nothing.
    """

    def leave(number: int) -> None:
        said = farewell()
        sys.stdout.flush()
        if os.isatty(1):  # a progress display in another thread draws nothing more, and gives the cursor back
            terminal, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.write(terminal, b"\x1b[?25h\n")
        os.write(2, f"{said}\n".encode())
        os._exit(128 + number)

    with _answered_by(leave, lambda number, frame: None):
        yield


@contextmanager
def note_requests(say: Callable[[], None]) -> Iterator[list[int]]:
    """Yield a list of the signals received, and call `say` in another thread when the first one arrives.

    A second signal acts at once: as `leave_at_once` if the context is inside of one, and otherwise as it did before,
    which for SIGINT raises `KeyboardInterrupt`.
    """
    requests: list[int] = []
    num_answers = 0
    before: dict[int, Any] = {number: signal.getsignal(number) for number in SIGNALS}
    enclosing = _answers[-1] if _answers else None

    def answer(number: int) -> None:
        nonlocal num_answers
        num_answers += 1
        if num_answers == 1:
            say()
        elif enclosing is not None:
            enclosing(number)

    def note(number: int, frame: FrameType | None) -> None:
        requests.append(number)
        if len(requests) > 1:
            signal.signal(number, before[number])
            signal.raise_signal(number)

    with _answered_by(answer, note):
        yield requests


@contextmanager
def _answered_by(answer: Answer, handler: Handler) -> Iterator[None]:
    """Call `answer` in a thread as soon as a signal arrives, and `handler` in the main thread when Python next can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def listen() -> None:
        while number := os.read(reader, 1):
            if number[0] in SIGNALS:
                answer(number[0])

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    _answers.append(answer)
    try:
        with _handled_by(handler):
            wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
            try:
                yield
            finally:
                signal.set_wakeup_fd(wakeup)
    finally:
        _answers.pop()
        os.close(writer)  # ends the thread
        thread.join()
        os.close(reader)


@contextmanager
def _unheard_by_threads() -> Iterator[None]:
    """Keep signals from the thread of an enclosing context."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wakeup = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)


@contextmanager
def _handled_by(handler: Handler) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
