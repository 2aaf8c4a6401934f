"""Values: planned with the table, and earned by playing, both against Gymnasium's tables in NumPy."""

from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

import funcenv
from tests.support.tables import check_mean, reference

DISCOUNT = 0.99
IDS = ["FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "CliffWalkingSlippery-v1", "Taxi-v4"]


class Pair(NamedTuple):
    """The registered environment without its limit, and Gymnasium's table of it."""

    env: Any
    table: Any


@pytest.fixture(scope="module", params=IDS)
def pair(request: pytest.FixtureRequest) -> Pair:
    return Pair(
        funcenv.make(request.param, max_episode_steps=None),
        reference(gymnasium.make(request.param).unwrapped),
    )


class DiscountedState(funcenv.PyTreeNode):
    """The inner state and what a reward is worth by now."""

    env_state: Any
    weight: Float[Array, ""]


class Discounted(funcenv.Wrapper):
    """Returns of this are discounted returns of the environment inside."""

    discount: float = DISCOUNT

    def inner(self, state: DiscountedState) -> Any:
        return state.env_state

    def initial(self, key: jax.Array) -> DiscountedState:
        return DiscountedState(env_state=self.env.initial(key), weight=jnp.ones((), float))

    def transition(self, state: DiscountedState, action: Any, key: jax.Array) -> DiscountedState:
        return DiscountedState(
            env_state=self.env.transition(state.env_state, action, key), weight=state.weight * self.discount
        )

    def reward(self, state: DiscountedState, action: Any, next_state: DiscountedState) -> Any:
        return state.weight * self.env.reward(state.env_state, action, next_state.env_state)


@jax.jit
def value_iteration(env: Any) -> tuple[jax.Array, jax.Array]:
    """Optimal values and a greedy policy."""
    table = env.P

    def improve(_: Any, values: jax.Array) -> jax.Array:
        return table.action_values(values, DISCOUNT).max(axis=1)

    values = jax.lax.fori_loop(0, 2_000, improve, jnp.zeros(table.probability.shape[0]))
    return values, table.action_values(values, DISCOUNT).argmax(axis=1).astype(jnp.int32)


def look_up(actions: jax.Array, observation: jax.Array, key: jax.Array) -> jax.Array:
    del key
    return actions[observation]


def test_value_iteration_and_its_greedy_policy_reach_the_optimum(pair: Pair) -> None:
    optimum = pair.table.optimal_values(DISCOUNT)
    values, actions = value_iteration(pair.env)
    np.testing.assert_allclose(values, optimum, rtol=1e-5, atol=1e-5)

    policy = jax.tree_util.Partial(look_up, actions)
    evaluation = funcenv.evaluate(Discounted(pair.env), policy, 10_000, funcenv.key(7), max_steps=10_000)
    check_mean(evaluation, float(pair.table.initial @ optimum), 3)


def test_random_play_earns_the_exact_value(pair: Pair) -> None:
    env = funcenv.wrappers.TimeLimit(pair.env, max_episode_steps=200)
    evaluation = funcenv.evaluate(env, funcenv.random_policy(env), 10_000, funcenv.key(3))
    check_mean(evaluation, pair.table.random_return(200), 3)


def test_the_table_can_be_batched_and_differentiated() -> None:
    env = funcenv.make("FrozenLake-v1", max_episode_steps=None)
    rates = jnp.array([0.2, 0.6, 1.0])
    values = jax.vmap(lambda rate: value_iteration(env.replace(success_rate=rate))[0][0])(rates)
    for rate, value in zip(rates, values, strict=True):
        np.testing.assert_allclose(value, value_iteration(env.replace(success_rate=float(rate)))[0][0], rtol=1e-6)
    np.testing.assert_allclose(values[-1], DISCOUNT**5, rtol=1e-5)  # six sure steps, paid at the last

    def chance_of_holes(env: Any) -> jax.Array:
        table = env.P
        return jnp.where(table.terminated, table.probability, 0.0).mean()

    slope = jax.grad(chance_of_holes)(env).success_rate
    step = 1e-3
    rise = chance_of_holes(env.replace(success_rate=1 / 3 + step)) - chance_of_holes(env)
    np.testing.assert_allclose(slope, rise / step, atol=1e-3)
