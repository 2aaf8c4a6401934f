"""Discretize a `Box` of actions or observations into equal bins."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from funcenv.checks import require_size
from funcenv.func_env import Action, Obs, State
from funcenv.spaces import Box, Discrete, MultiDiscrete, Space
from funcenv.spaces.space import AnySpace
from funcenv.struct import NDArray, field
from funcenv.wrappers._spaces import first_env, require_box
from funcenv.wrappers.base import Wrapper
from funcenv.wrappers.transform_action import ActionWrapper
from funcenv.wrappers.transform_observation import ObservationWrapper


class _Grid(NamedTuple):
    """A bounded box that is divided into bins."""

    box: Box
    bins: int | tuple[int, ...]
    multidiscrete: bool  # true for one number for each element, false for one number for the combination

    @property
    def counts(self) -> NDArray:
        """The number of bins of each element, `[size]`."""
        return np.broadcast_to(np.asarray(self.bins), (math.prod(self.box.shape),))

    @property
    def strides(self) -> NDArray:
        """The difference that the next bin of each element makes to the number of the combination, `[size]`."""
        return np.append(np.cumprod(self.counts[:0:-1])[::-1], 1)

    @property
    def space(self) -> Space[jax.Array]:
        """The numbers of the bins."""
        counts = self.counts.tolist()
        return MultiDiscrete(counts) if self.multidiscrete else Discrete(math.prod(counts))

    def find(self, x: Float[Array, "*shape"]) -> Int[Array, "..."]:
        """Return the bins that contain a member of the box.

        The index of a bin is the number of inner edges at or below the element. The comparison adds no product to
        anything and divides nothing, so that the bin is the same however the bounds come into the program: XLA
        contracts a*b + c, and turns a division by a constant into a product.
        """
        box, counts = self.box, self.counts
        x = jnp.asarray(x, box.dtype).reshape(-1, 1)
        low, high = jnp.asarray(box.low).reshape(-1, 1), jnp.asarray(box.high).reshape(-1, 1)
        edge = np.arange(1, counts.max())
        share = np.where(edge < counts[:, None], edge / counts[:, None], np.inf).astype(box.dtype)
        count = (x - low >= (high - low) * share).sum(axis=1, dtype=jnp.int32)
        index = jnp.minimum(count, jnp.asarray(counts - 1, jnp.int32))
        return index if self.multidiscrete else (index * jnp.asarray(self.strides, jnp.int32)).sum(dtype=jnp.int32)

    def edges(self, number: Int[Array, "..."]) -> tuple[jax.Array, jax.Array]:
        """Return the lower and the upper edges of bins, `[size]` each; numbers out of range are clipped."""
        box, counts = self.box, self.counts
        index = jnp.asarray(number, jnp.int32)
        if not self.multidiscrete:
            index = jnp.clip(index, 0, math.prod(counts.tolist()) - 1)
            index = index // jnp.asarray(self.strides, jnp.int32) % jnp.asarray(counts, jnp.int32)
        index = jnp.clip(index.reshape(-1), 0, jnp.asarray(counts - 1, jnp.int32))
        low, high = jnp.asarray(box.low).reshape(-1), jnp.asarray(box.high).reshape(-1)
        width = (high - low) / jnp.asarray(counts, box.dtype)
        lower = index.astype(box.dtype)
        return low + lower * width, low + (lower + 1) * width


class Discretize(Wrapper[State, Action, Obs]):
    """A wrapper that divides a bounded `Box` of actions or observations into bins."""

    bins: int | tuple[int, ...] = field(pytree_node=False)
    multidiscrete: bool = field(pytree_node=False, default=False)

    discretized_space: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        name, bins = type(self).__name__, self.bins
        box = require_box(self, self.discretized_space, first_env(self.env))
        if box.concrete and not box.is_bounded():
            raise ValueError(
                f"{name} needs a bounded {self.discretized_space}, got {box!r}; put it inside ClipAction, or choose "
                "the bounded elements with a TransformObservation inside"
            )
        size = math.prod(box.shape)
        if isinstance(bins, (tuple, list)):
            checked: int | tuple[int, ...] = tuple(require_size("a number of bins", count) for count in bins)
            if len(bins) != size:
                raise ValueError(f"bins must have one number for each of {size} elements, got {bins}")
        else:
            checked = require_size("bins", bins)
        combinations = math.prod(_Grid(box, checked, self.multidiscrete).counts.tolist())
        if not self.multidiscrete and combinations >= 2**31:
            raise ValueError(
                f"bins={bins} make {combinations} combinations, more than 32 bits count; use multidiscrete"
            )
        object.__setattr__(self, "bins", checked)

    @property
    def _grid(self) -> _Grid:
        return _Grid(require_box(self, self.discretized_space), self.bins, self.multidiscrete)


class DiscretizeAction(Discretize[State, Int[Array, "..."], Obs], ActionWrapper[State, Int[Array, "..."], Obs]):
    """Lets the agent choose a bin of each element of a bounded `Box`; the inner action is the middle of the bin.

    Bins are counted from the lower bound, and the last element of the box varies fastest. Numbers out of range are
    clipped. Put it outside all wrappers that need a `Box` of actions. `ClipAction` inside is refused, because its space
    is unbounded.

    Args:
        env: an environment with a bounded `Box` of actions.
        bins: the number of bins of every element, or a tuple with one number for each, in C order.
        multidiscrete: whether actions are a `MultiDiscrete` with one number for each element, instead of a single
            `Discrete`.

    Raises:
        TypeError: The actions are not a `Box`, or a number of bins is not an integer.
        ValueError: The box has an open side, a number of bins is below 1, `bins` has a wrong length, or there are more
            combinations than 32 bits can count.

    >>> import funcenv, jax.numpy as jnp
    >>> env = DiscretizeAction(funcenv.make("Pendulum-v1"), bins=4)
    >>> env.action_space, env.inner_action(jnp.int32(3))
    (Discrete(4), Array([1.5], dtype=float32))
    """

    discretized_space: ClassVar[str] = "action_space"

    def inner_action(self, action: Int[Array, "..."]) -> Float[Array, "*shape"]:
        """Return the middle of the chosen bins."""
        lower, upper = self._grid.edges(action)
        return (lower / 2 + upper / 2).reshape(self._grid.box.shape)

    def revert_action(self, action: Float[Array, "*shape"]) -> Int[Array, "..."]:
        """Return the bins that contain an action of the environment inside."""
        return self._grid.find(action)

    @property
    def action_space(self) -> AnySpace:
        """The numbers of the bins."""
        return self._grid.space


class DiscretizeObservation(
    Discretize[State, Action, Int[Array, "..."]], ObservationWrapper[State, Action, Int[Array, "..."]]
):
    """Replaces each element of an observation in a bounded `Box` by the number of its bin.

    Bins are counted from the lower bound and include their lower edge, up to rounding. The last element of the box
    varies fastest. Observations outside the bounds belong to the outermost bins. Put it outside all wrappers that need
    a `Box` of observations, and outside those that bound them.

    Args:
        env: an environment with a bounded `Box` of observations.
        bins: the number of bins of every element, or a tuple with one number for each, in C order.
        multidiscrete: whether observations are a `MultiDiscrete` with one number for each element, instead of a single
            `Discrete`.

    Raises:
        TypeError: The observations are not a `Box`, or a number of bins is not an integer.
        ValueError: The box has an open side, a number of bins is below 1, `bins` has a wrong length, or there are more
            combinations than 32 bits can count.

    >>> import funcenv, jax.numpy as jnp
    >>> env = DiscretizeObservation(funcenv.make("Pendulum-v1"), bins=(2, 2, 4), multidiscrete=True)
    >>> env.outer_observation(jnp.array([-1.0, 0.5, 8.0]))
    Array([0, 1, 3], dtype=int32)
    """

    discretized_space: ClassVar[str] = "observation_space"

    def outer_observation(self, observation: Float[Array, "*shape"]) -> Int[Array, "..."]:
        """Return the numbers of the bins, or the number of their combination."""
        return self._grid.find(observation)

    def revert_observation(self, obs: Int[Array, "..."]) -> tuple[Float[Array, "size"], Float[Array, "size"]]:
        """Return the lower and the upper edges of the bins, one for each element."""
        return self._grid.edges(obs)

    @property
    def observation_space(self) -> AnySpace:
        """The numbers of the bins."""
        return self._grid.space
