"""The stateful interface of Gymnasium: `reset`, `step`, `render`, `close`."""

from __future__ import annotations

import warnings
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar

from funcenv.adapters.engine.lifecycle import ClosesAtExit
from funcenv.adapters.engine.seeding import HasGenerator
from funcenv.adapters.spaces.space import with_generator
from funcenv.func_env import require_env
from funcenv.registry import EnvSpec

ObsType = TypeVar("ObsType")
ActType = TypeVar("ActType")


class _SpaceAttribute:
    """An attribute of an environment that gives a pure space a generator when it is set."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, env: Any, owner: type) -> Any:
        if env is None:
            return self
        try:
            return vars(env)[self._name]
        except KeyError:
            raise AttributeError(
                f"{type(env).__name__} has no {self._name}; set self.{self._name} in __init__"
            ) from None

    def __set__(self, env: Any, space: Any) -> None:
        vars(env)[self._name] = with_generator(space)


class Env(HasGenerator, ClosesAtExit, Generic[ObsType, ActType]):
    """An environment that keeps its own state.

    The interface is that of `gymnasium.Env` (1.4.0). It serves environments that are written by hand and
    `FunctionalEnv`. A subclass sets `action_space` and `observation_space` and defines `reset` and `step`; its `reset`
    begins with `super().reset(seed=seed)`. A pure space that is set as one of these becomes a `Space`, with a
    generator.

    Attributes:
        metadata: a dict with `render_modes`, a list, and `render_fps` if there are any. `"jax": True` or
            `"torch": True` says that observations and actions are arrays of these libraries instead of NumPy's.
        render_mode: how `render` draws the environment, or None.
        spec: the id and arguments that made it, or None.
        reward_range: bounds of the reward of a step.
    """

    metadata: dict[str, Any] = {"render_modes": []}
    render_mode: str | None = None
    spec: EnvSpec | None = None
    reward_range: tuple[float, float] = (-float("inf"), float("inf"))
    reopens: ClassVar[bool] = False  # whether it can be used after `close`
    action_space: Any = _SpaceAttribute()
    observation_space: Any = _SpaceAttribute()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in {"action_space", "observation_space"} & vars(cls).keys():
            setattr(cls, name, with_generator(vars(cls)[name]))

    def __class_getitem__(cls, types: Any) -> Any:
        """Accept fewer types than parameters, as Gymnasium does: `Env[np.ndarray]` is `Env[np.ndarray, Any]`."""
        given = types if isinstance(types, tuple) else (types,)
        missing = len(getattr(cls, "__parameters__", ())) - len(given)
        return super().__class_getitem__((*given, *[Any] * missing))  # type: ignore[misc]  # of Generic

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Take an action, and return observation, reward, terminated, truncated and info."""
        raise NotImplementedError(f"{type(self).__name__} must define step(action)")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode, and return observation and info.

        Args:
            seed: restarts the randomness; by default it continues.
            options: choices for this episode, which the environment defines.
        """
        del options
        self.close_by_itself()
        if seed is not None:
            self._set_seed(seed)
        return None, {}  # type: ignore[return-value]  # a subclass calls this for the seed alone

    def seed(self, seed: int | None = None) -> list[int]:
        """Seed the environment, by default with entropy of the system, and return a list with the seed.

        Old Gym had this method; it warns, because `reset(seed=...)` has replaced it.

        Raises:
            TypeError: the seed is not an integer.
            ValueError: the seed is negative.
        """
        warnings.warn("seed() belongs to old Gym; call reset(seed=...) instead", DeprecationWarning, stacklevel=2)
        self._set_seed(seed)
        return [self.np_random_seed]

    def render(self) -> Any:
        """Return an image of the present state, or what else `render_mode` names."""
        raise NotImplementedError(f"{type(self).__name__} draws nothing; define render() to change that")

    def close(self) -> None:
        """Release windows and other resources; calling it again does nothing."""

    @property
    def unwrapped(self) -> Env[Any, Any]:
        """The environment inside all wrappers."""
        return self

    def has_wrapper_attr(self, name: str) -> bool:
        """Return whether this environment, or one inside it, has an attribute."""
        return hasattr(self, name)

    def get_wrapper_attr(self, name: str) -> Any:
        """Return an attribute of this environment, or of the outermost environment inside that has it."""
        return getattr(self, name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Set an attribute that exists, or any attribute if `force`, and return whether it was set."""
        if force or hasattr(self, name):
            setattr(self, name, value)
            return True
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __str__(self) -> str:
        if self.spec is None:
            return f"<{type(self).__name__} instance>"
        return f"<{type(self).__name__}<{self.spec.id}>>"

    def __repr__(self) -> str:
        return str(self)


def require_func_env(what: str, env: Any) -> None:
    """Raise `TypeError` unless `env` is a functional environment; `what` takes it.

    >>> from funcenv import FuncVectorEnv, envs
    >>> require_func_env("FunctionalEnv", FuncVectorEnv(envs.CartPole(), 2))
    Traceback (most recent call last):
        ...
    TypeError: FunctionalEnv takes a FuncEnv, got FuncVectorEnv; pass the one environment, such as venv.env
    """
    if isinstance(env, Env):
        raise TypeError(
            f"{what} takes a FuncEnv, got a stateful {type(env).__name__}; "
            "pass the functional environment inside, env.get_wrapper_attr('func_env')"
        )
    require_env(what, env)
