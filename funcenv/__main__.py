"""The entry point of `python -m funcenv`, which runs the command line."""

import os
import sys

if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:
    del sys.path[0]  # Python puts the current folder first, whose files would take the place of installed packages

from funcenv.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
