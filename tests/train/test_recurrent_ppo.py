"""Recurrent PPO remembers what it no longer sees, across the ends of chunks and not across those of episodes."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.spaces import Box
from funcenv.train import ppo, recurrent_ppo
from funcenv.train.loop import Learner, train
from tests.support.tiny_envs import Tiny

LENGTH = 5


class Recall(Tiny):
    """Shows a cue, +1 or -1, in the first step only; the action of the last step is paid if it names the cue."""

    length: int = funcenv.field(pytree_node=False, default=LENGTH)
    observation_space = Box(-1.0, 1.0, (2,))

    def initial(self, key):
        return {"cue": jax.random.bernoulli(key).astype(jnp.int32), "step": jnp.int32(0)}

    def transition(self, state, action, key):
        return {"cue": state["cue"], "step": state["step"] + 1}

    def observation(self, state, key):
        cue = jnp.where(state["step"] == 0, 2 * state["cue"] - 1, 0)
        return jnp.stack([cue.astype(float), state["step"].astype(float) / self.length])

    def reward(self, state, action, next_state):
        return jnp.where((next_state["step"] == self.length) & (action == state["cue"]), 1.0, 0.0)

    def terminal(self, state):
        return state["step"] == self.length


funcenv.register("test/Recall-v0", Recall)

SMALL = {"env_id": "test/Recall-v0", "num_envs": 16, "hidden_sizes": (16,), "learning_rate": 1e-2, "gamma": 0.9}
CONFIG = recurrent_ppo.Config(
    **SMALL, num_steps=20, memory_size=16, num_minibatches=2, total_timesteps=320 * 60, normalize_reward=False
)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_cue_is_remembered(cell):
    config = dataclasses.replace(CONFIG, cell=cell)
    learner = Learner(recurrent_ppo, config)
    state, _ = train(recurrent_ppo, config, funcenv.key(0))
    evaluation = funcenv.evaluate(Recall(), learner.agent(state), 200, funcenv.key(1))  # in a PolicyMemory by itself
    assert evaluation.mean_return > 0.99


def test_a_policy_without_memory_guesses():
    config = ppo.Config(**SMALL, num_steps=20, total_timesteps=320 * 60, normalize_reward=False)
    learner = Learner(ppo, config)
    state, _ = train(ppo, config, funcenv.key(0))
    assert funcenv.evaluate(learner.env, learner.agent(state), 200, funcenv.key(1)).mean_return < 0.65


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_sequences_are_replayed_as_they_were_collected(cell):
    """Chunks of 7 steps begin and end within episodes of 5; the first pass finds the probabilities of the actions."""
    config = dataclasses.replace(CONFIG, cell=cell, num_steps=7, num_epochs=1, num_minibatches=1)
    config = dataclasses.replace(config, total_timesteps=112 * 8, normalize_observation=True)
    learner = Learner(recurrent_ppo, config)
    state, metrics = learner.advance(learner.init(funcenv.key(0)), 8)
    assert metrics["episodes"][-1, 0] >= 16 * 11
    np.testing.assert_allclose(metrics["approx_kl"], 0, atol=1e-6)
    assert (metrics["entropy"] < np.log(2)).all() and (metrics["clip_fraction"] == 0).all()
    memory = np.asarray(state.collector.observation["memory"][0])
    is_new = np.asarray(state.collector.vstate.episode_length[0]) == 0
    assert (memory[is_new] == 0).all() and (memory[~is_new] != 0).any()


def test_gradients_go_back_through_time_to_where_an_episode_begins():
    learner = Learner(recurrent_ppo, CONFIG)
    agent = learner.agent(learner.init(funcenv.key(0)))
    ones = jnp.ones((1, 4))

    @jax.jit
    def influence(is_first):
        """Return the derivatives of the last value by the features of all steps, and by the first memory."""

        def last_value(features, memory):
            batch = recurrent_ppo.Batch(features, None, *(ones for _ in range(5)), is_first=is_first, memory=memory)
            return recurrent_ppo.replay(agent, batch)[1][0, -1]

        features = jax.random.normal(funcenv.key(1), (1, 4, 2))
        return jax.grad(last_value, argnums=(0, 1))(features, jnp.full((1, 16), 0.1))

    by_features, by_memory = influence(jnp.zeros((1, 4), bool))
    assert (by_features != 0).all() and (by_memory != 0).all()
    by_features, by_memory = influence(jnp.array([[False, False, True, False]]))
    assert (by_features[:, :2] == 0).all() and (by_features[:, 2:] != 0).all() and (by_memory == 0).all()


def test_a_loaded_agent_is_called_with_its_memory():
    learner = Learner(recurrent_ppo, CONFIG)
    agent = learner.agent(learner.init(funcenv.key(0)))
    act = jax.jit(agent)
    first = act({"memory": agent.empty_memory(), "observation": jnp.ones(2)}, funcenv.key(0))
    second = act({"memory": first["memory"], "observation": jnp.ones(2)}, funcenv.key(0))
    assert (first["memory"] != 0).all() and (first["memory"] != second["memory"]).any()
    with pytest.raises(TypeError, match="takes observations with 'memory' beside 'observation', got others"):
        agent(jnp.ones(2), funcenv.key(0))
