"""The models of Gymnasium-Robotics, read from its installed package."""

from __future__ import annotations

import functools
import importlib.util
import pathlib

INSTALL = 'pip install "funcenv[robotics]"'


@functools.cache
def assets_folder() -> pathlib.Path:
    """Return the folder of models in the package `gymnasium_robotics`, which is not imported.

    Raises:
        ImportError: it is not installed.
    """
    found = importlib.util.find_spec("gymnasium_robotics")
    if found is None or found.origin is None:
        raise ModuleNotFoundError(
            f"the environments of Gymnasium-Robotics need the models in its package: {INSTALL}",
            name="gymnasium_robotics",
        )
    return pathlib.Path(found.origin).parent / "envs" / "assets"
