"""Work in a second thread for as long as a block lasts.

XLA compiles without Python's lock, so two programs can compile at once, or one while modules are imported.

A block waits for its thread. None is therefore left at the end of the process, where it forks, or after an exception.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


@contextlib.contextmanager
def beside(work: Callable[[], Result]) -> Iterator[Future[Result]]:
    """Do work in another thread, which sees this thread's context variables, and wait for it at the end of the block.

    JAX's settings that are set for a block, such as `jax.enable_x64(True)`, hold in the thread that entered it alone.

    Args:
        work: takes no arguments. What it raises is raised by `result()` of the value of the block, or at its end.

    >>> with beside(lambda: 6 * 7) as answer:
    ...     answer.result()
    42
    """
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(contextvars.copy_context().run, work)
        yield future
    future.result()
