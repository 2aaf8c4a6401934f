"""Environments of gymnax 1.0 (Lange, 2022), and environments of funcenv behind gymnax's interface."""

from __future__ import annotations

import importlib
import importlib.metadata
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from funcenv._compile.options import default_promotion
from funcenv.func_env import AnyEnv
from funcenv.interop.exported import env_of, typed_key
from funcenv.interop.figures import figure_image, shown_nowhere
from funcenv.interop.imported import ImportedEnv, Outcome, Source, identity_of, import_library
from funcenv.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from funcenv.spaces.space import AnySpace
from funcenv.trees import select
from funcenv.wrappers import Wrapper

MINIMUM = 1, 0


@default_promotion()
def from_gymnax(env: Any, params: Any = None, **changes: Any) -> ImportedEnv:
    """Convert an environment of gymnax.

    Its `reset_env` and `step_env` get the keys of `initial` and `transition`. It distinguishes termination from
    truncation since version 1.0, and so does the result; `max_steps_in_episode` is the time limit.

    Args:
        env: an environment, or its id, such as "CartPole-v1".
        params: its parameters; by default `env.default_params`.
        **changes: parameters to change, such as `gravity=1.6`.

    Raises:
        ModuleNotFoundError: gymnax is not installed.
        ImportError: its version is older than 1.0, in which `done` does not tell truncation from termination.
        ValueError: gymnax does not know the id.
        TypeError: there is no such parameter, or a space has no counterpart.
    """
    gymnax, identity = import_library("gymnax", MINIMUM), identity_of(env)
    if isinstance(env, str):
        env, _ = gymnax.make(env)
    params = (env.default_params if params is None else params).replace(**changes)
    spaces = space_from_gymnax(env.observation_space(params)), space_from_gymnax(env.action_space(params))
    return ImportedEnv(params, _Gymnax(env, *spaces, identity))


class _Gymnax(Source):
    def reset(self, params: Any, key: jax.Array) -> Outcome:
        observation, state = self.env.reset_env(key, params)
        return Outcome(state, observation)

    def step(self, params: Any, state: Any, action: Any, key: jax.Array) -> Outcome:
        observation, state, reward, terminated, info = self.env.step_env(key, state, action, params)
        return Outcome(state, observation, reward, terminated, self.env.is_truncated(state, params), info)

    def image(self, params: Any, state: Any, size: tuple[int, int] | None) -> Any:
        del size
        try:
            visualize = importlib.import_module("gymnax.visualize")
        except ModuleNotFoundError as error:
            needed = f"gymnax draws with {error.name}: pip install {error.name}"
            raise ModuleNotFoundError(needed, name=error.name) from error
        with shown_nowhere():
            drawing = visualize.Visualizer(self.env, params, [state])
            drawing.init()
            image = figure_image(drawing.fig)
        if not hasattr(drawing, "im"):
            raise NotImplementedError(f"gymnax has no drawing of {self.env.name}; make it without a render_mode")
        return image


def space_from_gymnax(space: Any, module: str = "gymnax.environments.spaces") -> AnySpace:
    """Return the counterpart of a space of gymnax, or of a library that has copied its spaces.

    Args:
        space: the space.
        module: the module that defines the library's spaces.

    Raises:
        TypeError: there is none.
    """
    spaces = importlib.import_module(module)

    if isinstance(space, spaces.Discrete):
        return Discrete(int(space.n), dtype=space.dtype)
    if isinstance(space, spaces.Box):
        low, high = jax.device_get((space.low, space.high))
        return Box(low, high, tuple(np.atleast_1d(space.shape).tolist()), space.dtype)  # JaxMARL has shapes like 658
    if hasattr(spaces, "MultiDiscrete") and isinstance(space, spaces.MultiDiscrete):
        return MultiDiscrete(jax.device_get(space.num_categories), dtype=space.dtype)
    if isinstance(space, spaces.Dict):
        return Dict({name: space_from_gymnax(part, module) for name, part in space.spaces.items()})
    if isinstance(space, spaces.Tuple):
        return Tuple([space_from_gymnax(part, module) for part in space.spaces])
    raise TypeError(
        f"{space!r} of {module.split('.')[0]} has no counterpart in funcenv.spaces; wrap the environment to change it"
    )


