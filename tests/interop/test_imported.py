"""Environments of other libraries, by a stand-in with all of their habits; `benchmarks/interop.py` runs them."""

import importlib.metadata
import sys
import types
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import FuncVectorEnv
from funcenv.adapters import FunctionalEnv
from funcenv.interop import ImportedEnv
from funcenv.interop.imported import Outcome, Source, import_library
from funcenv.interop.jumanji import plain_observation
from funcenv.spaces import Box, Discrete


class Walk(Source):
    """A walk whose states start as Python numbers, hold a random key, and mix integers and floats."""

    def reset(self, params, key):
        state = {"position": 0, "time": 0, "key": key, "flag": False}
        return Outcome(state, jnp.zeros(2, int))

    def step(self, params, state, action, key):
        own, use = jax.random.split(state["key"])
        position = (
            state["position"] + params["pace"] * (2 * action - 1) + jax.random.normal(use) + jax.random.normal(key)
        )
        later = {"position": position, "time": state["time"] + 1, "key": own, "flag": position > 0}
        observation = jnp.array([position, later["time"]])
        return Outcome(later, observation, 1, position > 3, later["time"] >= 7, {"side": position > 0, "half": 0.5})


def imported(source):
    return ImportedEnv({"pace": 0.5}, source(None, Box(-jnp.inf, jnp.inf, (2,)), Discrete(2), "walk"))


@pytest.fixture
def walk():
    return imported(Walk)


def test_a_trajectory_is_the_librarys_own_with_the_same_keys(walk):
    source, params = walk.source, walk.params
    keys = jax.random.split(funcenv.key(3), 12)
    ours, theirs = jax.jit(walk.initial)(keys[0]), source.reset(params, keys[0]).state
    transition = jax.jit(walk.transition)
    for i, key in enumerate(keys[1:]):
        ours = transition(ours, jnp.int32(i % 2), key)
        with jax.numpy_dtype_promotion("standard"):
            outcome = jax.jit(source.step)(params, theirs, jnp.int32(i % 2), key)
        theirs = outcome.state
        np.testing.assert_array_equal(ours.observation, outcome.observation)
        np.testing.assert_array_equal(ours.state["position"], theirs["position"])
        np.testing.assert_array_equal(ours.state["key"].words, jax.random.key_data(theirs["key"]))
        flags = bool(outcome.terminated), bool(outcome.truncated)
        assert (bool(walk.terminal(ours)), bool(walk.truncated(ours))) == flags


def test_states_keep_their_dtypes_and_no_weak_types(walk):
    first = walk.initial(funcenv.key(0))
    later = walk.transition(first, jnp.int32(1), funcenv.key(1))
    assert jax.tree.map(jax.typeof, first) == jax.tree.map(jax.typeof, later)
    assert not any(jax.typeof(leaf).weak_type for leaf in jax.tree.leaves(first))
    assert first.state["position"].dtype == jnp.float32 and first.info["side"].dtype == bool


def test_the_checker_finds_nothing(walk):
    assert funcenv.check_func_env(walk, funcenv.key(0)) == []


def test_rollouts_and_stateful_environments_run_it(walk):
    venv = FuncVectorEnv(walk, num_envs=4)
    _, trajectory, statistics = funcenv.rollout(venv, funcenv.random_policy(walk), funcenv.key(0), num_steps=30)
    assert int(statistics.count) == int(trajectory.timestep.done.sum()) > 8
    env = FunctionalEnv(walk)
    env.reset(seed=0)
    observation, reward, _, _, info = env.step(1)
    assert observation.dtype == np.float32 and reward == 1.0 and info["half"] == 0.5


def test_parameters_batch(walk):
    envs = jax.vmap(lambda pace: walk.replace(params={"pace": pace}))(jnp.array([0.0, 100.0]))
    state, key = walk.initial(funcenv.key(0)), funcenv.key(1)
    positions = jax.vmap(lambda env: env.transition(state, jnp.int32(1), key).state["position"])(envs)
    np.testing.assert_allclose(positions[1] - positions[0], 100.0, rtol=1e-5)


def test_the_same_walk_in_double_precision(walk):
    with jax.enable_x64(True):
        state = walk.transition(walk.initial(funcenv.key(0)), jnp.int32(1), funcenv.key(1))
        assert state.reward.dtype == jnp.float64 and state.observation.dtype == jnp.float32


def test_a_state_whose_structure_changes_is_refused():
    class Growing(Walk):
        def step(self, params, state, action, key):
            return super().step(params, state, action, key)._replace(state={**state, "more": 1})

        def __str__(self):
            return "Growing"

    with pytest.raises(ValueError, match="the step of Growing must return a state of the structure of the first one"):
        imported(Growing).initial(funcenv.key(0))


def test_named_tuples_become_dictionaries():
    class Grid(NamedTuple):
        board: int
        mask: int

    assert plain_observation(Grid(Grid(1, 2), 3)) == {"board": {"board": 1, "mask": 2}, "mask": 3}


@pytest.mark.parametrize("name", ["brax", "gymnax", "jumanji", "navix", "pgx", "xminigrid"])
def test_a_library_that_is_missing_is_named_with_the_command(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=rf'this needs {name}: pip install "{name}>='):
        funcenv.make(f"{name}/Something-v0")
    with pytest.raises(ModuleNotFoundError, match="this needs"):
        getattr(funcenv, f"from_{name}")("Something-v0")


def test_a_library_that_is_too_old_is_named_with_both_versions(monkeypatch):
    monkeypatch.setitem(sys.modules, "oldlib", types.ModuleType("oldlib"))
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.9.3")
    with pytest.raises(ImportError, match=r"this needs oldlib>=1\.0, found 0\.9\.3"):
        import_library("oldlib", (1, 0))
    assert import_library("oldlib", (0, 9)).__name__ == "oldlib"
