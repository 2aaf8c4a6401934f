"""The bases of stateful wrappers, for code of one's own: an `Env` around an `Env`.

What can be said as a pure function belongs in `funcenv.wrappers`, where it is compiled with the environment; these are
for what lives outside of it: files, windows, records, other libraries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv.adapters.single.env import ActType, Env, ObsType
from funcenv.func_env import FuncEnv
from funcenv.registry import EnvSpec


class Wrapper(Env[ObsType, ActType]):
    """An environment around another, which behaves like it; a subclass overrides what it changes.

    Gymnasium's semantics (`gymnasium.Wrapper`, 1.4.0): `spec`, `render_mode`, `np_random` and `np_random_seed` are
    those of the environment inside. So are `action_space`, `observation_space`, `metadata` and `reward_range`, until
    they are set here. A subclass with an `__init__` calls `super().__init__(env)` first.

    Attributes:
        env: the environment inside.

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

    env: Env[Any, Any]

    def __init__(self, env: Env[Any, Any]) -> None:
        require_env(type(self).__name__, env)
        self.env = env
        self._action_space: Any = None
        self._observation_space: Any = None
        self._metadata: dict[str, Any] | None = None
        self._reward_range: tuple[float, float] | None = None

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        return self.env.step(action)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode."""
        return self.env.reset(seed=seed, options=options)

    def render(self) -> Any:
        """A picture, as the environment inside draws it."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment inside."""
        self.env.close()

    @property
    def unwrapped(self) -> Env[Any, Any]:
        """The environment beneath all stateful wrappers."""
        return self.env.unwrapped

    @property
    def action_space(self) -> Any:
        """Where actions lie."""
        return self.env.action_space if self._action_space is None else self._action_space

    @action_space.setter
    def action_space(self, space: Any) -> None:
        self._action_space = space

    @property
    def observation_space(self) -> Any:
        """Where observations lie."""
        return self.env.observation_space if self._observation_space is None else self._observation_space

    @observation_space.setter
    def observation_space(self, space: Any) -> None:
        self._observation_space = space

    @property
    def metadata(self) -> dict[str, Any]:
        """What it can do."""
        return self.env.metadata if self._metadata is None else self._metadata

    @metadata.setter
    def metadata(self, metadata: dict[str, Any]) -> None:
        self._metadata = metadata

    @property
    def reward_range(self) -> tuple[float, float]:
        """Bounds of the reward of a step."""
        return self.env.reward_range if self._reward_range is None else self._reward_range

    @reward_range.setter
    def reward_range(self, reward_range: tuple[float, float]) -> None:
        self._reward_range = reward_range

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]  # only the environment inside can change it
        """How the environment inside was made."""
        return self.env.spec

    @property
    def render_mode(self) -> str | None:  # type: ignore[override]  # as above
        """How the environment inside is drawn."""
        return self.env.render_mode

    @property
    def np_random(self) -> np.random.Generator:
        """The generator of the environment inside."""
        return self.env.np_random

    @np_random.setter
    def np_random(self, generator: np.random.Generator) -> None:
        self.env.np_random = generator

    @property
    def np_random_seed(self) -> int:
        """What that generator was made from, or -1."""
        return self.env.np_random_seed

    def has_wrapper_attr(self, name: str) -> bool:
        """Whether this wrapper, or an environment inside, has an attribute."""
        return hasattr(self, name) or self.env.has_wrapper_attr(name)

    def get_wrapper_attr(self, name: str) -> Any:
        """The attribute of this wrapper, or of the outermost environment inside that has it.

        Raises:
            AttributeError: none has it.
        """
        if hasattr(self, name):
            return getattr(self, name)
        try:
            return self.env.get_wrapper_attr(name)
        except AttributeError as error:
            raise AttributeError(f"neither {self} nor an environment inside has an attribute {name!r}") from error

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Set an attribute where it is: here or inside; where it is nowhere, here, if `force`.

        Returns:
            Whether it was set.
        """
        if not hasattr(self, name) and self.env.set_wrapper_attr(name, value, force=False):
            return True
        return super().set_wrapper_attr(name, value, force=force)

    def __str__(self) -> str:
        return f"<{type(self).__name__}{self.env}>"


class ObservationWrapper(Wrapper[ObsType, ActType]):
    """A wrapper that changes observations: a subclass defines `observation`, and sets `observation_space` if it moves.

    >>> from funcenv import adapters
    >>> class Halved(ObservationWrapper):
    ...     def observation(self, observation): return observation / 2
    >>> env, inside = Halved(adapters.make("Pendulum-v1")), adapters.make("Pendulum-v1")
    >>> bool((2 * env.reset(seed=1)[0] == inside.reset(seed=1)[0]).all())
    True
    """

    def observation(self, observation: Any) -> ObsType:
        """What the agent sees of an observation of the environment inside."""
        raise NotImplementedError(f"{type(self).__name__} must define observation(observation)")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self.observation(observation), info

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self.observation(observation), reward, terminated, truncated, info


class RewardWrapper(Wrapper[ObsType, ActType]):
    """A wrapper that changes rewards: a subclass defines `reward`.

    `reward_range` is unbounded until it is set.

    >>> from funcenv import adapters
    >>> class Doubled(RewardWrapper):
    ...     def reward(self, reward): return 2 * reward
    >>> env = Doubled(adapters.make("CartPole-v1"))
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[1]
    2.0
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        super().__init__(env)
        self.reward_range = Env.reward_range

    def reward(self, reward: float) -> float:
        """What the agent is paid for a reward of the environment inside."""
        raise NotImplementedError(f"{type(self).__name__} must define reward(reward)")

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, self.reward(reward), terminated, truncated, info


class ActionWrapper(Wrapper[ObsType, ActType]):
    """A wrapper that changes actions: a subclass defines `action`, and sets `action_space` if it is another.

    >>> from funcenv import adapters
    >>> class Mirrored(ActionWrapper):
    ...     def action(self, action): return 1 - action
    >>> env, inside = Mirrored(adapters.make("CartPole-v1")), adapters.make("CartPole-v1")
    >>> _ = env.reset(seed=0), inside.reset(seed=0)
    >>> bool((env.step(0)[0] == inside.step(1)[0]).all())
    True
    """

    def action(self, action: ActType) -> Any:
        """What the environment inside plays for an action of the agent."""
        raise NotImplementedError(f"{type(self).__name__} must define action(action)")

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        return self.env.step(self.action(action))


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
    raise TypeError(f"{name} wraps a stateful Env, such as funcenv.adapters.make gives, got {type(env).__name__}")
