"""`python -m funcenv` is `funcenv`."""

import sys

from funcenv.cli import main

if __name__ == "__main__":
    sys.exit(main())
