"""Observation entries that are leaves of the state are found, and nothing else."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import FuncVectorEnv, spaces
from funcenv.adapters.engine.observation_aliases import observation_aliases
from funcenv.struct import field
from tests.support.tiny_envs import Tiny


def aliases(env):
    venv = FuncVectorEnv(env, 3)
    keys = jax.eval_shape(lambda: jax.random.split(funcenv.key(0), 3))
    vstate, _ = jax.eval_shape(venv.reset, keys)
    return observation_aliases(venv, vstate)


class Pair(Tiny):
    """Two numbers, and an observation of them."""

    show: Any = field(pytree_node=False, default=None)
    start: Any = field(pytree_node=False, default=None)

    @property
    def observation_space(self):
        shape = jax.eval_shape(self.show, *self.initial(jax.random.key(0))).shape
        return spaces.Box(-np.inf, np.inf, shape)

    def initial(self, key):
        first, second = jax.random.normal(key, (2,))
        return first, second if self.start is None else self.start

    def transition(self, state, action, key):
        return state[0] + 1, state[1] * 2

    def observation(self, state, key):
        return self.show(*state)

    def terminal(self, state):
        return state[0] > 9


@pytest.mark.parametrize(
    ("show", "expected"),
    [
        (lambda a, b: jnp.stack([a, b]), {0: (0, 0), 1: (0, 1)}),
        (lambda a, b: jnp.stack([b, a * 2, a]), {0: (0, 2), 1: (0, 0)}),
        (lambda a, b: jnp.stack([a, a]), {0: (0, 0)}),
        (lambda a, b: a, {0: (0, 0)}),
        (lambda a, b: jnp.stack([a + 1, -b]), {}),
        (lambda a, b: jnp.stack([jnp.stack([a, b]), jnp.stack([b, a])]), {}),
        (lambda a, b: jnp.stack([a, jnp.zeros(()), jnp.zeros(())]), {0: (0, 0)}),
    ],
)
def test_entries_of_the_state_are_found(show, expected):
    assert aliases(Pair(show)) == expected


@pytest.mark.parametrize(("start", "expected"), [(np.float32(0), {0: (0, 0), 1: (0, 1)}), (np.int32(0), {0: (0, 0)})])
def test_a_cast_to_another_dtype_is_no_alias(start, expected):
    assert aliases(Pair(lambda a, b: jnp.stack([a, b.astype(jnp.float32)]), start)) == expected


def test_an_observation_of_several_leaves():
    assert aliases(funcenv.make("Blackjack-v1")) == {6: (1, 0)}


def test_an_alias_is_restored_with_a_state_that_has_no_output_yet():
    envs, others = (funcenv.adapters.make_vec("CartPole-v1", num_envs=5) for _ in range(2))
    envs.reset(seed=1), others.reset(seed=2)
    others.state = envs.state
    np.testing.assert_array_equal(others.state.env_state.env_state.theta, envs.state.env_state.env_state.theta)
    actions = np.array([0, 1, 1, 0, 1])
    for a, b in zip(envs.step(actions)[:4], others.step(actions)[:4], strict=True):
        np.testing.assert_array_equal(a, b)
