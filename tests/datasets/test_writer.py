"""A dataset grows by whole chunks: a writer that stops, by whatever cause, leaves all but the last one."""

import dataclasses
import signal
import subprocess
import sys

import numpy as np
import pytest

import funcenv
from funcenv.datasets import Dataset, DatasetError, DatasetFullError, DatasetWriter, record, verify_dataset
from funcenv.verify.outcome import Outcome

CARTPOLE = funcenv.make("CartPole-v1")
RANDOM = funcenv.random_policy(CARTPOLE)

ENDLESS = """
import sys, funcenv
from funcenv.datasets import Dataset, DatasetWriter, record
env = funcenv.make("CartPole-v1")
episodes = list(record(env, funcenv.random_policy(env), funcenv.key(0), 5, sys.argv[1] + "-source"))
with DatasetWriter(sys.argv[1], env, "threefry", chunk_steps=100) as writer:
    while True:
        for episode in episodes:
            writer.add(episode)
            print(writer.num_episodes, flush=True)
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Return twenty episodes of CartPole."""
    return record(CARTPOLE, RANDOM, funcenv.key(0), 20, tmp_path_factory.mktemp("data") / "source")


def writer_at(path, **options):
    return DatasetWriter(path, CARTPOLE, "threefry", **options)


def test_a_killed_writer_leaves_every_chunk_but_the_last(tmp_path):
    path = tmp_path / "data"
    with subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)], stdout=subprocess.PIPE, text=True) as process:
        try:
            while int(process.stdout.readline()) < 200:
                pass
            process.send_signal(signal.SIGKILL)
            printed = process.stdout.read().split()
        finally:
            process.kill()
    dataset = Dataset(path)
    assert not dataset.metadata.is_finished
    assert "unfinished" in repr(dataset)
    added = int(printed[-1]) if printed else 200
    longest = int(dataset.lengths.max())
    lost = added - len(dataset)
    assert lost * int(dataset.lengths.min()) <= 100 + longest  # at most a chunk, and what was not printed yet
    assert len(dataset) > 100
    assert verify_dataset(dataset).outcome is Outcome.EXACT
    with DatasetWriter(path, CARTPOLE, "threefry", append=True) as writer:  # goes on where it stopped
        writer.add(dataset[0])
    assert len(Dataset(path)) == len(dataset) + 1
    assert Dataset(path).metadata.is_finished


def test_an_error_keeps_what_was_added(source, tmp_path):
    with pytest.raises(RuntimeError, match="stop"), writer_at(tmp_path / "data") as writer:
        writer.add(source[0])
        raise RuntimeError("stop")
    assert len(Dataset(tmp_path / "data")) == 1
    assert not Dataset(tmp_path / "data").metadata.is_finished


def test_chunks_are_whole_episodes(source, tmp_path):
    with writer_at(tmp_path / "data", chunk_steps=1) as writer:
        for episode in source:
            writer.add(episode)
            assert len(Dataset(tmp_path / "data")) == writer.num_episodes
    assert len(list((tmp_path / "data").glob("*.npz"))) == 20
    assert Dataset(tmp_path / "data").lengths.tolist() == source.lengths.tolist()
    np.testing.assert_array_equal(Dataset(tmp_path / "data")[-1].observation, source[19].observation)


def test_files_are_the_same_whoever_writes_them(source, tmp_path):
    again = record(CARTPOLE, RANDOM, funcenv.key(0), 20, tmp_path / "data")
    assert [chunk.sha256 for chunk in again.metadata.chunks] == [chunk.sha256 for chunk in source.metadata.chunks]


def test_a_full_dataset_keeps_what_fits(source, tmp_path):
    size = source.metadata.num_bytes
    with pytest.raises(DatasetFullError, match=r"would exceed max_bytes=.* episodes have .*leave states out"):
        record(CARTPOLE, RANDOM, funcenv.key(0), 20, tmp_path / "data", max_bytes=size // 2)
    kept = Dataset(tmp_path / "data")
    assert 0 < len(kept) < 20
    assert kept.metadata.num_bytes <= size // 2
    assert len(record(CARTPOLE, RANDOM, funcenv.key(0), 20, tmp_path / "exact", max_bytes=size)) == 20


def test_appending(source, tmp_path):
    path = tmp_path / "data"
    record(CARTPOLE, RANDOM, funcenv.key(1), 4, path, append=True)
    assert len(record(CARTPOLE, RANDOM, funcenv.key(2), 3, path, append=True)) == 7
    with pytest.raises(FileExistsError, match="holds files already; name another folder, or append"):
        record(CARTPOLE, RANDOM, funcenv.key(2), 3, path)
    heavier = funcenv.make("CartPole-v1", gravity=20.0)
    with pytest.raises(DatasetError, match=r"environment.env.gravity is 9.8 there and 20.0 here; write to another"):
        record(heavier, RANDOM, funcenv.key(2), 3, path, append=True)
    with pytest.raises(DatasetError, match="holds other data"):
        record(CARTPOLE, RANDOM, funcenv.key(2), 3, path, append=True, states=False)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="holds files already"):
        record(CARTPOLE, RANDOM, funcenv.key(2), 3, tmp_path / "other", append=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reward": np.zeros(0, np.float32)}, "at least 1 step, got 0"),
        ({"key": None}, r"lacks \['key'\]"),
        ({"state": None}, r"lacks \['state"),
        ({"action": np.zeros(3, np.int32)}, r"action must have \d+ rows in \d+ steps, got shape \[3\]"),
        ({"observation": np.zeros((2, 4), np.float32)}, "observation must have"),
    ],
)
def test_episodes_that_do_not_fit_are_refused(source, change, message, tmp_path):
    with writer_at(tmp_path / "data") as writer, pytest.raises(ValueError, match=message):
        writer.add(dataclasses.replace(source[0], **change))
    assert len(Dataset(tmp_path / "data")) == 0


def test_values_of_another_kind_are_refused(source, tmp_path):
    episode = source[0]
    early = episode.terminated.copy()
    early[0] = True
    with writer_at(tmp_path / "data") as writer:
        with pytest.raises(ValueError, match=r"action must be int32\[\] at each step, got float64\[\]"):
            writer.add(dataclasses.replace(episode, action=episode.action.astype(float)))
        with pytest.raises(ValueError, match=r"observation must be float32\[4\] at each step, got float32\[3\]"):
            writer.add(dataclasses.replace(episode, observation=episode.observation[:, :3]))
        with pytest.raises(ValueError, match="must end at its last step, .* got an end at step 0"):
            writer.add(dataclasses.replace(episode, terminated=early))


def test_bad_arguments(tmp_path):
    with pytest.raises(TypeError, match="DatasetWriter takes a FuncEnv, got 3"):
        DatasetWriter(tmp_path / "a", 3, None)
    with pytest.raises(ValueError, match="chunk_steps must be at least 1, got 0"):
        writer_at(tmp_path / "a", chunk_steps=0)
    with pytest.raises(ValueError, match="max_bytes must be at least 1, got -5"):
        writer_at(tmp_path / "a", max_bytes=-5)
    with pytest.raises(ValueError, match="no generator is named 'dice'"):
        DatasetWriter(tmp_path / "a", CARTPOLE, "dice")
    with pytest.raises(TypeError, match="source"):
        writer_at(tmp_path / "a", source={"model": object()})
    assert not (tmp_path / "a").exists()


def test_a_folder_without_permission_is_an_error_of_the_system(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        writer_at(tmp_path / "file" / "data")
