"""`RecordDataset`: what a stateful environment did, in a dataset."""

import jax
import numpy as np
import pytest

from funcenv import adapters
from funcenv.adapters.wrappers import NormalizeObservation, RecordDataset
from funcenv.datasets import Dataset, DatasetFullError, verify_dataset
from funcenv.verify.outcome import Outcome
from funcenv.wrappers import NormalizeObservation as PureNormalizeObservation


def play(env, num_steps, seed=0):
    """Play at random, and return the episodes as lists of what `step` got and returned."""
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    episodes = [[observation]]
    for _ in range(num_steps):
        action = env.action_space.sample()
        observation, reward, terminated, truncated, _ = env.step(action)
        episodes[-1].append((action, observation, reward, terminated, truncated))
        if terminated or truncated:
            observation, _ = env.reset()
            episodes.append([observation])
    return [episode for episode in episodes if len(episode) > 1]


@pytest.mark.parametrize("id", ["CartPole-v1", "Pendulum-v1", "Blackjack-v1", "GoalReacher-v0", "Taxi-v4"])
def test_the_dataset_holds_what_step_returned(id, tmp_path):
    env = RecordDataset(adapters.make(id, max_episode_steps=40), tmp_path / "data")
    played = play(env, 100)
    env.close()
    dataset = Dataset(tmp_path / "data")
    assert len(dataset) == len(played)
    for episode, (first, *steps) in zip(dataset, played, strict=True):
        actions, observations, rewards, terminated, truncated = zip(*steps, strict=True)
        stack = lambda *leaves: np.stack(leaves)  # noqa: E731
        jax.tree.map(np.testing.assert_array_equal, episode.action, jax.tree.map(stack, *actions))
        shown = jax.tree.map(stack, first, *observations)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), episode.observation, shown)
        np.testing.assert_array_equal(episode.reward, np.float32(rewards))
        np.testing.assert_array_equal(episode.terminated, terminated)
        np.testing.assert_array_equal(episode.truncated, truncated)
    assert verify_dataset(dataset).outcome in (Outcome.EXACT, Outcome.ROUNDING)


def test_recording_changes_nothing(tmp_path):
    recorded = play(RecordDataset(adapters.make("CartPole-v1"), tmp_path / "data"), 50)
    plain = play(adapters.make("CartPole-v1"), 50)
    assert str(recorded) == str(plain)


def test_each_episode_is_written_when_it_ends(tmp_path):
    env = RecordDataset(adapters.make("CartPole-v1", max_episode_steps=4), tmp_path / "data", source={"player": "Ada"})
    env.reset(seed=0)
    for step in range(1, 5):
        env.step(0)
        assert len(Dataset(tmp_path / "data")) == (step == 4)
    env.reset()
    env.step(1)  # cut off by `close`
    env.close()
    dataset = Dataset(tmp_path / "data")
    assert dataset.lengths.tolist() == [4, 1]
    assert not dataset[1].truncated.any()
    assert dataset.metadata.source == {"wrapper": "RecordDataset", "player": "Ada"}


def test_a_state_that_was_set_is_no_part_of_an_episode(tmp_path):
    env = RecordDataset(adapters.make("CartPole-v1"), tmp_path / "data")
    env.reset(seed=0)
    before = env.env.state
    env.step(0)
    env.env.state = before
    with pytest.raises(RuntimeError, match="the state was set within an episode"):
        env.step(1)
    env.reset()
    env.step(1)
    env.close()
    assert verify_dataset(Dataset(tmp_path / "data")).outcome in (Outcome.EXACT, Outcome.ROUNDING)


def test_other_parameters_are_refused(tmp_path):
    env = RecordDataset(adapters.make("CartPole-v1"), tmp_path / "data")
    with pytest.raises(ValueError, match=r"got options=\{'low': -0.1\}; leave them out"):
        env.reset(options={"low": -0.1})
    env.reset(seed=0)
    env.env.gravity = 1.6
    with pytest.raises(ValueError, match=r"same parameters, but environment.env.gravity is 9.8 there and 1.6 here"):
        env.reset()


def test_environments_that_cannot_be_recorded(tmp_path):
    wrapped = NormalizeObservation(adapters.make("CartPole-v1"))
    with pytest.raises(TypeError, match="RecordDataset takes a FunctionalEnv, got <NormalizeObservation"):
        RecordDataset(wrapped, tmp_path / "data")
    remembering = adapters.FunctionalEnv(PureNormalizeObservation(adapters.make("CartPole-v1").func_env))
    with pytest.raises(ValueError, match="must not depend on those before them"):
        RecordDataset(remembering, tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_a_full_dataset(tmp_path):
    env = RecordDataset(adapters.make("CartPole-v1", max_episode_steps=5), tmp_path / "data", max_bytes=500)
    with pytest.raises(DatasetFullError, match="max_bytes=500"):
        play(env, 30)
    assert len(Dataset(tmp_path / "data")) >= 1


def test_without_states(tmp_path):
    env = RecordDataset(adapters.make("CartPole-v1"), tmp_path / "data", states=False)
    play(env, 30)
    env.close()
    dataset = Dataset(tmp_path / "data")
    assert dataset[0].state is None
    state = dataset.restore(0, 5)
    np.testing.assert_allclose(state.env_state.x, dataset[0].observation[5, 0], rtol=1e-5)
