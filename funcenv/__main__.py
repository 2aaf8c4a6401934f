"""The entry point of `python -m funcenv`, which runs the command line."""

import sys

from funcenv.cli import main

if __name__ == "__main__":
    sys.exit(main())
