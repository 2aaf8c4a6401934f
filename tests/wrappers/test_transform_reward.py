"""Changed and clipped rewards against Gymnasium's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole
from funcenv.wrappers import ClipReward, RewardWrapper, TransformReward
from tests.support.tiny_envs import Counter

TORQUES = np.random.default_rng(0).uniform(-2, 2, (30, 1)).astype(np.float32)


def test_transform_reward_as_gymnasium(compare_alike):
    compare_alike(
        "Pendulum", lambda wrappers, env: wrappers.TransformReward(env, lambda reward: 2 * reward + 1), TORQUES
    )


@pytest.mark.parametrize("bounds", [(-3.0, -1.0), (None, -2.0), (-2.0, None), (-1, 0)])
def test_clip_reward_as_gymnasium(compare_alike, bounds):
    compare_alike("Pendulum", lambda wrappers, env: wrappers.ClipReward(env, *bounds), TORQUES)


def test_a_reset_pays_nothing():
    env = TransformReward(CartPole(), lambda reward: reward + 5)
    assert env.reset(funcenv.key(0))[1].reward == 0


def test_bounds_are_parameters():
    env = jax.vmap(lambda bound: ClipReward(CartPole(), max_reward=bound))(jnp.array([0.25, 0.5]))
    venv = funcenv.FuncVectorEnv(env, num_envs=2)
    vstate, _ = venv.reset(funcenv.key(0))
    np.testing.assert_array_equal(venv.step(vstate, jnp.zeros(2, jnp.int32))[1].reward, [0.25, 0.5])
    assert venv.single_action_space == CartPole().action_space  # a bound that is None counts for no parameter


def test_an_integer_reward_is_clipped_as_a_real_one():
    class Whole(Counter):
        def reward(self, state, action, next_state):
            return next_state

    env = ClipReward(Whole(), 0.0, 0.5)
    state, _ = env.reset(funcenv.key(0))
    assert env.step(state, 2, funcenv.key(1))[1].reward == 0.5


def test_wrong_bounds_are_refused():
    with pytest.raises(ValueError, match=r"needs min_reward or max_reward, got neither; leave the wrapper out"):
        ClipReward(CartPole())
    with pytest.raises(ValueError, match=r"min_reward must not exceed max_reward, got min_reward=1 and max_reward=0"):
        ClipReward(CartPole(), 1, 0)


def test_a_wrapper_that_lacks_its_function_says_so():
    with pytest.raises(NotImplementedError, match=r"must define outer_reward"):
        RewardWrapper(CartPole()).outer_reward(1.0)
