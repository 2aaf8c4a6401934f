"""The function `main`: it finds a command, runs it, and gives every end of it an exit status."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

from funcenv.cli.table import COMMANDS, Command, UsageError, find_command
from funcenv.interrupts import leave_at_once
from funcenv.origin import describe_error, is_users, user_line
from funcenv.printable import printable

SIGPIPE_STATUS = 141
"""The exit status of a process that SIGPIPE ends."""

EXIT_STATUSES = {
    0: "done",
    1: "an error, such as a file that is missing or what funcenv check has found",
    2: "a mistake in the command line",
    130: "interrupted by Ctrl-C (SIGINT); training can be resumed",
    SIGPIPE_STATUS: "nobody read the output any more, as after `| head`",
    143: "interrupted by SIGTERM, as 130",
}
"""The exit statuses of all commands, and what each means."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status, one of `EXIT_STATUSES`.

    >>> main(["--version"])
    funcenv 0.1.0
    0
    """
    if arguments is None:  # the process is a command's own
        warnings.formatwarning = format_warning
    try:
        try:
            return _main(list(sys.argv[1:] if arguments is None else arguments))
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # whoever reads the output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what Python still writes at its end
        return SIGPIPE_STATUS


def overview() -> str:
    """Return the help of `funcenv`: its commands and exit statuses."""
    usages = {f"{command.name} {command.words}": command.summary for command in COMMANDS.values()}
    width = max(map(len, usages))
    commands = "\n".join(f"  {usage:<{width}}  {summary}" for usage, summary in usages.items())
    statuses = "\n".join(f"  {status:<4} {meaning}" for status, meaning in EXIT_STATUSES.items())
    return f"""\
usage: funcenv COMMAND ...

{commands}

ENV is an id from the list, or module:EnvClass. RUN is a folder that
funcenv train wrote. funcenv COMMAND --help lists the flags of a command, and
funcenv --version prints the version.

exit statuses:
{statuses}"""


def format_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    r"""Return a warning in one line, with the place in a user's file that it is about.

    >>> format_warning("CartPole names no version", UserWarning, __file__, 1)
    'warning: CartPole names no version\n'
    """
    place = f" ({filename}, line {lineno})" if is_users(filename) else ""
    return printable(f"warning: {message}{place}") + "\n"


def _main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    if arguments[0] == "--version":
        import funcenv

        print(f"funcenv {funcenv.__version__}")
        return 0
    name = arguments[0]
    try:
        return _run(find_command(name), arguments[1:])
    except UsageError as error:
        print(printable(f"funcenv {name}: {error}"), file=sys.stderr)
        return 2
    except BrokenPipeError:
        raise
    except (ValueError, TypeError, ImportError, OSError, RuntimeError) as error:  # mistakes of the user
        print(printable(f"funcenv {name}: {error}"), file=sys.stderr)
        return 1
    except Exception as error:
        if user_line(error) is None:  # a mistake of this package, whose traceback is of use
            raise
        print(printable(f"funcenv {name}: {describe_error(error)}"), file=sys.stderr)
        return 1


def _run(command: Command, arguments: list[str]) -> int:
    """Run a command, and answer SIGINT and SIGTERM."""
    with leave_at_once(lambda: f"funcenv {command.name}: interrupted"):
        return int(command.load().run(arguments))
