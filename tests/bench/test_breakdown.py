"""Environments without parts of their work."""

import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.bench.breakdown import Constants, ReadingPolicy, ReducedEnv


def test_an_environment_with_all_its_parts_is_unchanged(walk):
    env = walk.Walk()
    reduced = ReducedEnv(env, Constants(env, funcenv.key(3)))
    policy = funcenv.random_policy(env)
    outcomes = [
        funcenv.rollout(funcenv.FuncVectorEnv(each, 4), act, funcenv.key(0), 30)[1]
        for each, act in ((env, policy), (reduced, ReadingPolicy(policy)))
    ]
    jax.tree.map(np.testing.assert_array_equal, *outcomes)


def test_parts_are_removed(walk):
    env = walk.Walk()
    constants = Constants(env, funcenv.key(3))
    still = ReducedEnv(env, constants, physics=False)
    state, _ = still.reset(funcenv.key(0))
    after, timestep = still.step(state, jnp.int32(1), funcenv.key(1))
    assert after == state and timestep.reward == 0 and not timestep.done
    starts = [ReducedEnv(env, constants, resets=False).reset(funcenv.key(seed))[0] for seed in (0, 1)]
    assert starts[0] == starts[1]
