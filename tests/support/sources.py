"""The source files of the package, by the name of their module."""

import pathlib

ROOT = pathlib.Path(__file__).parents[2]
FOLDERS = {"funcenv": "funcenv", "envs": "funcenv.envs", "adapters": "funcenv.adapters"}


def sources() -> dict[str, pathlib.Path]:
    """Return the path of every module of the package."""
    found = {}
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join((package, *parts)).removesuffix(".__init__")] = path
    return found
