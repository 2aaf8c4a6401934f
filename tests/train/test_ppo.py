"""PPO learns the right values at both kinds of ending, and solves CartPole and Pendulum."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.goals import GoalEnv
from funcenv.spaces import Box
from funcenv.train import ppo
from funcenv.train.agents.features import is_image
from funcenv.train.loop import Learner, train
from funcenv.train.presets import PIXEL_PRESETS, PRESETS, preset
from tests.support.rings import GAMMA, SETTINGS, VALUES, register_rings, ring_id

register_rings()


@pytest.mark.parametrize("name", VALUES)
def test_truncation_bootstraps_and_termination_does_not(name):
    config = ppo.Config(
        env_id=ring_id(name),
        num_envs=8,
        num_steps=16,
        total_timesteps=128 * 150,
        learning_rate=1e-2,
        gamma=GAMMA,
        hidden_sizes=(16,),
        normalize_reward=False,
        **SETTINGS.get(name, {}),
    )
    learner = Learner(ppo, config)
    state, _ = train(ppo, config, funcenv.key(0))
    agent = learner.agent(state)
    for observation, value in VALUES[name].items():
        estimate = agent.value(agent.features(jnp.int32(observation)))
        np.testing.assert_allclose(estimate, value, rtol=0.02)


def test_cartpole_is_solved():
    config = preset("CartPole-v1")
    learner = Learner(ppo, config)
    state, metrics = train(ppo, config, funcenv.key(0))
    returns = metrics["mean_return"][:, 0]
    assert (returns >= 475).any() and returns[-1] >= 475
    evaluation = funcenv.evaluate(learner.env, learner.agent(state), 100, funcenv.key(1))
    assert evaluation.mean_return >= 475


@pytest.mark.dear
def test_a_pendulum_is_held_up():
    config = dataclasses.replace(preset("Pendulum-v1", "ppo"), total_timesteps=150_000)
    _, metrics = train(ppo, config, funcenv.key(0))
    assert metrics["mean_return"][-1, 0] > -250


def test_a_seed_learns_the_same_alone_and_beside_others(tiny):
    both, _ = train(ppo, dataclasses.replace(tiny, num_seeds=2), funcenv.key(0))
    alone, _ = train(ppo, dataclasses.replace(tiny, num_seeds=1), funcenv.key(0))
    for a, b in zip(jax.tree.leaves(both.network.params), jax.tree.leaves(alone.network.params), strict=True):
        np.testing.assert_allclose(a[0], b[0], rtol=1e-3, atol=1e-4)
        assert a.shape[0] == 2 and (a[0] != a[1]).any() or a.ndim == 2  # biases start equal


def test_training_uses_no_key_twice(tiny):
    with jax.debug_key_reuse(True):
        learner = Learner(ppo, dataclasses.replace(tiny, env_id="Pendulum-v1"))
        state, _ = learner.advance(learner.init(funcenv.key(0)), 2)
        agent = learner.agent(state, explore=True)
        assert funcenv.evaluate(learner.env, agent, 2, funcenv.key(1), max_steps=20).episode_length.shape == (2,)


def test_training_computes_no_nan_before_the_first_episode_ends(tiny):
    with jax.debug_nans(True), jax.debug_infs(True):
        learner = Learner(ppo, dataclasses.replace(tiny, env_id="Pendulum-v1", normalize_observation=True))
        _, metrics = learner.advance(learner.init(funcenv.key(0)), 12)  # 192 of 200 steps
    assert (metrics["episodes"] == 0).all() and np.isnan(metrics["mean_return"]).all()
    assert np.isfinite(metrics["loss"]).all() and metrics["mean_return"].dtype == np.float32


def test_the_result_does_not_depend_on_how_it_is_cut_into_calls(tiny):
    learner = Learner(ppo, tiny)
    whole, metrics = learner.advance(learner.init(funcenv.key(0)), 12)
    state, rows = learner.init(funcenv.key(0)), []
    for num_updates in (1, 5, 2, 100):
        state, part = learner.advance(state, num_updates)
        rows.append(part)
    assert learner.num_updates_done(state) == learner.num_updates_done(whole) == 12
    for a, b in zip(jax.tree.leaves(whole.network.params), jax.tree.leaves(state.network.params), strict=True):
        np.testing.assert_array_equal(a, b)
    for name, values in metrics.items():
        np.testing.assert_array_equal(values, np.concatenate([part[name] for part in rows]))


def test_an_agent_explores_on_request():
    config = ppo.Config(num_envs=2, num_steps=8, total_timesteps=16, num_minibatches=1, hidden_sizes=(8,))
    learner = Learner(ppo, config)
    state, observation = learner.init(funcenv.key(0)), jnp.zeros(4)
    keys = jax.random.split(funcenv.key(1), 64)
    exploring, greedy = (
        jax.vmap(learner.agent(state, explore=explore), in_axes=(None, 0))(observation, keys)
        for explore in (True, False)
    )
    assert set(np.asarray(exploring).tolist()) == {0, 1}
    assert len(set(np.asarray(greedy).tolist())) == 1


def test_an_agent_compiles_as_a_function():
    config = ppo.Config(num_envs=2, num_steps=8, total_timesteps=16, num_minibatches=1, hidden_sizes=())
    learner = Learner(ppo, config)
    agent = learner.agent(learner.init(funcenv.key(0)))
    observation, key = jnp.array([0.1, 0.2, 0.3, 0.4]), funcenv.key(1)
    assert jax.jit(agent)(observation, key) == agent(observation, key)
    assert agent == agent and agent != agent.replace() and len({agent, agent}) == 1


def test_observations_are_normalized_by_running_moments():
    config = dataclasses.replace(preset("Pendulum-v1", "ppo"), num_envs=16, num_steps=32, total_timesteps=512 * 3)
    state, _ = train(ppo, config, funcenv.key(0))
    moments = state.observation_moments
    assert moments.count[0] == 512 * 3 and 1 < moments.variance[0, 2] < 64


@pytest.mark.parametrize(("algorithm", "env_id"), sorted(PRESETS))
def test_presets_are_configurations(algorithm, env_id):
    assert preset(env_id, algorithm).env_id == env_id


@pytest.mark.parametrize(("algorithm", "env_id"), sorted(PIXEL_PRESETS))
def test_presets_for_images_are_configurations(algorithm, env_id):
    env = preset(env_id, algorithm, from_pixels=True).make_env()
    assert is_image(env.observation_space)


@pytest.mark.parametrize("from_pixels", [False, True])
def test_every_game_of_ale_is_learned_from_its_screen(from_pixels):
    config = preset("ALE/Breakout-v5", from_pixels=from_pixels)
    env = config.make_env()
    assert env.observation_space == Box(0, 255, (2, 42, 42), np.uint8) and env.unwrapped.obs_type == "grayscale"
    assert config.terminal_on_life_loss
    assert preset("ALE/Freeway-v5") == dataclasses.replace(config, env_id="ALE/Freeway-v5")
    assert preset("PongNoFrameskip-v4").pixels == 0  # no preset: its frames are not skipped


def test_every_environment_of_the_package_has_a_preset():
    ids = {spec.id for spec in funcenv.registry.values() if spec.namespace is None}
    with_goals = {id for id in ids if isinstance(funcenv.make(id).unwrapped, GoalEnv)}  # PPO cannot learn in hindsight
    assert ids - with_goals == {env_id for algorithm, env_id in PRESETS if algorithm == "ppo" and "/" not in env_id}
    assert with_goals <= {env_id for _, env_id in PRESETS}


def test_every_preset_is_for_a_registered_id():
    for _, env_id in PRESETS:
        assert funcenv.spec(env_id).id == env_id


def test_a_linear_policy_finds_the_way_past_the_cliff():
    config = dataclasses.replace(preset("CliffWalking-v1"), total_timesteps=150_000)
    learner = Learner(ppo, config)
    state, _ = train(ppo, config, funcenv.key(0))
    assert funcenv.evaluate(learner.env, learner.agent(state), 1, funcenv.key(0), max_steps=100).mean_return >= -15


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_minibatches": 3}, r"num_minibatches must divide num_envs \* num_steps, got 3 for 16 \* 64 = 1024"),
        ({"num_envs": 0}, "num_envs must be at least 1, got 0"),
        ({"num_steps": -2}, "num_steps must be at least 1, got -2"),
        ({"num_seeds": 0}, "num_seeds must be at least 1"),
        ({"total_timesteps": 10}, "total_timesteps must be at least one batch"),
        ({"gamma": 1.5}, r"gamma must lie in \[0, 1\], got 1.5"),
        ({"hidden_sizes": (8, 0)}, "hidden_sizes must hold numbers of at least 1"),
        ({"activation": "gelu"}, "activation must be one of tanh, relu"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_invalid_configurations_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ppo.Config(**settings)


def test_an_action_space_that_it_cannot_take_is_named():
    with pytest.raises(
        ValueError, match=r"ppo takes Discrete actions or .* float Box actions, got Tuple.*TransformAction"
    ):
        Learner(ppo, ppo.Config(env_id="test/Strange-v0"))


def test_an_unknown_environment_or_parameter_is_named():
    with pytest.raises(ValueError, match="did you mean CartPole-v1"):
        Learner(ppo, ppo.Config(env_id="CartPoel-v1"))
    with pytest.raises(TypeError, match="did you mean gravity"):
        Learner(ppo, ppo.Config(env_params={"gravty": 1.0}))


def test_parameters_of_the_environment_reach_it():
    learner = Learner(ppo, ppo.Config(env_params={"gravity": 1.6}))
    assert learner.env.unwrapped.gravity == 1.6 and isinstance(learner.env.observation_space, Box)


def test_a_configuration_survives_json():
    import json

    config = ppo.Config(hidden_sizes=(32, 16), env_params={"gravity": 1.6})
    assert ppo.Config.from_json(json.loads(json.dumps(config.to_json()))) == config
    with pytest.raises(ValueError, match="no setting 'colour'"):
        ppo.Config.from_json({"colour": "red"})
