"""Algorithms with a replay buffer normalize observations and rewards by what was collected so far."""

import dataclasses
import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.spaces import Box
from funcenv.train import dqn, sac, simba, td3, tqc
from funcenv.train.algorithms import _off_policy
from funcenv.train.loop import Learner
from funcenv.train.updates.learned import Learned
from tests.support.rotation import rotated
from tests.support.tiny_envs import Tiny

GAMMA = 0.9
SETTINGS = {"num_envs": 4, "num_steps": 2, "hidden_sizes": (8,), "buffer_size": 512, "minibatch_size": 64}
SETTINGS |= {"learning_starts": 16, "num_gradient_steps": 1, "n_step": 1, "total_timesteps": 8 * 60, "gamma": GAMMA}
SETTINGS |= {"normalize_observation": True, "normalize_reward": True}
CONTINUOUS = {"env_id": "Pendulum-v1", "max_episode_steps": 25}
CONFIGS = {
    "dqn": dqn.Config(**SETTINGS, env_id="MountainCar-v0", max_episode_steps=25),
    "sac": sac.Config(**SETTINGS, **CONTINUOUS),
    "simba": simba.Config(**SETTINGS, **CONTINUOUS, residual_width=8),
    "td3": td3.Config(**SETTINGS, **CONTINUOUS),
    "tqc": tqc.Config(**SETTINGS, **CONTINUOUS),
}


def trained(algorithm, config):
    """Return the learner of a short run, and its state; the buffer still holds all steps."""
    learner = Learner(algorithm, config)
    state, _ = learner.advance(learner.init(funcenv.key(0)), config.num_updates)
    return learner, jax.tree.map(lambda leaf: leaf[0], state)


def discounted(reward, done):
    """Return the sums of discounted rewards since an episode began, after each step."""
    sums, total = np.zeros_like(reward), np.zeros_like(reward[0])
    for step in range(len(reward)):
        sums[step] = total = GAMMA * total + reward[step]
        total = np.where(done[step], 0.0, total)
    return sums


