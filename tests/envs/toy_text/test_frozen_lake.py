"""Frozen Lake: its maps, its parameters, and what it refuses. The rules are checked in test_tabular.py."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

import funcenv
from funcenv.envs import FrozenLake, generate_random_map
from funcenv.envs.toy_text.frozen_lake_maps import MAPS, has_path


def test_the_defaults_are_gymnasiums() -> None:
    env = FrozenLake()
    assert env.tiles == MAPS["4x4"] == tuple(b"".join(row).decode() for row in FrozenLakeEnv().desc)
    assert (env.is_slippery, env.success_rate, env.reward_schedule) == (True, 1 / 3, (1.0, 0.0, 0.0))
    assert repr(env.observation_space) == "Discrete(16)"
    assert repr(env.action_space) == "Discrete(4)"


def test_desc_goes_before_map_name() -> None:
    rows = generate_random_map(size=5, seed=3)
    env = FrozenLake(desc=rows, map_name="8x8")
    assert env.tiles == tuple(rows)
    assert (env.nrow, env.ncol, env.observation_space.n) == (5, 5, 25)
    assert env.replace(desc=None).tiles == MAPS["8x8"]
    assert funcenv.make("FrozenLake-v1", desc=np.array([list(row) for row in rows])).unwrapped.tiles == tuple(rows)


def test_without_a_map_one_is_drawn_and_kept() -> None:
    env = FrozenLake(map_name=None)
    assert (env.nrow, env.ncol) == (8, 8)
    assert has_path(env.tiles)
    assert env.replace(success_rate=0.5).tiles == env.tiles


def test_equal_maps_are_one_program() -> None:
    traces = []

    @jax.jit
    def start(env: Any, key: jax.Array) -> jax.Array:
        traces.append(env)
        return env.reset(key)[1].observation

    for env in FrozenLake(desc=["SF", "FG"]), FrozenLake(desc=[b"SF", b"FG"], success_rate=0.9):
        start(env, funcenv.key(0))
    assert len(traces) == 1


def test_nothing_happens_after_the_end() -> None:
    env = FrozenLake(reward_schedule=(1.0, -1.0, -0.1))
    for number in (5, 15):
        for action in range(4):
            state, timestep = env.step(env.decode(number), jnp.int32(action), funcenv.key(action))
            assert int(timestep.observation) == number
            assert bool(timestep.terminated)
            assert float(timestep.reward) == 0
            assert float(state.prob) == 1


@pytest.mark.parametrize(("action", "same_as"), [(4, 0), (-1, 3), (7, 3)])
def test_actions_beyond_the_space_are_taken_modulo_4(action: int, same_as: int) -> None:
    env = FrozenLake(is_slippery=False)
    for number in range(16):
        state = env.decode(number)
        next_number, expected = (
            int(env.encode(env.transition(state, jnp.int32(a), funcenv.key(0)))) for a in (action, same_as)
        )
        assert next_number == expected


def test_parameters_can_be_batched() -> None:
    rates = np.array([0.0, 1.0], np.float32)
    env = FrozenLake(success_rate=rates, reward_schedule=(np.array([1.0, 2.0], np.float32), -1.0, 0.0))
    venv = funcenv.FuncVectorEnv(env, 2)

    # From the start downwards: with a rate of 0 always to the side, with 1 always down.
    vstate, _ = venv.reset(funcenv.key(0))
    vstate, timestep = venv.step(vstate, jnp.ones(2, jnp.int32))
    assert int(timestep.observation[0]) in (0, 1)
    assert int(timestep.observation[1]) == 4

    best = jax.vmap(lambda goal: FrozenLake(reward_schedule=(goal, 0.0, 0.0)).P.reward.max())(jnp.array([1.0, 2.0]))
    np.testing.assert_array_equal(best, [1, 2])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"success_rate": 1.1}, ValueError, r"success_rate must lie in \[0, 1\], got 1.1"),
        ({"success_rate": -0.1}, ValueError, "got -0.1"),
        ({"success_rate": float("nan")}, ValueError, "got nan"),
        ({"success_rate": np.array([0.5, 1.5])}, ValueError, "must lie in"),
        ({"map_name": "5x5"}, ValueError, "must be one of 4x4, 8x8, got '5x5'; pass other maps as desc"),
        ({"desc": ["SFF", "FG"]}, ValueError, "same length"),
        ({"desc": ["FFF", "FFG"]}, ValueError, "at least one start"),
        ({"desc": []}, ValueError, "at least one row"),
        ({"desc": "SFFG"}, TypeError, "a list of rows"),
        ({"reward_schedule": (1, 0)}, ValueError, "three rewards"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        FrozenLake(**arguments)
    with pytest.raises(error, match=message):
        funcenv.make("FrozenLake-v1", **arguments)
