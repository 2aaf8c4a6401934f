"""Observations of several parts: each picture has an encoder, and critics may see more than the agent."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.spaces import Box, Dict, Discrete, Tuple
from funcenv.train import dqn, plr, ppo, pqn, recurrent_ppo, sac
from funcenv.train.agents.features import Parts, Views, to_features
from funcenv.train.agents.networks import BoardEncoder, ImageEncoder, PartsEncoder
from funcenv.train.loop import Learner
from funcenv.train.runs.exported import export_program
from funcenv.wrappers import ActionMaskObservation, CriticObservation, RandomizeParameters
from tests.support.rotation import rotated
from tests.support.tiny_envs import Tiny
from tests.support.training import learned


class Signs(Tiny):
    """Shows one sign in an image and another one in a vector; action 1 is right if they are equal, action 0 if not."""

    is_continuous: bool = funcenv.field(pytree_node=False, default=False)
    observation_space = Dict(image=Box(0, 255, (4, 4), np.uint8), other=Tuple([Box(-1.0, 1.0, (1,)), Discrete(2)]))

    @property
    def action_space(self):
        return Box(0.0, 1.0, (1,)) if self.is_continuous else Discrete(2)

    def initial(self, key):
        return {"signs": jax.random.bernoulli(key, shape=(2,)), "step": jnp.int32(0)}

    def transition(self, state, action, key):
        return {"signs": jax.random.bernoulli(key, shape=(2,)), "step": state["step"] + 1}

    def observation(self, state, key):
        image, other = state["signs"]
        left = jnp.arange(4) < 2
        image = jnp.broadcast_to(jnp.where(left == image, 255, 0), (4, 4)).astype(jnp.uint8)
        return {"image": image, "other": (jnp.where(other, 1.0, -1.0)[None], jnp.int32(0))}

    def reward(self, state, action, next_state):
        right = (state["signs"][0] == state["signs"][1]).astype(float)
        return 1 - jnp.abs(right - jnp.asarray(action, float).sum())

    def terminal(self, state):
        return state["step"] == 8


funcenv.register("test/Signs-v0", Signs)
funcenv.register("test/SignsContinuous-v0", Signs, kwargs={"is_continuous": True})

SMALL = {"env_id": "test/Signs-v0", "hidden_sizes": (32,), "activation": "relu", "gamma": 0.0, "patch_sizes": (2,)}
SMALL |= {"patch_channels": (4,), "num_envs": 16}
ON_POLICY = SMALL | {"num_steps": 16, "learning_rate": 1e-2, "total_timesteps": 256 * 40}
OFF_POLICY = SMALL | {"num_steps": 2, "buffer_size": 2048, "minibatch_size": 64, "learning_starts": 128, "n_step": 1}
OFF_POLICY |= {"learning_rate": 3e-3, "total_timesteps": 32 * 200}
CONFIGS = {
    "ppo": ppo.Config(**ON_POLICY, normalize_observation=True),
    "pqn": pqn.Config(**ON_POLICY, normalize_observation=True),
    "recurrent_ppo": recurrent_ppo.Config(**ON_POLICY, memory_size=16),
    "dqn": dqn.Config(**OFF_POLICY),
    "sac": sac.Config(**OFF_POLICY | {"env_id": "test/SignsContinuous-v0"}, normalize_observation=True),
}


@pytest.mark.parametrize("algorithm", rotated(CONFIGS, ("ppo",)))
def test_every_part_of_an_observation_is_learned_from(algorithm):
    """All of eight steps are right; with one of the two signs, half of them are."""
    _, mean_return = learned(algorithm, CONFIGS[algorithm])
    assert mean_return > 7


def test_pictures_have_encoders_and_all_other_entries_are_one_vector():
    image, board = Box(0, 255, (6, 6, 3), np.uint8), Box(False, True, (5, 5, 2), bool)
    space = Dict(left=image, deep=Dict(board=board, joints=Box(-1, 1, (3,))), gear=Discrete(4), rest=Tuple([image]))
    features = to_features(space, jax.tree.map(jnp.asarray, space.sample(funcenv.key(0))))
    assert isinstance(features, Parts) and features.vector.shape == (7,)
    assert {name: one.shape for name, one in features.pictures.items()} == {
        "left": (6, 6, 3),
        "deep.board": (5, 5, 2),
        "rest.0": (6, 6, 3),
    }
    only = to_features(Tuple([image]), (jnp.zeros((6, 6, 3), jnp.uint8),))
    assert only.vector.shape == (0,) and list(only.pictures) == ["0"]
    assert to_features(Dict(a=Discrete(2), b=Box(-1, 1, (3,))), {"a": 1, "b": jnp.zeros(3)}).shape == (5,)

    env = dataclasses.replace(CONFIGS["ppo"], board_channels=(4,)).make_env()
    network = CONFIGS["ppo"].make_network(env)
    assert isinstance(network.encoder, PartsEncoder) and network.encoder.names == ("image",)
    assert isinstance(network.encoder.encoders[0], ImageEncoder) and not isinstance(network.encoder, BoardEncoder)


def test_moments_of_parts_are_those_of_each():
    learner = Learner(ppo, CONFIGS["ppo"])
    state, _ = learner.advance(learner.init(funcenv.key(0)), 4)
    vector, pictures = state.observation_moments
    assert vector.mean.shape == (1, 3) and pictures["image"].mean.shape == (1, 4, 4, 1)
    np.testing.assert_allclose(vector.mean[0], [0, 1, 0], atol=0.1)
    np.testing.assert_allclose(vector.variance[0], [1, 0, 0], atol=0.05)


class Split(Tiny):
    """Shows the agent one number and critics three more, as two entries of a `Dict`."""

    observation_space = Dict(state=Box(-1.0, 1.0, (1,)), privileged_state=Box(-1.0, 1.0, (3,)))

    def initial(self, key):
        return jax.random.uniform(key, (4,), float, -1, 1)

    def transition(self, state, action, key):
        return jax.random.uniform(key, (4,), float, -1, 1)

    def observation(self, state, key):
        return {"state": state[:1], "privileged_state": state[1:]}


funcenv.register("test/Split-v0", Split, max_episode_steps=4)
SPLIT = {"env_id": "test/Split-v0", "critic_observation": "privileged_state", "num_envs": 2, "num_steps": 8}
SPLIT |= {"num_minibatches": 1, "total_timesteps": 16, "hidden_sizes": (4,)}


def trained(**settings):
    """Return the learner of a small run in `Split`, and its agent after an update."""
    learner = Learner(ppo, ppo.Config(**SPLIT | settings))
    state, _ = learner.advance(learner.init(funcenv.key(0)), 1)
    return learner, learner.agent(state)


@pytest.mark.parametrize("normalize_observation", [False, True])
def test_an_agent_is_deprived_of_the_entry_for_critics(normalize_observation):
    learner, agent = trained(normalize_observation=normalize_observation)
    shown = {"observation": {"state": jnp.ones(1)}, "critic_observation": jnp.ones(3)}
    features = agent.features(shown)
    assert isinstance(features, Views) and features.agent.shape == (1,) and features.critic.shape == (3,)
    sizes = {leaf.shape for leaf in jax.tree.leaves(agent.params)}
    assert (1, 4) in sizes and (4, 4) in sizes  # the first layers of policy and value

    alone = agent.features({"state": jnp.ones(1)})
    assert alone.shape == (1,)
    np.testing.assert_array_equal(agent.policy(alone).logits, agent.policy(features).logits)
    assert jnp.isnan(agent.value(alone)) and jnp.isfinite(agent.value(features))
    assert list(agent.adapt_env(funcenv.make("test/Split-v0")).observation_space.spaces) == ["state"]
    assert funcenv.evaluate(funcenv.make("test/Split-v0"), agent, 4, funcenv.key(0)).episode_length.tolist() == [4] * 4
    assert funcenv.evaluate(learner.env, agent, 4, funcenv.key(0)).episode_length.tolist() == [4] * 4


def test_an_exported_program_takes_what_the_agent_sees():
    learner, agent = trained()
    exported = export_program(agent, learner.env)
    ((observation,), _) = jax.tree.unflatten(exported.in_tree, exported.in_avals)
    assert list(observation) == ["state"] and observation["state"].shape[1:] == (1,)


def test_critics_see_the_state_beside_a_mask():
    config = ppo.Config(env_id="Taxi-v4", critic_observation="state", num_envs=2, num_steps=4, num_minibatches=1)
    learner = Learner(ppo, dataclasses.replace(config, total_timesteps=16))
    assert isinstance(learner.env, ActionMaskObservation) and isinstance(learner.env.env, CriticObservation)
    state, _ = learner.advance(learner.init(funcenv.key(0)), 2)
    agent, env = learner.agent(state), funcenv.make("Taxi-v4")
    _, timestep = learner.env.reset(funcenv.key(1))
    alone = {name: timestep.observation[name] for name in timestep.observation}
    alone["observation"] = alone["observation"]["observation"]
    assert agent(alone, funcenv.key(0)) == agent(timestep.observation, funcenv.key(0))
    assert funcenv.evaluate(env, agent, 2, funcenv.key(2)).finished.all()


def test_critics_see_the_parameters_that_an_episode_was_drawn_with():
    drawn = RandomizeParameters(funcenv.make("CartPole-v1"), lambda key, env: {"length": jax.random.uniform(key)})
    env = CriticObservation(drawn, "state")
    state, timestep = env.reset(funcenv.key(0))
    assert env.observation_space.contains(jax.tree.map(np.asarray, timestep.observation))
    shown = timestep.observation["critic_observation"]["parameters.CartPole.length"]
    assert shown == state.parameters["CartPole.length"]


def test_observations_for_critics_need_a_critic():
    with pytest.raises(ValueError, match="no entry but 'state', and the agent would see nothing; leave it an entry"):
        CriticObservation(funcenv.wrappers.FilterObservation(Split(), ["state"]), "state")
    with pytest.raises(
        ValueError, match=r"finds no 'x': observations have the entries \['privileged_state', 'state'\]"
    ):
        CriticObservation(Split(), "x")
    funcenv.register("test/ForCritics-v0", lambda: CriticObservation(Split(), "privileged_state"), max_episode_steps=4)
    with pytest.raises(ValueError, match="dqn has no critic, and observations of test/ForCritics-v0 have an entry"):
        dqn.Config(env_id="test/ForCritics-v0").make_env()
    assert ppo.Config(env_id="test/ForCritics-v0").make_env().observation_space["critic_observation"].shape == (3,)


def test_levels_of_a_curriculum_keep_their_critics():
    config = plr.Config(env_id="LakeMaze-v0", critic_observation="state", num_envs=2, num_steps=8, num_minibatches=1)
    learner = Learner(plr, dataclasses.replace(config, total_timesteps=64, level_buffer=4))
    _, metrics = learner.advance(learner.init(funcenv.key(0)), 4)
    assert np.isfinite(metrics["loss"]).all()
