"""Comparison of what a fast program returns with what the plain program returns."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.struct import NDArray

_MAX_ROUNDINGS = 64  # how far floats may lie apart, in units of their dtype's epsilon


def agree(result: Any, expected: Any) -> bool:
    """Return whether two pytrees hold equal integers and flags, and floats that differ by rounding alone.

    >>> agree({"x": np.float32(1)}, {"x": np.nextafter(np.float32(1), np.float32(2))}), agree(1, 2)
    (True, False)
    """
    leaves = zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True)
    return all(_equal(np.asarray(a), np.asarray(b)) for a, b in leaves)


def _equal(a: NDArray, b: NDArray) -> bool:
    if not jnp.issubdtype(a.dtype, jnp.floating):
        return bool(np.array_equal(a, b))
    epsilon = float(jnp.finfo(a.dtype).eps)  # type: ignore[no-untyped-call]  # JAX's
    return bool(np.allclose(a, b, rtol=_MAX_ROUNDINGS * epsilon, atol=1e-6, equal_nan=True))
