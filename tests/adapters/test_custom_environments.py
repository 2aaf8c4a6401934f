"""Environments of twenty lines, in today's interface and in old Gym's, through everything that takes one."""

import sys
import types

import numpy as np
import pytest

from funcenv import adapters as gym
from funcenv.adapters import gym as old
from tests.support.documented_envs import GridWorldEnv, PointEnv
from tests.support.documented_items import OldPointEnv, played

WRAPPERS = {
    "Wrapper": gym.Wrapper,
    "OrderEnforcing": gym.wrappers.OrderEnforcing,
    "PassiveEnvChecker": gym.wrappers.PassiveEnvChecker,
    "RecordEpisodeStatistics": gym.wrappers.RecordEpisodeStatistics,
    "TimeLimit": lambda env: gym.wrappers.TimeLimit(env, 4),
    "TimeAwareObservation": lambda env: gym.wrappers.TimeAwareObservation(gym.wrappers.TimeLimit(env, 4)),
    "FlattenObservation": gym.wrappers.FlattenObservation,
    "TransformObservation": lambda env: gym.wrappers.TransformObservation(env, lambda seen: seen),
    "TransformAction": lambda env: gym.wrappers.TransformAction(env, lambda action: action),
    "TransformReward": lambda env: gym.wrappers.TransformReward(env, lambda reward: 2 * reward),
    "ClipReward": lambda env: gym.wrappers.ClipReward(env, 0.0, 0.5),
}
BOX_WRAPPERS = {
    "ClipAction": gym.wrappers.ClipAction,
    "RescaleAction": lambda env: gym.wrappers.RescaleAction(env, 0, 1),
}
IMAGE_WRAPPERS = {
    "RenderCollection": gym.wrappers.RenderCollection,
    "HumanRendering": gym.wrappers.HumanRendering,
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("make_env", [PointEnv, GridWorldEnv, OldPointEnv])
@pytest.mark.parametrize("wrapper", [*WRAPPERS, *BOX_WRAPPERS, *IMAGE_WRAPPERS])
def test_every_wrapper_goes_around_it(wrapper, make_env):
    if wrapper in BOX_WRAPPERS and make_env is not PointEnv:
        with pytest.raises(TypeError, match="action_space is a Box, got Discrete"):
            BOX_WRAPPERS[wrapper](make_env())
        return
    arguments = {"render_mode": "rgb_array"} if wrapper in IMAGE_WRAPPERS and make_env is not OldPointEnv else {}
    inner = make_env(**arguments)
    if wrapper in IMAGE_WRAPPERS and make_env is OldPointEnv:
        inner = gym.EnvCompatibility(inner, render_mode="rgb_array")
    env = {**WRAPPERS, **BOX_WRAPPERS, **IMAGE_WRAPPERS}[wrapper](inner)
    is_old = make_env is OldPointEnv and wrapper not in IMAGE_WRAPPERS
    first = [env.reset(seed=2) for _ in range(2)]
    observations = first if is_old else [observation for observation, _ in first]
    np.testing.assert_equal(*observations)
    assert observations[0] in env.observation_space
    env.action_space.seed(0)
    result = env.step(env.action_space.sample())
    assert len(result) == (4 if is_old else 5) and result[0] in env.observation_space
    env.close()
    assert env.unwrapped is inner or type(env.unwrapped) is type(inner)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("make_env", [PointEnv, OldPointEnv])
def test_it_is_made_checked_and_batched(make_env, separate_registry):
    gym.register("custom/Env-v0", make_env, max_episode_steps=3)
    env = gym.make("custom/Env-v0", apply_api_compatibility=make_env is OldPointEnv)
    with pytest.warns(UserWarning, match="has wrappers, which may hide faults"):
        gym.check_env(env)
    first, _ = env.reset(seed=5)
    steps = [env.step(env.action_space.sample()) for _ in range(3)]
    assert [step[3] for step in steps] == [False, False, True]
    for envs in gym.make_vec("custom/Env-v0", num_envs=2), gym.SyncVectorEnv([make_env] * 2):
        observations, infos = envs.reset(seed=4)
        assert infos == {} and (observations[1] == first).all()
        assert len(envs.step(envs.action_space.sample())) == 5
        envs.close()


def test_it_is_played():
    keys = {("left",): np.array([-0.5], np.float32), ("right",): np.array([0.5], np.float32)}
    assert [frame.shape for frame in played(PointEnv(render_mode="rgb_array"), keys)] == [(4, 6, 3)] * 3
    assert [frame.shape for frame in played(OldPointEnv(), {("left",): 0})] == [(4, 6, 3)] * 3


def test_make_names_mistakes_as_well(separate_registry):
    def made(name, base, **methods):
        gym.register(f"custom/{name}-v0", type(name, (base,), methods))
        env = gym.make(f"custom/{name}-v0")
        env.reset(seed=0)
        return env

    action = np.zeros(1, np.float32)
    with pytest.raises(gym.EnvCheckError, match="NoSpace has no action_space"):
        made("NoSpace", gym.Env)
    env = made("Three", PointEnv, step=lambda env, action: (np.zeros(2, np.float32), 0.0, {}))
    with pytest.raises(ValueError, match="step must return 4 values, or 5 with two flags, got 3"):
        env.step(action)
    with pytest.raises(TypeError, match=r"derive its class from one of them, as in class NoEnv\(adapters\.Env\)"):
        made("NoEnv", object)
    env = made("Wide", PointEnv, step=lambda env, action: (np.zeros(2), 0.0, False, False, {}))
    with pytest.warns(UserWarning, match="must have the dtype of its space, float32, got float64"):
        assert len(env.step(action)) == 5
    message = "NoSpace has no observation_space; set self.observation_space in __init__"
    with pytest.raises(AttributeError, match=message):
        type("NoSpace", (gym.Env,), {})().observation_space.sample()


class Tensor:
    """As much of torch's tensors as the checker uses."""

    def __init__(self, array):
        self.array = array

    def numpy(self, force):
        return self.array


def test_an_environment_may_speak_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor))

    class InTorch(PointEnv):
        metadata = {"render_modes": [], "torch": True}  # noqa: RUF012

        def reset(self, *, seed=None, options=None):
            observation, info = super().reset(seed=seed)
            return Tensor(observation), info

    class Forgets(InTorch):
        reset = PointEnv.reset

    gym.wrappers.PassiveEnvChecker(InTorch()).reset(seed=0)
    with pytest.raises(gym.EnvCheckError, match="must hold tensors of torch, got .*; return tensors, or leave"):
        gym.wrappers.PassiveEnvChecker(Forgets()).reset(seed=0)


