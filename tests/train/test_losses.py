"""Targets and losses equal values that are computed by hand, for networks that are tables or products."""

import dataclasses
import itertools
import math
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.spaces import Discrete
from funcenv.train import alphazero, dqn, pqn, reinforce, sac, simba, td3, tqc
from funcenv.train.agents.distributions import Categorical, SquashedGaussian
from funcenv.train.agents.networks import QNetwork
from funcenv.train.agents.q_agent import QAgent, QuantileAgent, epsilon_greedy
from funcenv.train.algorithms._off_policy import critic_loss, step_critics
from funcenv.train.algorithms.tqc import quantile_huber_loss
from funcenv.train.loop import Learner, train
from funcenv.train.updates.collector import Experience
from funcenv.train.updates.learned import Learned
from funcenv.train.updates.replay_buffer import Transition

VALUES = np.array([[1.0, 4.0], [3.0, 2.0], [0.0, 5.0]], np.float32)
OTHERS = np.array([[10.0, 20.0], [30.0, 40.0], [50.0, 60.0]], np.float32)


def table_agent(values):
    """Return an agent whose action values are a table of three states and two actions."""
    params = {"params": {"Dense_0": {"kernel": jnp.asarray(values), "bias": jnp.zeros(2)}}}
    network = QNetwork(2, hidden_sizes=(), activation="relu", layer_norm=False, is_dueling=False)
    return QAgent(params, network, Discrete(3), Discrete(2))


def transitions(observation, action, reward, discount, next_observation):
    return Transition(*map(jnp.asarray, (observation, action, reward, discount, next_observation)))


BATCH = transitions([0, 1, 2], [1, 0, 0], [1.0, 2.0, 3.0], [0.5, 0.25, 0.0], [1, 0, 2])


@pytest.mark.parametrize(
    ("is_double", "target"),
    [
        # The network prefers action 0 in state 1 and action 1 in state 0; the target network has their values.
        (True, [1 + 0.5 * 30, 2 + 0.25 * 20, 3.0]),
        (False, [1 + 0.5 * 40, 2 + 0.25 * 20, 3.0]),
    ],
)
def test_dqn_chooses_by_one_network_and_evaluates_by_the_other(is_double, target):
    agent, target_agent = table_agent(VALUES), table_agent(OTHERS)
    loss, _ = dqn.q_loss(dqn.Config(is_double=is_double), agent, target_agent, agent.params, BATCH)
    errors = np.abs(np.array([4.0, 3.0, 0.0]) - target)
    np.testing.assert_allclose(loss, (errors - 0.5).mean(), rtol=1e-6)  # all errors exceed 1


def test_the_loss_of_dqn_is_that_of_huber():
    agent = table_agent(VALUES)
    batch = BATCH._replace(reward=jnp.array([4.5, 1.0, 0.0]), discount=jnp.zeros(3))  # values are 4, 3, 0
    loss, metrics = dqn.q_loss(dqn.Config(), agent, agent, agent.params, batch)
    np.testing.assert_allclose(loss, (0.5 * 0.5**2 + (2 - 0.5) + 0) / 3)
    np.testing.assert_allclose(metrics["mean_value"], 7 / 3, rtol=1e-6)


def test_dqn_learns_the_quantiles_of_the_action_with_the_best_mean():
    quantiles = np.array([[[0.0, 2.0], [3.0, 5.0]], [[6.0, 8.0], [-9.0, 20.0]]], np.float32)  # [state, action, number]
    network = types.SimpleNamespace(apply=lambda params, x: (x @ params.reshape(2, 4)).reshape(2, 2))
    agent, target_agent = (
        QuantileAgent(jnp.asarray(values), network, Discrete(2), Discrete(2)) for values in (quantiles, 10 * quantiles)
    )
    assert agent.values(jnp.int32(1)).tolist() == [7.0, 5.5]
    batch = transitions([0, 1], [1, 0], [1.0, 2.0], [0.5, 0.0], [1, 0])
    loss, metrics = dqn.q_loss(dqn.Config(num_quantiles=2), agent, target_agent, agent.params, batch)
    target = np.array([[1 + 0.5 * 60, 1 + 0.5 * 80], [2.0, 2.0]])
    np.testing.assert_allclose(loss, quantile_huber_loss(jnp.array([[3.0, 5.0], [6.0, 8.0]]), target).mean(), rtol=1e-6)
    assert metrics["mean_value"] == 5.5


