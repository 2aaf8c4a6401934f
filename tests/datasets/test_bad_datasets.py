"""Datasets that are damaged, of another version or of another environment are refused with what is wrong."""

import hashlib
import json
import shutil

import jax
import numpy as np
import pytest

import funcenv
from funcenv.datasets import Dataset, DatasetError, DatasetWriter, record, verify_dataset
from funcenv.names import UntrustedCodeError

CARTPOLE = funcenv.make("CartPole-v1")
RANDOM = funcenv.random_policy(CARTPOLE)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return record(CARTPOLE, RANDOM, funcenv.key(0), 4, tmp_path_factory.mktemp("data") / "good")


@pytest.fixture
def folder(good, tmp_path):
    """Return a copy that a test may damage."""
    shutil.copytree(good.folder, tmp_path / "copy")
    return tmp_path / "copy"


def change(folder, **changes):
    path = folder / "dataset.json"
    values = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({name: value for name, value in values.items() if value != "left out"}))


def rewrite(folder, changed):
    """Write the arrays of the first chunk again after a change, with a digest that fits."""
    path = folder / "chunk-00000.npz"
    with np.load(path) as file:
        arrays = changed(dict(file))
    np.savez(path, **arrays)
    chunks = json.loads((folder / "dataset.json").read_text())["chunks"]
    chunks[0]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    change(folder, chunks=chunks)


def test_no_dataset(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no dataset in .*nothing, because it has no dataset.json"):
        Dataset(tmp_path / "nothing")


@pytest.mark.parametrize("text", ["", "{", '{"format": "funcenv dataset 1"', "\x00\x01"])
def test_a_description_that_is_cut(folder, text):
    (folder / "dataset.json").write_text(text)
    with pytest.raises(DatasetError, match=r"dataset.json is no JSON: "):
        Dataset(folder)


@pytest.mark.parametrize("text", ["[]", "3", "{}", '{"env": "CartPole-v1"}'])
def test_a_description_of_something_else(folder, text):
    (folder / "dataset.json").write_text(text)
    with pytest.raises(DatasetError, match="names no format"):
        Dataset(folder)


def test_another_format(folder):
    change(folder, format="funcenv dataset 7", versions={"funcenv": "9.9"})
    with pytest.raises(
        DatasetError, match=r"has the format 'funcenv dataset 7', which funcenv 9.9 wrote; this version"
    ):
        Dataset(folder)


@pytest.mark.parametrize("name", ["environment", "spec", "leaves", "chunks", "key_impl", "is_finished", "versions"])
def test_missing_entries_of_the_description(folder, name):
    change(folder, **{name: "left out"})
    with pytest.raises(DatasetError, match=f"lacks {name}; record"):
        Dataset(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"chunks": [{"lengths": [3]}]},
        {"chunks": [{"lengths": [-3], "num_bytes": 1, "sha256": ""}]},
        {"chunks": [{"lengths": ["3"], "num_bytes": 1, "sha256": ""}]},
        {"chunks": 5},
        {"leaves": {"observation": 3}},
        {"leaves": []},
        {"environment": "CartPole"},
    ],
)
def test_entries_of_another_kind(folder, changes):
    change(folder, **changes)
    with pytest.raises(DatasetError, match="is damaged: .*; record the dataset again"):
        Dataset(folder)


@pytest.mark.parametrize("fraction", [0.0, 0.3, 0.99])
def test_a_chunk_that_is_cut(folder, fraction):
    path = folder / "chunk-00000.npz"
    content = path.read_bytes()
    path.write_bytes(content[: int(fraction * len(content))])
    dataset = Dataset(folder)
    for read in (
        lambda: dataset[0],
        lambda: dataset.sampler(2),
        lambda: dataset.restore(0, 0),
        lambda: dataset.returns,
    ):
        with pytest.raises(DatasetError, match=r"chunk-00000.npz is damaged: its digest"):
            read()


def test_a_chunk_that_is_missing(folder):
    (folder / "chunk-00000.npz").unlink()
    with pytest.raises(DatasetError, match=r"chunk-00000.npz is missing"):
        Dataset(folder)[0]


