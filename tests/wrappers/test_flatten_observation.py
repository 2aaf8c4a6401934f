"""Flat observations against Gymnasium's."""

import gymnasium.wrappers as reference
import jax
import numpy as np

import funcenv
from funcenv.envs import Pendulum
from funcenv.wrappers import FlattenObservation, FrameStackObservation, TimeAwareObservation, TimeLimit

PUSHES = np.arange(20) % 2


def test_of_a_stack_as_gymnasium(compare):
    compare(
        "CartPole",
        lambda env: FlattenObservation(FrameStackObservation(env, 3)),
        lambda env: reference.FlattenObservation(reference.FrameStackObservation(env, 3)),
        PUSHES,
    )


def test_of_a_dict_as_gymnasium(compare):
    compare(
        "CartPole",
        lambda env: FlattenObservation(TimeAwareObservation(TimeLimit(env, 30), flatten=False, normalize_time=True)),
        lambda env: reference.FlattenObservation(
            reference.TimeAwareObservation(reference.TimeLimit(env, 30), flatten=False, normalize_time=True)
        ),
        PUSHES,
    )


def test_of_a_batched_environment():
    env = FlattenObservation(FrameStackObservation(Pendulum(max_speed=np.array([1.0, 2.0])), 2))
    venv = funcenv.FuncVectorEnv(env, num_envs=2)
    assert venv.single_observation_space.shape == (6,)
    assert jax.eval_shape(venv.reset, funcenv.key(0))[1].observation.shape == (2, 6)
