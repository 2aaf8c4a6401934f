"""Search over sequences of actions, for continuous actions.

The cross-entropy method (CEM; Rubinstein and Kroese, "The cross-entropy method", 2004) and model predictive path
integral control (MPPI; Williams et al., "Information theoretic MPC for model-based reinforcement learning", 2017). Both
draw sequences around a mean, play them in the environment, move the mean to the better ones, and take its first action.
The rest of the mean, shifted by a step, is where the next search begins.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv._compile.rollout import as_policy
from funcenv.checks import require_one_of, require_positive, require_probability, require_size
from funcenv.func_env import AnyEnv
from funcenv.search.model import Ends, Node, adapt_env, advance, as_model, discount, require_ends
from funcenv.spaces import Box
from funcenv.struct import PyTreeNode, field
from funcenv.vector_step import call_key
from funcenv.wrappers import PolicyMemory, StateObservation

Plan = Float[Array, "horizon action_size"]  # in units of half the range of each action, around its middle
METHODS = "cem", "mppi"


class ShootingPolicy(PyTreeNode):
    """A policy that plans a sequence of actions in every step; `make_shooting` makes one.

    Its plan is kept by `PolicyMemory`, and the state is shown by `StateObservation`; `adapt_env` puts both around an
    environment.
    """

    env: AnyEnv
    value_and_prior: Any  # None for no value after the horizon
    horizon: int = field(pytree_node=False)
    num_samples: int = field(pytree_node=False)
    num_iterations: int = field(pytree_node=False)
    method: Literal["cem", "mppi"] = field(pytree_node=False)
    num_elites: int = field(pytree_node=False)
    temperature: float
    noise: float
    gamma: float
    ends: Ends | None = field(pytree_node=False)

    def __call__(self, observation: dict[str, Any], key: jax.Array) -> dict[str, Any]:
        """Plan from the state in an observation; return the first action, and the rest of the plan as the memory."""
        seen = observation["observation"]
        state = StateObservation(self.env).state_of(seen)
        plan = self.plan(state, seen["observation"], observation["memory"].reshape(self.horizon, -1), key)
        rest = jnp.concatenate([plan[1:], jnp.zeros_like(plan[:1])])
        return {"action": self.as_action(plan[0]), "memory": rest.ravel()}

    def adapt_env(self, env: AnyEnv) -> PolicyMemory:
        """Return an environment whose observations show the state and the plan.

        Raises:
            ValueError: its states differ from those of the environment of the search.
        """
        return PolicyMemory(adapt_env("search", self.env, env), self.horizon * self._action_size)

    def plan(self, state: Any, observation: Any, mean: Plan, key: jax.Array) -> Plan:
        """Return the improved mean of the sequences from one state."""
        node = Node.begin(self.env, state, observation)
        draw_key, play_key = jax.random.split(key)

        def improve(mean_std: tuple[Plan, Plan], key: jax.Array) -> tuple[tuple[Plan, Plan], None]:
            mean, std = mean_std
            noise = jax.random.normal(key, (self.num_samples - 1, *mean.shape), mean.dtype)
            plans = jnp.concatenate([mean[None], jnp.clip(mean[None] + std[None] * noise, -1, 1)])
            scores = jax.vmap(lambda plan: self._score(node, plan, play_key))(plans)
            return self._refit(plans, scores, std), None

        start = mean, jnp.full_like(mean, self.noise)
        (mean, _), _ = jax.lax.scan(improve, start, jax.random.split(draw_key, self.num_iterations))
        return mean

    def _score(self, node: Node, plan: Plan, key: jax.Array) -> jax.Array:
        """Return the discounted return of a sequence, with the value of the last state; all take the same keys."""

        def step(carry: tuple[Node, jax.Array], turn: tuple[jax.Array, jax.Array]) -> tuple[Any, None]:
            node, total = carry
            number, action = turn
            node, timestep = advance(self.env, node, self.as_action(action), call_key(key, number), self.ends)
            return (node, total + discount(self.gamma, number) * timestep.reward), None

        turns = jnp.arange(self.horizon, dtype=jnp.uint32), plan
        (node, total), _ = jax.lax.scan(step, (node, jnp.zeros((), float)), turns)
        if self.value_and_prior is None:
            return total
        end = jnp.uint32(self.horizon)
        value, _ = self.value_and_prior(node.state, node.observation, call_key(key, end))
        return total + discount(self.gamma, end) * jnp.where(node.terminated, jnp.zeros_like(value), value)

    def _refit(self, plans: jax.Array, scores: jax.Array, std: Plan) -> tuple[Plan, Plan]:
        """Return the next mean and standard deviation."""
        if self.method == "cem":
            elites = plans[jax.lax.top_k(scores, self.num_elites)[1]]
            return elites.mean(0), elites.std(0)
        weights = jax.nn.softmax((scores - scores.max()) / self.temperature)
        return (weights[:, None, None] * plans).sum(0), std

    def as_action(self, step: Float[Array, "action_size"]) -> jax.Array:
        """Return the action of a step of a plan, whose elements are in units of half the range, around its middle."""
        space: Any = self.env.action_space
        low, high = jnp.asarray(space.low), jnp.asarray(space.high)
        unit = step.reshape(space.shape)
        return (low + (high - low) * (0.5 * unit.astype(low.dtype) + 0.5)).astype(space.dtype)

    def as_step(self, action: jax.Array) -> Float[Array, "action_size"]:
        """Return the step of a plan that takes an action: the inverse of `as_action`."""
        space: Any = self.env.action_space
        low, high = jnp.asarray(space.low, float), jnp.asarray(space.high, float)
        return (2 * (action - low) / (high - low) - 1).ravel()

    @property
    def _action_size(self) -> int:
        return math.prod(self.env.action_space.shape or ())


def make_shooting(
    env: AnyEnv,
    horizon: int,
    num_samples: int,
    *,
    method: Literal["cem", "mppi"] = "cem",
    num_iterations: int = 3,
    elite_fraction: float = 0.1,
    temperature: float = 1.0,
    noise: float = 0.5,
    gamma: float = 0.99,
    value_and_prior: Any = None,
    ends: Ends | None = None,
) -> ShootingPolicy:
    """Return a policy that plans by playing random sequences of actions, for bounded `Box` actions.

    Each step plays `num_iterations * num_samples` sequences of `horizon` steps.

    Args:
        env: the environment; the model of the search.
        horizon: the length of a sequence; at least 1.
        num_samples: the number of sequences of an iteration, one of which is the mean; at least 2.
        method: "cem" fits mean and standard deviation to the best sequences; "mppi" moves the mean to a sum of all,
            weighted by `exp(return / temperature)`.
        num_iterations: how often the mean moves in each step; at least 1.
        elite_fraction: the fraction of sequences that CEM fits, in (0, 1].
        temperature: that of MPPI, in units of the return; positive.
        noise: the first standard deviation, in units of half the range of an action; positive.
        gamma: the discount factor, in [0, 1].
        value_and_prior: values the last state of a sequence, as `make_search` takes it; by default it counts nothing.
        ends: `ends(timestep) -> bool`, where a sequence ends besides where the episode does, as `make_search` takes it.

    Returns:
        A policy for `evaluate` and `funcenv.record`, and for `rollout` over `policy.adapt_env(env)`.

    Raises:
        TypeError: `env` is not a `FuncEnv`, its actions are not a `Box`, or `ends` is no function.
        ValueError: `env` resets itself, actions are unbounded, or a number is out of range.

    >>> import funcenv
    >>> env = funcenv.make("Pendulum-v1")
    >>> policy = funcenv.search.make_shooting(env, horizon=15, num_samples=64)
    >>> evaluation = funcenv.evaluate(env, policy, 2, funcenv.key(0), max_steps=100)
    >>> bool((evaluation.episode_return > -500).all())
    True
    """
    model = as_model("make_shooting", env)
    space = model.action_space
    if not isinstance(space, Box):
        raise TypeError(f"make_shooting needs Box actions, got {space!r}; funcenv.search.make_search takes Discrete")
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise ValueError(f"make_shooting needs bounded actions, got {space!r}; put RescaleAction or ClipAction around")
    require_one_of("method", method, METHODS)
    require_probability(gamma=gamma, elite_fraction=elite_fraction)
    require_positive(temperature=temperature, noise=noise, elite_fraction=elite_fraction)
    num_samples = require_size("num_samples", num_samples, minimum=2)
    return ShootingPolicy(
        env=model,
        value_and_prior=None if value_and_prior is None else as_policy(value_and_prior),
        horizon=require_size("horizon", horizon),
        num_samples=num_samples,
        num_iterations=require_size("num_iterations", num_iterations),
        method=method,
        num_elites=max(1, round(elite_fraction * num_samples)),
        temperature=temperature,
        noise=noise,
        gamma=gamma,
        ends=require_ends(ends),
    )
