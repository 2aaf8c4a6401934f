"""Monte Carlo tree search with the environment itself as the model.

Schrittwieser et al., "Mastering Atari, Go, chess and shogi by planning with a learned model", 2020, whose rule of
selection (PUCT) is that of AlphaZero; Danihelka et al., "Policy improvement by planning with Gumbel", 2022. Both are
those of the package `mctx`.

A node is a state. Where an episode terminates, nothing follows and its value is 0. Where it is truncated, the search
stops and takes the value of the last state. Transitions draw keys of the search, never those of the environment that is
played: the search does not know which outcome comes. Each action of a node is tried with one outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from funcenv._compile.rollout import as_policy
from funcenv.checks import require_at_least, require_one_of, require_probability, require_size
from funcenv.func_env import AnyEnv
from funcenv.search.model import Ends, Node, adapt_env, advance, as_model, require_ends
from funcenv.spaces import Discrete
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers import StateObservation, gives_action_mask

ValueAndPrior = Callable[[Any, Any, jax.Array], tuple[jax.Array, jax.Array]]
"""From a state, its observation and a key, to the value of the state and a logit for each action."""

METHODS = "muzero", "gumbel"
_DIRICHLET_FRACTION = 0.25  # the weight of the noise in the root's prior, where a search explores; AlphaZero's


class SearchResult(PyTreeNode):
    """What a search found out about one state."""

    action: Int[Array, ""]
    """the action to take, a member of the action space"""
    action_weights: Float[Array, "num_actions"]
    """the improved policy, which sums to 1; a target for training"""
    value: Float[Array, ""]
    """the value of the state by the search"""
    action_values: Float[Array, "num_actions"]
    """the value of each action by the search; that of an action without a visit is 0"""
    visits: Int[Array, "num_actions"]
    """how many simulations began with each action"""


class SearchPolicy(PyTreeNode):
    """A policy that searches before it acts; `make_search` makes one.

    It reads the state from observations of `StateObservation`, and `adapt_env` puts that wrapper around an environment.
    It is a pytree: other parameters of the environment or of `value_and_prior` do not compile programs again.
    """

    env: AnyEnv
    value_and_prior: Any
    num_simulations: int = field(pytree_node=False)
    gamma: float
    exploration: float
    method: Literal["muzero", "gumbel"] = field(pytree_node=False)
    max_depth: int | None = field(pytree_node=False)
    ends: Ends | None = field(pytree_node=False)

    def __call__(self, observation: dict[str, Any], key: jax.Array) -> jax.Array:
        """Search from the state in an observation and return the action to take."""
        state = StateObservation(self.env).state_of(observation)
        return self.search(state, observation["observation"], key).action

    def adapt_env(self, env: AnyEnv) -> StateObservation[Any, Any]:
        """Return an environment whose observations show the state.

        Raises:
            ValueError: its states differ from those of the environment of the search.
        """
        return adapt_env("search", self.env, env)

    def search(self, state: Any, observation: Any, key: jax.Array) -> SearchResult:
        """Search from one state, given what the agent observes in it."""
        root_key, key = jax.random.split(key)
        node = Node.begin(self.env, state, observation)
        value, logits = self.value_and_prior(state, observation, root_key)
        root = require_mctx().RootFnOutput(
            prior_logits=self._legal(node, logits)[None], value=value[None], embedding=_batch_of(node)
        )
        illegal = None if (mask := self._mask(node)) is None else ~mask[None]
        with jax.numpy_dtype_promotion("standard"):  # as mctx is written
            output = self._run(key, root, illegal)
            summary = output.search_tree.summary()
        return SearchResult(
            action=self._as_action(output.action[0]),
            action_weights=output.action_weights[0],
            value=summary.value[0],
            action_values=summary.qvalues[0],
            visits=summary.visit_counts[0].astype(jnp.int32),
        )

    def _run(self, key: jax.Array, root: Any, illegal: jax.Array | None) -> Any:
        arguments = self.value_and_prior, key, root, self._expand, self.num_simulations, illegal, self.max_depth
        if self.method == "gumbel":
            return require_mctx().gumbel_muzero_policy(*arguments, gumbel_scale=self.exploration)
        fraction = _DIRICHLET_FRACTION * self.exploration
        return require_mctx().muzero_policy(*arguments, dirichlet_fraction=fraction, temperature=self.exploration)

    def _expand(self, value_and_prior: Any, key: jax.Array, index: jax.Array, nodes: Node) -> tuple[Any, Node]:
        """Return the outcomes of actions in a batch of nodes, as mctx asks for them."""

        def expand(index: jax.Array, node: Node, key: jax.Array) -> tuple[Any, Node]:
            step_key, value_key = jax.random.split(key)
            following, timestep = advance(self.env, node, self._as_action(index), step_key, self.ends)
            value, logits = value_and_prior(following.state, following.observation, value_key)
            stays = jnp.where(node.truncated, jnp.ones_like(value), jnp.asarray(self.gamma, value.dtype))
            outcome = require_mctx().RecurrentFnOutput(
                reward=timestep.reward.astype(value.dtype),
                discount=jnp.where(following.terminated, jnp.zeros_like(value), stays),
                prior_logits=self._legal(following, logits),
                value=value,
            )
            return outcome, following

        return jax.vmap(expand)(index, nodes, jax.random.split(key, len(index)))

    def _as_action(self, index: jax.Array) -> jax.Array:
        space: Any = self.env.action_space
        return (index + space.start).astype(space.dtype)

    def _mask(self, node: Node) -> jax.Array | None:
        if not gives_action_mask(self.env):
            return None
        return jnp.asarray(self.env.state_info(node.state)["action_mask"], bool)

    def _legal(self, node: Node, logits: jax.Array) -> jax.Array:
        mask = self._mask(node)
        return logits if mask is None else jnp.where(mask, logits, np.finfo(logits.dtype).min)


def make_search(
    env: AnyEnv,
    value_and_prior: ValueAndPrior,
    num_simulations: int,
    *,
    gamma: float = 0.99,
    method: Literal["muzero", "gumbel"] = "muzero",
    exploration: float = 0.0,
    max_depth: int | None = None,
    ends: Ends | None = None,
) -> SearchPolicy:
    """Return a policy that searches a tree of states before it acts.

    Args:
        env: the environment, with `Discrete` actions; the model of the search.
        value_and_prior: `value_and_prior(state, observation, key) -> (value, logits)`, the value of a state and a
            logit for each action: a network, or what `playouts` returns. A `jax.tree_util.Partial` of a function and
            its parameters is not compiled again for new parameters.
        num_simulations: how often the search extends its tree by a step; at least 1.
        gamma: the discount factor, in [0, 1].
        method: "muzero" selects by PUCT, which explores with any prior; "gumbel" trusts values and logits more, which
            is better with a trained network and few simulations.
        exploration: 0 takes the action that the search prefers; 1 draws it, from visits ("muzero", with noise in the
            root's prior) or with Gumbel noise ("gumbel"), as is usual in training.
        max_depth: the largest number of steps from the root; by default `num_simulations`.
        ends: `ends(timestep) -> bool`, where nothing that follows counts, besides where the episode terminates: the
            loss of a life, say, or a goal that is reached. Give `playouts` the same function.

    Returns:
        A policy for `evaluate` and `funcenv.record`, and for `rollout` over `policy.adapt_env(env)`.

    Raises:
        TypeError: `env` is not a `FuncEnv`, its actions are not `Discrete`, or `ends` is no function.
        ValueError: `env` resets itself, or a number is out of range.
        ModuleNotFoundError: mctx is not installed.

    >>> import funcenv
    >>> from funcenv.search import make_search, playouts
    >>> env = funcenv.make("FrozenLake-v1", is_slippery=False)
    >>> search = make_search(env, playouts(env, funcenv.random_policy(env), num_steps=20), num_simulations=32)
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> result = jax.jit(search.search)(state, timestep.observation, funcenv.key(1))
    >>> int(result.visits.sum()), result.action.dtype
    (32, dtype('int32'))
    """
    model = as_model("make_search", env)
    space = model.action_space
    if not isinstance(space, Discrete):
        raise TypeError(
            f"make_search needs Discrete actions, got {space!r}; use funcenv.search.make_shooting, or put "
            "DiscretizeAction around the environment"
        )
    if not callable(value_and_prior):
        raise TypeError(
            "value_and_prior is a function value_and_prior(state, observation, key) -> (value, logits), got "
            f"{value_and_prior!r}; funcenv.search.playouts makes one"
        )
    require_probability(gamma=gamma)
    require_at_least(0, "exploration", exploration, remedy="0 takes the best action")
    require_one_of("method", method, METHODS)
    require_mctx()
    return SearchPolicy(
        env=model,
        value_and_prior=as_policy(value_and_prior),
        num_simulations=require_size("num_simulations", num_simulations),
        gamma=gamma,
        exploration=exploration,
        method=method,
        max_depth=None if max_depth is None else require_size("max_depth", max_depth),
        ends=require_ends(ends),
    )


def _batch_of(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], tree)


def require_mctx() -> ModuleType:
    """Return the package mctx.

    Raises:
        ModuleNotFoundError: it is not installed; the message says how to install it.
    """
    try:
        import mctx
    except ModuleNotFoundError:
        raise ModuleNotFoundError('funcenv.search needs mctx: pip install "funcenv[search]"', name="mctx") from None
    return mctx
