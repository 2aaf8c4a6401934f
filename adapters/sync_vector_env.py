"""A batch of stateful environments that are stepped one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcenv.adapters.compat.results import call_reset, observation_and_info, step_api_compatibility
from funcenv.adapters.engine.batch_seeding import parse_seeds, require_mask
from funcenv.adapters.engine.batching import member_rows, stack_members
from funcenv.adapters.engine.reset_options import read_options
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.spaces.differing import join_spaces
from funcenv.adapters.spaces.equivalence import is_space_dtype_shape_equiv
from funcenv.adapters.spaces.space import GeneratorSpace, Space
from funcenv.adapters.vector_env import VectorEnv
from funcenv.spaces import batch_space
from funcenv.struct import NDArray
from funcenv.vector import AutoresetMode


class SyncVectorEnv(VectorEnv[ObsType, ActType]):
    """A batch of stateful environments, in particular of handwritten ones, that are stepped one after the other.

    It is Gymnasium's class of this name. Functional environments are faster in `FunctionalVectorEnv`, which steps a
    batch in one compiled program. Environments with old Gym's interface are converted.

    Observations are stacked part by part; those that vary in size, such as strings, are a tuple. Infos have Gymnasium's
    form: each key comes with a mask `_key` `[num_envs]` of the environments that have it.

    Args:
        env_fns: Functions without arguments that make one environment each; their action spaces must be equal.
        copy: Whether `reset` and `step` return fresh arrays, which they always do; the argument is Gymnasium's.
        observation_mode: "same" if the observation spaces must be equal; "different" if their bounds may differ;
            or the space of the batch and that of one environment, whose members have the shapes and dtypes of all.
        autoreset_mode: What happens when an episode ends, as for `FunctionalVectorEnv`.

    Attributes:
        envs: The environments.

    Raises:
        ValueError: There is no environment, their spaces differ, or there is no such `observation_mode`.
        TypeError: A space is not made of those in `funcenv.adapters.spaces`.

    >>> from funcenv import adapters
    >>> envs = SyncVectorEnv([lambda: adapters.make("CartPole-v1")] * 3)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations, rewards, terminations, truncations, infos = envs.step(np.array([0, 1, 1]))
    >>> observations.shape, rewards
    ((3, 4), array([1., 1., 1.]))
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env[Any, Any]]],
        copy: bool = True,
        observation_mode: str | tuple[Any, Any] = "same",
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        del copy
        self.envs = [make_env() for make_env in env_fns]
        if not self.envs:
            raise ValueError("SyncVectorEnv needs at least one environment, got an empty list of functions")
        self.num_envs = len(self.envs)
        first = self.envs[0]
        for env in self.envs:
            for name in ("observation_space", "action_space"):
                if type(space := getattr(env, name)) is not GeneratorSpace:
                    raise TypeError(
                        f"{env} has an {name} that cannot be batched, {space!r}; use those of funcenv.adapters.spaces"
                    )
        self.observation_space, self.single_observation_space = _observation_spaces(self.envs, observation_mode)
        self.single_action_space = _common("action_space", self.envs)
        self.action_space = Space(batch_space(self.single_action_space.pure, self.num_envs))
        self.spec, self.render_mode = first.spec, first.render_mode
        self._mode = AutoresetMode.of(autoreset_mode)
        self.metadata = {**first.metadata, "autoreset_mode": self._mode}
        self._ended = np.zeros(self.num_envs, bool)

    @property
    def np_random(self) -> Any:
        """Generator of each environment, a tuple; setting it takes such a tuple."""
        return tuple(env.np_random for env in self.envs)

    @np_random.setter
    def np_random(self, generators: Any) -> None:
        for env, generator in zip(self.envs, generators, strict=True):
            env.np_random = generator

    @property
    def np_random_seed(self) -> Any:
        """Seed of each generator, a tuple; -1 for one that was set."""
        return tuple(env.np_random_seed for env in self.envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode in every environment, or in those of the mask `options["reset_mask"]`.

        Args:
            seed: An integer, which gives environment i the seed `seed + i`, or a sequence with one for each.
            options: Options for the environments.
        """
        seeds: list[int | None] = [None] * self.num_envs
        if seed is not None:
            seeds = parse_seeds(seed, self.num_envs)
        mask = np.ones(self.num_envs, bool)
        if options is not None and "reset_mask" in (given := read_options(options)):
            options = given
            mask = require_mask(options.pop("reset_mask"), self.num_envs)
            options = options or None
        if mask.all():
            self._observations: list[Any] = [None] * self.num_envs
        infos: dict[str, Any] = {}
        for i in np.flatnonzero(mask).tolist():
            result = observation_and_info(call_reset(self.envs[i], seeds[i], options, return_info=True))
            self._observations[i], info = result
            _add_info(infos, info, i, self.num_envs)
        self._ended = self._ended & ~mask
        return self._stacked(), infos

    def step(self, actions: ActType) -> tuple[ObsType, NDArray, NDArray, NDArray, dict[str, Any]]:
        """Take an action in each environment.

        Returns:
            Observations, rewards `[num_envs]` in float64, terminations, truncations and infos.
        """
        rewards = np.zeros(self.num_envs)
        terminations, truncations = np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        infos: dict[str, Any] = {}
        for i, (env, action) in enumerate(
            zip(self.envs, member_rows(self.action_space, actions, self.num_envs), strict=True)
        ):
            if self._ended[i] and self._mode is AutoresetMode.NEXT_STEP:
                self._observations[i], info = observation_and_info(call_reset(env, None, None, return_info=True))
            else:
                result = step_api_compatibility(env.step(action))
                self._observations[i], rewards[i], terminations[i], truncations[i], info = result
                if (terminations[i] or truncations[i]) and self._mode is AutoresetMode.SAME_STEP:
                    last = {"final_obs": self._observations[i], "final_info": info}
                    self._observations[i], info = observation_and_info(call_reset(env, None, None, return_info=True))
                    info = {**info, **last}
            _add_info(infos, info, i, self.num_envs)
        self._ended = terminations | truncations
        return self._stacked(), rewards, terminations, truncations, infos

    def render(self) -> tuple[Any, ...]:
        """Return what each environment renders."""
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments."""
        del kwargs
        for env in self.envs:
            env.close()

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of each environment, or read an attribute, and return the results."""
        found = [env.get_wrapper_attr(name) for env in self.envs]
        return tuple(one(*args, **kwargs) if callable(one) else one for one in found)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment."""
        return tuple(env.get_wrapper_attr(name) for env in self.envs)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of each environment to one value, or to those of a list or tuple with one for each.

        Raises:
            ValueError: The list has another length.
        """
        values = list(values) if isinstance(values, (list, tuple)) else [values] * self.num_envs
        if len(values) != self.num_envs:
            raise ValueError(f"set_attr needs one value, or a list of num_envs={self.num_envs}, got {len(values)}")
        for env, value in zip(self.envs, values, strict=True):
            env.set_wrapper_attr(name, value)

    def _stacked(self) -> Any:
        return stack_members(self.single_observation_space.pure, self._observations)


def _common(name: str, envs: list[Env[Any, Any]], remedy: str = "") -> Any:
    """Return the space that all environments have."""
    space = getattr(envs[0], name)
    for env in envs:
        if getattr(env, name) != space:
            raise ValueError(f"the environments must have one {name}, got {space!r} and {getattr(env, name)!r}{remedy}")
    return space


def _observation_spaces(envs: list[Env[Any, Any]], mode: str | tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the observation space of a batch, and that of one environment."""
    if isinstance(mode, tuple) and len(mode) == 2 and all(type(space) is GeneratorSpace for space in mode):
        for env in envs:
            if not is_space_dtype_shape_equiv(env.observation_space, mode[1]):
                raise ValueError(
                    f"an environment has other observations than observation_mode={mode!r} says: "
                    f"{env.observation_space!r}"
                )
        return mode
    if mode == "different":
        return Space(join_spaces([env.observation_space.pure for env in envs])), envs[0].observation_space
    if mode != "same":
        raise ValueError(
            "observation_mode must be 'same', 'different', or the spaces of a batch and of one environment, "
            f"got {mode!r}"
        )
    space = _common("observation_space", envs, "; pass observation_mode='different' if their bounds may differ")
    return Space(batch_space(space.pure, len(envs))), space


def _add_info(infos: dict[str, Any], info: dict[str, Any], i: int, num_envs: int) -> None:
    """Add the info of environment i, as Gymnasium does: arrays with masks; nested dicts become nested dicts."""
    for name, value in info.items():
        if isinstance(value, dict) and name != "final_obs":
            _add_info(infos.setdefault(name, {}), value, i, num_envs)
        else:
            if name not in infos:
                infos[name] = _empty_column(None if name == "final_obs" else value, num_envs)
            infos[name][i] = value
        infos.setdefault(f"_{name}", np.zeros(num_envs, bool))[i] = True


def _empty_column(value: Any, num_envs: int) -> NDArray:
    """Return an array for a value of each environment: of its shape and dtype, or else of objects."""
    if isinstance(value, np.ndarray):
        return np.zeros((num_envs, *value.shape), value.dtype)
    if isinstance(value, (bool, int, float, np.number)):
        return np.zeros(num_envs, type(value))
    return np.full(num_envs, None, object)
