"""Parity of physical systems: Gymnasium and funcenv step from the same injected states, and the results are compared.

States are rows of a NumPy array, one column for each field of the state in the order of its declaration; fields after
these, which Gymnasium does not have in its state, begin at 0 and are left out of what comes back. Everything runs under
strict dtype and rank promotion.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import funcenv
from funcenv.struct import NDArray

Array = NDArray


class Steps(NamedTuple):
    """What one step from every row led to."""

    state: Array  # [n, fields]
    observation: Array  # [n, ...]
    reward: Array  # [n]
    terminated: Array  # [n]


@jax.jit
def _step(env: Any, states: Any, actions: Any, keys: Any) -> Any:
    return jax.vmap(env.step)(states, actions, keys)


@jax.jit
def _play(env: Any, states: Any, actions: Any, key: Any) -> Any:
    def advance(states: Any, actions: Any) -> Any:
        states = jax.vmap(env.transition, in_axes=(0, 0, None))(states, actions, key)
        return states, states

    return jax.lax.scan(advance, states, actions)[1]


@jax.jit
def _gradients(env: Any, states: Any, actions: Any, key: Any) -> Any:
    def total(env: Any, state: Any, action: Any) -> jax.Array:
        next_state, timestep = env.step(state, action, key)
        return sum(jax.tree.leaves(next_state)) + timestep.observation.sum() + timestep.reward

    which = (0, 1, 2) if jnp.issubdtype(actions.dtype, jnp.floating) else (0, 1)
    return jax.vmap(jax.grad(total, which), in_axes=(None, 0, 0))(env, states, actions)


@contextlib.contextmanager
def precision(x64: bool) -> Iterator[None]:
    """Run in float64 or float32, without implicit promotion."""
    with jax.enable_x64(x64), jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def step(env: Any, rows: Array, actions: Array, x64: bool = True) -> Steps:
    """Take one step of ours from every row."""
    with precision(x64):
        keys = jax.random.split(funcenv.key(0), len(rows))
        states, timestep = _step(env, _states(env, rows), _actions(actions), keys)
        return Steps(
            _rows(states)[:, : rows.shape[1]],
            np.asarray(timestep.observation),
            np.asarray(timestep.reward),
            np.asarray(timestep.terminated),
        )


def play(env: Any, rows: Array, actions: Array) -> Array:
    """Play ours from every row with actions `[num_steps, n]`, in float64; return `[num_steps, n, fields]`."""
    with precision(True):
        return _rows(_play(env, _states(env, rows), _actions(actions), funcenv.key(0)))[..., : rows.shape[1]]


def around(value: float, signs: tuple[int, ...] = (1,)) -> list[float]:
    """Return a number and the two floats next to it, with each of the signs."""
    beside = [value, np.nextafter(value, np.inf), np.nextafter(value, -np.inf)]
    return [sign * number for sign in signs for number in beside]


def with_constants(env: Any, **constants: Any) -> Any:
    """Set constants of a Gymnasium environment, which must have them already, and return it."""
    for name, value in constants.items():
        assert hasattr(env, name)
        setattr(env, name, value)
    return env


def single(rows: Array) -> Array:
    """Round floats to float32 and return float64, so that both sides start from the same numbers."""
    return rows.astype(np.float32).astype(np.float64) if rows.dtype.kind == "f" else rows


def gymnasium_step(env: Any, rows: Array, actions: Array, before: Callable[[], None] = lambda: None) -> Steps:
    """Take one step of Gymnasium from every row; `before` runs ahead of each."""
    columns: list[list[Any]] = [[], [], [], []]
    for row, action in zip(rows, actions.tolist(), strict=True):
        before()
        env.state = row.copy()
        observation, reward, terminated, _, _ = env.step(np.array(action) if np.ndim(action) else action)
        for column, value in zip(columns, (env.state, observation, reward, terminated), strict=True):
            column.append(np.array(value))
    return Steps(*map(np.array, columns))


def gymnasium_play(env: Any, rows: Array, actions: Array, before: Callable[[], None] = lambda: None) -> Array:
    """Play Gymnasium from every row with actions `[num_steps, n]`; return `[num_steps, n, fields]`."""
    trajectory = []
    for row in actions:
        rows = gymnasium_step(env, rows, row, before).state
        trajectory.append(rows)
    return np.array(trajectory)


def assert_close(actual: Array, expected: Array, tolerance: float) -> None:
    """Assert equality to an absolute tolerance below 1 and a relative one above."""
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    excess = np.abs(actual - expected) / np.maximum(1, np.abs(expected))
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    assert excess[worst] <= tolerance, f"{worst}: {actual[worst]} against {expected[worst]}"


def assert_same_steps(ours: Steps, theirs: Steps, tolerance: float) -> None:
    """Assert equal states and rewards to a tolerance, observations to float32, and flags exactly."""
    assert_close(ours.state, theirs.state, tolerance)
    assert_close(ours.reward, theirs.reward, tolerance)
    assert_close(ours.observation, theirs.observation, max(tolerance, 1.2e-7))
    assert ours.observation.dtype == np.float32
    np.testing.assert_array_equal(ours.terminated, theirs.terminated)


def assert_steps_are_gymnasiums(
    env: Any, theirs: Any, rows: Array, actions: Array, before: Callable[[], None] = lambda: None, x64: bool = True
) -> Steps:
    """Assert that one step from every row is Gymnasium's, and return the latter; in float32 both begin rounded."""
    if not x64:
        rows, actions = single(rows), single(actions)
    expected = gymnasium_step(theirs, rows, actions, before)
    assert_same_steps(step(env, rows, actions, x64), expected, 1e-9 if x64 else 2e-6)
    return expected


