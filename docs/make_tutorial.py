"""Runs docs/tutorial.md and keeps the pictures that it writes: `python docs/make_tutorial.py`."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import sys
import tempfile

DOCS = pathlib.Path(__file__).resolve().parent
PAGE = DOCS / "tutorial.md"
FOLDER = DOCS / "assets" / "tutorial"
NEUTRAL = "#7f858d"  # can be read on white and on black

sys.path.insert(0, str(DOCS))


def pictures() -> list[str]:
    """Return the names of the pictures that the page shows and its code writes."""
    return re.findall(r"\(assets/tutorial/([\w.]+)\)", PAGE.read_text())


def main() -> None:
    """Run the page in an empty folder, and copy its pictures."""
    import matplotlib
    from run_page import run_page

    names = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    matplotlib.rcParams.update({**dict.fromkeys(names, NEUTRAL), "svg.hashsalt": "tutorial"})
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run_page(PAGE)
        for name in pictures():
            shutil.copy(name, FOLDER / name)
        os.chdir(DOCS)


if __name__ == "__main__":
    main()
