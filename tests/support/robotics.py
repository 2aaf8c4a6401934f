"""Parity of goal robots: Gymnasium-Robotics' and funcenv's are put in the same state, and play the same actions."""

import contextlib
import io
import tempfile
import types
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import funcenv
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.host import from_words, to_words
from funcenv.registry import all_specs
from tests.support.parity import Array

_NAMESPACE = "robotics/"


def _import_robotics() -> Any:
    """Import the package, which prints notes on other environments, and register its ids."""
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import gymnasium_robotics

        gymnasium.register_envs(gymnasium_robotics)
    return gymnasium_robotics


robotics = _import_robotics()


class _PlainMujoco(types.SimpleNamespace):
    """The module `mujoco`, with kinds of joints as integers.

    The package asks whether an entry of `jnt_type`, a NumPy integer, is in a tuple of `mujoco.mjtJoint`. In MuJoCo 3.17
    it is not, so that the package stops at its own assertion.
    """

    mjtJoint = types.SimpleNamespace(mjJNT_FREE=0, mjJNT_BALL=1, mjJNT_SLIDE=2, mjJNT_HINGE=3)

    def __getattr__(self, name: str) -> Any:
        return getattr(mujoco, name)


@contextlib.contextmanager
def readable_joints() -> Iterator[None]:
    """Let the package find the kinds of joints in MuJoCo 3.17."""
    from gymnasium_robotics.utils import mujoco_utils

    before, mujoco_utils.mujoco = mujoco_utils.mujoco, _PlainMujoco()
    try:
        yield
    finally:
        mujoco_utils.mujoco = before


@contextlib.contextmanager
def _own_temporary_folder() -> Iterator[None]:
    """Keep the files in which the package writes its mazes, and which it leaves behind, in a folder that is removed."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = before


def ids(*names: str) -> list[str]:
    """Return the ids of funcenv whose names begin with one of some words."""
    return [id for id in all_specs() if id.startswith(tuple(f"{_NAMESPACE}{name}" for name in names))]


def ours(id: str, **kwargs: Any) -> Any:
    """Return funcenv's environment without a time limit."""
    return funcenv.make(id, **kwargs).unwrapped


def reference(id: str, **kwargs: Any) -> Any:
    """Return the package's environment without wrappers."""
    with readable_joints(), _own_temporary_folder(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gymnasium.make(id.removeprefix(_NAMESPACE), **kwargs).unwrapped


def row(data: Any) -> Array:
    """Return the physics of the package's simulation as our states hold it."""
    return np.concatenate([[data.time], data.qpos, data.qvel, data.act, data.qacc_warmstart])


def state_of(env: Any, reference: Any, variables: Any) -> Any:
    """Return our state that equals the package's after a reset, also without 64-bit floats."""
    data = reference.data
    state = jax.jit(env.state_at)(Start(qpos=data.qpos.copy(), qvel=data.qvel.copy(), variables=variables))
    return state.replace(physics=jnp.asarray(to_words(row(data))))


def prepared(id: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return our environment, the package's after a reset, what it observes, and our state that equals its own."""
    env, theirs = ours(id), reference(id)
    with readable_joints():
        first, _ = theirs.reset(seed=seed)
    return env, theirs, first, state_of(env, theirs, jnp.asarray(theirs.goal))


class Played(NamedTuple):
    """What some steps led to; every field has a leading axis for the steps."""

    physics: Array
    observation: dict[str, Array]
    reward: Array
    terminated: Array
    info: dict[str, Array]


def random_actions(env: Any, num_steps: int, seed: int = 0) -> Array:
    """Return random actions `[num_steps, size]`, each of which holds for some steps, so that robots get somewhere."""
    random, space = np.random.default_rng(seed), env.action_space
    drawn = random.uniform(space.low, space.high, (num_steps, *space.shape)).astype(np.float32)
    return np.repeat(drawn, 5, axis=0)[:num_steps]


@jax.jit
def _play(env: Any, state: Any, actions: Any) -> Any:
    def step(state: Any, action: Any) -> Any:
        state, timestep = env.step(state, action, jax.random.key(0))
        return state, (state.physics, timestep)

    return jax.lax.scan(step, state, actions)[1]


def play_ours(env: Any, state: Any, actions: Array) -> Played:
    """Play ours from a state, also beyond terminations."""
    physics, timestep = jax.device_get(_play(env, state, actions))
    assert not timestep.truncated.any() and not timestep.info["unstable"].any()
    info = {name: values for name, values in timestep.info.items() if name != "unstable"}
    return Played(from_words(physics), timestep.observation, timestep.reward, timestep.terminated, info)


def play_reference(env: Any, actions: Array) -> Played:
    """Play the package's from its present state, also beyond terminations."""
    steps = []
    with readable_joints():
        for action in actions:
            observation, reward, terminated, truncated, info = env.step(action.copy())
            assert not truncated
            steps.append(Played(row(env.data), observation, np.float64(reward), np.bool_(terminated), info))
    return jax.tree.map(lambda *values: np.stack([np.asarray(value) for value in values]), *steps)
