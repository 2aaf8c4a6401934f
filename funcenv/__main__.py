"""The entry point of `python -m funcenv`, which runs the command line."""

import os
import sys

if sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]  # Python puts the current folder first, whose files must not replace installed packages.

from funcenv.cli import main

if __name__ == "__main__":
    sys.exit(main())
