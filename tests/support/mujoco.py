"""Parity of the MuJoCo environments: Gymnasium's and funcenv's are put in the same state, and play the same actions."""

import ctypes.util
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.host import from_words, to_words
from tests.support.parity import Array

_PENDULUMS = ("InvertedDoublePendulum", "InvertedPendulum")
_ROBOTS = ("Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "Pusher", "Reacher", "Swimmer", "Walker2d")
NAMES = (*_PENDULUMS, *_ROBOTS)
OPENGL = next((name.lower() for name in ("OSMesa", "EGL") if ctypes.util.find_library(name) is not None), None)
"""The value of `MUJOCO_GL` with which MuJoCo draws here without a display, or None."""


class Played(NamedTuple):
    """What some steps led to; every field has a leading axis for the steps."""

    physics: Array  # time, qpos, qvel and the warm start
    observation: Array
    reward: Array
    terminated: Array
    info: dict[str, Array]


def ours(name: str, **kwargs: Any) -> Any:
    """Return funcenv's environment without a time limit."""
    return funcenv.make(f"{name}-v5", **kwargs).unwrapped


def reference(name: str, **kwargs: Any) -> Any:
    """Return Gymnasium's environment without wrappers."""
    return gymnasium.make(f"{name}-v5", **kwargs).unwrapped


def random_actions(env: Any, num_steps: int, seed: int = 0) -> Array:
    """Return random actions `[num_steps, nu]`."""
    low, high = env.action_space.low, env.action_space.high
    return np.random.default_rng(seed).uniform(low, high, (num_steps, *low.shape)).astype(np.float32)


def state_of(env: Any, reference: Any) -> Any:
    """Return our state that equals Gymnasium's after a reset, also without 64-bit floats."""
    data = reference.data
    state = jax.jit(env.state_at)(data.qpos.copy(), data.qvel.copy())
    row = from_words(np.asarray(state.physics)).copy()
    joints = np.concatenate([data.qpos, data.qvel])
    row[1 : 1 + len(joints)] = joints
    if env.tracked == "com":
        mass = reference.model.body_mass
        row[-2:] = ((mass @ data.xipos) / mass.sum())[:2]
    elif env.tracked != "":
        row[-2:] = data.xpos[env.tracked][:2]
    return state.replace(physics=jnp.asarray(to_words(row)))


@jax.jit
def _play(env: Any, state: Any, actions: Any) -> Any:
    def step(state: Any, action: Any) -> Any:
        state, timestep = env.step(state, action, jax.random.key(0))
        return state, (state, timestep)

    return jax.lax.scan(step, state, actions)[1]


def play_ours(env: Any, state: Any, actions: Array) -> Played:
    """Play ours from a state."""
    states, timestep = jax.device_get(_play(env, state, actions))
    size = env.model.mjmodel.nq + 2 * env.model.mjmodel.nv + 1
    info = {name: values for name, values in timestep.info.items() if name != "unstable"}
    assert not timestep.info["unstable"].any()
    physics = from_words(states.physics)[:, :size]
    return Played(physics, timestep.observation, timestep.reward, timestep.terminated, info)


def play_reference(env: Any, actions: Array) -> Played:
    """Play Gymnasium's from its present state."""
    steps = []
    for action in actions:
        observation, reward, terminated, _, info = env.step(action)
        row = np.concatenate([[env.data.time], env.data.qpos, env.data.qvel, env.data.qacc_warmstart])
        steps.append(Played(row, observation, np.float64(reward), np.bool_(terminated), info))
    return jax.tree.map(lambda *values: np.stack([np.asarray(value) for value in values]), *steps)


def assert_same(ours: Played, theirs: Played, tolerance: float) -> None:
    """Assert bit-equal physics and flags, and rewards and infos to a tolerance."""
    np.testing.assert_array_equal(ours.physics, theirs.physics)
    np.testing.assert_array_equal(ours.terminated, theirs.terminated)
    assert ours.info.keys() == theirs.info.keys()
    np.testing.assert_allclose(ours.reward, theirs.reward, rtol=tolerance, atol=tolerance)
    for name, values in theirs.info.items():
        np.testing.assert_allclose(ours.info[name], values, rtol=tolerance, atol=tolerance, err_msg=name)
