"""SimBa: SAC with residual networks, categorical critics, and normalized observations and rewards.

Lee et al., "SimBa: simplicity bias for scaling up parameters in deep reinforcement learning", 2025: observations are
normalized by running moments, and the networks consist of residual blocks with layer normalization. As in the same
authors' "Hyperspherical normalization for scalable deep reinforcement learning", 2025 (SimbaV2), rewards are divided by
a running deviation of the return, so that one range of values is right for every task, and critics are categorical.
These learn their values as Farebrother et al., "Stop regressing: training value functions via classification for
scalable deep RL", 2024, propose (HL-Gauss): a target becomes a normal distribution over bins of values.

Networks see sign(x) log(1 + |x|) of the normalized observations, so that forces at a contact, which are large for a
moment, do not hide everything else.

With `network="funcenv.train.agents.actor_critics:make_hyperspherical_actor_critics"`, networks are those of SimbaV2:
vectors and weights have length 1, so that layers do not grow, and learning rates can be higher.

An update is that of SAC, with
    critics   mean cross-entropy between the bins of each critic and those of the target
    values    the means of the critics' bins, of which target and actor take the least
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from funcenv.checks import require_at_least, require_positive
from funcenv.train.agents.networks import NetworkFunction
from funcenv.train.algorithms import sac

SMOOTHING = 0.75  # deviation of the distribution of a target, in bins

Agent = sac.Agent
Model = sac.Model
TrainState = sac.TrainState
init = sac.init
make_agent = sac.make_agent
update = sac.update


@dataclasses.dataclass(frozen=True)
class Config(sac.Config):
    """The settings of a SimBa run; each is a flag of `funcenv train`."""

    num_envs: int = 16
    """environments that are stepped in parallel"""
    num_gradient_steps: int = 8
    """minibatches that are learned from in each update"""
    minibatch_size: int = 64
    """transitions in a minibatch"""
    critic_steps: int = 2
    """minibatches in a gradient step that critics learn from, of which the actor learns from the last"""
    target_rate: float = 0.005
    """how far the target network moves towards the network after each gradient step, in [0, 1]"""
    normalize_observation: bool = True
    """shift and scale observations by their running mean and deviation"""
    normalize_reward: bool = True
    """divide rewards by the running deviation of the discounted return"""
    learning_rate: float = 3e-4
    """step size of Adam for everything that is learned"""
    initial_temperature: float = 0.01
    """weight of the entropy at the beginning"""
    target_entropy: float = 0.5
    """entropy that the temperature aims at, in units of minus one nat for each element of the action"""
    hidden_sizes: tuple[int, ...] = (256,)
    """widths of the hidden layers of actor and critics, one for each residual block"""
    layer_norm: bool = True
    """normalize the inputs of each activation function, or of each residual block"""
    residual_width: int = 128
    """width of what residual blocks add to, each with a hidden layer of its own; 0 for hidden layers in a row"""
    num_bins: int = 101
    """bins of the values that critics tell apart"""
    max_value: float = 10.0
    """middle of the last bin; the first one is at its negative, and targets beyond them are clipped"""
    network: NetworkFunction = "funcenv.train.agents.actor_critics:make_compressed_actor_critics"
    """function (config, env) that returns the networks, as "module:function\""""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(2, "num_bins", self.num_bins, remedy="two bins are the least that have a mean between them")
        require_positive(max_value=self.max_value)

    def target_values(self, values: Float[Array, "num_critics batch bins"]) -> Float[Array, "batch"]:
        """Return the least of the critics' means."""
        return bin_mean(values, self.max_value).min(0)

    def critic_loss(self, values: Float[Array, "num_critics batch bins"], target: Float[Array, "batch"]) -> Any:
        """Return the cross-entropies of the critics, added up, and what to report of it."""
        expected = bin_probabilities(target, self.num_bins, self.max_value)
        loss = optax.softmax_cross_entropy(values, expected[None]).mean(1).sum()
        return loss, {"loss": loss, "mean_value": bin_mean(values, self.max_value).mean()}


def bin_mean(logits: Float[Array, "*batch bins"], max_value: float) -> Float[Array, "*batch"]:
    """Return the mean of a distribution over bins, whose middles are evenly spaced in [-max_value, max_value].

    >>> float(bin_mean(jnp.log(jnp.array([0.0, 0.5, 0.5])), max_value=2.0))
    1.0
    """
    middles = jnp.linspace(-max_value, max_value, logits.shape[-1], dtype=logits.dtype)
    return jax.nn.softmax(logits) @ middles


def bin_probabilities(value: Float[Array, "*batch"], num_bins: int, max_value: float) -> Float[Array, "*batch bins"]:
    """Return the probabilities of bins in a normal distribution around a value, in [-max_value, max_value].

    Its deviation is three quarters of a bin, as Farebrother et al. recommend. What lies outside of all bins is left
    out.

    >>> found = bin_probabilities(jnp.array(0.0), num_bins=3, max_value=2.0)  # bins around -2, 0 and 2
    >>> [round(float(one), 3) for one in found]
    [0.241, 0.519, 0.241]
    """
    width = 2 * max_value / (num_bins - 1)
    edges = jnp.linspace(-max_value - width / 2, max_value + width / 2, num_bins + 1, dtype=value.dtype)
    center = jnp.clip(value, -max_value, max_value)[..., None]
    below = jax.scipy.special.ndtr((jnp.expand_dims(edges, range(value.ndim)) - center) / (SMOOTHING * width))
    return jnp.diff(below) / (below[..., -1:] - below[..., :1])
