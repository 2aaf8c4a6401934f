"""Environments that are written by hand, in Gymnasium and in trainers that ask for its class."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from funcenv import adapters
from funcenv.adapters.gymnasium import HandwrittenGymnasiumEnv, register_envs
from tests.support.documented_envs import GridWorldEnv, PointEnv
from tests.support.documented_items import OldPointEnv


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("make_env", [PointEnv, OldPointEnv, lambda: adapters.make("Pendulum-v1")])
def test_gymnasiums_checker_accepts_it(make_env):
    env = HandwrittenGymnasiumEnv(make_env())
    check_env(env, skip_render_check=True)
    assert isinstance(env.action_space, gymnasium.spaces.Space) and env.np_random_seed >= 0


def test_attributes_and_generators_are_those_of_the_environment():
    env = gymnasium.wrappers.TimeLimit(HandwrittenGymnasiumEnv(GridWorldEnv(size=7)), 5)
    env.reset(seed=3)
    assert env.unwrapped.size == env.get_wrapper_attr("size") == 7 and env.np_random_seed == 3
    assert not env.has_wrapper_attr("no_such")
    env.unwrapped.np_random = np.random.default_rng(0)
    assert env.np_random_seed == -1


def test_it_is_made_by_gymnasium(separate_registry):
    adapters.register("lab/Point-v0", PointEnv, max_episode_steps=2)
    register_envs()
    env = gymnasium.make("funcenv-lab/Point-v0", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (4, 6, 3)
    assert [env.step(env.action_space.sample())[3] for _ in range(2)] == [False, True]
    envs = gymnasium.make_vec("funcenv-lab/Point-v0", num_envs=3)
    assert type(envs) is gymnasium.vector.SyncVectorEnv and envs.reset(seed=0)[0].shape == (3, 2)
    truncations = [envs.step(envs.action_space.sample())[3].all() for _ in range(2)]
    assert truncations == [False, True]


def test_mistakes_are_named():
    class Own(adapters.Space):
        pass

    env = PointEnv()
    env.action_space = Own()
    with pytest.raises(TypeError, match=r"action_space must be made of those in funcenv\.adapters\.spaces"):
        HandwrittenGymnasiumEnv(env)
    with pytest.raises(TypeError, match="wraps a stateful Env"):
        HandwrittenGymnasiumEnv(3)