class GymnaxParams(Wrapper[Any, Any, Any]):
    """An environment in the place of gymnax's `EnvParams`: its parameters are the environment's.

    >>> import funcenv
    >>> params = GymnaxParams(funcenv.make("CartPole-v1"))
    >>> params.replace(gravity=1.6, max_steps_in_episode=100).max_episode_steps
    100
    """

    @property
    def max_steps_in_episode(self) -> int:
        """The time limit, by gymnax's name."""
        limit: int = self.max_episode_steps
        return limit

    def replace(self, **changes: Any) -> GymnaxParams:
        """Return other parameters; `max_steps_in_episode` is the time limit."""
        if "max_steps_in_episode" in changes:
            changes["max_episode_steps"] = changes.pop("max_steps_in_episode")
        changed: GymnaxParams = super().replace(**changes)
        return changed


class GymnaxEnv:
    """An environment of funcenv behind gymnax's interface, as `to_gymnax` returns it.

    Args:
        env: the environment.
        api: "1.0", whose `step` returns `terminated` and `truncated`; or "0.0", whose `step` returns `done`.
    """

    def __init__(self, env: AnyEnv, api: str = "1.0") -> None:
        if api not in ("0.0", "1.0"):
            raise ValueError(f'api must be "0.0" or "1.0", got {api!r}')
        self.default_params = GymnaxParams(env)
        self.api = api

    @property
    def name(self) -> str:
        """The name of the environment's class."""
        return type(self.default_params.unwrapped).__name__

    @property
    def num_actions(self) -> int:
        """The number of actions, or of the numbers of a continuous action."""
        space = self.default_params.action_space
        return int(space.n) if isinstance(space, Discrete) else int(space.zero().size)

    def reset(self, key: jax.Array, params: GymnaxParams | None = None) -> tuple[Any, Any]:
        """Start an episode: the observation and the state."""
        return self.reset_env(key, self.default_params if params is None else params)

    def step(self, key: jax.Array, state: Any, action: Any, params: GymnaxParams | None = None) -> tuple[Any, ...]:
        """Perform an action, and start a new episode if one ends; keys are split as gymnax splits them.

        Returns:
            observation, state, reward, terminated, truncated and info, which contains `final_observation`; or, with
            `api="0.0"`, observation, state, reward, done and info, which contains `discount`, 0 after a termination.
        """
        params = self.default_params if params is None else params
        step_key, reset_key = jax.random.split(key)
        last, ended, reward, terminated, truncated, info = self._step(step_key, state, action, params)
        done = terminated | truncated
        observation, state = select(done, self.reset_env(reset_key, params), (last, ended))
        if self.api == "0.0":
            return observation, state, reward, done, _with_discount(info, terminated)
        flags = {"terminated": terminated, "truncated": truncated, "final_observation": last}
        return observation, state, reward, terminated, truncated, {**info, **flags}

    def reset_env(self, key: jax.Array, params: GymnaxParams) -> tuple[Any, Any]:
        """Start an episode: the observation and the state."""
        state, timestep = params.reset(typed_key(key))
        return timestep.observation, state

    def step_env(self, key: jax.Array, state: Any, action: Any, params: GymnaxParams) -> tuple[Any, ...]:
        """Perform an action without a reset: observation, state, reward, terminated and info.

        With `api="0.0"` the flag is `done`, which includes truncation, as in the versions of that time.
        """
        observation, state, reward, terminated, truncated, info = self._step(key, state, action, params)
        if self.api == "0.0":
            return observation, state, reward, terminated | truncated, _with_discount(info, terminated)
        return observation, state, reward, terminated, info

    def is_terminated(self, state: Any, params: GymnaxParams) -> Bool[Array, ""]:
        """Return whether the MDP ended in a state."""
        return params.terminal(state)

    def is_truncated(self, state: Any, params: GymnaxParams) -> Bool[Array, ""]:
        """Return whether the episode is stopped in a state."""
        return params.truncated(state)

    def is_terminal(self, state: Any, params: GymnaxParams) -> Bool[Array, ""]:
        """Return `is_terminated`; with `api="0.0"` whether the episode is over, for either reason."""
        terminated = params.terminal(state)
        return terminated | params.truncated(state) if self.api == "0.0" else terminated

    def observation_space(self, params: GymnaxParams) -> Any:
        """Return the space of observations, one of gymnax's."""
        return space_to_gymnax(params.observation_space)

    def action_space(self, params: GymnaxParams | None = None) -> Any:
        """Return the space of actions, one of gymnax's."""
        return space_to_gymnax((self.default_params if params is None else params).action_space)

    def _step(self, key: jax.Array, state: Any, action: Any, params: GymnaxParams) -> tuple[Any, ...]:
        state, timestep = params.step(state, _in_shape(params.action_space, action), typed_key(key))
        flags = timestep.terminated, timestep.truncated
        return timestep.observation, state, timestep.reward, *flags, timestep.info


