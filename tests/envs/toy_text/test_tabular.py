"""The environments with tables: table, dynamics and starts against Gymnasium's, exhaustively."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.envs.toy_text.taxi import TaxiEnv

import funcenv
from funcenv.envs import CliffWalking, FrozenLake, Taxi
from tests.support.tables import chi_square, reference

ODD_MAP = ["SFHS", "FFFF", "HFGG"]
CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "lake": (FrozenLake, FrozenLakeEnv, {}),
    "large lake": (FrozenLake, FrozenLakeEnv, {"map_name": "8x8"}),
    "dry lake": (FrozenLake, FrozenLakeEnv, {"is_slippery": False}),
    "odd lake": (
        FrozenLake,
        FrozenLakeEnv,
        {"desc": ODD_MAP, "success_rate": 0.7, "reward_schedule": (5.0, -2.0, -0.1)},
    ),
    "cliff": (CliffWalking, CliffWalkingEnv, {}),
    "slippery cliff": (CliffWalking, CliffWalkingEnv, {"is_slippery": True}),
    "taxi": (Taxi, TaxiEnv, {}),
    "rainy taxi": (Taxi, TaxiEnv, {"is_rainy": True}),
    "stormy taxi": (Taxi, TaxiEnv, {"is_rainy": True, "rainy_probability": 0.3}),
}


class Pair(NamedTuple):
    """The same environment twice, and Gymnasium's table of it."""

    ours: Any
    theirs: Any
    table: Any


@pytest.fixture(scope="module", params=CASES)
def pair(request: pytest.FixtureRequest) -> Pair:
    ours, theirs, arguments = CASES[request.param]
    gymnasium_env = theirs(**arguments)
    return Pair(ours(**arguments), gymnasium_env, reference(gymnasium_env))


class Chosen:
    """Stands for NumPy's generator and draws what it is told."""

    def __init__(self) -> None:
        self.number = 0.0

    def random(self) -> float:
        return self.number


@jax.jit
def step_into(env: Any, numbers: jax.Array, actions: jax.Array, indices: jax.Array) -> Any:
    """Return what each given outcome of each state and action leads to."""

    def step(number: jax.Array, action: jax.Array, index: jax.Array) -> Any:
        state = env.decode(number)
        prob = jnp.stack(env.outcome_probabilities(state, action))[index]
        next_state = env.outcome(state, action, index).replace(prob=prob)
        reward, terminated = env.reward(state, action, next_state), env.terminal(next_state)
        return env.encode(next_state), reward, terminated, env.state_info(next_state)

    return jax.vmap(step)(numbers, actions, indices)


@jax.jit
def sample_steps(env: Any, numbers: jax.Array, actions: jax.Array, keys: jax.Array) -> Any:
    """One step from every state with every action, for every key: `[num_states, num_actions, num_keys]`."""

    def step(number: jax.Array, action: jax.Array, key: jax.Array) -> Any:
        return env.step(env.decode(number), action, jax.random.fold_in(jax.random.fold_in(key, number), action))[1]

    over_keys = jax.vmap(step, in_axes=(None, None, 0))
    over_actions = jax.vmap(over_keys, in_axes=(None, 0, None))
    return jax.vmap(over_actions, in_axes=(0, None, None))(numbers, actions, keys)


@jax.jit
def reset_all(env: Any, keys: jax.Array) -> Any:
    return jax.vmap(env.reset)(keys)


@pytest.mark.parametrize(("x64", "tolerance"), [(False, 1e-6), (True, 1e-12)])
def test_the_table_is_gymnasiums(pair: Pair, x64: bool, tolerance: float) -> None:
    with jax.enable_x64(x64), jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        table = jax.tree.map(np.asarray, jax.jit(lambda env: env.P)(pair.ours))
        start = np.asarray(pair.ours.initial_state_distrib)
    listed = pair.table.listed
    assert table.probability.dtype == table.reward.dtype == (np.float64 if x64 else np.float32)
    assert table.next_state.dtype == np.int32
    assert table.terminated.dtype == bool
    np.testing.assert_allclose(table.probability, pair.table.probability, atol=tolerance)
    np.testing.assert_allclose(np.sum(table.probability, axis=-1), 1, atol=tolerance)
    np.testing.assert_array_equal(table.next_state[listed], pair.table.next_state[listed])
    np.testing.assert_allclose(table.reward[listed], pair.table.reward[listed], rtol=tolerance)
    np.testing.assert_array_equal(table.terminated[listed], pair.table.terminated[listed])
    np.testing.assert_allclose(start, pair.table.initial, atol=tolerance)


