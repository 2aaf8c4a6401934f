"""Parameters with the state of their optimizer, and the optimizers of all algorithms."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from funcenv.checks import require_positive
from funcenv.struct import PyTreeNode
from funcenv.train.config import TrainConfig

UNIT_KERNEL = "unit_kernel"
"""Name of parameters `[..., inputs, outputs]` in which the weights of each output have length 1, in any network."""


class Learned(PyTreeNode):
    """Parameters that an optimizer changes, and the state of that optimizer.

    >>> import jax.numpy as jnp
    >>> optimizer = optax.sgd(0.5)
    >>> learned = Learned.create(optimizer, {"slope": jnp.ones(2)})
    >>> learned.step(optimizer, {"slope": jnp.array([1.0, 2.0])}).params["slope"].tolist()
    [0.5, 0.0]
    """

    params: Any
    optimizer_state: optax.OptState

    @classmethod
    def create(cls, optimizer: optax.GradientTransformation, params: Any) -> Learned:
        """Return new parameters with the first state of their optimizer."""
        params = with_unit_kernels(params)
        return cls(params, optimizer.init(params))

    def step(self, optimizer: optax.GradientTransformation, gradient: Any) -> Learned:
        """Return the parameters after a step along a gradient."""
        updates, optimizer_state = optimizer.update(gradient, self.optimizer_state, self.params)
        return Learned(with_unit_kernels(optax.apply_updates(self.params, updates)), optimizer_state)


def with_unit_kernels(params: Any) -> Any:
    """Return parameters in which the weights of each output of a `UNIT_KERNEL` have length 1.

    >>> with_unit_kernels({"unit_kernel": jnp.array([[3.0], [4.0]])})["unit_kernel"].round(3).tolist()
    [[0.6...], [0.8...]]
    """

    def adjusted(path: Any, leaf: Any) -> Any:
        is_unit_kernel = bool(path) and getattr(path[-1], "key", None) == UNIT_KERNEL
        return unit(leaf, axis=-2) if is_unit_kernel else leaf

    return jax.tree_util.tree_map_with_path(adjusted, params)


def unit(x: jax.Array, axis: int = -1) -> jax.Array:
    """Return vectors along an axis with the same directions and length 1; zeros stay zeros.

    >>> unit(jnp.array([[3.0, 4.0], [0.0, 0.0]])).round(3).tolist()
    [[0.6..., 0.8...], [0.0, 0.0]]
    """
    return x * jax.lax.rsqrt(jnp.maximum(jnp.square(x).sum(axis, keepdims=True), 1e-16))


@dataclasses.dataclass(frozen=True)
class Annealed(TrainConfig):
    """The settings of an optimizer with a learning rate that falls."""

    learning_rate: float = 1e-3
    """step size of the optimizer"""
    anneal_learning_rate: bool = True
    """decrease the learning rate linearly to 0 over the run"""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(learning_rate=self.learning_rate)

    @property
    def num_optimizer_steps(self) -> int:
        """Steps of the optimizer in the whole run, over which the learning rate falls."""
        raise NotImplementedError(f"{type(self).__name__} must define num_optimizer_steps")

    @property
    def schedule(self) -> optax.ScalarOrSchedule:
        """The learning rate, or what maps a number of steps of the optimizer to it."""
        return self.schedule_over(self.num_optimizer_steps)

    def schedule_over(self, num_steps: int) -> optax.ScalarOrSchedule:
        """Return the schedule of an optimizer that takes another number of steps in the whole run."""
        if not self.anneal_learning_rate:
            return self.learning_rate
        return optax.linear_schedule(self.learning_rate, 0.0, num_steps)


@dataclasses.dataclass(frozen=True)
class Clipped(Annealed):
    """The settings of an optimizer with a learning rate that falls, and clipped gradients."""

    max_grad_norm: float = 10.0
    """global norm that gradients are clipped to"""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(max_grad_norm=self.max_grad_norm)


def flat_optimizer(
    rule: Callable[..., optax.GradientTransformation],
    learning_rate: optax.ScalarOrSchedule,
    max_grad_norm: float | None = None,
) -> optax.GradientTransformation:
    """Return an optimizer that works on all parameters as one long vector.

    A dozen small kernels for each layer would take longer to compile and to run.

    Args:
        rule: Makes the optimizer from a learning rate, for example `optax.adam`.
        learning_rate: A number, or a function of the number of steps such as `config.schedule`.
        max_grad_norm: The global norm that gradients are clipped to; None for no bound.
    """
    clip = [] if max_grad_norm is None else [optax.clip_by_global_norm(max_grad_norm)]
    return optax.flatten(optax.chain(*clip, rule(learning_rate)))