def test_a_dueling_head_of_quantiles_adds_those_that_all_actions_share():
    network = QNetwork(2, hidden_sizes=(), activation="relu", layer_norm=False, is_dueling=True, num_quantiles=3)
    params = network.init(jax.random.key(0), jnp.ones(4))
    advantage, value = (np.asarray(params["params"][f"Dense_{number}"]["kernel"].sum(0)) for number in (0, 1))
    advantage = advantage.reshape(2, 3)
    expected = value + advantage - advantage.mean(0)
    np.testing.assert_allclose(network.apply(params, jnp.ones(4)), expected, rtol=1e-5, atol=1e-6)


def test_the_loss_of_pqn_is_half_the_squared_error():
    agent = table_agent(VALUES)
    batch = pqn.Batch(jnp.array([0, 1, 2]), jnp.array([1, 0, 0]), jnp.array([6.0, 3.0, 1.0]))
    np.testing.assert_allclose(pqn.q_loss(agent, agent.params, batch)[0], 0.5 * (4 + 0 + 1) / 3, rtol=1e-6)


def test_a_dueling_head_adds_what_all_actions_share():
    network = QNetwork(2, hidden_sizes=(), activation="relu", layer_norm=False, is_dueling=True)
    params = {
        "params": {
            "Dense_0": {"kernel": jnp.asarray(VALUES), "bias": jnp.zeros(2)},
            "Dense_1": {"kernel": jnp.full((3, 1), 7.0), "bias": jnp.zeros(1)},
        }
    }
    np.testing.assert_allclose(network.apply(params, jnp.eye(3)), 7 + VALUES - VALUES.mean(1, keepdims=True))


def products(deviation):
    """Return an actor with the mean `params + features`, and critics `p features action` for each `p` of the params."""

    def act(params, features):
        mean = params + features
        return SquashedGaussian(mean, jnp.full_like(mean, deviation))

    def values(params, features, action):
        return params[:, None] * (features * action)[None, :, 0]

    return types.SimpleNamespace(actor=types.SimpleNamespace(apply=act), critics=types.SimpleNamespace(apply=values))


FEATURES = jnp.array([[0.5], [-1.0], [2.0]])
NOISE = jax.random.normal(jax.random.key(0), (3, 1))


def sac_model(critics):
    learned = lambda params: Learned(jnp.asarray(params, jnp.float32), None)  # noqa: E731
    return sac.Model(learned(0.0), learned(critics), jnp.array([2.0, 3.0]), learned(math.log(0.1)))


def test_sac_counts_the_entropy_of_the_next_action_and_the_lower_critic():
    networks = products(-20.0)  # a deviation of e^-20 draws the mean
    found = sac.bootstrap(sac.Config(), networks, sac_model([0.0, 0.0]), FEATURES, NOISE)
    mean, noise = FEATURES[:, 0], NOISE[:, 0]
    log_prob = -0.5 * noise**2 + 20 - 0.5 * math.log(2 * math.pi) - np.log(1 - np.tanh(mean) ** 2)
    np.testing.assert_allclose(found, 2 * mean * np.tanh(mean) - 0.1 * log_prob, rtol=1e-3)


def test_the_losses_of_sac_are_those_of_the_paper():
    networks, action = products(-20.0), jnp.array([[1.0], [1.0], [0.5]])
    value = networks.critics.apply(jnp.array([2.0, 4.0]), FEATURES, action)
    loss, _ = critic_loss(value, jnp.array([1.0, 0.0, 2.0]))
    np.testing.assert_allclose(loss, 0.5 * (0 + 4 + 0) / 3 + 0.5 * (1 + 16 + 4) / 3, rtol=1e-6)
    loss, (_, entropy) = sac.actor_loss(
        sac.Config(), networks, sac_model([2.0, 4.0]), jnp.float32(0.0), (FEATURES, NOISE)
    )
    value = 2 * FEATURES[:, 0] * np.tanh(FEATURES[:, 0])
    np.testing.assert_allclose(loss, -0.1 * entropy - value.mean(), rtol=1e-4)


