"""An environment as the model of a search: play from any state, and stop where the episode does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from funcenv.func_env import AnyEnv, Timestep, require_env
from funcenv.struct import PyTreeNode
from funcenv.trees import select
from funcenv.vector_step import call_key
from funcenv.wrappers import StateObservation
from funcenv.wrappers.base import resetting_layer

Ends = Callable[[Timestep[Any]], Bool[Array, ""]]
"""Maps a time step to whether a search takes it for the end of the episode."""


def require_ends(ends: Ends | None) -> Ends | None:
    """Return the argument `ends` of a search if it is a function or None, or raise a `TypeError`."""
    if not (ends is None or callable(ends)):
        raise TypeError(f"ends must be a function ends(timestep), got {ends!r}; leave it out for episodes as they are")
    return ends


class Node(PyTreeNode):
    """A state, what the agent observes in it, and whether the episode has ended there."""

    state: Any
    observation: Any
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]

    @property
    def done(self) -> Bool[Array, ""]:
        """True if the episode has ended, for either reason."""
        return self.terminated | self.truncated

    @classmethod
    def begin(cls, env: AnyEnv, state: Any, observation: Any) -> Node:
        """Return the node of a state."""
        return cls(state, observation, jnp.asarray(env.terminal(state), bool), jnp.asarray(env.truncated(state), bool))


def advance(
    env: AnyEnv, node: Node, action: Any, key: jax.Array, ends: Ends | None = None
) -> tuple[Node, Timestep[Any]]:
    """Return the next node and its time step; after the end of the episode, the same node and reward 0.

    Args:
        env: the environment.
        node: the node before the step.
        action: a member of the action space.
        key: the key of the step.
        ends: whether a time step ends the episode of the search, where that of the environment goes on.
    """
    state, timestep = env.step(node.state, action, key)
    if ends is not None:
        timestep = timestep.replace(terminated=timestep.terminated | ends(timestep))
    following = Node(state, timestep.observation, timestep.terminated, timestep.truncated)
    ended = node.done
    timestep = timestep.replace(
        observation=select(ended, node.observation, timestep.observation),
        reward=jnp.where(ended, jnp.zeros_like(timestep.reward), timestep.reward),
        terminated=jnp.where(ended, node.terminated, timestep.terminated),
        truncated=jnp.where(ended, node.truncated, timestep.truncated),
    )
    return select(ended, node, following), timestep


class Branches(NamedTuple):
    """The results of `branch`."""

    state: Any
    """the last state of each branch, with a leading axis `[num_branches]`"""
    timestep: Timestep[Any]
    """the time step of each action, with leading axes `[num_branches, num_steps]`"""


def branch(env: AnyEnv, state: Any, actions: Any, key: jax.Array) -> Branches:
    """Play many sequences of actions from one state.

    After the end of its episode, a branch stays in the last state and its rewards are 0. Step t of branch i takes
    the key `fold_in(split(key, num_branches)[i], t)`, so that it can be replayed alone. Call it within `jax.jit`.

    Args:
        env: the environment.
        state: the state to begin with, such as `env.reset` or `env.step` returns.
        actions: `[num_branches, num_steps, ...]`, members of the action space.
        key: split into a key for each branch.

    Raises:
        TypeError: `env` is not a `FuncEnv`.
        ValueError: the actions lack the two leading axes.

    >>> import funcenv, numpy as np
    >>> env = funcenv.make("CartPole-v1")
    >>> state, _ = env.reset(funcenv.key(0))
    >>> actions = np.array([[0, 0, 0], [1, 1, 1]])
    >>> branches = jax.jit(branch)(env, state, actions, funcenv.key(1))
    >>> branches.timestep.reward.tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    require_env("branch", env)
    first = jax.tree.leaves(actions)[0]
    if jnp.ndim(first) < 2:
        raise ValueError(f"branch takes actions [num_branches, num_steps, ...], got the shape {jnp.shape(first)}")

    def play(actions: Any, key: jax.Array) -> Branches:
        return Branches(*play_actions(env, state, actions, key))

    return jax.vmap(play)(actions, jax.random.split(key, len(first)))


def play_actions(env: AnyEnv, state: Any, actions: Any, key: jax.Array) -> tuple[Any, Timestep[Any]]:
    """Play a sequence of actions `[num_steps, ...]`; return the last state and the time steps `[num_steps, ...]`."""

    def step(node: Node, turn: tuple[jax.Array, Any]) -> tuple[Node, Timestep[Any]]:
        number, action = turn
        return advance(env, node, action, call_key(key, number))

    num_steps = len(jax.tree.leaves(actions)[0])
    start = Node.begin(env, state, env.observe(state, key).observation)
    node, timesteps = jax.lax.scan(step, start, (jnp.arange(num_steps, dtype=jnp.uint32), actions))
    return node.state, timesteps


def discount(gamma: Any, number: jax.Array) -> Float[Array, ""]:
    """Return `gamma` to the power of the number of a step, a uint32 scalar, as a float.

    >>> float(discount(0.5, jnp.uint32(3)))
    0.125
    """
    return jnp.asarray(gamma, float) ** number.astype(float)


def as_model(what: str, env: AnyEnv) -> AnyEnv:
    """Return an environment that a search can step, or raise.

    Raises:
        TypeError: `env` is not a `FuncEnv`.
        ValueError: `env` begins new episodes by itself.
    """
    require_env(what, env)
    if (layer := resetting_layer(env)) is not None:
        name = type(layer).__name__
        raise ValueError(
            f"{what} plans within one episode, and {name} begins new ones; pass the environment without {name}, "
            "and let FuncVectorEnv reset"
        )
    return env


def adapt_env(what: str, model: AnyEnv, env: AnyEnv) -> StateObservation[Any, Any]:
    """Return `env` with its states in its observations, which must have the structure of those of the model.

    Raises:
        ValueError: the states of `env` and of the model differ in structure, shape or dtype.
    """
    shown: StateObservation[Any, Any] = StateObservation(env)
    if StateObservation(model).state_space != shown.state_space:
        raise ValueError(
            f"the {what} was made for states of {model!r}, got an environment with other states, {env!r}; "
            "make the search with the environment that it plays, or one that differs in parameters alone"
        )
    return shown
