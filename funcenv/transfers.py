"""Transfers to the device that a transfer guard of JAX takes for intended ones."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from funcenv._jax import config


def transferred(tree: Any) -> Any:
    """Return a pytree whose host values lie on the device if a transfer guard is set; else the same pytree.

    A compiled function transfers host values fastest itself, but `jax.transfer_guard("disallow")` forbids that. A call
    that takes actions, parameters or keys from the host means to transfer them.

    >>> transferred(np.ones(2))
    array([1., 1.])
    >>> with jax.transfer_guard("disallow"):
    ...     transferred(np.ones(2))
    Array([1., 1.], dtype=float32)
    """
    if config.jax_transfer_guard_host_to_device in _UNGUARDED:
        return tree
    return jax.tree.map(lambda leaf: jax.device_put(leaf) if isinstance(leaf, _HOST_VALUES) else leaf, tree)


_UNGUARDED = (None, "allow")
_HOST_VALUES = (bool, int, float, np.generic, np.ndarray)
