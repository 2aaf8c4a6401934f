"""Parity of the suite: dm_control's tasks and funcenv's are put in the same state, and play the same actions."""

import os
import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.envs.mujoco.mujoco_task import Start
from funcenv.host import from_words, to_words
from funcenv.registry import registry
from tests.support.parity import Array

_PREFIX, _SUFFIX = "dm_control/", "-v0"


def _import_suite() -> Any:
    """Import dm_control without a display, which it would look for and warn of."""
    before = os.environ.get("MUJOCO_GL")
    os.environ["MUJOCO_GL"] = "disable"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from dm_control import suite
    finally:
        if before is None:
            del os.environ["MUJOCO_GL"]
        else:
            os.environ["MUJOCO_GL"] = before
    return suite


suite = _import_suite()


def ids() -> list[str]:
    """Return the registered ids of the suite."""
    return [id for id in registry if id.startswith(_PREFIX)]


def names(id: str) -> tuple[str, str]:
    """Return the domain and the task of an id."""
    domain, _, task = id.removeprefix(_PREFIX).removesuffix(_SUFFIX).partition("-")
    return domain, task


def first_of_each_domain() -> list[str]:
    """Return one id of each domain."""
    return list({names(id)[0]: id for id in reversed(ids())}.values())[::-1]


def ours(id: str, seed: int = 0, **kwargs: Any) -> Any:
    """Return funcenv's environment without a time limit; the seed is that of a model with random parts."""
    kwargs |= {"model_seed": seed} if names(id)[0] == "lqr" else {}
    return funcenv.make(id, **kwargs).unwrapped


def reference(id: str, seed: int = 0) -> Any:
    """Return dm_control's environment."""
    random = _Recorded(seed) if id.endswith("escape-v0") else seed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = suite.load(*names(id), task_kwargs={"random": random})
    if isinstance(random, _Recorded):
        env.physics._make_rendering_contexts = lambda: None  # terrains are drawn without asking for it
        env.physics.random = random
    return env


class _Recorded(np.random.RandomState):
    """Random numbers, of which the last uniform ones are kept: the bumps of a terrain, which dm_control forgets."""

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        self.bumps = super().uniform(low, high, size)
        return self.bumps


def variables(id: str, physics: Any) -> Any:
    """Return what dm_control has drawn for an episode beside positions and velocities; None for nothing."""
    model, (domain, task) = physics.model, names(id)
    if domain in ("reacher", "swimmer"):
        return model.geom_pos[model.name2id("target", "geom"), :2].copy()
    if domain == "fish" and task == "swim":
        return model.geom_pos[model.name2id("target", "geom")].copy()
    if domain == "finger" and task != "spin":
        return model.site_pos[model.name2id("target", "site")][[0, 2]]
    if domain == "point_mass" and task == "hard":
        return np.ravel(model.wrap_prm)[:4].copy()
    if domain == "manipulator":
        target = model.name2id("target_peg" if task.endswith("peg") else "target_ball", "body")
        return np.concatenate([model.body_pos[target, [0, 2]], model.body_quat[target, [0, 2]]])
    if domain == "stacker":
        return model.body_pos[model.name2id("target", "body"), [0, 2]]
    if task == "escape":
        return physics.random.bumps
    return None


def row(physics: Any) -> Array:
    """Return the physics of dm_control's simulation as our states hold it."""
    data = physics.data
    return np.concatenate([[data.time], data.qpos, data.qvel, data.act, data.qacc_warmstart])


def start_of(id: str, env: Any, physics: Any) -> Start:
    """Return the start of dm_control's episode."""
    data, drawn = physics.data, variables(id, physics)
    drawn = None if drawn is None else jnp.asarray(drawn)
    return Start(qpos=data.qpos.copy(), qvel=data.qvel.copy(), act=data.act.copy(), variables=drawn)


def state_of(id: str, env: Any, physics: Any) -> Any:
    """Return our state that equals dm_control's after a reset, also without 64-bit floats."""
    state = jax.jit(env.state_at)(start_of(id, env, physics))
    return state.replace(physics=jnp.asarray(to_words(row(physics))))


class Played(NamedTuple):
    """What some steps led to; every field has a leading axis for the steps."""

    physics: Array
    observation: dict[str, Array]
    reward: Array


def random_actions(env: Any, num_steps: int, seed: int = 0) -> Array:
    """Return random actions `[num_steps, nu]`."""
    low, high = (np.nan_to_num(bound, posinf=1, neginf=-1) for bound in (env.action_space.low, env.action_space.high))
    return np.random.default_rng(seed).uniform(low, high, (num_steps, *low.shape)).astype(np.float32)


@jax.jit
def _play(env: Any, state: Any, actions: Any) -> Any:
    def step(state: Any, action: Any) -> Any:
        state, timestep = env.step(state, action, jax.random.key(0))
        return state, (state.physics, timestep)

    return jax.lax.scan(step, state, actions)[1]


def timesteps(env: Any, state: Any, actions: Array) -> Any:
    """Return the timesteps of ours from a state."""
    return jax.device_get(_play(env, state, actions)[1])


def play_ours(env: Any, state: Any, actions: Array) -> Played:
    """Play ours from a state."""
    physics, timestep = jax.device_get(_play(env, state, actions))
    assert not timestep.terminated.any() and not timestep.truncated.any()
    return Played(from_words(physics), timestep.observation, timestep.reward)


def play_reference(env: Any, actions: Array) -> Played:
    """Play dm_control's from its present state, to the end of its episode."""
    steps = []
    for action in actions:
        found = env.step(action.astype(np.float64))
        observation = {name: np.asarray(value) for name, value in found.observation.items()}
        steps.append(Played(row(env.physics), observation, np.float64(found.reward)))
        if found.last():
            assert found.discount == 1.0
            break
    return jax.tree.map(lambda *values: np.stack([np.asarray(value) for value in values]), *steps)