def test_every_outcome_of_every_step_is_gymnasiums(pair: Pair) -> None:
    numbers, actions, indices = np.nonzero(pair.table.listed & (pair.table.probability > 0))
    before = np.cumsum(pair.table.probability, axis=-1) - pair.table.probability
    pair.theirs.np_random = chosen = Chosen()
    observations, rewards, terminations, infos = [], [], [], []
    for number, action, index in zip(numbers, actions, indices, strict=True):
        pair.theirs.s = number
        chosen.number = before[number, action, index] + 0.5 * pair.table.probability[number, action, index]
        observation, reward, terminated, truncated, info = pair.theirs.step(action)
        assert not truncated
        observations.append(observation)
        rewards.append(reward)
        terminations.append(terminated)
        infos.append(info)
    as_ours = [jnp.asarray(array, jnp.int32) for array in (numbers, actions, indices)]
    observation, reward, terminated, info = step_into(pair.ours, *as_ours)
    np.testing.assert_array_equal(observation, observations)
    np.testing.assert_allclose(reward, rewards, rtol=1e-6)
    np.testing.assert_array_equal(terminated, terminations)
    assert info.keys() == infos[0].keys()
    for name, values in info.items():
        expected = np.array([other[name] for other in infos])
        np.testing.assert_allclose(values, expected, rtol=1e-6)
        assert values.dtype == (np.float32 if name == "prob" else expected.dtype)


def test_sampled_steps_follow_gymnasiums_table(pair: Pair) -> None:
    table = pair.table
    num_keys = 300 if table.listed.shape[-1] > 1 else 1
    numbers, actions = (jnp.arange(size, dtype=jnp.int32) for size in table.listed.shape[:2])
    keys = jax.random.split(funcenv.key(11), num_keys)
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"), jax.debug_key_reuse(True):
        steps = sample_steps(pair.ours, numbers, actions, keys)
    steps = jax.tree.map(lambda leaf: np.asarray(leaf)[:, :, :, None], steps)

    possible = (table.listed & (table.probability > 0))[:, :, None, :]
    same = (
        possible
        & (steps.observation == table.next_state[:, :, None, :])
        & np.isclose(steps.reward, table.reward[:, :, None, :], rtol=1e-6)
        & (steps.terminated == table.terminated[:, :, None, :])
    )
    assert same.any(-1).all()
    assert (same & np.isclose(steps.info["prob"], table.probability[:, :, None, :], rtol=1e-6)).any(-1).all()

    # Outcomes that look the same are counted together, under the first of them.
    alike = (
        (table.next_state[..., :, None] == table.next_state[..., None, :])
        & (table.reward[..., :, None] == table.reward[..., None, :])
        & (table.terminated[..., :, None] == table.terminated[..., None, :])
        & (possible[:, :, 0, :, None] & possible[:, :, 0, None, :])
    )
    first = np.where(possible[:, :, 0], alike.argmax(-1), -1)
    groups = range(table.listed.shape[-1])
    expected = np.stack([np.where(first == group, table.probability, 0).sum(-1) for group in groups], -1) * num_keys
    counts = np.stack([(same.argmax(-1) == group).sum(-1) for group in groups], -1)
    assert (counts[expected == 0] == 0).all()
    squares = np.where(expected > 0, (counts - expected) ** 2 / np.where(expected > 0, expected, 1), 0).sum()
    freedom = ((expected > 0).sum(-1) - 1).sum()
    assert squares == 0 if freedom == 0 else 0.001 < scipy.stats.chi2.sf(squares, freedom) < 0.999


def test_episodes_begin_as_in_gymnasium(pair: Pair) -> None:
    keys = jax.random.split(funcenv.key(5), 30_000)
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"), jax.debug_key_reuse(True):
        _, timestep = reset_all(pair.ours, keys)
    observed = np.asarray(timestep.observation)
    assert observed.dtype == np.int32
    counts = np.bincount(observed, minlength=len(pair.table.initial))
    if np.count_nonzero(pair.table.initial) == 1:
        np.testing.assert_array_equal(counts, 30_000 * pair.table.initial)
    else:
        assert chi_square(counts, pair.table.initial) > 0.01

    first, info = pair.theirs.reset(seed=0)
    assert timestep.info.keys() == info.keys()
    np.testing.assert_array_equal(timestep.info["prob"], 1)
    if "action_mask" in info:
        masks = np.asarray(timestep.info["action_mask"])
        np.testing.assert_array_equal(masks[np.flatnonzero(observed == first)[0]], info["action_mask"])


def test_states_are_numbered_one_to_one(pair: Pair) -> None:
    numbers = jnp.arange(pair.ours.observation_space.n, dtype=jnp.int32)
    again = jax.jit(jax.vmap(lambda number: pair.ours.encode(pair.ours.decode(number))))(numbers)
    np.testing.assert_array_equal(again, numbers)
    assert len(numbers) == pair.theirs.observation_space.n
    assert pair.ours.action_space.n == pair.theirs.action_space.n
