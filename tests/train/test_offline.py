"""Learning from a dataset: what behaviour cloning and IQL learn, what they are given, and what they refuse."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.cli import main
from funcenv.datasets import record
from funcenv.spaces import Box, Discrete
from funcenv.train import bc, iql, run
from funcenv.train.agents.distributions import Categorical, Gaussian, from_env_actions, to_env_actions
from funcenv.train.loop import Learner, train
from tests.support.rings import register_rings, ring_id
from tests.support.training import same_states

register_rings()
OFFLINE = ("bc", "iql")
TINY = {"minibatch_size": 16, "num_gradient_steps": 2, "hidden_sizes": (8,), "total_timesteps": 32 * 6}


def balance(observation, key):
    """Push the cart to the side to which the pole falls."""
    del key
    return (observation[2] + 0.5 * observation[3] > 0).astype(jnp.int32)


@pytest.fixture(scope="module")
def balanced(tmp_path_factory):
    """Return a dataset of CartPole, played by `balance`."""
    path = tmp_path_factory.mktemp("data") / "cartpole"
    return record(funcenv.make("CartPole-v1"), balance, funcenv.key(0), 16, path)


@pytest.fixture(scope="module")
def choices(tmp_path_factory):
    """Return datasets of random play in the ring whose best action is 1, by the kind of action."""
    found = {}
    for is_continuous in (False, True):
        env = funcenv.make(ring_id("Choice", is_continuous))
        path = tmp_path_factory.mktemp("data") / f"choice{is_continuous}"
        found[is_continuous] = record(env, funcenv.random_policy(env), funcenv.key(0), 200, path, max_steps=50)
    return found


def config_of(algorithm, dataset, **settings):
    module = {"bc": bc, "iql": iql}[algorithm]
    return module.Config(dataset=str(dataset.folder), **{**TINY, **settings})


@pytest.mark.parametrize("algorithm", OFFLINE)
def test_a_policy_is_cloned(balanced, algorithm):
    settings = {"total_timesteps": 64 * 8 * 150, "minibatch_size": 64, "num_gradient_steps": 8, "hidden_sizes": (32,)}
    settings |= {"inverse_temperature": 0.0} if algorithm == "iql" else {}
    config = config_of(algorithm, balanced, **settings)
    state, _ = train(algorithm, config, funcenv.key(0))
    agent = Learner(algorithm, config).agent(state)
    evaluation = funcenv.evaluate(funcenv.make("CartPole-v1"), agent, 20, funcenv.key(9))
    assert float(evaluation.mean_return) > 0.9 * balanced.returns.mean()
    assert balanced.returns.mean() > 150
    agreed = [np.mean(jax.vmap(agent, (0, None))(e.observation[:-1], funcenv.key(0)) == e.action) for e in balanced]
    assert np.mean(agreed) > 0.8


@pytest.mark.parametrize("is_continuous", [False, True])
def test_iql_finds_better_actions_than_those_of_random_play(choices, is_continuous):
    config = config_of(
        "iql",
        choices[is_continuous],
        env_id=ring_id("Choice", is_continuous),
        total_timesteps=64 * 8 * 200,
        minibatch_size=64,
        num_gradient_steps=8,
        learning_rate=1e-2,
        inverse_temperature=10.0,
        hidden_sizes=(),
        gamma=0.5,
    )
    state, _ = train("iql", config, funcenv.key(0))
    agent = Learner("iql", config).agent(state)
    for observation in range(2):
        action = np.asarray(agent(jnp.int32(observation), funcenv.key(0)))
        assert action == 1 if not is_continuous else action.item() > 0.3
    assert abs(np.mean([episode.action.astype(float).mean() for episode in choices[True]])) < 0.1


def test_the_cloning_loss_is_the_likelihood_of_the_actions(balanced):
    config = config_of("bc", balanced)
    learner = Learner("bc", config)
    agent = learner.agent(learner.init(funcenv.key(0)))
    batch = balanced.sampler(5)(funcenv.key(1))
    loss, scalars = bc.cloning_loss(agent, agent.params, batch)
    logits = np.asarray(jax.vmap(agent.observe)(batch.observation)[0].logits, np.float64)
    log_probs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    np.testing.assert_allclose(loss, -log_probs[np.arange(5), batch.action].mean(), rtol=1e-5)
    np.testing.assert_allclose(scalars["action_error"], np.mean(logits.argmax(1) != batch.action))


def test_the_deviation_of_a_gaussian_gets_no_gradient():
    def loss(log_std):
        policy = bc.with_fixed_deviation(Gaussian(jnp.zeros((3, 1)), jnp.broadcast_to(log_std, (3, 1))))
        return policy.log_prob(jnp.ones((3, 1))).mean()

    assert float(jax.grad(loss)(jnp.zeros(()))) == 0
    assert isinstance(bc.with_fixed_deviation(Categorical(jnp.zeros(2))), Categorical)


def test_the_losses_of_iql_are_those_of_the_paper(balanced):
    config = config_of("iql", balanced, expectile=0.9, inverse_temperature=2.0)
    learner = Learner("iql", config)
    agent = learner.agent(learner.init(funcenv.key(0)))
    batch = balanced.sampler(4)(funcenv.key(1))
    action_value = jnp.array([-3.0, 0.0, 0.5, 9.0])
    _, scalars = iql.actor_critic_loss(config, agent, agent.params, batch, batch.action, action_value)
    policy, value = jax.vmap(agent.observe)(batch.observation)
    advantage = np.asarray(action_value - value, np.float64)
    expected = np.where(advantage < 0, 0.1, 0.9) * advantage**2
    np.testing.assert_allclose(scalars["value_loss"], expected.mean(), rtol=1e-4)
    weight = np.minimum(np.exp(2 * advantage), 100)
    assert weight[-1] == 100
    np.testing.assert_allclose(scalars["mean_weight"], weight.mean(), rtol=1e-4)
    log_prob = np.asarray(policy.log_prob(batch.action))
    np.testing.assert_allclose(scalars["policy_loss"], -(weight * log_prob).mean(), rtol=1e-4)


@pytest.mark.parametrize("algorithm", OFFLINE)
def test_runs_are_reproducible_and_calls_do_not_matter(balanced, algorithm):
    config = config_of(algorithm, balanced, num_seeds=2)
    learner = Learner(algorithm, config)
    whole, metrics = learner.advance(learner.init(funcenv.key(0)), 6)
    parts = learner.init(funcenv.key(0))
    for _ in range(3):
        parts, _ = learner.advance(parts, 2)
    same_states(whole, parts)
    assert metrics["env_steps"][:, 0].tolist() == [32 * (i + 1) for i in range(6)]
    assert (metrics["episodes"] == 0).all() and np.isnan(metrics["mean_return"]).all()
    assert (metrics["loss"][-1] != metrics["loss"][0]).all() and np.isfinite(metrics["loss"]).all()


def test_another_dataset_in_the_same_folder_is_another_program(tmp_path):
    env = funcenv.make("CartPole-v1")
    losses = []
    for action in (0, 1):
        folder = tmp_path / "data"
        if folder.exists():
            for path in folder.iterdir():
                path.unlink()
        dataset = record(env, lambda observation, key, action=action: action, funcenv.key(0), 3, folder)
        learner = Learner("bc", config_of("bc", dataset, learning_rate=0.1, total_timesteps=32 * 40))
        state, _ = learner.advance(learner.init(funcenv.key(0)), 40)
        losses.append(int(learner.agent(state)(jnp.zeros(4), funcenv.key(0))))
    assert losses == [0, 1]


def test_raw_actions_are_the_inverse_of_actions():
    for space in (Discrete(4, start=-2), Box(-2.0, 6.0, (3,)), Box(-np.inf, np.inf, (3,))):
        actions = jnp.stack([space.sample(key) for key in jax.random.split(funcenv.key(0), 5)])
        np.testing.assert_allclose(to_env_actions(space, from_env_actions(space, actions)), actions, rtol=1e-5)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"dataset": ""}, ValueError, "bc learns from a dataset, got dataset=''; funcenv record makes one"),
        ({"dataset": "nowhere"}, FileNotFoundError, "there is no dataset in nowhere"),
        ({"env_id": "Acrobot-v1"}, ValueError, "was recorded in another environment"),
        ({"max_episode_steps": 20}, ValueError, "max_episode_steps is 500 there and 20 here"),
        ({"minibatch_size": 0}, ValueError, "minibatch_size must be at least 1, got 0"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate must be a finite number above 0"),
    ],
)
def test_bad_settings(balanced, settings, error, message):
    with pytest.raises(error, match=message):
        Learner("bc", dataclasses.replace(config_of("bc", balanced), **settings))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"expectile": 1.5}, "expectile"),
        ({"inverse_temperature": -1.0}, "inverse_temperature"),
        ({"gamma": 2.0}, "gamma"),
    ],
)
def test_bad_settings_of_iql(balanced, settings, message):
    with pytest.raises(ValueError, match=message):
        config_of("iql", balanced, **settings)


def test_settings_of_stepping_do_not_exist(balanced):
    with pytest.raises(TypeError, match="num_envs"):
        bc.Config(dataset=str(balanced.folder), num_envs=4)
    assert "num_envs" not in config_of("bc", balanced).to_json()
    assert bc.Config.from_json(config_of("bc", balanced).to_json()) == config_of("bc", balanced)


@pytest.mark.parametrize("final_episodes", [0, 4])
def test_a_run_ends_with_episodes_although_it_has_played_none(balanced, final_episodes, tmp_path, console):
    config = config_of("bc", balanced, num_seeds=2)
    options = {"replay_episodes": 0, "final_episodes": final_episodes, "console": console}
    result = run.start(config, tmp_path / "run", **options)
    if final_episodes:
        assert result.final.num_episodes == 4 and len(result.final.greedy) == 2
        assert f"greedy return {np.mean(result.final.greedy):.1f}" in result.summary and not result.solved
    else:
        assert result.summary == f"learned from 192 transitions; funcenv evaluate {result.folder} plays episodes"


@pytest.mark.parametrize("algorithm", OFFLINE)
def test_the_command_trains_and_resumes(balanced, algorithm, tmp_path, capsys):
    folder = str(tmp_path / "run")
    flags = ["--minibatch-size", "16", "--num-gradient-steps", "2", "--hidden-sizes", "8", "--total-timesteps", "128"]
    flags += ["--eval-every", "64", "--eval-episodes", "4", "--final-episodes", "4", "--replay-episodes", "0"]
    arguments = ["train", "CartPole-v1", "--algo", algorithm, "--dataset", str(balanced.folder), "--run-dir", folder]
    assert main([*arguments, *flags]) == 0
    assert main(["train", "--resume", folder, "--total-timesteps", "192", "--replay-episodes", "0"]) == 0
    capsys.readouterr()
    assert main(["evaluate", folder, "--num-episodes", "4", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["mean_return"] >= 8
    assert main(["evaluate", folder, "--num-episodes", "4", "--best", "--quiet"]) == 0
    assert main(["train", "CartPole-v1", "--algo", algorithm]) == 1
    assert "learns from a dataset" in capsys.readouterr().err
