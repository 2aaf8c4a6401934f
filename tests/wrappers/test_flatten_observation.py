"""Flat observations against Gymnasium's."""

import jax
import numpy as np

import funcenv
from funcenv.envs import Pendulum
from funcenv.wrappers import FlattenObservation, FrameStackObservation

PUSHES = np.arange(20) % 2


def test_of_a_stack_as_gymnasium(compare_alike):
    compare_alike(
        "CartPole", lambda wrappers, env: wrappers.FlattenObservation(wrappers.FrameStackObservation(env, 3)), PUSHES
    )


def test_of_a_dict_as_gymnasium(compare_alike):
    compare_alike(
        "CartPole",
        lambda wrappers, env: wrappers.FlattenObservation(
            wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 30), flatten=False, normalize_time=True)
        ),
        PUSHES,
    )


def test_of_a_batched_environment():
    env = FlattenObservation(FrameStackObservation(Pendulum(max_speed=np.array([1.0, 2.0])), 2))
    venv = funcenv.FuncVectorEnv(env, num_envs=2)
    assert venv.single_observation_space.shape == (6,)
    assert jax.eval_shape(venv.reset, funcenv.key(0))[1].observation.shape == (2, 6)