@pytest.mark.parametrize("algorithm", rotated(CONFIGS, ("simba",)))
def test_the_moments_are_those_of_all_steps_that_were_collected(algorithm):
    learner, state = trained(algorithm, CONFIGS[algorithm])
    steps = jax.tree.map(lambda leaf: np.asarray(leaf[: int(state.buffer.count)], float), state.buffer.steps)
    observations = steps.observation.reshape(-1, steps.observation.shape[-1])
    np.testing.assert_allclose(state.observation_moments.mean, observations.mean(0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(state.observation_moments.variance, observations.var(0), rtol=1e-4)
    returns = discounted(steps.reward, steps.done)
    np.testing.assert_allclose(state.reward_scale.moments.variance, returns.var(), rtol=1e-4)
    agent = learner.algorithm.make_agent(learner.config, learner.env, state)
    expected = (observations[0] - observations.mean(0)) / observations.std(0)
    np.testing.assert_allclose(agent.features(jnp.asarray(observations[0])), expected, rtol=1e-3, atol=1e-4)


class Coin(Tiny):
    """Pays 5 or -5 by chance and ends."""

    observation_space = Box(-jnp.inf, jnp.inf, (1,))

    def initial(self, key):
        return jnp.zeros(1)

    def transition(self, state, action, key):
        return jnp.where(jax.random.bernoulli(key), jnp.ones(1), -jnp.ones(1))

    def reward(self, state, action, next_state):
        return 5 * next_state[0]

    def terminal(self, state):
        return state[0] != 0


def test_quantiles_are_those_of_the_returns():
    """Half of the quantiles of a coin is near each of its sides, whose mean is 0."""
    funcenv.register("test/Coin-v0", Coin)
    config = dataclasses.replace(CONFIGS["dqn"], env_id="test/Coin-v0", max_episode_steps=None, num_quantiles=8)
    config = dataclasses.replace(config, normalize_observation=False, normalize_reward=False, learning_rate=0.05)
    learner, state = trained("dqn", dataclasses.replace(config, total_timesteps=8 * 2000))
    agent = learner.algorithm.make_agent(config, learner.env, state)
    quantiles = np.sort(agent.quantiles(jnp.zeros(1)), axis=-1)
    np.testing.assert_allclose(quantiles[:, :4].mean(-1), -5, atol=0.5)
    np.testing.assert_allclose(quantiles[:, 4:].mean(-1), 5, atol=0.5)
    np.testing.assert_allclose(agent.values(jnp.zeros(1)), 0, atol=1)


def test_rewards_are_divided_where_they_are_drawn():
    """The buffer keeps them as they are, so that old ones are scaled as new ones are."""
    learner, state = trained("sac", CONFIGS["sac"])

    def learn(learned, sample, key, number):
        del number
        return learned, {"least": sample(key).reward.min()}

    def act(observation, step_index):
        return state.noise

    plain = dataclasses.replace(learner.config, normalize_reward=False)
    least = [
        _off_policy.update(config, learner.env, before, act, learn, funcenv.key(1))[1]["least"]
        for config, before in ((learner.config, state), (plain, state.replace(reward_scale=None)))
    ]
    after, _ = _off_policy.update(learner.config, learner.env, state, act, learn, funcenv.key(1))
    np.testing.assert_allclose(least[0], least[1] / np.sqrt(after.reward_scale.moments.variance), rtol=1e-5)
    np.testing.assert_array_equal(after.buffer.steps.reward[0], state.buffer.steps.reward[0])


@pytest.mark.parametrize("algorithm", sorted(CONFIGS))
def test_moments_are_kept_for_those_who_ask(algorithm):
    config = dataclasses.replace(CONFIGS[algorithm], normalize_observation=False, normalize_reward=False)
    state = jax.eval_shape(Learner(algorithm, config).init, funcenv.key(0))
    assert state.observation_moments is None and state.reward_scale is None


ANNEALED = {
    "dqn": {"num_gradient_steps": 2},
    "sac": {"num_gradient_steps": 2, "critic_steps": 3},
    "simba": {},  # two steps of the critics in each gradient step
    "td3": {"num_gradient_steps": 2},  # one of the actor in two
    "tqc": {},
}


@pytest.mark.parametrize("algorithm", rotated(ANNEALED, ("sac", "td3")))
def test_the_learning_rate_of_each_part_falls_to_zero_over_the_run(algorithm):
    """The last update still changes all that is learned, and another one nothing."""
    config = dataclasses.replace(CONFIGS[algorithm], anneal_learning_rate=True, **ANNEALED[algorithm])
    learner = Learner(algorithm, config)
    state, _ = learner.advance(learner.init(funcenv.key(0)), config.num_updates - 1)
    params = []
    for _ in range(3):
        parts = jax.tree.leaves(state.learned, is_leaf=lambda part: isinstance(part, Learned))
        params.append(jax.device_get([part.params for part in parts if isinstance(part, Learned)]))
        state, _ = learner.advance(state, 1)
    assert all((old != new).any() for old, new in zip(*map(jax.tree.leaves, params[:2]), strict=True))
    jax.tree.map(np.testing.assert_array_equal, params[1], params[2])


def test_the_target_entropy_grows_over_the_run():
    """The temperature rises while more entropy is asked for than there is, and falls in the second half of the run."""
    config = dataclasses.replace(CONFIGS["sac"], target_entropy=-100.0, target_entropy_growth=200.0)
    learner = Learner("sac", config)
    _, metrics = learner.advance(learner.init(funcenv.key(0)), config.num_updates)
    learned = metrics["temperature"].ravel()[config.first_update :]
    middle = config.num_updates // 2 - config.first_update
    assert (np.diff(learned[:middle]) > 0).all()
    assert (np.diff(learned[-middle // 2 :]) < 0).all()


def test_the_noise_of_a_target_is_not_drawn_again_for_each_bin():
    """XLA would fuse it into the loss, where it took half of the time of a run."""
    config = CONFIGS["simba"]
    learner = Learner("simba", config)
    program = learner.lower(learner.init(funcenv.key(0))).compile().as_text()
    fusion = r"^%fused[^\n]* -> \(?\w+\[([\d,]*)\][^\n]*\{$(.*?)^\}"  # the shape of what it writes, and its operations
    fusions = re.findall(fusion, program, re.MULTILINE | re.DOTALL)
    sizes = [math.prod(map(int, filter(None, shape.split(",")))) for shape, body in fusions if "shift-left" in body]
    assert 0 < max(sizes) < config.minibatch_size * config.num_bins
