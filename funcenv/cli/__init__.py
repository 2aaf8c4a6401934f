"""The command line, `funcenv COMMAND`. Its commands are modules of this package; `table` lists them."""

from funcenv.cli.dispatch import EXIT_STATUSES, main
from funcenv.cli.table import COMMANDS, UsageError

__all__ = ["COMMANDS", "EXIT_STATUSES", "UsageError", "main"]