def to_gymnax(env: AnyEnv | str, *, api: str | None = None, **arguments: Any) -> tuple[GymnaxEnv, GymnaxParams]:
    """Return what `gymnax.make` returns, an environment and its parameters, for an environment of funcenv.

    Programs for gymnax, such as PureJaxRL and Rejax, then run with that line changed. Legacy keys are taken too.

    Args:
        env: an environment or its id, such as "CartPole-v1".
        api: the version of the interface: "1.0", in which `step` returns six values; or "0.0", in which it returns
            five. By default that of the installed gymnax.
        **arguments: those of `funcenv.make`, such as `gravity=1.6`.

    Raises:
        ModuleNotFoundError: gymnax is not installed, and no `api` is given.
        ValueError: the `api` is unknown.

    >>> import jax
    >>> env, params = to_gymnax("CartPole-v1", api="1.0")
    >>> observation, state = env.reset(jax.random.key(0), params)
    >>> observation, state, reward, terminated, truncated, info = env.step(jax.random.key(1), state, 0, params)
    >>> observation.shape, float(reward), params.max_steps_in_episode
    ((4,), 1.0, 500)
    """
    made = env_of("to_gymnax", env, **arguments)
    if api is None:
        import_library("gymnax", (0,))
        api = "0.0" if importlib.metadata.version("gymnax").startswith("0.") else "1.0"
    converted = GymnaxEnv(made, api)
    return converted, converted.default_params


def _in_shape(space: AnySpace, action: Any) -> Any:
    """Return an action of the right size in the space's shape, because Rejax squeezes actions of one number."""
    if space.shape is None or np.size(action) != math.prod(space.shape):
        return action
    return jnp.reshape(action, space.shape)


def _with_discount(info: dict[str, Any], terminated: Bool[Array, ""]) -> dict[str, Any]:
    return {**info, "discount": (~terminated).astype(float)}


def space_to_gymnax(space: AnySpace) -> Any:
    """Return the counterpart of a space among those of gymnax.

    Raises:
        ModuleNotFoundError: gymnax is not installed.
        TypeError: there is none.
    """
    import_library("gymnax", (0,))
    spaces = importlib.import_module("gymnax.environments.spaces")

    if isinstance(space, Discrete) and space.start == 0:
        return spaces.Discrete(space.n)
    if isinstance(space, Box):
        return spaces.Box(space.low, space.high, space.shape, space.dtype)
    if isinstance(space, Dict):
        return spaces.Dict({name: space_to_gymnax(part) for name, part in space.spaces.items()})
    if isinstance(space, Tuple):
        return spaces.Tuple([space_to_gymnax(part) for part in space.spaces])
    raise TypeError(f"{space!r} has no counterpart among gymnax's spaces; wrap the environment to change it")
