"""Programs of rollouts are kept within bounds, however many policies and lengths there are."""

import functools
import gc
import importlib

import jax
import numpy as np
import pytest

import funcenv
from funcenv import adapters
from funcenv._compile import single_kernel
from funcenv._compile.compiled_kinds import CompiledKinds

PLAY = importlib.import_module("funcenv._compile.rollout.play")  # a function of the package has its name
KEPT, CALLS = 2, 6


def num_programs():
    """Return the number of compiled programs that are alive."""
    gc.collect()
    return len(jax.devices()[0].client.live_executables())


def growth(call):
    """Return by how many the living programs have grown after each call, without those of the first ones."""
    call(0)
    call(1)
    before, grown = num_programs(), []
    for index in range(2, CALLS):
        call(index)
        grown.append(num_programs() - before)
    return grown


@pytest.fixture
def venv():
    return funcenv.FuncVectorEnv(funcenv.make("FrozenLake-v1", is_slippery=False), 2)


@pytest.mark.fast_path
def test_kernels_of_new_policies_are_bounded(venv, monkeypatch):
    bounded = functools.lru_cache(maxsize=KEPT)(PLAY.verified_rollout.__wrapped__)
    monkeypatch.setattr(PLAY, "verified_rollout", bounded)
    key = funcenv.key(0)
    assert max(growth(lambda index: funcenv.rollout(venv, lambda observation, key: np.int32(1), key, 3))) <= 0
    assert PLAY.verified_rollout.cache_info().currsize == KEPT


@pytest.mark.parametrize("what", ["policies", "steps"])
@pytest.mark.dear
def test_plain_programs_of_new_policies_and_lengths_are_bounded(venv, monkeypatch, what):
    kinds = CompiledKinds(KEPT, PLAY.plain_program.clear_cache)
    monkeypatch.setattr(PLAY, "_plain_kinds", kinds)
    policy, key = funcenv.random_policy(venv), funcenv.key(0)

    def call(index):
        act = policy if what == "steps" else lambda observation, key: np.int32(1)
        return funcenv.rollout(venv, act, key, 3 + index if what == "steps" else 3)

    assert max(growth(call)) <= KEPT and len(kinds) <= KEPT


@pytest.mark.fast_path
def test_programs_of_evaluations_in_chunks_are_bounded(venv, monkeypatch):
    monkeypatch.setattr(single_kernel, "MAX_EQUATIONS", 3)
    monkeypatch.setattr(PLAY, "MAX_CHUNK_ENVS", 2)
    monkeypatch.setattr(PLAY._plain_kinds, "_maximum", KEPT)
    key = funcenv.key(0)
    assert max(growth(lambda index: funcenv.evaluate(venv.env, lambda observation, key: np.int32(1), 3, key))) <= KEPT


@pytest.mark.parametrize("kernels", [pytest.param(True, marks=pytest.mark.fast_path), False])
@pytest.mark.dear
def test_programs_of_blocks_of_new_lengths_are_bounded(monkeypatch, kernels):
    monkeypatch.setattr("funcenv.adapters.engine.programs_vector.MAX_ROLLOUT_LENGTHS", KEPT)
    envs = adapters.make_vec("FrozenLake-v1", 3 if kernels else 2, is_slippery=False, max_episode_steps=7)
    envs.reset(seed=0)
    expected = [envs.step(np.ones(envs.num_envs, int))[0] for _ in range(3)]
    envs.reset(seed=0)
    blocks = [np.ones((3 + index, envs.num_envs), int) for index in range(CALLS)]
    np.testing.assert_array_equal(envs.rollout(blocks[0])[0], expected)
    assert max(growth(lambda index: envs.rollout(blocks[index]))) <= KEPT
    envs.reset(seed=0)
    np.testing.assert_array_equal(envs.rollout(blocks[0])[0], expected)
