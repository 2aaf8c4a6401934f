"""The contract of `HerReplayBuffer` of Stable-Baselines3, without that library, which `test_stable_baselines3` runs.

The buffer asks a `Dict` space for its three entries, stores what steps return, and calls `compute_reward` of the
environment, found through all wrappers, with the goals of many transitions and a list of their infos.
"""

import gymnasium
import numpy as np
import pytest

import funcenv.adapters.gymnasium  # noqa: F401  (registers the ids)

NUM_STEPS = 60
ENTRIES = {"observation", "achieved_goal", "desired_goal"}


@pytest.mark.parametrize("name", ["BitFlip-v0", "GoalReacher-v0"])
def test_rewards_of_many_transitions(name):
    env = gymnasium.make(f"funcenv/{name}")
    assert isinstance(env.observation_space, gymnasium.spaces.Dict) and set(env.observation_space.keys()) == ENTRIES
    env.action_space.seed(0)
    observation, _ = env.reset(seed=0)
    observations, rewards, infos = [], [], []
    for _ in range(NUM_STEPS):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        observations.append(observation)
        rewards.append(reward)
        infos.append(info)
        if terminated or truncated:
            env.reset()
    achieved, desired = (
        np.stack([observation[entry] for observation in observations]) for entry in ("achieved_goal", "desired_goal")
    )
    assert achieved.dtype == env.observation_space["achieved_goal"].dtype
    compute_reward = env.get_wrapper_attr("compute_reward")
    played = compute_reward(achieved, desired, infos)
    assert isinstance(played, np.ndarray) and played.shape == (NUM_STEPS,)
    np.testing.assert_array_equal(played.astype(np.float32), np.float32(rewards))
    relabelled = compute_reward(achieved, achieved, [{} for _ in range(NUM_STEPS)])
    np.testing.assert_array_equal(relabelled, 0)
    future = np.random.default_rng(0).permutation(NUM_STEPS)
    single = [compute_reward(achieved[i], achieved[goal], [{}]) for i, goal in enumerate(future)]
    np.testing.assert_array_equal(compute_reward(achieved, achieved[future], [{}] * NUM_STEPS), single)


def test_the_vector_environment_of_that_library_reaches_it():
    """`DummyVecEnv.env_method` looks the method up in each environment by its name."""
    envs = [gymnasium.make("funcenv/BitFlip-v0", num_bits=3) for _ in range(2)]
    goals = np.array([[0, 1, 1], [0, 0, 0]], np.int8), np.array([[0, 1, 1], [1, 1, 1]], np.int8)
    for env in envs:
        np.testing.assert_array_equal(env.get_wrapper_attr("compute_reward")(*goals, [{}, {}]), [0, -1])
