"""The value of a state by playing on from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.rollout import as_policy
from funcenv.checks import require_probability, require_size
from funcenv.func_env import AnyEnv
from funcenv.policy import Policy, require_policy
from funcenv.search.model import Ends, Node, advance, as_model, discount, require_ends
from funcenv.spaces import Discrete
from funcenv.struct import PyTreeNode, field
from funcenv.vector_step import call_key


class Playouts(PyTreeNode):
    """Values by playing on, and equal logits for all actions; `playouts` makes one."""

    env: AnyEnv
    policy: Any
    num_steps: int = field(pytree_node=False)
    num_playouts: int = field(pytree_node=False)
    gamma: float
    ends: Ends | None = field(pytree_node=False)
    value: Any  # the function `value` of `playouts`; None for no value after the last step

    def __call__(self, state: Any, observation: Any, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the value of a state, and a logit for each action."""
        keys = jax.random.split(key, self.num_playouts)
        returns = jax.vmap(lambda key: self.play(state, observation, key))(keys)
        space = self.env.action_space
        return returns.mean(), jnp.zeros(space.n if isinstance(space, Discrete) else (), returns.dtype)

    def play(self, state: Any, observation: Any, key: jax.Array) -> jax.Array:
        """Return the discounted return of the policy until the episode ends, or for `num_steps` steps and the value."""

        def goes_on(carry: tuple[Node, jax.Array, jax.Array]) -> jax.Array:
            node, _, number = carry
            return ~node.done & (number < np.uint32(self.num_steps))

        def step(carry: tuple[Node, jax.Array, jax.Array]) -> tuple[Node, jax.Array, jax.Array]:
            node, total, number = carry
            policy_key, step_key = jax.random.split(call_key(key, number))
            action = self.policy(node.observation, policy_key)
            node, timestep = advance(self.env, node, action, step_key, self.ends)
            return node, total + discount(self.gamma, number) * timestep.reward, number + np.uint32(1)

        start = Node.begin(self.env, state, observation), jnp.zeros((), float), jnp.uint32(0)
        node, total, number = jax.lax.while_loop(goes_on, step, start)
        if self.value is None:
            return total
        rest = self.value(node.observation)
        if jnp.shape(rest) != ():
            found = jax.typeof(rest).str_short()
            raise ValueError(f"value(observation) must return a scalar, got {found}; it is called for one observation")
        return total + jnp.where(node.done, 0, discount(self.gamma, number) * rest)


def playouts(
    env: AnyEnv,
    policy: Policy,
    num_steps: int,
    *,
    num_playouts: int = 1,
    gamma: float = 0.99,
    value: Callable[[Any], jax.Array] | None = None,
    ends: Ends | None = None,
) -> Playouts:
    """Return a `value_and_prior` that plays on from a state, for `make_search` and `make_shooting`.

    The value is the mean discounted return until the episode ends, by termination or truncation, or for `num_steps`
    steps, after which `value` estimates the rest. All actions have the same logit.

    Args:
        env: the environment.
        policy: `policy(observation, key) -> action`, such as a trained agent or `funcenv.random_policy(env)`.
        num_steps: the largest number of steps; at least 1.
        num_playouts: over how many plays the mean is; at least 1.
        gamma: the discount factor, in [0, 1]; that of the search.
        value: `value(observation)`, a scalar, of what follows the last step if the episode goes on, such as a trained
            critic for the same `gamma`; by default nothing.
        ends: `ends(timestep) -> bool`, where a play ends besides where the episode does; that of the search.

    Raises:
        TypeError: `env` is not a `FuncEnv`, or the policy, the value or `ends` is no function.
        ValueError: `env` resets itself, or a number is out of range.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> value_and_prior = playouts(env, funcenv.random_policy(env), num_steps=5, gamma=1.0)
    >>> value, logits = value_and_prior(state, timestep.observation, funcenv.key(1))
    >>> float(value), logits.shape
    (5.0, (2,))
    """
    model = as_model("playouts", env)
    require_policy("playouts", policy)
    require_probability(gamma=gamma)
    if not (value is None or callable(value)):
        raise TypeError(f"value must be a function value(observation), got {value!r}; leave it out for none")
    return Playouts(
        env=model,
        policy=as_policy(policy),
        num_steps=require_size("num_steps", num_steps),
        num_playouts=require_size("num_playouts", num_playouts),
        gamma=gamma,
        ends=require_ends(ends),
        value=None if value is None else as_policy(value),
    )