def test_tqc_drops_the_largest_quantiles_of_all_target_critics_together():
    config = tqc.Config(num_critics=2, num_quantiles=3, dropped_quantiles=1)
    values = jnp.array([[[1.0, 5.0, 3.0]], [[4.0, 9.0, 2.0]]])
    np.testing.assert_array_equal(config.target_values(values), [[1.0, 2.0, 3.0, 4.0]])
    np.testing.assert_array_equal(config.actor_values(values), [4.0])


def test_the_quantiles_that_minimize_the_loss_of_tqc_are_those_of_the_targets():
    """Far from the kink of the Huber loss, the gradient is that of quantile regression."""
    targets = jnp.linspace(-100.0, 100.0, 2001)
    quantiles = jnp.quantile(targets, jnp.array([0.125, 0.375, 0.625, 0.875]))
    gradient = jax.grad(lambda each: quantile_huber_loss(each, targets))
    np.testing.assert_allclose(gradient(quantiles), 0.0, atol=1e-3)
    assert (jnp.sign(gradient(quantiles + 20)) == 1).all() and (jnp.sign(gradient(quantiles - 20)) == -1).all()
    config = tqc.Config(num_critics=2, num_quantiles=4)
    loss, _ = config.critic_loss(jnp.stack([quantiles, quantiles + 1])[:, None], targets[None])
    expected = quantile_huber_loss(quantiles, targets) + quantile_huber_loss(quantiles + 1, targets)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_simba_takes_the_least_mean_of_its_critics():
    config = simba.Config(num_bins=3, max_value=2.0)  # bins at -2, 0 and 2
    values = jnp.log(jnp.array([[[0.5, 0.5, 0.0]], [[0.25, 0.25, 0.5]]]))
    np.testing.assert_allclose(config.target_values(values), [-1.0], rtol=1e-6)
    np.testing.assert_allclose(config.actor_values(values), [-1.0], rtol=1e-6)


@pytest.mark.parametrize("value", [-7.0, -1.25, 0.0, 0.1, 3.9])
def test_the_bins_of_a_value_are_those_of_a_normal_distribution(value):
    """A bin's probability is the integral of the density over it, by the trapezoidal rule."""
    config = simba.Config(num_bins=41, max_value=10.0)  # bins of 0.5
    found = simba.bin_probabilities(jnp.array([value]), config.num_bins, config.max_value)[0]
    inside = np.linspace(-0.25, 0.25, 1001)
    density = np.exp(-0.5 * ((np.linspace(-10, 10, 41)[:, None] + inside - value) / (0.75 * 0.5)) ** 2)
    expected = np.trapezoid(density, inside, axis=1)
    np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-5)
    np.testing.assert_allclose(simba.bin_mean(jnp.log(found), 10.0), value, atol=1e-3)


def test_the_loss_of_simba_is_least_where_the_bins_are_those_of_the_target():
    config = simba.Config(num_bins=11, max_value=5.0)
    target = jnp.array([0.3, -2.0])
    logits = jnp.log(simba.bin_probabilities(target, 11, 5.0) + 1e-20)
    gradient = jax.grad(lambda values: config.critic_loss(values, target)[0])
    np.testing.assert_allclose(gradient(jnp.stack([logits, logits])), 0.0, atol=1e-6)
    assert (
        config.critic_loss(jnp.stack([logits, logits + jnp.eye(11)[3][None]]), target)[0]
        > config.critic_loss(jnp.stack([logits, logits]), target)[0]
    )


def test_targets_beyond_the_last_bin_are_clipped():
    found = simba.bin_probabilities(jnp.array([5.0, 100.0]), 11, 5.0)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found.sum(-1), 1.0, rtol=1e-6)


