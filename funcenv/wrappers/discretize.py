"""Cut a box of actions or observations into equal bins."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from funcenv.checks import require_size
from funcenv.func_env import Action, FuncEnv, Obs, State
from funcenv.spaces import Box, Discrete, MultiDiscrete, Space
from funcenv.struct import field
from funcenv.wrappers.single import require_box, single
from funcenv.wrappers.transform_action import ActionWrapper
from funcenv.wrappers.transform_observation import ObservationWrapper


class DiscretizeAction(ActionWrapper[State, Int[Array, "..."], Obs]):
    """Lets the agent choose a bin of each element of a bounded `Box`, and plays the middle of it.

    Bins are counted from the lower bound, the last element of the box varies fastest. Numbers beyond the bins are
    clipped. It has no state. Put it outside all wrappers that need a `Box` of actions; `ClipAction` is none to have
    inside, as it has no bounds to cut up.

    Args:
        env: an environment with a bounded `Box` of actions.
        bins: the number of bins of every element, or a tuple with one number for each, in C order.
        multidiscrete: a `MultiDiscrete` of one number for each element, instead of a single `Discrete`.

    Raises:
        TypeError: the actions are not a `Box`, or a number of bins is not an integer.
        ValueError: an open bound, a number of bins below 1, too few or too many of them, or more combinations than
            32 bits can count.

    >>> import funcenv, jax.numpy as jnp
    >>> env = DiscretizeAction(funcenv.make("Pendulum-v1"), bins=4)
    >>> env.action_space, env.inner_action(jnp.int32(3))
    (Discrete(4), Array([1.5], dtype=float32))
    """

    bins: int | tuple[int, ...] = field(pytree_node=False)
    multidiscrete: bool = field(pytree_node=False, default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bins", _checked_bins(self, self.env, "action_space", self.bins, self.multidiscrete))

    def inner_action(self, action: Int[Array, "..."]) -> Float[Array, "*shape"]:
        """The middle of the chosen bins."""
        box = require_box("DiscretizeAction", self.env, "action_space")
        counts = _counts(self.bins, box)
        lower, upper = _edges(_split(action, counts, self.multidiscrete), box, counts)
        return (lower / 2 + upper / 2).reshape(box.shape)

    def revert_action(self, action: Float[Array, "*shape"]) -> Int[Array, "..."]:
        """The bins that an action of the environment inside lies in."""
        box = require_box("DiscretizeAction", self.env, "action_space")
        counts = _counts(self.bins, box)
        return _join(_bin_of(action, box, counts), counts, self.multidiscrete)

    @property
    def action_space(self) -> Space[Any]:
        """The numbers of the bins."""
        return _bin_space(self.bins, require_box("DiscretizeAction", self.env, "action_space"), self.multidiscrete)


class DiscretizeObservation(ObservationWrapper[State, Action, Int[Array, "..."]]):
    """Shows the agent which bin of a bounded `Box` each element of the observation lies in.

    Bins are counted from the lower bound and hold their lower edge, up to rounding; the last element of the box varies
    fastest. Observations beyond the bounds lie in the outermost bins. It has no state. Put it outside all wrappers that
    need a `Box` of observations, and outside those that make bounded ones.

    Args:
        env: an environment with a bounded `Box` of observations.
        bins: the number of bins of every element, or a tuple with one number for each, in C order.
        multidiscrete: a `MultiDiscrete` of one number for each element, instead of a single `Discrete`.

    Raises:
        TypeError: the observations are not a `Box`, or a number of bins is not an integer.
        ValueError: an open bound, a number of bins below 1, too few or too many of them, or more combinations than
            32 bits can count.

    >>> import funcenv, jax.numpy as jnp
    >>> env = DiscretizeObservation(funcenv.make("Pendulum-v1"), bins=(2, 2, 4), multidiscrete=True)
    >>> env.outer_observation(jnp.array([-1.0, 0.5, 8.0]))
    Array([0, 1, 3], dtype=int32)
    """

    bins: int | tuple[int, ...] = field(pytree_node=False)
    multidiscrete: bool = field(pytree_node=False, default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        bins = _checked_bins(self, self.env, "observation_space", self.bins, self.multidiscrete)
        object.__setattr__(self, "bins", bins)

    def outer_observation(self, observation: Float[Array, "*shape"]) -> Int[Array, "..."]:
        """The numbers of the bins, or the one number of their combination."""
        box = require_box("DiscretizeObservation", self.env, "observation_space")
        counts = _counts(self.bins, box)
        return _join(_bin_of(observation, box, counts), counts, self.multidiscrete)

    def revert_observation(self, obs: Int[Array, "..."]) -> tuple[Float[Array, "size"], Float[Array, "size"]]:
        """The lower and the upper edges of the bins, one for each element."""
        box = require_box("DiscretizeObservation", self.env, "observation_space")
        counts = _counts(self.bins, box)
        return _edges(_split(obs, counts, self.multidiscrete), box, counts)

    @property
    def observation_space(self) -> Space[Any]:
        """The numbers of the bins."""
        box = require_box("DiscretizeObservation", self.env, "observation_space")
        return _bin_space(self.bins, box, self.multidiscrete)


def _bin_of(x: Float[Array, "*shape"], box: Box, counts: np.ndarray[Any, Any]) -> Int[Array, "size"]:
    """How many inner edges lie at or below each element.

    No product is added to anything and nothing is divided, so that the bin is the same however the bounds come into
    the program: XLA contracts a*b + c, and turns division by a constant into a product.
    """
    x = jnp.asarray(x, box.dtype).reshape(-1, 1)
    low, high = jnp.asarray(box.low).reshape(-1, 1), jnp.asarray(box.high).reshape(-1, 1)
    edge = np.arange(1, counts.max())
    share = np.where(edge < counts[:, None], edge / counts[:, None], np.inf).astype(box.dtype)
    count = (x - low >= (high - low) * share).sum(axis=1, dtype=jnp.int32)
    return jnp.minimum(count, jnp.asarray(counts - 1, jnp.int32))


def _edges(index: Int[Array, "size"], box: Box, counts: np.ndarray[Any, Any]) -> tuple[jax.Array, jax.Array]:
    """The lower and the upper edge of a bin of each element."""
    low, high = jnp.asarray(box.low).reshape(-1), jnp.asarray(box.high).reshape(-1)
    width = (high - low) / jnp.asarray(counts, box.dtype)
    lower = index.astype(box.dtype)
    return low + lower * width, low + (lower + 1) * width


def _join(index: Int[Array, "size"], counts: np.ndarray[Any, Any], multidiscrete: bool) -> Int[Array, "..."]:
    """The bins as they are, or the number of their combination."""
    return index if multidiscrete else (index * jnp.asarray(_weights(counts), jnp.int32)).sum(dtype=jnp.int32)


def _split(number: Int[Array, "..."], counts: np.ndarray[Any, Any], multidiscrete: bool) -> Int[Array, "size"]:
    """The bins again; numbers beyond them are clipped."""
    index = jnp.asarray(number, jnp.int32)
    if not multidiscrete:
        index = jnp.clip(index, 0, math.prod(counts.tolist()) - 1)
        index = index // jnp.asarray(_weights(counts), jnp.int32) % jnp.asarray(counts, jnp.int32)
    return jnp.clip(index.reshape(-1), 0, jnp.asarray(counts - 1, jnp.int32))


def _weights(counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What one bin of each element adds to the number of the combination."""
    return np.append(np.cumprod(counts[:0:-1])[::-1], 1)


