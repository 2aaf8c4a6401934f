"""The base classes of stateful wrappers: an `Env` around an `Env`.

A transformation that can be written as a pure function belongs in `funcenv.wrappers`, where it is compiled with the
environment. These classes are for what needs state outside of it: files, windows, records, other libraries.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, Generic, Self, TypeVar

import numpy as np

from funcenv.adapters.compat.results import call_render, call_reset, returns_info, step_api_compatibility
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.spaces.space import with_generator
from funcenv.adapters.wrapper_spec import WrapperSpec, named_arguments, spec_of_class
from funcenv.func_env import FuncEnv


def inherited(name: str, doc: str, may_be_set: bool = True) -> Any:
    """Return a property with the inner environment's value, until the wrapper sets a value of its own."""
    own = f"_{name}"

    def get(wrapper: Any) -> Any:
        return vars(wrapper)[own] if own in vars(wrapper) else getattr(wrapper.env, name)

    def set(wrapper: Any, value: Any) -> None:
        setattr(wrapper, own, with_generator(value))

    return property(get, set if may_be_set else None, doc=doc)


WrapperObsType = TypeVar("WrapperObsType")
WrapperActType = TypeVar("WrapperActType")


class Wrapper(Env[WrapperObsType, WrapperActType], Generic[WrapperObsType, WrapperActType, ObsType, ActType]):
    """An environment around another one, with the same behavior; a subclass overrides what it changes.

    The semantics are Gymnasium's (`gymnasium.Wrapper`, 1.4.0): `render_mode`, `np_random` and `np_random_seed` are
    always those of the inner environment. So are `action_space`, `observation_space`, `metadata` and `reward_range`,
    until they are set on the wrapper. `spec` is that of the inner environment with the wrapper and its arguments among
    the `additional_wrappers`, so `make(env.spec)` makes both again. A subclass that has an `__init__` calls
    `super().__init__(env)`. Around an environment with old Gym's interface, a wrapper has that interface too.

    The type parameters are those of Gymnasium: `Wrapper[WrapperObsType, WrapperActType, ObsType, ActType]`, of the
    wrapper and of the inner environment; `ObservationWrapper[WrapperObsType, ObsType, ActType]`,
    `ActionWrapper[ObsType, WrapperActType, ActType]` and `RewardWrapper[ObsType, ActType]`.

    Attributes:
        env: The inner environment.

    Raises:
        TypeError: `env` is not an `Env`.

    >>> from funcenv import adapters
    >>> class Counting(Wrapper):
    ...     steps = 0
    ...     def step(self, action):
    ...         self.steps += 1
    ...         return super().step(action)
    >>> env = Counting(adapters.make("CartPole-v1"))
    >>> observation, info = env.reset(seed=0)
    >>> _ = env.step(0)
    >>> env, env.steps, env.action_space
    (<Counting<TimeLimit<CartPole<CartPole-v1>>>>, 1, Discrete(2))
    """

    env: Env[ObsType, ActType]
    _arguments: tuple[tuple[Any, ...], dict[str, Any]]  # arguments of the constructor
    _spec: Any  # the specification that `make` has set

    action_space: Any = inherited("action_space", "Space of actions.")
    observation_space: Any = inherited("observation_space", "Space of observations.")
    metadata: Any = inherited("metadata", "Render modes and frame rate.")
    reward_range: Any = inherited("reward_range", "Bounds of the reward of a step.")
    render_mode: Any = inherited("render_mode", "Render mode of the inner environment.", may_be_set=False)

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        require_env(type(self).__name__, env)
        self.env = env

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Keep the arguments of the constructor for `spec`."""
        wrapper = super().__new__(cls)
        wrapper._arguments = args, kwargs
        return wrapper

    __new__.__signature__ = inspect.signature(__init__)  # type: ignore[attr-defined]  # for help and editors

    @property
    def spec(self) -> Any:  # type: ignore[override]  # read only
        """Specification from which the inner environment was made, with this wrapper; None if there is none."""
        if "_spec" in vars(self):
            return self._spec
        spec = self.env.spec
        if not hasattr(spec, "additional_wrappers"):
            return spec
        return self._specified(spec)

    def _specified(self, spec: Any) -> Any:
        """Return the specification of the inner environment with what this wrapper adds."""
        args, kwargs = self._arguments
        saved = vars(self).get("_saved_kwargs")  # those of a `RecordConstructorArgs`
        given = named_arguments(type(self).__init__, (self, *args), kwargs) if saved is None else saved
        return dataclasses.replace(
            spec, additional_wrappers=(*spec.additional_wrappers, spec_of_class(type(self), given))
        )

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class."""
        return cls.__name__

    @classmethod
    def wrapper_spec(cls, **kwargs: Any) -> WrapperSpec:
        """Return the specification of this wrapper with arguments, for `register(additional_wrappers=...)`."""
        return spec_of_class(cls, kwargs)

    def step(self, action: WrapperActType) -> tuple[WrapperObsType, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        inner_action: Any = action  # the action of the inner environment, unless a subclass converts it
        result: Any = self.env.step(inner_action)
        if len(result) == 5:
            return self._after_step(result)
        return step_api_compatibility(self._after_step(step_api_compatibility(result)), False)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None, return_info: bool | None = None
    ) -> tuple[WrapperObsType, dict[str, Any]]:
        """Start an episode; `return_info` is for environments with old Gym's interface."""
        result = call_reset(self.env, seed, options, return_info)
        if returns_info(result):
            return self._after_reset(result)
        observation: Any = self._after_reset((result, {}))[0]
        return observation

    def _after_step(self, result: tuple[Any, float, bool, bool, dict[str, Any]]) -> Any:
        """Return what `step` returns for a result of the inner environment."""
        return result

    def _after_reset(self, result: tuple[Any, dict[str, Any]]) -> Any:
        """Return what `reset` returns for a result of the inner environment."""
        return result

    def render(self, mode: str | None = None) -> Any:
        """Render the inner environment, by default in its render mode; old Gym's interface has the argument."""
        return call_render(self.env, mode)

    def close(self) -> None:
        """Close the inner environment."""
        self.env.close()

    @property
    def unwrapped(self) -> Env[Any, Any]:
        """The environment inside all wrappers."""
        return self.env.unwrapped

    @property
    def np_random(self) -> np.random.Generator:
        """The generator of the inner environment."""
        return self.env.np_random

    @np_random.setter
    def np_random(self, generator: np.random.Generator) -> None:
        self.env.np_random = generator

    @property
    def _np_random(self) -> np.random.Generator | None:  # type: ignore[override]  # read only
        return self.env._np_random

    @property
    def np_random_seed(self) -> int:
        """The seed of that generator, or -1 if it was set by the user."""
        return self.env.np_random_seed

    def seed(self, seed: int | None = None) -> list[int]:
        """Seed the inner environment, as old Gym did."""
        return self.env.seed(seed)

    def has_wrapper_attr(self, name: str) -> bool:
        """Check whether this wrapper or an inner environment has an attribute."""
        return hasattr(self, name) or self.env.has_wrapper_attr(name)

    def get_wrapper_attr(self, name: str) -> Any:
        """Return an attribute of this wrapper, or of the outermost inner environment that has it.

        Raises:
            AttributeError: No environment has the attribute.
        """
        if hasattr(self, name):
            return getattr(self, name)
        try:
            return self.env.get_wrapper_attr(name)
        except AttributeError as error:
            raise AttributeError(f"neither {self} nor an environment inside has an attribute {name!r}") from error

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Set an attribute on the outermost environment that has it; if none has it and `force` is true, set it here.

        Returns:
            Whether the attribute was set.
        """
        if not hasattr(self, name) and self.env.set_wrapper_attr(name, value, force=False):
            return True
        return super().set_wrapper_attr(name, value, force=force)

    def __str__(self) -> str:
        return f"<{type(self).__name__}{self.env}>"


def set_spec(env: Env[Any, Any], spec: Any) -> None:
    """Set the specification of an environment, which may be a wrapper that `make` applies."""
    if isinstance(env, Wrapper):
        env._spec = spec
    else:
        env.spec = spec


class ObservationWrapper(Wrapper[WrapperObsType, ActType, ObsType, ActType]):
    """A wrapper that changes observations: a subclass defines `observation`, and `observation_space` if it changes.

    >>> from funcenv import adapters
    >>> class Halved(ObservationWrapper):
    ...     def observation(self, observation): return observation / 2
    >>> env, inside = Halved(adapters.make("Pendulum-v1")), adapters.make("Pendulum-v1")
    >>> bool((2 * env.reset(seed=1)[0] == inside.reset(seed=1)[0]).all())
    True
    """

    def observation(self, observation: ObsType) -> WrapperObsType:
        """Return what the agent observes for an observation of the inner environment."""
        raise NotImplementedError(f"{type(self).__name__} must define observation(observation)")

    def _after_reset(self, result: Any) -> Any:
        observation, info = result
        return self.observation(observation), info

    def _after_step(self, result: Any) -> Any:
        observation, *rest = result
        return (self.observation(observation), *rest)


class RewardWrapper(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that changes rewards: a subclass defines `reward`.

    `reward_range` is unbounded until the subclass sets it.

    >>> from funcenv import adapters
    >>> class Doubled(RewardWrapper):
    ...     def reward(self, reward): return 2 * reward
    >>> env = Doubled(adapters.make("CartPole-v1"))
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[1]
    2.0
    """

    reward_range: Any = Env.reward_range

    def reward(self, reward: float) -> float:
        """Return the reward of the agent for a reward of the inner environment."""
        raise NotImplementedError(f"{type(self).__name__} must define reward(reward)")

    def _after_step(self, result: Any) -> Any:
        observation, reward, *rest = result
        return (observation, self.reward(reward), *rest)