def test_a_flipped_bit(folder):
    path = folder / "chunk-00000.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(DatasetError, match="digest"):
        verify_dataset(Dataset(folder))


@pytest.mark.parametrize("name", ["reward", "observation", "key", "truncated", "state.env_state.x"])
def test_a_chunk_without_an_array(folder, name):
    rewrite(folder, lambda arrays: {other: array for other, array in arrays.items() if other != name})
    with pytest.raises(DatasetError, match=f"lacks {name}; record"):
        Dataset(folder)[0]


def test_arrays_of_another_shape_or_kind(folder):
    rewrite(folder, lambda arrays: {**arrays, "reward": arrays["reward"][:-1]})
    with pytest.raises(DatasetError, match=r"must hold reward as float32\[\d+\], got float32\[\d+\]"):
        Dataset(folder)[0]
    rewrite(folder, lambda arrays: {**arrays, "reward": np.zeros(len(arrays["truncated"]), np.float64)})
    with pytest.raises(DatasetError, match=r"must hold reward as float32\[\d+\], got float64\[\d+\]"):
        Dataset(folder)[0]


def test_pickles_are_never_loaded(folder):
    rewrite(folder, lambda arrays: {**arrays, "reward": np.array([object()] * len(arrays["reward"]))})
    with pytest.raises(DatasetError, match="cannot be read: Object arrays cannot be loaded when allow_pickle=False"):
        Dataset(folder)[0]


def test_no_archive(folder):
    (folder / "chunk-00000.npz").write_bytes(b"nothing")
    chunks = json.loads((folder / "dataset.json").read_text())["chunks"]
    change(folder, chunks=[{**chunks[0], "sha256": hashlib.sha256(b"nothing").hexdigest()}])
    with pytest.raises(DatasetError, match="cannot be read"):
        Dataset(folder)[0]


def test_another_environment(good):
    with pytest.raises(
        DatasetError, match=r"in another environment: environment.env.gravity is 9.8 there and 1.6 here"
    ):
        Dataset(good.folder, funcenv.make("CartPole-v1", gravity=1.6))
    with pytest.raises(DatasetError, match=r"environment.max_episode_steps is 500 there and 9 here"):
        Dataset(good.folder, funcenv.make("CartPole-v1", max_episode_steps=9))
    with pytest.raises(DatasetError, match=r"environment.env is CartPole there and Pendulum here"):
        Dataset(good.folder, funcenv.make("Pendulum-v1"))
    with pytest.raises(TypeError, match="Dataset takes a FuncEnv, got 'CartPole-v1'"):
        Dataset(good.folder, "CartPole-v1")


def test_states_of_another_layout(folder):
    leaves = json.loads((folder / "dataset.json").read_text())["leaves"]
    change(folder, leaves={**leaves, "state.env_state.x": ["float64", []]})
    with pytest.raises(
        DatasetError, match=r"state.env_state.x is \('float64', \(\)\) there and \('float32', \(\)\) here"
    ):
        Dataset(folder)


def test_names_of_code_are_refused(folder, monkeypatch):
    spec = {"id": "os:system", "entry_point": "os:system", "kwargs": {}}
    change(folder, spec=spec)
    with pytest.raises(UntrustedCodeError, match="os:system"):
        Dataset(folder)


@pytest.mark.parametrize(("episode", "step"), [(4, 0), (-5, 0), (0, -1), (0, 10_000)])
def test_places_out_of_range(good, episode, step):
    with pytest.raises(IndexError):
        good.restore(episode, step)
    with pytest.raises(IndexError):
        good.key(episode, step)


def test_an_empty_dataset(tmp_path):
    with DatasetWriter(tmp_path / "data", CARTPOLE, "threefry"):
        pass
    empty = Dataset(tmp_path / "data")
    assert (len(empty), empty.num_steps, empty.returns.shape) == (0, 0, (0,))
    with pytest.raises(DatasetError, match="no transition to draw from"):
        empty.sampler(3)
    with pytest.raises(DatasetError, match="no episode to replay"):
        verify_dataset(empty)


