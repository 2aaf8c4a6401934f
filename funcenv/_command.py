"""The start of a process that was started as a command, before it imports anything that is slow or somebody else's.

`python -m funcenv` imports the package before it runs `funcenv.__main__`, and the script `funcenv` does so before it
calls `main`. This module is therefore the first that the package imports.
"""

import os
import sys


def _is_module_run() -> bool:
    """Return whether Python has just begun to run `python -m funcenv`."""
    arguments = sys.orig_argv
    pairs = zip(arguments, arguments[1:], strict=False)
    return getattr(sys, "argv", [])[:1] == ["-m"] and (("-m", "funcenv") in pairs or "-mfuncenv" in arguments)


def _is_script() -> bool:
    """Return whether the process runs the script `funcenv`."""
    name = os.path.basename(next(iter(getattr(sys, "argv", [])), ""))
    return name.removesuffix(".exe") == "funcenv"


def _answer_interrupts() -> None:
    """Let Ctrl-C end the process with a line; commands answer it themselves once they run."""
    import signal
    import threading

    def leave(number: int, frame: object) -> None:
        own_line = b"\n" if os.isatty(2) else b""  # a terminal has just echoed ^C
        os.write(2, own_line + b"funcenv: interrupted\n")
        os._exit(128 + number)

    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)


if _is_module_run() and not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:
    del sys.path[0]  # Python puts the current folder first, whose files would take the place of installed packages

if _is_module_run() or _is_script():
    _answer_interrupts()
