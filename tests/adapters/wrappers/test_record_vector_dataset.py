"""The vector's `RecordDataset`: what each environment of a vector did, in a dataset."""

import jax
import numpy as np
import pytest

from funcenv import adapters
from funcenv.adapters.wrappers import vector
from funcenv.datasets import Dataset, verify_dataset
from funcenv.verify.outcome import Outcome

NUM_ENVS = 3
EQUAL = Outcome.EXACT, Outcome.ROUNDING


def make(folder, mode="NextStep", id="CartPole-v1", **kwargs):
    envs = adapters.make_vec(id, NUM_ENVS, max_episode_steps=9, vector_kwargs={"autoreset_mode": mode})
    return vector.RecordDataset(envs, folder, **kwargs)


def play(envs, num_steps):
    """Play at random, and return the episodes of each environment as lists of what `step` got and returned."""
    envs.action_space.seed(0)
    mode = envs.metadata["autoreset_mode"].value
    observations, _ = envs.reset(seed=0)
    episodes, over = [[] for _ in range(NUM_ENVS)], np.zeros(NUM_ENVS, bool)
    for _ in range(num_steps):
        actions = envs.action_space.sample()
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        ended = terminations | truncations
        for row in range(NUM_ENVS):
            if not (mode == "NextStep" and over[row]):
                seen = infos["final_obs"][row] if mode == "SameStep" and ended[row] else observations[row]
                episodes[row].append((actions[row], seen, rewards[row], terminations[row], truncations[row]))
        over = ended
        if mode == "Disabled" and ended.any():
            envs.reset(options={"reset_mask": ended})
    return episodes


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_the_dataset_holds_what_step_returned(mode, tmp_path):
    envs = make(tmp_path / "data", mode)
    played = sum(play(envs, 25), start=[])
    envs.close()
    dataset = Dataset(tmp_path / "data")
    assert dataset.num_steps == len(played) and (dataset.lengths <= 9).all()

    def words(step):
        return [np.round(np.asarray(leaf, np.float64), 4).tolist() for leaf in step]

    recorded = [
        words(step)
        for one in dataset
        for step in zip(one.action, one.observation[1:], one.reward, one.terminated, one.truncated, strict=True)
    ]
    assert sorted(map(str, recorded)) == sorted(str(words(step)) for step in played)
    assert verify_dataset(dataset).outcome in EQUAL


def test_recording_changes_nothing(tmp_path):
    plain = adapters.make_vec("CartPole-v1", NUM_ENVS, max_episode_steps=9)
    assert str(play(make(tmp_path / "data"), 20)) == str(play(plain, 20))


def test_states_can_be_left_out_and_restored(tmp_path):
    envs = make(tmp_path / "data", states=False, source={"player": "Ada"})
    play(envs, 5)
    envs.close()
    dataset = Dataset(tmp_path / "data")
    assert dataset.metadata.source == {"wrapper": "RecordDataset", "num_envs": NUM_ENVS, "player": "Ada"}
    state = dataset.restore(episode=0, step=2)
    assert np.allclose(jax.tree.leaves(dataset[0].observation)[0][2][0], state.env_state.x, atol=1e-5)


def test_a_vector_that_moves_past_its_recorder_is_refused(tmp_path):
    envs = make(tmp_path / "data")
    play(envs, 3)
    envs.env.step(envs.action_space.sample())
    with pytest.raises(RuntimeError, match="past its recorder"):
        envs.step(envs.action_space.sample())
    with pytest.raises(ValueError, match="same parameters"):
        envs.reset(options={"low": -0.1})


def test_another_vector_is_refused(tmp_path):
    envs = vector.ClipReward(adapters.make_vec("CartPole-v1", 2), 0, 1)
    with pytest.raises(TypeError, match="directly around the vector"):
        vector.RecordDataset(envs, tmp_path / "data")