def test_batch_sizes_below_one(good):
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        good.sampler(0)


def test_a_departure_is_found_and_named(folder):
    def lift(arrays):
        arrays["observation"][10, 2] += 0.5
        return arrays

    rewrite(folder, lift)
    dataset = Dataset(folder)
    assert dataset.lengths[0] > 10
    departure = verify_dataset(dataset).departure
    assert (departure.episode, departure.step, departure.leaf) == (0, 10, "observation")
    assert departure.recorded[0] == pytest.approx(departure.replayed[0] + 0.5)


@pytest.mark.parametrize(("name", "step"), [("terminated", 3), ("reward", 5), ("state.elapsed_steps", 0)])
def test_a_departure_in_a_later_episode(folder, name, step):
    lengths = Dataset(folder).lengths
    per_state = name.startswith("state")
    row = int(lengths[:2].sum()) + (2 + step if per_state else step - 1)

    def damage(arrays):
        arrays[name][row] = not arrays[name][row] if arrays[name].dtype == bool else arrays[name][row] + 1
        return arrays

    rewrite(folder, damage)
    found = verify_dataset(Dataset(folder))
    assert found.outcome.value == "different"
    assert (found.departure.episode, found.departure.step, found.departure.leaf) == (2, step, name)
    assert f"episode 2, step {step}, {name}: recorded" in str(found)
    assert found.to_json()["departure"]["leaf"] == name


def test_rounding_is_told_from_other_differences(folder):
    def nudge(arrays):
        arrays["observation"][1, 0] = np.nextafter(arrays["observation"][1, 0], np.float32(9))
        return arrays

    rewrite(folder, nudge)
    found = verify_dataset(Dataset(folder))
    assert found.outcome.value == "equal to rounding"
    assert 0 < found.largest_difference < 1e-6
    assert (found.departure.episode, found.departure.step) == (0, 1)


def test_sampled_transitions_are_those_of_the_episodes(good):
    sampler = good.sampler(64)
    steps = {}
    for episode in good:
        for t in range(episode.num_steps):
            before, after = episode.observation[t].tobytes(), episode.observation[t + 1].tobytes()
            steps[before] = episode.action[t], episode.reward[t], episode.terminated[t], episode.truncated[t], after
    drawn = jax.device_get(jax.jit(lambda sampler, key: sampler(key))(sampler, funcenv.key(1)))
    for i in range(64):
        action, reward, terminated, truncated, after = steps[drawn.observation[i].tobytes()]
        assert (drawn.action[i], drawn.reward[i]) == (action, reward)
        assert (drawn.terminated[i], drawn.truncated[i]) == (terminated, truncated)
        assert drawn.next_observation[i].tobytes() == after
    everything = jax.device_get(sampler.take(np.arange(sampler.num_steps)))
    assert sum(everything.terminated) == 4
    assert len(everything.reward) == good.num_steps


def test_sampling_is_uniform_and_depends_on_the_key_alone(good):
    sampler = good.sampler(1000)
    rows = [np.asarray(sampler.replace(reward=np.arange(good.num_steps))(funcenv.key(k)).reward) for k in (0, 0, 1)]
    np.testing.assert_array_equal(rows[0], rows[1])
    assert (rows[0] != rows[2]).any()
    counts = np.bincount(np.concatenate(rows[1:]), minlength=good.num_steps)
    expected = 2000 / good.num_steps
    assert ((counts - expected) ** 2 / expected).sum() < good.num_steps + 6 * np.sqrt(2 * good.num_steps)


def test_a_sampler_inside_scan_is_compiled_once(good):
    sampler = good.sampler(8)

    @jax.jit
    def total(sampler, key):
        step = lambda carry, key: (carry + sampler(key).reward.sum(), None)  # noqa: E731
        return jax.lax.scan(step, 0.0, jax.random.split(key, 50))[0]

    assert float(total(sampler, funcenv.key(0))) == 400.0
