"""Running totals against Gymnasium's at the end of an episode."""

import gymnasium.wrappers as reference
import jax
import numpy as np
import pytest
from gymnasium.envs.classic_control.pendulum import PendulumEnv

import funcenv
from funcenv.envs import Pendulum, PendulumState
from funcenv.wrappers import ClipReward, EpisodeStatistics, TimeLimit
from tests.support.tiny_envs import Counter

TORQUES = np.random.default_rng(0).uniform(-2, 2, (10, 1)).astype(np.float32)


@pytest.mark.parametrize("clip_inside", [False, True])
def test_totals_as_gymnasium(clip_inside):
    theirs = reference.TimeLimit(PendulumEnv(), 10)
    theirs = reference.RecordEpisodeStatistics(reference.ClipReward(theirs, -2.0) if clip_inside else theirs)
    theirs.reset(seed=0)
    theta, theta_dot = theirs.unwrapped.state
    ours = TimeLimit(Pendulum(), 10)
    ours = EpisodeStatistics(ClipReward(ours, -2.0)) if clip_inside else ClipReward(EpisodeStatistics(ours), -2.0)
    state, timestep = ours.reset(funcenv.key(0))
    assert timestep.info == {"episode_return": 0, "episode_length": 0}
    limit = state.env_state.replace(env_state=PendulumState(theta=np.float32(theta), theta_dot=np.float32(theta_dot)))
    state = state.replace(env_state=limit)
    step = jax.jit(ours.step)
    for count, torque in enumerate(TORQUES):
        *_, info = theirs.step(torque)
        state, timestep = step(state, torque, funcenv.key(count))
    assert timestep.info["episode_return"] == pytest.approx(info["episode"]["r"], rel=1e-4)
    assert timestep.info["episode_length"] == info["episode"]["l"] == 10


def test_info_inside_is_kept():
    state, timestep = EpisodeStatistics(Counter()).reset(funcenv.key(0))
    assert set(timestep.info) == {"number", "came_from", "action", "episode_return", "episode_length"}