def _counts(bins: int | tuple[int, ...], box: Box) -> np.ndarray[Any, Any]:
    return np.broadcast_to(np.asarray(bins), (math.prod(box.shape),))


def _bin_space(bins: int | tuple[int, ...], box: Box, multidiscrete: bool) -> Space[jax.Array]:
    counts = _counts(bins, box).tolist()
    return MultiDiscrete(counts) if multidiscrete else Discrete(math.prod(counts))


def _checked_bins(
    wrapper: Any, env: FuncEnv[Any, Any, Any], space: str, bins: Any, multidiscrete: bool
) -> int | tuple[int, ...]:
    name = type(wrapper).__name__
    box = require_box(name, single(env), space)
    if box.concrete and not box.is_bounded():
        raise ValueError(
            f"{name} needs a bounded {space}, got {box!r}; put it inside ClipAction, or choose the bounded elements "
            "with a TransformObservation inside"
        )
    if isinstance(bins, (tuple, list)):
        settled: int | tuple[int, ...] = tuple(require_size("a number of bins", count) for count in bins)
        if len(bins) != math.prod(box.shape):
            raise ValueError(f"bins must have one number for each of {math.prod(box.shape)} elements, got {bins}")
    else:
        settled = require_size("bins", bins)
    combinations = math.prod(_counts(settled, box).tolist())
    if not multidiscrete and combinations >= 2**31:
        raise ValueError(f"bins={bins} make {combinations} combinations, more than 32 bits count; use multidiscrete")
    return settled
