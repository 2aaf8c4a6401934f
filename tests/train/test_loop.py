"""The memory of the compiled loop: so many bytes for each step of each environment, and for each step in a buffer."""

import jax
import pytest

import funcenv
from funcenv._compile.options import quick_options
from funcenv.train import dqn, ppo
from funcenv.train.loop import Learner


def memory(algorithm, **settings):
    """Return the bytes of a train state, and of what an update needs beside it."""
    config = algorithm.Config(hidden_sizes=(8,), total_timesteps=10**6, **settings)
    learner = Learner(algorithm, config)
    state = jax.eval_shape(learner.init, funcenv.key(0))
    analysis = learner.lower(state).compile(compiler_options=quick_options()).memory_analysis()
    return analysis.argument_size_in_bytes, analysis.temp_size_in_bytes


@pytest.mark.dear
def test_an_update_of_ppo_needs_memory_in_proportion_to_its_steps():
    sizes = [memory(ppo, num_envs=e, num_steps=t, num_minibatches=4)[1] for e, t in ((64, 64), (128, 64), (64, 128))]
    assert sizes[1] == pytest.approx(2 * sizes[0], rel=0.05) and sizes[2] == pytest.approx(2 * sizes[0], rel=0.05)
    assert sizes[0] < 1500 * 64 * 64


@pytest.mark.dear
def test_a_replay_buffer_needs_two_observations_an_action_and_six_bytes_for_each_step():
    small, large = (memory(dqn, buffer_size=size) for size in (10_000, 20_000))
    assert large[0] - small[0] == 10_000 * (2 * 4 * 4 + 4 + 6)
    assert large[1] == small[1]
