"""The stateful vector interface that Gymnasium documents: many environments, stepped together."""

from __future__ import annotations

from typing import Any, Generic

import numpy as np

from funcenv.adapters.seeding import np_random
from funcenv.adapters.single.env import ActType, ObsType
from funcenv.registry import EnvSpec


class VectorEnv(Generic[ObsType, ActType]):
    """Environments that remember where they are, and are reset and stepped together.

    Gymnasium's interface (`gymnasium.vector.VectorEnv`, 1.4.0), for batches written by hand and for those over a
    `FuncEnv` (`FunctionalVectorEnv`). A subclass sets `num_envs` and the four spaces, names its mode in
    `metadata["autoreset_mode"]`, and defines `reset`, which begins with `super().reset(seed=seed)`, and `step`.

    Attributes:
        metadata: what it can do, as `{"render_modes": [...], "autoreset_mode": ...}`.
        render_mode: how it is drawn, or None.
        spec: how one environment of it was made, or None.
        closed: whether `close` was called.
        num_envs: how many environments there are.
        single_observation_space: of one environment; `observation_space` is the batch of it.
        single_action_space: of one environment; `action_space` is the batch of it.

    >>> class Counters(VectorEnv):
    ...     num_envs = 2
    ...     def reset(self, *, seed=None, options=None):
    ...         super().reset(seed=seed)
    ...         return np.zeros(2), {}
    >>> envs = Counters()
    >>> envs, envs.reset(seed=5)[0], envs.np_random_seed
    (Counters(num_envs=2), array([0., 0.]), 5)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # replaced, never changed
    render_mode: str | None = None
    spec: EnvSpec | None = None
    closed: bool = False
    num_envs: int
    single_observation_space: Any
    single_action_space: Any
    observation_space: Any
    action_space: Any

    _np_random: np.random.Generator | None = None
    _np_random_seed: int | tuple[int, ...] | None = None

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode everywhere: observations and infos.

        Args:
            seed: begins the streams of randomness anew; without it the present ones go on.
            options: choices for these episodes, which the environments define.
        """
        del options
        if seed is not None:
            self._np_random, self._np_random_seed = np_random(seed)
        return None, {}  # type: ignore[return-value]  # a subclass calls this for the seed alone

    def step(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Play one action in each: observations, rewards, terminations, truncations, infos, `[num_envs]` each."""
        raise NotImplementedError(f"{type(self).__name__} must define step(actions)")

    def render(self) -> Any:
        """Pictures of the present states, of the kind that `render_mode` names."""
        raise NotImplementedError(f"{type(self).__name__} draws nothing; define render() to change that")

    def close(self, **kwargs: Any) -> None:
        """Give back windows and the like through `close_extras`; calling it again does nothing."""
        if not self.closed:
            self.close_extras(**kwargs)
            self.closed = True

    def close_extras(self, **kwargs: Any) -> None:
        """What a subclass has to give back."""

    @property
    def unwrapped(self) -> VectorEnv[Any, Any]:
        """The vector environment beneath all wrappers."""
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
    def np_random_seed(self) -> int | tuple[int, ...]:
        """What the streams were made from: `reset(seed=envs.np_random_seed)` replays. -1 if `np_random` was set."""
        if self._np_random_seed is None:
            self._np_random, self._np_random_seed = np_random()
        return self._np_random_seed

    def __repr__(self) -> str:
        name = "" if self.spec is None else f"{self.spec.id}, "
        return f"{type(self).__name__}({name}num_envs={self.num_envs})"
