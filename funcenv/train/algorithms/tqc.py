"""Truncated quantile critics (TQC): SAC whose critics learn the distribution of the return.

Kuznetsov et al., "Controlling overestimation bias with truncated mixture of continuous distributional quantile
critics", 2020. A critic returns quantiles of the return that follows an action. The largest quantiles of all target
critics together are dropped, which controls how much the targets overestimate.

An update is that of SAC, with
    critics   mean quantile Huber loss between the quantiles of each critic and the targets
              rewards + discount (z - temperature log p(a')), for all quantiles z of the target critics
              but the largest dropped_quantiles * num_critics
    actor     mean (temperature log p(a) - mean of all quantiles of a)
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from funcenv.checks import require_at_least, require_size
from funcenv.train.agents.networks import NetworkFunction
from funcenv.train.algorithms import sac

Agent = sac.Agent
Model = sac.Model
TrainState = sac.TrainState
init = sac.init
make_agent = sac.make_agent
update = sac.update


@dataclasses.dataclass(frozen=True)
class Config(sac.Config):
    """The settings of a TQC run; each is a flag of `funcenv train`."""

    num_critics: int = 2
    """critics, which differ in their first parameters"""
    num_quantiles: int = 25
    """quantiles that each critic returns"""
    dropped_quantiles: int = 2
    """largest quantiles of each target critic, on average, that targets leave out"""
    network: NetworkFunction = "funcenv.train.agents.actor_critics:make_quantile_actor_critics"
    """function (config, env) that returns the networks, as "module:function\""""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_size("num_critics", self.num_critics)
        require_size("num_quantiles", self.num_quantiles)
        require_at_least(0, "dropped_quantiles", self.dropped_quantiles, remedy="0 is for all quantiles")
        if self.dropped_quantiles >= self.num_quantiles:
            raise ValueError(
                f"dropped_quantiles must be less than num_quantiles, got {self.dropped_quantiles} of "
                f"{self.num_quantiles}; targets need one at least"
            )

    def target_values(self, values: Float[Array, "num_critics batch quantiles"]) -> Float[Array, "batch kept"]:
        """Return the quantiles of all target critics together, sorted, without the largest."""
        together = jnp.sort(jnp.moveaxis(values, 0, 1).reshape(values.shape[1], -1), axis=-1)
        return together[:, : self.num_critics * (self.num_quantiles - self.dropped_quantiles)]

    def actor_values(self, values: Float[Array, "num_critics batch quantiles"]) -> Float[Array, "batch"]:
        """Return the mean of all quantiles."""
        return values.mean((0, 2))

    def critic_loss(
        self, values: Float[Array, "num_critics batch quantiles"], target: Float[Array, "batch kept"]
    ) -> Any:
        """Return the quantile Huber loss of the critics, added up, and what to report of it."""
        loss = quantile_huber_loss(values, target[None]).mean(-1).sum()
        return loss, {"loss": loss, "mean_value": values.mean()}


def quantile_huber_loss(
    quantiles: Float[Array, "*#batch quantiles"], targets: Float[Array, "*#batch targets"]
) -> Float[Array, "*batch"]:
    """Return the Huber loss of quantile regression, as a mean over quantiles and targets.

    Dabney et al., "Distributional reinforcement learning with quantile regression", 2018, equation 10. Quantile number
    i of n stands for the probability (i + 1/2) / n.

    >>> low_and_high = jnp.array([0.0, 1.0])
    >>> float(quantile_huber_loss(low_and_high, jnp.array([0.0, 1.0])))
    0.0625
    """
    count = quantiles.shape[-1]
    probability = (jnp.arange(count, dtype=quantiles.dtype) + 0.5) / count
    error = jnp.expand_dims(targets, -2) - jnp.expand_dims(quantiles, -1)
    is_below = (error < 0).astype(quantiles.dtype)
    weight = jnp.abs(jnp.expand_dims(probability, (*range(error.ndim - 2), error.ndim - 1)) - is_below)
    return (weight * optax.huber_loss(error)).mean((-2, -1))