# A trainer, in the form of CleanRL's scripts: it knows nothing but the interface.


def make_env(env_id, **arguments):
    def thunk():
        return gym.wrappers.RecordEpisodeStatistics(gym.make(env_id, **arguments))

    return thunk


def train(env_fn, num_updates, num_envs=4, num_steps=64, learning_rate=0.02, gamma=0.98):
    """Train a linear policy by policy gradients, and return the returns of the episodes."""
    generator = np.random.default_rng(0)
    envs = gym.vector.SyncVectorEnv([env_fn] * num_envs)
    assert isinstance(envs.single_action_space, gym.spaces.Discrete), "only discrete action space is supported"
    num_inputs, num_actions = int(np.prod(envs.single_observation_space.shape)), int(envs.single_action_space.n)
    weights, episode_returns = np.zeros((num_inputs, num_actions)), []
    next_obs, _ = envs.reset(seed=1)
    for _ in range(num_updates):
        obs = np.zeros((num_steps, num_envs, num_inputs))
        scores, rewards, dones = np.zeros((num_steps, num_envs, num_actions)), np.zeros((2, num_steps, num_envs)), None
        rewards, dones = rewards[0], rewards[1]
        for step in range(num_steps):
            obs[step] = next_obs
            logits = next_obs @ weights
            probabilities = np.exp(logits - logits.max(1, keepdims=True))
            probabilities /= probabilities.sum(1, keepdims=True)
            action = np.array([generator.choice(num_actions, p=row) for row in probabilities])
            scores[step] = np.eye(num_actions)[action] - probabilities
            next_obs, rewards[step], terminations, truncations, infos = envs.step(action)
            dones[step] = np.logical_or(terminations, truncations)
            if "episode" in infos:
                episode_returns += infos["episode"]["r"][infos["_episode"]].tolist()
        returns, tail = np.zeros_like(rewards), np.zeros(num_envs)
        for step in reversed(range(num_steps)):
            tail = rewards[step] + gamma * tail * (1 - dones[step])
            returns[step] = tail
        advantages = (returns - returns.mean()) / (returns.std() + 1e-8)
        weights += learning_rate * np.einsum("tni,tna,tn->ia", obs, scores, advantages)
    envs.close()
    return episode_returns


class Balance(old.Env):
    """A pole that falls unless it is pushed against its fall, written for old Gym."""

    def __init__(self):
        self.action_space = old.spaces.Discrete(2)
        self.observation_space = old.spaces.Box(low=-2.0, high=2.0, shape=(1,), dtype=np.float32)
        self.seed()

    def seed(self, seed=None):
        self.generator = np.random.RandomState(seed)
        return [seed]

    def reset(self):
        self.angle = self.generator.uniform(-0.2, 0.2)
        return np.array([self.angle], np.float32)

    def step(self, action):
        self.angle = 1.1 * self.angle + (0.1 if action else -0.1)
        return np.clip(np.array([self.angle], np.float32), -2, 2), 1.0, bool(abs(self.angle) > 1), {}


class BalanceToday(Balance):
    """The same environment in today's interface."""

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.seed(seed)
        return super().reset(), {}

    def step(self, action):
        observation, reward, done, info = super().step(action)
        return observation, reward, done, False, info


def test_a_trainer_learns_on_environments_of_either_interface(separate_registry):
    gym.register("custom/Balance-v0", Balance, max_episode_steps=60)
    gym.register("custom/Balance-v1", BalanceToday, max_episode_steps=60)
    curves = [
        train(make_env("custom/Balance-v0", apply_api_compatibility=True), num_updates=15),
        train(make_env("custom/Balance-v1"), num_updates=15),
    ]
    assert curves[0] == curves[1]
    assert np.mean(curves[0][:20]) < 30 and np.mean(curves[0][-20:]) > 45


def test_the_same_trainer_learns_on_a_functional_environment():
    curve = train(make_env("CartPole-v1"), num_updates=20)
    assert np.mean(curve[:30]) < 30 and np.mean(curve[-10:]) > 60