def assert_plays_are_gymnasiums(
    env: Any, theirs: Any, rows: Array, actions: Array, before: Callable[[], None] = lambda: None
) -> Array:
    """Assert that whole trajectories are Gymnasium's, and return the latter."""
    expected = gymnasium_play(theirs, rows, actions, before)
    assert_close(play(env, rows, actions), expected, 1e-6)
    return expected


def assert_mirrored(env: Any, rows: Array, actions: Array, mirrored_actions: Array) -> tuple[Steps, Steps]:
    """Assert that the mirror image of a step is the step of the mirror image, bit for bit, and return both."""
    steps, mirrored = step(env, rows, actions), step(env, -rows, mirrored_actions)
    np.testing.assert_array_equal(steps.state, -mirrored.state)
    np.testing.assert_array_equal(steps.terminated, mirrored.terminated)
    return steps, mirrored


def assert_acts_as_nearest(env: Any, row: Any) -> tuple[Array, Array]:
    """Assert that integers beyond the actions 0, 1, 2 act as the nearest, and return the states after 0 and 2."""
    state = step(env, np.tile(row, (6, 1)), np.array([-7, -1, 0, 2, 3, 100])).state
    assert len(np.unique(state[:3], axis=0)) == len(np.unique(state[3:], axis=0)) == 1
    return state[0], state[3]


def assert_positive(env_class: Any, name: str) -> None:
    """Assert that a constant must be a finite number above 0, in every environment of a batch."""
    for value in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=f"{name} must be a finite number above 0, got"):
            env_class(**{name: value})
        with pytest.raises(ValueError, match=name):
            env_class().replace(**{name: jnp.array([1.0, value])})


def assert_uniform(sample: Array, low: float, high: float) -> None:
    """Assert that a sample is uniform on `[low, high)`, by Kolmogorov and Smirnov's test."""
    assert sample.min() >= low
    assert sample.max() < high
    assert scipy.stats.kstest(sample, scipy.stats.uniform(low, high - low).cdf).pvalue > 0.01


def assert_independent(columns: Array) -> None:
    """Assert that columns of a sample do not correlate."""
    assert np.abs(np.corrcoef(columns.T) - np.eye(columns.shape[1])).max() < 0.04


