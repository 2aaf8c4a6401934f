"""Warnings about files that another version of the package wrote."""

from __future__ import annotations

import importlib.metadata
import os
import warnings
from typing import Any


def warn_of_other_version(path: str | os.PathLike[str], versions: Any) -> None:
    """Warn if another version of the package wrote a file; `versions` are those of packages in the file, by name."""
    theirs = versions.get("funcenv") if isinstance(versions, dict) else None
    ours = importlib.metadata.version("funcenv")
    if theirs not in (None, ours):
        message = f"funcenv {theirs!s:.40} wrote {path}, and this is {ours}; an agent may act otherwise than there"
        warnings.warn(message, UserWarning, stacklevel=3)