def test_critics_learn_the_rewards_and_the_discounted_value_of_the_next_state():
    """The target is the sum of rewards, plus what `bootstrap` says of the next observation, discounted."""
    config = sac.Config(env_id="Pendulum-v1", hidden_sizes=(4,))
    env = config.make_env()
    state = sac.init(config, env, funcenv.key(0))
    observation = jax.vmap(env.observation_space.sample)(jax.random.split(funcenv.key(1), 3))
    batch = transitions(observation, jnp.zeros((3, 1)), [0.0] * 3, [0.5, 0.25, 0.0], observation)
    critics = state.learned.critics
    value = config.make_network(env).critics.apply(critics.params, observation, batch.action)
    batch = batch._replace(reward=jnp.array([1.0, 2.0, 3.0]))
    bootstrap = lambda features, noise: features[:, 0] + noise[:, 0]  # noqa: E731
    with jax.numpy_dtype_promotion("standard"):  # as in training
        _, losses = step_critics(config, env, sac.make_agent(config, env, state), critics, batch, NOISE, bootstrap)
    target = batch.reward + batch.discount * (observation[:, 0] + NOISE[:, 0])
    np.testing.assert_allclose(losses["loss"], (0.5 * (value - target[None]) ** 2).mean(1).sum(), rtol=1e-5)


def test_squashed_samples_have_the_density_that_they_claim():
    policy = SquashedGaussian(mean=jnp.array([0.3]), log_std=jnp.array([-0.5]))
    x = jnp.linspace(-4.0, 4.0, 2001)[:, None]
    action, log_prob = jax.vmap(policy.transform)(x)
    density = np.exp(np.asarray(log_prob, np.float64))
    np.testing.assert_allclose(np.trapezoid(density, np.asarray(action[:, 0], np.float64)), 1, atol=1e-3)
    assert np.isfinite(jax.vmap(policy.transform)(jnp.array([[-40.0], [40.0]]))[1]).all()


def test_a_fraction_of_the_actions_is_random():
    values = jnp.broadcast_to(jnp.array([0.0, 1.0, 0.0]), (20_000, 3))
    chosen = jax.jit(epsilon_greedy)(values, 0.3, jax.random.key(0))
    np.testing.assert_allclose((chosen == 1).mean(dtype=float), 0.7 + 0.1, atol=0.02)


def test_td3_takes_the_lower_target_critic_of_the_target_actor():
    critics = products(0.0).critics
    networks = types.SimpleNamespace(actor=types.SimpleNamespace(apply=lambda p, x: jnp.tanh(p * x)), critics=critics)
    model = td3.Model(None, None, target_actor=jnp.float32(2.0), target_critics=jnp.array([3.0, 2.0]))
    found = td3.bootstrap(td3.Config(target_noise=0.0), networks, model, FEATURES, NOISE)
    next_value = 2 * FEATURES[:, 0] * np.tanh(2 * FEATURES[:, 0])
    np.testing.assert_allclose(found, next_value, rtol=1e-6)
    noisy = td3.bootstrap(td3.Config(target_noise=100.0, target_noise_clip=0.25), networks, model, FEATURES, NOISE)
    expected = np.clip(np.tanh(2 * FEATURES[:, 0])[:, None] + np.array([[-0.25, 0.25]]), -1, 1)
    lower = np.minimum(2 * FEATURES * expected, 3 * FEATURES * expected)
    assert (np.abs(np.asarray(noisy)[:, None] - lower).min(1) < 1e-5).all()
    loss, _ = td3.actor_loss(networks, jnp.array([3.0, 2.0]), jnp.float32(2.0), FEATURES)
    np.testing.assert_allclose(loss, -1.5 * next_value.mean(), rtol=1e-6)