def initial_rows(env: Any, number: int = 10_000) -> Array:
    """Return initial states, as rows."""
    with precision(False):
        return _rows(jax.jit(jax.vmap(env.initial))(jax.random.split(funcenv.key(7), number)))


def assert_same_mean(ours: Array, theirs: Array) -> None:
    """Assert that means differ by at most three standard errors."""
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    error = np.sqrt(ours.var() / len(ours) + theirs.var() / len(theirs))
    assert abs(ours.mean() - theirs.mean()) <= 3 * error, (ours.mean(), theirs.mean(), error)


def random_returns(id: str, number: int = 10_000) -> Array:
    """Compute returns of the random policy in a registered environment."""
    env = funcenv.make(id)
    evaluation = funcenv.evaluate(env, funcenv.random_policy(env), number, funcenv.key(1))
    assert bool(evaluation.finished.all())
    return np.asarray(evaluation.episode_return)


def assert_gradients_finite(env: Any, rows: Array, actions: Array) -> None:
    """Assert finite gradients by parameters, state and, where it is a float, action; and that the state matters."""
    with precision(False):
        leaves = jax.tree.leaves(_gradients(env, _states(env, rows), _actions(actions), funcenv.key(0)))
    assert all(np.isfinite(leaf).all() for leaf in leaves)
    assert sum(np.abs(leaf).sum() for leaf in leaves) > 0


def assert_parameters_batch(env: Any, row: Array, action: Any) -> None:
    """Assert that a batch that varies one parameter at a time equals single environments with each of them."""
    leaves, treedef = jax.tree.flatten(env)
    factors = 1 + 0.1 * np.eye(len(leaves))
    envs = [
        jax.tree.unflatten(treedef, [leaf * factor for leaf, factor in zip(leaves, line, strict=True)])
        for line in factors.tolist()
    ]
    rows, actions = np.tile(row, (len(leaves), 1)), np.array([action] * len(leaves))
    with precision(True):
        batch = jax.tree.map(lambda *column: jnp.array(column, float), *envs)
        keys = jnp.repeat(jax.random.split(funcenv.key(0), 1), len(leaves))  # of `step` from a single row
        states, timestep = jax.jit(jax.vmap(type(env).step))(batch, _states(env, rows), _actions(actions), keys)
    singles = [step(single, row[None], np.array([action])) for single in envs]
    assert_close(_rows(states)[:, : len(row)], np.concatenate([single.state for single in singles]), 1e-9)
    assert_close(timestep.reward, np.concatenate([single.reward for single in singles]), 1e-9)


def assert_same_spec(id: str, env: Any, reference: Any) -> None:
    """Assert that the registered limit, threshold and spaces are Gymnasium's."""
    ours, theirs = funcenv.spec(id), gymnasium.spec(id)
    assert (ours.max_episode_steps, ours.reward_threshold) == (theirs.max_episode_steps, theirs.reward_threshold)
    assert repr(env.action_space) == repr(reference.action_space)
    assert env.observation_space.dtype == reference.observation_space.dtype
    np.testing.assert_array_equal(env.observation_space.low, reference.observation_space.low)
    np.testing.assert_array_equal(env.observation_space.high, reference.observation_space.high)


def _states(env: Any, rows: Array) -> Any:
    treedef = jax.tree.structure(jax.eval_shape(env.initial, funcenv.key(0)))
    columns = [*rows.T, *np.zeros((treedef.num_leaves - rows.shape[1], len(rows)))]
    return jax.tree.unflatten(treedef, [jnp.asarray(column, float) for column in columns])


def _actions(actions: Array) -> jax.Array:
    return jnp.asarray(actions, float if actions.dtype.kind == "f" else jnp.int32)


def _rows(states: Any) -> Array:
    return np.stack([np.asarray(leaf) for leaf in jax.tree.leaves(states)], axis=-1)
