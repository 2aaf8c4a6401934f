"""The stateful vector interface of Gymnasium: a batch of environments, stepped together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic

from funcenv.adapters.engine.seeding import HasGenerator
from funcenv.adapters.env import ActType, ObsType
from funcenv.hints import OF_VECTOR_INTERFACE, raise_missing
from funcenv.registry import EnvSpec


class VectorEnv(HasGenerator, Generic[ObsType, ActType]):
    """A batch of environments that keep their own states, and are reset and stepped together.

    The interface is that of `gymnasium.vector.VectorEnv` (1.4.0). It serves batches that are written by hand and
    `FunctionalVectorEnv`. A subclass sets `num_envs` and the four spaces, states its mode in
    `metadata["autoreset_mode"]`, and defines `step` and `reset`, which begins with `super().reset(seed=seed)`.

    Attributes:
        metadata: a dict with `render_modes`, a list, and `autoreset_mode`.
        render_mode: how `render` draws the environments, or None.
        spec: the id and arguments that made one of the environments, or None.
        closed: whether `close` was called.
        num_envs: the number of environments.
        single_observation_space: the space of one environment; `observation_space` is that of the batch.
        single_action_space: the space of one environment; `action_space` is that of the batch.

    >>> class Counters(VectorEnv):
    ...     num_envs = 2
    ...     def reset(self, *, seed=None, options=None):
    ...         super().reset(seed=seed)
    ...         return np.zeros(2), {}
    >>> import numpy as np
    >>> envs = Counters()
    >>> envs, envs.reset(seed=5)[0], envs.np_random_seed
    (Counters(num_envs=2), array([0., 0.]), 5)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # replaced, never changed
    render_mode: str | None = None
    spec: EnvSpec | None = None
    closed: bool = False
    reopens: ClassVar[bool] = False  # whether it can be used after `close`
    num_envs: int
    single_observation_space: Any
    single_action_space: Any
    observation_space: Any
    action_space: Any

    if not TYPE_CHECKING:  # where it would hide misspelt attributes

        def __getattr__(self, name: str) -> Any:
            """Say what takes the place of an attribute that is missing."""
            return raise_missing(self, name, type(self).__name__, OF_VECTOR_INTERFACE)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode in every environment, and return observations and infos.

        Args:
            seed: restarts the randomness; by default it continues.
            options: choices for these episodes, which the environments define.
        """
        del options
        if seed is not None:
            self._set_seed(seed)
        return None, {}  # type: ignore[return-value]  # a subclass calls this for the seed alone

    def step(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Take an action in each environment.

        Returns:
            Observations, rewards, terminations and truncations, each `[num_envs, ...]`, and infos.
        """
        raise NotImplementedError(f"{type(self).__name__} must define step(actions)")

    def render(self) -> Any:
        """Return images of the present states, or what else `render_mode` names."""
        raise NotImplementedError(f"{type(self).__name__} draws nothing; define render() to change that")

    def close(self, **kwargs: Any) -> None:
        """Release windows and other resources with `close_extras`; calling it again does nothing."""
        if not self.closed:
            self.close_extras(**kwargs)
            self.closed = True

    def close_extras(self, **kwargs: Any) -> None:
        """Release the resources of a subclass."""

    @property
    def unwrapped(self) -> VectorEnv[Any, Any]:
        """The vector environment inside all wrappers."""
        return self

    def __repr__(self) -> str:
        name = "" if self.spec is None else f"{self.spec.id}, "
        return f"{type(self).__name__}({name}num_envs={self.num_envs})"
