"""Gradients of means over the rows of a minibatch, which the devices of a run compute together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax

from funcenv.train.shares import mean_over_rows

Params = TypeVar("Params")
Rows = TypeVar("Rows")
Means = TypeVar("Means")


def mean_gradients(
    loss: Callable[[Params, Rows], tuple[jax.Array, Means]], params: Params, rows: Rows, axis: int = 0
) -> tuple[Params, Means]:
    """Return the gradient of a loss that is a mean over rows, and other means over them.

    If the run has several devices, each computes the means of its share of the rows, and a single reduction averages
    gradients and other means together (`funcenv.train.shares`). What the loss takes from a whole minibatch, such as the
    deviation of its advantages or its noise, must therefore be computed before, and be a part of the rows. Every device
    computes all of it if the devices do not divide the rows, or with `deterministic_reductions`.

    Args:
        loss: From parameters and rows to a mean over the rows, and a pytree of other means, all of them floats.
        params: What the gradient is taken with respect to.
        rows: A pytree of arrays.
        axis: The axis of all these arrays that counts the rows.

    >>> import jax.numpy as jnp
    >>> def loss(slope, rows):
    ...     x, y = rows
    ...     return jnp.mean((slope * x - y) ** 2), {"mean_x": x.mean()}
    >>> gradient, means = mean_gradients(loss, 1.0, (jnp.array([1.0, 2.0]), jnp.array([0.0, 2.0])))
    >>> float(gradient), float(means["mean_x"])
    (1.0, 1.5)
    """
    gradients: Callable[..., tuple[Params, Means]] = jax.grad(loss, has_aux=True)
    return mean_over_rows(gradients, rows, common=(params,), axis=axis)
