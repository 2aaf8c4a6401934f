"""A dataset holds what happened: every value is that of a plain loop, and of the file after it is read again."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.datasets import Dataset, record, record_rollout, verify_dataset
from funcenv.vector_step import call_key, rollout_keys
from funcenv.verify.outcome import Outcome
from funcenv.wrappers import FlattenObservation, NormalizeObservation, PolicyMemory

CARTPOLE = funcenv.make("CartPole-v1")
RANDOM = funcenv.random_policy(CARTPOLE)


@pytest.fixture(scope="module")
def hundred(tmp_path_factory):
    """Return a hundred episodes of CartPole."""
    return record(CARTPOLE, RANDOM, funcenv.key(3), 100, tmp_path_factory.mktemp("data") / "cartpole")


def plain_episodes(env, policy, key, num_episodes):
    """Yield the results of the calls of each episode by a plain loop."""
    reset, step = jax.jit(env.reset), jax.jit(env.step)
    keys = zip(*(jax.random.split(one, num_episodes) for one in rollout_keys(key)), strict=True)
    for env_key, policy_key in keys:
        state, timestep = reset(call_key(env_key, 0))
        calls, actions = [(state, timestep)], []
        while not timestep.done:
            count = len(actions)
            own_key = (
                policy.key_of_step(policy_key, jnp.uint32(count))
                if hasattr(policy, "key_of_step")
                else call_key(policy_key, count)
            )
            actions.append(policy(timestep.observation, own_key))
            state, timestep = step(state, actions[-1], call_key(env_key, count + 1))
            calls.append((state, timestep))
        yield jax.tree.map(lambda *leaves: np.stack(leaves), *calls), np.stack(actions)


def test_a_hundred_episodes_are_read_again_and_replayed_with_every_float_equal(hundred):
    again = Dataset(hundred.folder)
    assert len(again) == 100
    assert again.num_steps == sum(len(episode.reward) for episode in again) == again.lengths.sum()
    found = verify_dataset(again)
    assert (found.outcome, found.departure, found.largest_difference) == (Outcome.EXACT, None, 0.0)
    for one, other in zip(hundred, again, strict=True):
        for name, array in one.arrays().items():
            assert array.dtype == other.arrays()[name].dtype
            np.testing.assert_array_equal(array, other.arrays()[name])


@pytest.mark.dear
def test_episodes_are_those_of_a_plain_loop(hundred):
    by_start = {episode.observation[0].tobytes(): episode for episode in hundred}
    for (states, timesteps), actions in list(plain_episodes(CARTPOLE, RANDOM, funcenv.key(3), 100))[:10]:
        episode = by_start[timesteps.observation[0].tobytes()]
        np.testing.assert_array_equal(episode.action, actions)
        np.testing.assert_array_equal(episode.terminated, timesteps.terminated[1:])
        np.testing.assert_array_equal(episode.reward, timesteps.reward[1:])
        np.testing.assert_allclose(episode.observation, timesteps.observation, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(episode.state.env_state.x, states.env_state.x, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(episode.state.elapsed_steps, states.elapsed_steps)


def test_returns_are_those_of_an_evaluation(hundred):
    evaluation = funcenv.evaluate(CARTPOLE, RANDOM, 100, funcenv.key(3))
    assert sorted(hundred.returns) == sorted(evaluation.episode_return.tolist())
    assert sorted(hundred.lengths) == sorted(evaluation.episode_length.tolist())


@pytest.mark.parametrize("states", [True, False])
def test_any_state_is_restored_and_continues_as_recorded(hundred, states, tmp_path):
    dataset = hundred
    if not states:
        dataset = record(CARTPOLE, RANDOM, funcenv.key(3), 20, tmp_path / "data", states=False)
        assert dataset[0].state is None
        assert verify_dataset(dataset).outcome is Outcome.EXACT
    episode = dataset[4]
    for step in (0, 3, episode.num_steps):
        state = dataset.restore(4, step)
        assert jax.tree.structure(state) == jax.tree.structure(CARTPOLE.reset(funcenv.key(0))[0])
        seen = CARTPOLE.observe(state, dataset.key(4, step)).observation
        np.testing.assert_array_equal(seen, episode.observation[step])
    state, timestep = jax.jit(CARTPOLE.step)(dataset.restore(4, 3), episode.action[3], dataset.key(4, 4))
    np.testing.assert_allclose(timestep.observation, episode.observation[4], rtol=1e-6)


@pytest.mark.parametrize("id", ["FrozenLake-v1", "Blackjack-v1", "GoalReacher-v0", "MinAtar/Breakout-v1"])
def test_other_spaces_are_recorded_and_verified(id, tmp_path):
    env = funcenv.make(id, max_episode_steps=20)
    dataset = record(env, funcenv.random_policy(env), funcenv.key(1), 18, tmp_path / "data")
    again = Dataset(dataset.folder)  # builds the environment by its id
    assert again.metadata.spec["max_episode_steps"] == 20
    assert verify_dataset(again).outcome is Outcome.EXACT
    first = again[0]
    member = jax.tree.map(lambda leaf: leaf[0], first.observation)
    assert bool(env.observation_space.contains(member))
    assert jax.tree.structure(first.action) == jax.tree.structure(env.action_space.abstract_member())


def test_parameters_are_part_of_the_specification(tmp_path):
    env = funcenv.make("CartPole-v1", gravity=1.6, max_episode_steps=30)
    record(env, RANDOM, funcenv.key(0), 3, tmp_path / "data")
    again = Dataset(tmp_path / "data")
    assert again.env.unwrapped.gravity == 1.6
    assert again.env.max_episode_steps == 30


def test_wrapped_environments_are_passed(tmp_path):
    env = FlattenObservation(funcenv.make("FrozenLake-v1"))
    record(env, funcenv.random_policy(env), funcenv.key(0), 3, tmp_path / "data")
    again = Dataset(tmp_path / "data")
    assert again.metadata.spec is None
    assert again[0].observation.shape[1:] == (16,)
    with pytest.raises(ValueError, match=r"no id builds the environment of .*, a FlattenObservation; pass it"):
        again.env  # noqa: B018  # the property raises
    assert verify_dataset(Dataset(tmp_path / "data", env)).outcome is Outcome.EXACT


def test_the_memory_of_a_policy_is_no_part_of_the_data(tmp_path):
    class Counter:
        """A policy that goes right every third step, which it counts in its memory."""

        def adapt_env(self, env):
            return PolicyMemory(env, size=1)

        def __call__(self, observation, key):
            memory = observation["memory"]
            return {"action": (memory[0] % 3 == 2).astype(int), "memory": memory + 1}

    dataset = record(CARTPOLE, Counter(), funcenv.key(0), 20, tmp_path / "data")
    assert dataset.env == CARTPOLE
    for episode in dataset:
        assert episode.observation.shape[1:] == (4,)
        np.testing.assert_array_equal(episode.action, np.arange(episode.num_steps) % 3 == 2)
    assert verify_dataset(dataset).outcome is Outcome.EXACT


@pytest.mark.parametrize("mode", list(funcenv.AutoresetMode))
def test_rollouts_of_vector_environments_have_the_same_steps(mode, tmp_path):
    venv = funcenv.FuncVectorEnv(CARTPOLE, 18, autoreset_mode=mode)
    dataset = record_rollout(venv, RANDOM, funcenv.key(5), 60, tmp_path / "data")
    _, trajectory, _ = funcenv.rollout(venv, RANDOM, funcenv.key(5), 60)
    timestep = trajectory.timestep
    begins = np.roll(timestep.done, 1, axis=0)
    begins[0] = False
    if mode is funcenv.AutoresetMode.NEXT_STEP:
        is_step = ~begins
    elif mode is funcenv.AutoresetMode.DISABLED:
        is_step = np.cumsum(begins, axis=0) == 0
    else:
        is_step = np.ones_like(begins)
    assert dataset.num_steps == is_step.sum()
    ours = sorted(float(x) for episode in dataset for x in np.ravel(episode.observation[1:]))
    theirs = sorted(np.ravel(timestep.final_observation[is_step]).tolist())
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    assert sum(int(e.terminated.any()) for e in dataset) == int((timestep.terminated & is_step).sum())
    assert verify_dataset(dataset).outcome is Outcome.EXACT


def test_long_episodes_are_left_with_neither_flag(tmp_path):
    env = funcenv.make("Pendulum-v1", max_episode_steps=None)
    dataset = record(env, funcenv.random_policy(env), funcenv.key(0), 2, tmp_path / "data", max_steps=15)
    assert dataset.lengths.tolist() == [15, 15]
    assert not any(episode.truncated.any() or episode.terminated.any() for episode in dataset)


def test_progress_and_source(tmp_path):
    seen = []
    dataset = record(
        CARTPOLE,
        RANDOM,
        funcenv.key(0),
        5,
        tmp_path / "data",
        source={"person": "Ada"},
        progress=lambda writer: seen.append((writer.num_episodes, writer.num_steps)),
    )
    assert [episodes for episodes, _ in seen] == [1, 2, 3, 4, 5]
    assert seen[-1][1] == dataset.num_steps
    stored = json.loads((dataset.folder / "dataset.json").read_text())
    assert stored["source"] == {"policy": "RandomPolicy", "function": "record", "num_episodes": 5, "person": "Ada"}
    assert stored["versions"]["jax"] == jax.__version__
    assert stored["is_finished"] is True


def test_bad_arguments(tmp_path):
    key = funcenv.key(0)
    with pytest.raises(TypeError, match="record takes a FuncEnv, got 'CartPole-v1'"):
        record("CartPole-v1", RANDOM, key, 1, tmp_path / "a")
    with pytest.raises(ValueError, match="num_episodes must be at least 1, got 0"):
        record(CARTPOLE, RANDOM, key, 0, tmp_path / "a")
    with pytest.raises(TypeError, match="key"):
        record(CARTPOLE, RANDOM, jax.random.PRNGKey(0), 1, tmp_path / "a")
    with pytest.raises(TypeError, match="record takes a policy"):
        record(CARTPOLE, "random", key, 1, tmp_path / "a")
    batch = CARTPOLE.replace(env=CARTPOLE.env.replace(gravity=jnp.array([1.0, 2.0])))
    with pytest.raises(ValueError, match=r"got a batch, because its gravity has the shape \(2,\)"):
        record(batch, RANDOM, key, 2, tmp_path / "a")
    with pytest.raises(TypeError, match="record_rollout takes a FuncVectorEnv, got TimeLimit"):
        record_rollout(CARTPOLE, RANDOM, key, 2, tmp_path / "a")
    normalized = NormalizeObservation(CARTPOLE)
    with pytest.raises(ValueError, match="got NormalizeObservation, which remembers; use record"):
        record_rollout(funcenv.FuncVectorEnv(normalized, 2), RANDOM, key, 2, tmp_path / "a")
    assert not (tmp_path / "a").exists()
    assert verify_dataset(record(normalized, RANDOM, key, 2, tmp_path / "b")).outcome is Outcome.EXACT
