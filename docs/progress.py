"""A line for each part of `make docs`, which takes minutes: notebooks, pages of environments, and every 25 pages.

mkdocs calls the `on_...` functions while it builds the site (`hooks:` in mkdocs.yml).
"""

from __future__ import annotations

import logging
import time
from typing import Any

LOG = logging.getLogger("mkdocs.hooks")
EVERY = 25  # pages between two lines

_started = time.monotonic()
_num_pages = _num_done = 0


def on_pre_build(**kwargs: Any) -> None:
    """Say what takes long (called by mkdocs)."""
    del kwargs
    LOG.info("Running changed notebooks, and writing a page for each environment")


def on_env(env: Any, config: Any, files: Any) -> Any:
    """Count the pages, which have been read by now (called by mkdocs)."""
    global _num_pages
    _num_pages = len(files.documentation_pages())
    LOG.info(f"{_elapsed()}: writing {_num_pages} pages")
    return env


def on_post_page(output: str, **kwargs: Any) -> str:
    """Say how many pages are written (called by mkdocs)."""
    global _num_done
    del kwargs
    _num_done += 1
    if _num_done % EVERY == 0:
        LOG.info(f"{_elapsed()}: {_num_done} of {_num_pages} pages")
    return output


def on_page_content(html: str, page: Any, **kwargs: Any) -> str:
    """Say which part of the API is being read, because those pages take longest (called by mkdocs)."""
    del kwargs
    if page.file.src_uri.startswith(("api/", "notebooks/")):
        LOG.info(f"{_elapsed()}: {page.file.src_uri}")
    return html


def _elapsed() -> str:
    return f"{time.monotonic() - _started:.0f} s"
