"""Features: what networks take of an observation, part by part, and their running moments.

The features of an observation are a float vector, or an image or a board `[height, width, channels]`. Those of
observations with images or boards among other entries are `Parts`. Where critics see more than the agent, they are
`Views`, of which each is one of these.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8

from funcenv.moments import RunningMoments
from funcenv.spaces import Box, Dict, Tuple, flatten
from funcenv.spaces.space import AnySpace
from funcenv.train.agents.observations import critic_observation, critic_space, task_observation, task_space
from funcenv.train.shares import on_shares


class Parts(NamedTuple):
    """The features of observations with images or boards among other entries."""

    vector: Float[Array, "*batch n"]  # all other entries, flattened; n is 0 if there are none
    pictures: dict[str, Array]  # `[*batch, height, width, channels]`, by the names that lead to them


class Views(NamedTuple):
    """The features of what the agent sees, and of what only critics see beside it."""

    agent: Any
    critic: Any


def to_features(space: AnySpace, observation: Any) -> Any:
    """Convert an observation to what a network takes: a float vector, an image, a board, `Parts` or `Views`.

    A mask of legal actions is left out. So is what only critics see, where the observation lacks it.

    >>> from funcenv.spaces import Discrete
    >>> space = Dict(camera=Box(0, 255, (4, 4), np.uint8), speed=Box(-1, 1, (2,)), gear=Discrete(3))
    >>> observation = {"camera": jnp.zeros((4, 4), jnp.uint8), "speed": jnp.ones(2), "gear": 1}
    >>> parts = to_features(space, observation)
    >>> parts.vector.tolist(), {name: image.shape for name, image in parts.pictures.items()}
    ([1.0, 1.0, 0.0, 1.0, 0.0], {'camera': (4, 4, 1)})
    """
    shown = _features(task_space(space), task_observation(space, observation))
    hidden_space, hidden = critic_space(space), critic_observation(space, observation)
    return shown if hidden_space is None or hidden is None else Views(shown, _features(hidden_space, hidden))


def _features(space: AnySpace, observation: Any) -> Any:
    if is_board(space):
        return jnp.asarray(observation)
    if is_image(space):
        return channels_last(observation)
    if not picture_spaces(space):
        return flatten(space, observation).astype(float)
    vectors, pictures = [], {}
    for name, leaf_space, leaf in _leaves(space, observation):
        if is_picture(leaf_space):
            pictures[name] = _features(leaf_space, leaf)
        else:
            vectors.append(flatten(leaf_space, leaf).astype(float))
    return Parts(jnp.concatenate(vectors) if vectors else jnp.zeros(0, float), pictures)


def picture_spaces(space: AnySpace) -> dict[str, AnySpace]:
    """Return the spaces of the images and boards in a `Dict` or `Tuple`, by the names that lead to them.

    >>> camera = Box(0, 255, (4, 4), np.uint8)
    >>> list(picture_spaces(Dict(left=camera, arm=Dict(camera=camera, joints=Box(-1, 1, (3,))))))
    ['left', 'arm.camera']
    """
    if not isinstance(space, (Dict, Tuple)):
        return {}
    return {name: leaf for name, leaf, _ in _leaves(space) if is_picture(leaf)}


def _leaves(
    space: AnySpace, observation: Any = None, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, AnySpace, Any]]:
    """Yield the name, the space and the observation of each entry that is no `Dict` or `Tuple` itself."""
    if isinstance(space, Dict):
        entries: Any = space.spaces.items()
    elif isinstance(space, Tuple):
        entries = enumerate(space.spaces)
    else:
        yield ".".join(path), space, observation
        return
    for name, entry in entries:
        yield from _leaves(entry, None if observation is None else observation[name], (*path, str(name)))


def to_feature_batch(space: AnySpace, observations: Any) -> Any:
    """Convert observations with a leading axis, as `to_features` converts one."""
    return jax.vmap(functools.partial(to_features, space))(observations)


def to_step_features(space: AnySpace, observations: Any) -> Any:
    """Convert the observations of collected steps, `[num_steps, num_envs, ...]`; each device converts its own."""
    return on_shares(jax.vmap(functools.partial(to_feature_batch, space)), observations, axis=1)


def empty_moments(features: Any) -> Any:
    """Return `RunningMoments` before the first batch for each array of features `[batch, ...]`."""
    return jax.tree.map(lambda leaf: RunningMoments.empty(leaf.shape[1:]), features)


def update_moments(moments: Any, space: AnySpace, observations: Any) -> Any:
    """Return the moments after the observations of collected steps, `[num_steps, num_envs, ...]`; None stays None."""
    if moments is None:
        return None
    features = to_step_features(space, observations)
    return jax.tree.map(lambda one, leaf: one.update(leaf.astype(float)), moments, features, is_leaf=_are_moments)


def normalize(moments: Any, features: Any) -> Any:
    """Return features shifted to mean 0 and scaled to variance 1; of `Views`, those of the agent may come alone."""
    if isinstance(moments, Views) and not isinstance(features, Views):
        moments = moments.agent
    return jax.tree.map(lambda one, leaf: one.normalize(leaf.astype(float)), moments, features, is_leaf=_are_moments)


def _are_moments(node: Any) -> bool:
    return isinstance(node, RunningMoments)


def is_picture(space: AnySpace) -> bool:
    """Check whether members are images or boards, which have convolutions of their own."""
    return is_image(space) or is_board(space)


def is_image(space: AnySpace) -> bool:
    """Check whether members are uint8 images: `[height, width]`, `[height, width, channels]`, or stacked frames.

    >>> is_image(Box(0, 255, (84, 84, 3), np.uint8)), is_image(Box(-1, 1, (84, 84)))
    (True, False)
    """
    return isinstance(space, Box) and space.dtype == np.uint8 and 2 <= len(space.shape) <= 4


def is_board(space: AnySpace) -> bool:
    """Check whether members are boards: booleans `[height, width, planes]`.

    >>> is_board(Box(False, True, (10, 10, 4), bool)), is_board(Box(False, True, (9,), bool))
    (True, False)
    """
    return isinstance(space, Box) and space.dtype == bool and len(space.shape) == 3


def channels_last(image: UInt8[Array, "..."]) -> UInt8[Array, "height width channels"]:
    """Return an image with all its colours and frames as channels.

    Three axes are `[height, width, channels]` if the last one is at most 4, and `[frames, height, width]` otherwise.

    >>> shapes = (84, 84), (84, 84, 3), (2, 84, 84), (2, 84, 84, 3)
    >>> [channels_last(jnp.zeros(shape, jnp.uint8)).shape[-1] for shape in shapes]
    [1, 3, 2, 6]
    """
    if image.ndim == 2:
        return image[..., None]
    if image.ndim == 3:
        return image if image.shape[-1] <= 4 else jnp.moveaxis(image, 0, -1)
    return jnp.moveaxis(image, 0, 2).reshape(*image.shape[1:3], -1)
