"""Environments of brax (Freeman et al., 2021) and MuJoCo Playground, and those of funcenv behind brax's interface."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Hashable
from typing import Any

import jax
import jax.numpy as jnp

from funcenv._compile.options import default_promotion
from funcenv.func_env import AnyEnv
from funcenv.interop.exported import env_of, typed_key
from funcenv.interop.imported import ImportedEnv, Outcome, Source, identity_of, import_library
from funcenv.spaces import Box, Dict, Discrete
from funcenv.spaces.space import AnySpace
from funcenv.wrappers import FlattenObservation, RescaleAction, TransformAction

MINIMUM = 0, 12
MINIMUM_PLAYGROUND = 0, 2


@default_promotion()
def from_brax(env: Any, **arguments: Any) -> ImportedEnv:
    """Convert an environment of brax or of a library with its interface.

    Convert the bare environment, without brax's wrappers for training: time limits and resets are those of funcenv. If
    there is an `EpisodeWrapper`, its `info["truncation"]` is read. The state carries brax's own random numbers, so the
    keys of steps are not used.

    Args:
        env: an environment, or the name of one of brax's, such as "ant".
        **arguments: those of `brax.envs.get_environment`, if `env` is a name.

    Raises:
        ModuleNotFoundError: `env` is a name, and brax is not installed.
        ImportError: brax is older than 0.12.
    """
    identity = identity_of(env, arguments)
    if isinstance(env, str):
        import_library("brax", MINIMUM)
        env = importlib.import_module("brax.envs").get_environment(env, **arguments)
    return ImportedEnv(None, _brax_source(env, identity))


@default_promotion()
def from_playground(env: Any, **arguments: Any) -> ImportedEnv:
    """Convert an environment of MuJoCo Playground, as `from_brax` does.

    Its time limit, the `episode_length` of its configuration, is that of the trainers: ids such as
    `playground/CartpoleBalance` have one of 1000 steps. Its default simulator, MuJoCo Warp, runs on GPUs only; without
    one, `impl="jax"` is the default here.

    Args:
        env: an environment, or its name, such as "CartpoleBalance".
        **arguments: those of `mujoco_playground.registry.load`, such as `config_overrides={"ctrl_dt": 0.02}`.

    Raises:
        ModuleNotFoundError: MuJoCo Playground is not installed.
        ImportError: it is older than 0.2.
        ValueError: it does not know the name.
    """
    if isinstance(env, str):
        library = import_library("mujoco_playground", MINIMUM_PLAYGROUND, "playground")
        identity = identity_of(env, {name: repr(value) for name, value in arguments.items()})
        if "config" not in arguments and jax.default_backend() != "gpu":
            arguments["config_overrides"] = {"impl": "jax", **(arguments.get("config_overrides") or {})}
        loaded = library.registry.load(env, **arguments)
        return ImportedEnv(None, _brax_source(loaded, identity))
    return from_brax(env)


class _Brax(Source):
    def reset(self, params: Any, key: jax.Array) -> Outcome:
        del params
        return _outcome(self.env.reset(key))

    def step(self, params: Any, state: Any, action: Any, key: jax.Array) -> Outcome:
        del params, key
        return _outcome(self.env.step(state, action))

    def image(self, params: Any, state: Any, size: tuple[int, int] | None) -> Any:
        del params
        height, width = size or (480, 640)
        drawn = getattr(state, "pipeline_state", state)  # MuJoCo Playground draws its own states
        try:
            return self.env.render([drawn], height, width)[0]
        except Exception as error:
            error.add_note("MuJoCo draws this image by OpenGL; without a display, set MUJOCO_GL to egl or osmesa")
            raise


def _brax_source(env: Any, identity: Hashable) -> _Brax:
    return _Brax(env, _observation_space(env), Box(-1.0, 1.0, (env.action_size,)), identity)


def _outcome(state: Any) -> Outcome:
    done, truncated = state.done != 0, jnp.asarray(state.info.get("truncation", 0)) != 0
    return Outcome(state, state.obs, state.reward, done & ~truncated, truncated, state.metrics)


def _observation_space(env: Any) -> AnySpace:
    """Return boxes without bounds: brax states none."""
    shapes = jax.eval_shape(env.reset, jax.eval_shape(lambda: jax.random.key(0))).obs

    def space(shape: Any) -> AnySpace:
        if isinstance(shape, dict):
            return Dict({name: space(part) for name, part in shape.items()})
        return Box(-jnp.inf, jnp.inf, shape.shape, shape.dtype)

    return space(shapes)


def to_brax(env: AnyEnv | str, **arguments: Any) -> Any:
    """Return a `brax.envs.Env` for an environment of funcenv, so that brax's trainers take it.

    Observations are flattened to vectors. An action of a bounded box is rescaled to -1 ... 1, as brax's policies draw
    it. A discrete action is that of the largest of `n` numbers. `done` marks a termination or a truncation. brax's
    `EpisodeWrapper` counts steps itself, so give the environment without a time limit, `max_episode_steps=-1`, and the
    trainer the `episode_length`; then `info["truncation"]` is right. As brax's `AutoResetWrapper` works, each copy
    starts all of its episodes in the same state; random numbers of steps differ between episodes.

    Args:
        env: an environment or its id, such as "Pendulum-v1".
        **arguments: those of `funcenv.make`, such as `gravity=1.6`.

    Raises:
        ModuleNotFoundError: brax is not installed.
        TypeError: actions are neither of a box nor discrete, or observations cannot be flattened.
    """
    import_library("brax", MINIMUM)
    env = env_of("to_brax", env, **arguments)
    return _brax_class()(_with_brax_actions(FlattenObservation(env)))


def _with_brax_actions(env: AnyEnv) -> AnyEnv:
    """Return an environment whose actions are vectors, in -1 ... 1 where they are bounded."""
    space = env.action_space
    if isinstance(space, Discrete):
        numbers = Box(-1.0, 1.0, (space.n,))
        return TransformAction(env, lambda action: space.start + jnp.argmax(action).astype(space.dtype), numbers)
    if not isinstance(space, Box):
        raise TypeError(f"brax's actions are vectors, not members of {space!r}; wrap the environment to change it")
    if len(space.shape) != 1:
        flat = space.flattened
        env = TransformAction(env, functools.partial(jnp.reshape, shape=space.shape), flat)
    return RescaleAction(env, -1.0, 1.0) if space.is_bounded() else env


@functools.cache
def _brax_class() -> type[Any]:
    """Return the class behind `to_brax`, which needs brax for its base class."""
    base = importlib.import_module("brax.envs.base")

    class FuncEnvOfBrax(base.Env):  # type: ignore[misc, name-defined]  # brax is not installed where types are checked.
        """An environment of funcenv with vectors for observations and actions, behind brax's interface."""

        def __init__(self, func_env: AnyEnv) -> None:
            self.func_env = func_env

        def reset(self, rng: jax.Array) -> Any:
            """Start an episode."""
            reset_key, key = jax.random.split(typed_key(rng))
            state, timestep = self.func_env.reset(reset_key)
            info = {**timestep.info, "key": jax.random.bits(key, (2,)), "truncation": jnp.zeros(())}
            return base.State(state, timestep.observation, timestep.reward, jnp.zeros(()), {}, info)

        def step(self, state: Any, action: jax.Array) -> Any:
            """Perform an action, without a reset."""
            step_key, key = jax.random.split(typed_key(state.info["key"]))
            following, timestep = self.func_env.step(state.pipeline_state, action, step_key)
            info = {**state.info, **timestep.info, "key": jax.random.key_data(key)}
            info["truncation"] = timestep.truncated.astype(float)
            return state.replace(
                pipeline_state=following,
                obs=timestep.observation,
                reward=timestep.reward,
                done=timestep.done.astype(float),
                info=info,
            )

        @property
        def observation_size(self) -> int:
            """The size of the observation vector."""
            return int(self.func_env.observation_space.zero().size)

        @property
        def action_size(self) -> int:
            """The size of the action vector."""
            return int(self.func_env.action_space.zero().size)

        @property
        def backend(self) -> str:
            """The name that brax expects of a physics engine."""
            return "funcenv"

    return FuncEnvOfBrax