def test_the_actor_of_td3_learns_every_second_step():
    config = td3.Config(num_envs=2, num_steps=2, buffer_size=32, minibatch_size=4, learning_starts=4, n_step=1)
    config = dataclasses.replace(config, env_id="Pendulum-v1", hidden_sizes=(4,), num_gradient_steps=1)
    learner = Learner(td3, config)
    states = [learner.init(funcenv.key(0))]
    for _ in range(4):
        states.append(learner.advance(states[-1], 1)[0])
    kernels = [np.asarray(state.learned.actor.params["params"]["Dense_0"]["kernel"]) for state in states]
    assert [(a != b).any() for a, b in itertools.pairwise(kernels)] == [True, False, True, False]


def test_the_learning_rate_of_dqn_ends_at_zero():
    """Steps of the optimizer are counted from the first update that learns."""
    config = dqn.Config(num_envs=2, num_steps=2, buffer_size=32, minibatch_size=4, learning_starts=8, n_step=1)
    config = dataclasses.replace(config, hidden_sizes=(4,), num_gradient_steps=3, total_timesteps=4 * 5)
    state, metrics = train(dqn, config, funcenv.key(0))
    learning = metrics["loss"][:, 0] != 0
    assert learning.tolist() == [False, True, True, True, True]
    counts = {int(leaf[0]) for leaf in jax.tree.leaves(state.learned.q.optimizer_state) if leaf.dtype == jnp.int32}
    assert counts == {config.num_optimizer_steps} == {3 * learning.sum()}
    assert float(config.schedule(config.num_optimizer_steps)) == 0
    assert float(config.schedule(config.num_optimizer_steps - 1)) > 0


def test_the_loss_of_alphazero_is_the_cross_entropy_to_the_policy_of_the_search():
    config = alphazero.Config(value_coefficient=0.25)
    logits = jnp.array([[0.0, 1.0], [2.0, 0.0]])
    network = types.SimpleNamespace(apply=lambda params, x: (Categorical(x @ params), x @ jnp.array([1.0, 2.0])))
    agent = alphazero.Agent(logits, network, Discrete(2), Discrete(2))
    batch = alphazero.Batch(jnp.array([0, 1]), jnp.array([[0.25, 0.75], [1.0, 0.0]]), jnp.array([3.0, 5.0]))
    loss, parts = alphazero.search_loss(config, agent, logits, batch)
    log_probs = np.log([[1 / (1 + np.e), np.e / (1 + np.e)], [np.e**2 / (1 + np.e**2), 1 / (1 + np.e**2)]])
    cross_entropy = -(0.25 * log_probs[0, 0] + 0.75 * log_probs[0, 1] + log_probs[1, 0]) / 2
    np.testing.assert_allclose(parts["policy_loss"], cross_entropy, rtol=1e-5)
    np.testing.assert_allclose(parts["value_loss"], 0.5 * (2**2 + 3**2) / 2, rtol=1e-6)
    np.testing.assert_allclose(loss, parts["policy_loss"] + 0.25 * parts["value_loss"], rtol=1e-6)


def test_the_loss_of_reinforce_is_the_policy_gradient_and_the_error_of_the_baseline():
    config = reinforce.Config(value_coefficient=0.5, entropy_coefficient=0.1)
    logits, returns = jnp.array([[0.0, 1.0], [2.0, 0.0]]), jnp.array([[3.0, 5.0]])
    network = types.SimpleNamespace(apply=lambda params, x: (Categorical(x @ params), x @ jnp.array([1.0, 2.0])))
    agent = reinforce.Agent(logits, network, Discrete(2), Discrete(2))
    batch = Experience(jnp.array([[0, 1]]), jnp.array([[1, 0]]), None)
    loss, parts = reinforce.policy_gradient_loss(config, agent, logits, (batch, returns))
    log_probs = np.log([np.e / (1 + np.e), np.e**2 / (1 + np.e**2)])
    np.testing.assert_allclose(parts["policy_loss"], -np.mean(log_probs * [3 - 1, 5 - 2]), rtol=1e-5)
    np.testing.assert_allclose(parts["value_loss"], 0.5 * (4 + 9) / 2, rtol=1e-6)
    np.testing.assert_allclose(
        loss, parts["policy_loss"] + 0.5 * parts["value_loss"] - 0.1 * parts["entropy"], rtol=1e-6
    )
