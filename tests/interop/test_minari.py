"""Datasets in Minari's format: what goes there and comes back is the same, and those of others can be sampled."""

import gymnasium
import minari
import numpy as np
import pytest
from minari.data_collector import EpisodeBuffer

import funcenv
from funcenv.datasets import Dataset, DatasetError, DatasetWriter, record, verify_dataset
from funcenv.interop.minari import from_minari, to_minari
from funcenv.verify.outcome import Outcome


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))


def recorded(id, path, **params):
    env = funcenv.make(id, max_episode_steps=15, **params)
    return record(env, funcenv.random_policy(env), funcenv.key(0), 5, path)


@pytest.mark.parametrize(
    "id", ["CartPole-v1", "FrozenLake-v1", "Blackjack-v1", "GoalReacher-v0", "MinAtar/Breakout-v1"]
)
def test_a_round_trip_changes_nothing(id, tmp_path):
    ours = recorded(id, tmp_path / "a")
    theirs = to_minari(ours, "test/round-v0", author="Ada", description="random play")
    assert (theirs.total_episodes, theirs.total_steps) == (5, ours.num_steps)
    for index, episode in enumerate(theirs.iterate_episodes()):
        np.testing.assert_array_equal(episode.rewards, ours[index].reward)
        np.testing.assert_array_equal(episode.terminations, ours[index].terminated)
    again = from_minari("test/round-v0", tmp_path / "b")
    for one, other in zip(ours, again, strict=True):
        assert one.arrays().keys() == other.arrays().keys()
        for name, array in one.arrays().items():
            assert array.dtype == other.arrays()[name].dtype
            np.testing.assert_array_equal(array, other.arrays()[name])
    assert again.metadata.source["minari"] == "test/round-v0"
    assert verify_dataset(again).outcome is Outcome.EXACT


def test_minari_recovers_the_environment_of_a_registered_id(tmp_path):
    env = funcenv.make("CartPole-v1")
    ours = record(env, funcenv.random_policy(env), funcenv.key(0), 2, tmp_path / "a")
    theirs = to_minari(ours, "test/known-v0", author="Ada")
    recovered = theirs.recover_environment()
    assert recovered.spec.id == "funcenv/CartPole-v1"
    assert recovered.observation_space == theirs.observation_space
    heavy = recorded("CartPole-v1", tmp_path / "b", masspole=0.5)
    assert to_minari(heavy, "test/heavy-v0", author="Ada").env_spec is None
    assert from_minari("test/heavy-v0", tmp_path / "c").env.unwrapped.masspole == 0.5


def test_a_dataset_of_others_is_sampled_but_not_replayed(tmp_path):
    env = gymnasium.make("CartPole-v1")
    buffers = []
    for index in range(3):
        observations, rewards, flags, actions = [env.reset(seed=index)[0]], [], [], []
        done = False
        while not done:
            actions.append(env.action_space.sample())
            observation, reward, terminated, truncated, _ = env.step(actions[-1])
            observations.append(observation)
            rewards.append(reward)
            flags.append((terminated, truncated))
            done = terminated or truncated
        ends = [list(flag) for flag in zip(*flags, strict=True)]
        buffers.append(EpisodeBuffer(index, index, None, observations, actions, rewards, *ends, infos={}))
    about = dict.fromkeys(("author", "author_email", "code_permalink", "algorithm_name", "description"), "somebody's")
    about["requirements"] = ["gymnasium"]
    theirs = minari.create_dataset_from_buffers("test/theirs-v0", buffers, env=env, eval_env=env, **about)
    with pytest.raises(ValueError, match="the environment of test/theirs-v0 is not known here, .* pass env="):
        from_minari(theirs, tmp_path / "a")
    ours = from_minari(theirs, tmp_path / "a", env=funcenv.make("CartPole-v1"))
    assert ours.num_steps == theirs.total_steps
    assert ours.returns.tolist() == [len(buffer) for buffer in buffers]
    assert ours[0].action.dtype == np.int32
    np.testing.assert_array_equal(ours[1].observation, np.stack(buffers[1].observations))
    assert ours.sampler(16)(funcenv.key(0)).observation.shape == (16, 4)
    for replay in (lambda: verify_dataset(ours), lambda: ours.restore(0, 1), lambda: ours.key(0, 1)):
        with pytest.raises(DatasetError, match="has no keys, so nothing can be replayed"):
            replay()
    with pytest.raises(ValueError, match="observation must be float32"):
        from_minari(theirs, tmp_path / "b", env=funcenv.make("Acrobot-v1"))
    with pytest.raises(ValueError, match="observations must have the structure"):
        from_minari(theirs, tmp_path / "c", env=funcenv.make("Blackjack-v1"))


def test_what_minari_has_no_place_for(tmp_path):
    env = funcenv.make("CartPole-v1")
    with DatasetWriter(tmp_path / "empty", env, "threefry"):
        pass
    with pytest.raises(DatasetError, match="has no episode, which Minari needs"):
        to_minari(Dataset(tmp_path / "empty"), "test/empty-v0")
    ours = recorded("CartPole-v1", tmp_path / "a")
    to_minari(ours, "test/twice-v0", author="Ada")
    with pytest.raises(ValueError, match="twice-v0"):
        to_minari(ours, "test/twice-v0", author="Ada")