class ActionWrapper(Wrapper[ObsType, WrapperActType, ObsType, ActType]):
    """A wrapper that changes actions: a subclass defines `action`, and `action_space` if it changes.

    >>> from funcenv import adapters
    >>> class Mirrored(ActionWrapper):
    ...     def action(self, action): return 1 - action
    >>> env, inside = Mirrored(adapters.make("CartPole-v1")), adapters.make("CartPole-v1")
    >>> _ = env.reset(seed=0), inside.reset(seed=0)
    >>> bool((env.step(0)[0] == inside.step(1)[0]).all())
    True
    """

    def action(self, action: WrapperActType) -> ActType:
        """Return the action of the inner environment for an action of the agent."""
        raise NotImplementedError(f"{type(self).__name__} must define action(action)")

    def step(self, action: WrapperActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        inner_action: Any = self.action(action)
        return super().step(inner_action)


def require_env(name: str, env: Any) -> None:
    """Raise `TypeError` unless `env` is a stateful environment.

    >>> from funcenv.envs import CartPole
    >>> require_env("Wrapper", CartPole())
    Traceback (most recent call last):
        ...
    TypeError: Wrapper wraps a stateful Env, got the pure CartPole; make it one with FunctionalEnv(env), or wrap it
        with a class of funcenv.wrappers
    """
    if isinstance(env, Env):
        return
    if isinstance(env, FuncEnv):
        raise TypeError(
            f"{name} wraps a stateful Env, got the pure {type(env).__name__}; make it one with FunctionalEnv(env), "
            "or wrap it with a class of funcenv.wrappers"
        )
    if isinstance(env, type):
        raise TypeError(f"{name} wraps a stateful Env, got the class {env.__name__}: call it first")
    raise TypeError(
        f"{name} wraps a stateful Env, such as funcenv.adapters.make gives, got {type(env).__name__}; "
        "derive a class of your own from funcenv.adapters.Env"
    )
