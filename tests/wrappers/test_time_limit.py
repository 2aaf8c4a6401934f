"""The step at which an episode is cut off, against Gymnasium's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole
from funcenv.wrappers import TimeLimit
from tests.support.tiny_envs import Counter

PUSHES = np.ones(20, int)


@pytest.mark.parametrize("limit", [1, 5, 7, 8, 9, 10, 11, 30])
def test_as_gymnasium_around_the_fall(compare_alike, limit):
    """Pushed to one side, the pole falls at step 8 to 10: limits before, at and after it."""
    steps = compare_alike("CartPole", lambda wrappers, env: wrappers.TimeLimit(env, limit), PUSHES)
    assert steps <= limit


def test_both_flags_at_once_and_ever_after(play):
    _, timesteps = play(TimeLimit(Counter(goal=3), 3), jnp.ones(4, jnp.int32), funcenv.key(0))
    np.testing.assert_array_equal(timesteps.terminated, [False, False, False, True, True])
    np.testing.assert_array_equal(timesteps.truncated, [False, False, False, True, True])


def test_the_tighter_of_two_limits_counts(play):
    for inner, outer in ((2, 4), (4, 2)):
        _, timesteps = play(TimeLimit(TimeLimit(Counter(), inner), outer), jnp.ones(4, jnp.int32), funcenv.key(0))
        np.testing.assert_array_equal(timesteps.truncated, [False, False, True, True, True])


def test_a_batch_may_mix_limits():
    env = jax.vmap(lambda limit: TimeLimit(Counter(), limit))(jnp.array([1, 2]))
    venv = funcenv.FuncVectorEnv(env, 2, funcenv.AutoresetMode.DISABLED)
    vstate, _ = venv.reset(funcenv.key(0))
    _, timestep = venv.step(vstate, jnp.ones(2, jnp.int32))
    np.testing.assert_array_equal(timestep.truncated, [True, False])


@pytest.mark.parametrize("limit", [np.int64(3), np.uint8(3), jnp.int32(3)])
def test_any_integer_is_a_limit(limit):
    with jax.numpy_dtype_promotion("strict"), jax.enable_x64(True):
        env = TimeLimit(Counter(), limit)
        state, _ = env.reset(funcenv.key(0))
        assert not env.step(state, 1, funcenv.key(1))[1].truncated


@pytest.mark.parametrize(
    ("limit", "error", "message"),
    [
        (0, ValueError, r"max_episode_steps must be at least 1, got 0; leave the wrapper out for no limit"),
        (2**31, ValueError, r"max_episode_steps must be at most 2147483647, got 2147483648; leave the wrapper out"),
        (2.5, TypeError, r"max_episode_steps must be an integer, got 2.5"),
        (None, TypeError, r"max_episode_steps must be an integer, got None"),
        (True, TypeError, r"max_episode_steps must be an integer, got True"),
    ],
)
def test_wrong_limits_are_refused(limit, error, message):
    with pytest.raises(error, match=message):
        TimeLimit(CartPole(), limit)


def test_the_largest_limit_is_the_largest_number_of_32_bits():
    assert TimeLimit(CartPole(), 2**31 - 1).max_episode_steps == 2**31 - 1
