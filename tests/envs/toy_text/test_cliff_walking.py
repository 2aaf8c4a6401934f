"""Cliff Walking: its parameters, and the fall. The rules are checked in test_tabular.py."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CliffWalking

UP, RIGHT, DOWN, LEFT = range(4)


def test_the_shortest_way_costs_thirteen() -> None:
    env = CliffWalking()
    state, timestep = env.reset(funcenv.key(0))
    total = 0.0
    for action in [UP, *[RIGHT] * 11, DOWN]:
        assert not bool(timestep.terminated)
        state, timestep = env.step(state, jnp.int32(action), funcenv.key(0))
        total += float(timestep.reward)
    assert (total, int(timestep.observation), bool(timestep.terminated)) == (-13, 47, True)


def test_a_fall_is_told_from_a_step_to_the_start() -> None:
    env = CliffWalking()
    for number, action, fell in (36, RIGHT, True), (36, LEFT, False), (24, DOWN, False), (25, DOWN, True):
        state, timestep = env.step(env.decode(number), jnp.int32(action), funcenv.key(0))
        assert int(timestep.observation) == 36
        assert bool(state.fell) is fell
        assert float(timestep.reward) == (-100 if fell else -1)


def test_an_episode_can_be_scanned() -> None:
    env = CliffWalking(is_slippery=True)

    def advance(state: object, key: jax.Array) -> tuple[object, jax.Array]:
        state, timestep = env.step(state, jnp.int32(UP), key)
        return state, timestep.observation

    _, observations = jax.lax.scan(advance, env.reset(funcenv.key(0))[0], jax.random.split(funcenv.key(1), 100))
    assert not np.isin(observations, range(37, 47)).any()


def test_parameters_can_be_batched() -> None:
    env = CliffWalking(cliff_reward=np.array([-100.0, -5.0], np.float32), step_reward=np.array([-1, 0]))
    venv = funcenv.FuncVectorEnv(env, 2)
    vstate, _ = venv.reset(funcenv.key(0))
    np.testing.assert_array_equal(venv.step(vstate, jnp.array([RIGHT, RIGHT]))[1].reward, [-100, -5])
    np.testing.assert_array_equal(venv.step(vstate, jnp.array([UP, UP]))[1].reward, [-1, 0])

    table = CliffWalking(is_slippery=True, success_rate=0.8).P
    np.testing.assert_allclose(table.probability[0, 0], [0.1, 0.8, 0.1], rtol=1e-6)


@pytest.mark.parametrize("rate", [-0.5, 2, float("nan")])
def test_a_success_rate_beyond_0_to_1_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="success_rate must lie in"):
        CliffWalking(success_rate=rate)
