"""`funcenv verify --against gymnasium`: the same steps, in funcenv and in the Gymnasium that is installed.

The random numbers of the two differ, so both are put in the same state and play the same actions. Tabular environments
are compared by their tables of transitions. Box2D is left out: Gymnasium cannot put its worlds in a given state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from funcenv.adapters.registration import make as make_stateful
from funcenv.random import key as new_key
from funcenv.registry import make
from funcenv.struct import NDArray
from funcenv.verify import Outcome, Result

NUM_STEPS = 64
TOLERANCE = 1e-5
"""The largest difference after one step, in relation to the number or absolute, that counts as rounding to float32."""
_CONTROL = {
    "CartPole-v1": 4,
    "MountainCar-v0": 2,
    "MountainCarContinuous-v0": 2,
    "Acrobot-v1": 4,
    "Pendulum-v1": 2,
}  # how many fields of the state are Gymnasium's `state`
_TABULAR = ("FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "CliffWalkingSlippery-v1", "Taxi-v4")
_PENDULUMS = ("InvertedDoublePendulum-v5", "InvertedPendulum-v5")
_ROBOTS = ("Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "Pusher", "Reacher", "Swimmer", "Walker2d")
_MUJOCO = (*(f"{name}-v5" for name in _ROBOTS), *_PENDULUMS)

REFERENCED = (*_CONTROL, *_TABULAR, *_MUJOCO, "ALE/Pong-v5")
"""The ids that are compared with Gymnasium; any game of Atari can be."""


class _Step(NamedTuple):
    """What one step led to."""

    observation: NDArray
    reward: float
    terminated: bool


def verify_against_gymnasium(id: str) -> Result:
    """Compare an environment with Gymnasium's of the same id.

    Returns:
        `EXACT` if observations, as float32, are equal in every bit; `ROUNDING` if they and the rewards differ by at
        most `TOLERANCE` in each step; else `DIFFERENT`, with the first step. `MISSING` without the packages, or if the
        installed Gymnasium lacks the id.

    >>> verify_against_gymnasium("CliffWalking-v1").outcome.value
    'equal bit for bit'
    """
    try:
        if id in _TABULAR:
            return _compare_tables(id)
        if id in _CONTROL:
            return _compare_steps(id, _play_control(id))
        if id in _MUJOCO:
            return _compare_steps(id, _play_mujoco(id))
        if id.startswith("ALE/"):
            return _compare_steps(id, _play_atari(id))
    except (ImportError, gymnasium.error.DependencyNotInstalled, gymnasium.error.UnregisteredEnv) as error:
        return Result(id, Outcome.MISSING, reason=str(error).partition("\n")[0])
    return Result(id, Outcome.UNRECORDED, reason="it is not compared with Gymnasium here; the test suite does")


def _compare_tables(id: str) -> Result:
    ours, theirs = make_stateful(id).unwrapped.P, gymnasium.make(id).unwrapped.P  # type: ignore[attr-defined]
    for state, action in itertools.product(theirs, range(len(theirs[0]))):
        if not np.allclose(_merged(ours[state][action]), _merged(theirs[state][action]), atol=TOLERANCE):
            return Result(id, Outcome.DIFFERENT, reason=f"the outcomes of action {action} in state {state}")
    return Result(id, Outcome.EXACT)


def _merged(outcomes: Any) -> list[tuple[float, ...]]:
    """Return the outcomes of an action, sorted, with the probabilities of equal ones added."""
    total: dict[tuple[float, ...], float] = {}
    for probability, *rest in outcomes:
        outcome = tuple(float(value) for value in rest)
        total[outcome] = total.get(outcome, 0.0) + float(probability)
    return [(*outcome, total[outcome]) for outcome in sorted(total) if total[outcome] > 0]


def _compare_steps(id: str, pairs: Iterator[tuple[_Step, _Step]]) -> Result:
    largest, first = 0.0, None
    for number, (ours, theirs) in enumerate(pairs, start=1):
        expected = np.asarray(theirs.observation).astype(ours.observation.dtype)
        if first is None and not np.array_equal(ours.observation, expected):
            first = number
        here, there = (np.append(one.observation.astype(float).ravel(), one.reward) for one in (ours, theirs))
        largest = max(largest, float(np.max(np.abs(here - there))))
        if not np.allclose(here, there, TOLERANCE, TOLERANCE) or ours.terminated != theirs.terminated:
            return Result(id, Outcome.DIFFERENT, float(f"{largest:.3g}"), first or number, number)
    if first is None:
        return Result(id, Outcome.EXACT)
    return Result(id, Outcome.ROUNDING, float(f"{largest:.3g}"), first)


def _actions(env: Any) -> NDArray:
    space = env.action_space
    space.seed(0)
    return np.stack([space.sample() for _ in range(NUM_STEPS)])


def _play_control(id: str) -> Iterator[tuple[_Step, _Step]]:
    """Yield single steps from the states of one episode of ours after another."""
    env, theirs = make(id).unwrapped, gymnasium.make(id).unwrapped
    reset, step, key = jax.jit(env.reset), jax.jit(env.step), new_key(0)
    theirs.reset(seed=0)
    state, _ = reset(key)
    for number, action in enumerate(_actions(theirs)):
        theirs.state = np.array([float(leaf) for leaf in jax.tree.leaves(state)[: _CONTROL[id]]])  # type: ignore[attr-defined]
        state, timestep = step(state, jnp.asarray(action), key)
        yield _ours(timestep), _theirs(theirs.step(action))
        if timestep.done:
            theirs.reset(seed=number)
            state, _ = reset(jax.random.fold_in(key, number))


def _play_mujoco(id: str) -> Iterator[tuple[_Step, _Step]]:
    env, theirs = make(id).unwrapped, gymnasium.make(id).unwrapped
    theirs.reset(seed=0)
    data = theirs.data  # type: ignore[attr-defined]
    qpos, qvel = np.float32(data.qpos), np.float32(data.qvel)
    theirs.set_state(qpos.astype(float), qvel.astype(float))  # type: ignore[attr-defined]
    step = jax.jit(env.step)
    state = jax.jit(env.state_at)(qpos, qvel)  # type: ignore[attr-defined]
    for action in _actions(theirs):
        state, timestep = step(state, jnp.asarray(action), new_key(0))
        yield _ours(timestep), _theirs(theirs.step(action))
        if timestep.terminated:
            return


def _play_atari(id: str) -> Iterator[tuple[_Step, _Step]]:
    env = make(id, repeat_action_probability=0.0)
    theirs = gymnasium.make(f"ale_py:{id}", repeat_action_probability=0.0).unwrapped  # imports ale_py first
    theirs.reset(seed=0)
    step = jax.jit(env.step)
    state, _ = jax.jit(env.reset)(new_key(0))
    for action in _actions(theirs):
        state, timestep = step(state, jnp.asarray(action, jnp.int32), new_key(0))
        yield _ours(timestep), _theirs(theirs.step(action))
        if timestep.terminated:
            return


def _ours(timestep: Any) -> _Step:
    found = jax.device_get((timestep.observation, timestep.reward, timestep.terminated))
    return _Step(found[0], float(found[1]), bool(found[2]))


def _theirs(stepped: Any) -> _Step:
    return _Step(np.asarray(stepped[0]), float(stepped[1]), bool(stepped[2]))
