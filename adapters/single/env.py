"""The stateful interface that Gymnasium documents: `reset`, `step`, `render`, `close`."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import numpy as np

from funcenv.adapters._lifecycle import ClosesAtExit
from funcenv.adapters.seeding import np_random
from funcenv.registry import EnvSpec

ObsType = TypeVar("ObsType")
ActType = TypeVar("ActType")


class Env(ClosesAtExit, Generic[ObsType, ActType]):
    """An environment that remembers where it is.

    Gymnasium's interface (`gymnasium.Env`, 1.4.0), for environments written by hand and for those over a `FuncEnv`
    (`FunctionalEnv`). A subclass sets `action_space` and `observation_space` and defines `reset` and `step`; its
    `reset` begins with `super().reset(seed=seed)`.

    Attributes:
        metadata: what it can do: `render_modes`, a list; `render_fps`, where there are any; `jax`, whether
            observations and actions are JAX arrays rather than NumPy's.
        render_mode: how it is drawn, or None.
        spec: how it was made, or None.
        reward_range: bounds of the reward of a step.
    """

    metadata: dict[str, Any] = {"render_modes": [], "jax": False}
    render_mode: str | None = None
    spec: EnvSpec | None = None
    reward_range: tuple[float, float] = (-float("inf"), float("inf"))
    action_space: Any
    observation_space: Any

    _np_random: np.random.Generator | None = None
    _np_random_seed: int | None = None

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action: observation, reward, terminated, truncated, info."""
        raise NotImplementedError(f"{type(self).__name__} must define step(action)")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode: observation, info.

        Args:
            seed: begins the stream of randomness anew; without it the present one goes on.
            options: choices for this episode, which the environment defines.
        """
        del options
        self.close_by_itself()
        if seed is not None:
            self._np_random, self._np_random_seed = np_random(seed)
        return None, {}  # type: ignore[return-value]  # a subclass calls this for the seed alone

    def render(self) -> Any:
        """A picture of the present state, of the kind that `render_mode` names."""
        raise NotImplementedError(f"{type(self).__name__} draws nothing; define render() to change that")

    def close(self) -> None:
        """Give back windows and the like; calling it again does nothing."""

    @property
    def unwrapped(self) -> Env[Any, Any]:
        """The environment beneath all wrappers."""
        return self

    @property
    def np_random(self) -> np.random.Generator:
        """The generator that all randomness comes from; made from the system's entropy when first asked for."""
        if self._np_random is None:
            self._np_random, self._np_random_seed = np_random()
        return self._np_random

    @np_random.setter
    def np_random(self, generator: np.random.Generator) -> None:
        self._np_random, self._np_random_seed = generator, -1

    @property
    def np_random_seed(self) -> int:
        """What `np_random` was made from: `reset(seed=env.np_random_seed)` replays. -1 if it was set by hand."""
        if self._np_random_seed is None:
            self._np_random, self._np_random_seed = np_random()
        return self._np_random_seed

    def has_wrapper_attr(self, name: str) -> bool:
        """Whether this environment, or one inside, has an attribute."""
        return hasattr(self, name)

    def get_wrapper_attr(self, name: str) -> Any:
        """The attribute of this environment, or of the outermost one inside that has it."""
        return getattr(self, name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Set an attribute where it exists; or here, if `force`. Returns whether it was set."""
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
