"""Actions that are neither an index nor a vector of numbers, of which all algorithms that take them find the best."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.datasets import record
from funcenv.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from funcenv.train.actions import kind_of_actions
from funcenv.train.algorithm import algorithm_names, find_algorithm
from funcenv.train.loop import Learner, train
from tests.support.rotation import rotated
from tests.support.tiny_envs import Tiny
from tests.support.training import with_memory

SPACES = {
    "MultiDiscrete": MultiDiscrete([[3, 2], [2, 4]], start=[[0, -1], [5, 0]]),
    "MultiBinary": MultiBinary((2, 2)),
    "Matrix": Box(-2.0, 2.0, (2, 2)),
    "Number": Box(-2.0, 2.0, ()),
}
TARGETS = {
    "MultiDiscrete": ([[2, -1], [6, 3]], [[0, 0], [5, 1]]),
    "MultiBinary": ([[1, 0], [0, 1]], [[0, 0], [1, 1]]),
    "Matrix": ([[-1.0, 0.5], [0.0, 1.0]], [[1.0, 0.0], [-0.5, 0.5]]),
    "Number": (-1.0, 0.5),
}
"""The best action for each of two observations, by the name of the space."""


class Pick(Tiny):
    """An episode of one step, whose reward is minus the squared distance of the action from a target that is shown."""

    kind: str = funcenv.field(pytree_node=False, default="MultiDiscrete")
    observation_space = Discrete(2)

    @property
    def action_space(self):
        return SPACES[self.kind]

    def initial(self, key):
        return jax.random.randint(key, (), 0, 2)

    def transition(self, state, action, key):
        return state

    def reward(self, state, action, next_state):
        targets = jnp.asarray(TARGETS[self.kind], float)
        return -((jnp.asarray(action, float) - targets[state]) ** 2).sum()

    def terminal(self, state):
        return jnp.ones((), bool)


for kind in SPACES:
    funcenv.register(f"test/Pick{kind}-v0", Pick, kwargs={"kind": kind})

ON_POLICY = {"num_envs": 16, "num_steps": 16, "learning_rate": 2e-2, "hidden_sizes": (), "total_timesteps": 256 * 100}
EPOCHS = ON_POLICY | {"num_epochs": 4, "num_minibatches": 4, "normalize_reward": False}
OFF_POLICY = {"num_envs": 4, "num_steps": 2, "hidden_sizes": (32,), "buffer_size": 2048, "minibatch_size": 64}
OFF_POLICY |= {"learning_rate": 1e-2, "num_gradient_steps": 4, "total_timesteps": 8 * 400}
SOFT = OFF_POLICY | {"target_entropy": 2.0}
OFFLINE = {"learning_rate": 1e-2, "hidden_sizes": (32,), "total_timesteps": 64 * 16 * 50, "minibatch_size": 64}
SETTINGS = {
    "ars": ON_POLICY | {"noise": 0.3, "learning_rate": 0.1, "anneal_learning_rate": True, "total_timesteps": 256 * 300},
    "bc": OFFLINE,
    "iql": OFFLINE | {"inverse_temperature": 10.0},
    "plr": EPOCHS | {"curriculum": "uniform"},
    "ppo": EPOCHS,
    "recurrent_ppo": EPOCHS | {"memory_size": 8},
    "reinforce": ON_POLICY,
    "sac": SOFT,
    "simba": SOFT | {"residual_width": 16},
    "td3": OFF_POLICY | {"total_timesteps": 8 * 800, "learning_rate": 3e-3},
    "tqc": SOFT,
}
"""Settings with which an algorithm finds the best action, by its name."""
CASES = [
    (name, kind)
    for name in algorithm_names()
    for kind, space in SPACES.items()
    if kind_of_actions(space) in find_algorithm(name).Config.actions
]
ALWAYS = (("ppo", "MultiDiscrete"), ("ppo", "MultiBinary"), ("sac", "Matrix"))


def test_every_algorithm_that_takes_such_actions_has_settings():
    assert {name for name, _ in CASES} == set(SETTINGS)


def play_well(env, kind):
    """Return a policy that takes the best action, or in one of ten steps a random one."""
    targets = jnp.asarray(TARGETS[kind], env.action_space.dtype)

    def policy(observation, key):
        chance_key, key = jax.random.split(key)
        is_random = jax.random.uniform(chance_key) < 0.1
        return jnp.where(is_random, env.action_space.sample(key), targets[observation])

    return policy


@pytest.mark.parametrize("case", rotated(CASES, ALWAYS), ids="-".join)
def test_the_best_of_these_actions_is_found(case, tmp_path):
    name, kind = case
    config, env = find_algorithm(name).Config(env_id=f"test/Pick{kind}-v0", **SETTINGS[name]), Pick(kind=kind)
    if name in ("bc", "iql"):
        dataset = record(funcenv.make(config.env_id), play_well(env, kind), funcenv.key(0), 500, tmp_path / "data")
        config = dataclasses.replace(config, dataset=str(dataset.folder))
    state, metrics = train(name, config, funcenv.key(0))
    assert np.isfinite(metrics["loss"]).all()
    agent = Learner(name, config).agent(state)
    for observation, target in enumerate(TARGETS[kind]):
        action = agent(with_memory(agent, jnp.int32(observation)), funcenv.key(1))
        action = action["action"] if isinstance(action, dict) else action
        assert env.action_space.contains(action)
        np.testing.assert_allclose(action, target, atol=0.5 if isinstance(env.action_space, Box) else 0)
