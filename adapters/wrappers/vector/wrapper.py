"""The base classes of wrappers around vector environments."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcenv.adapters.engine.batching import member_rows, stack_members
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.vector_env import VectorEnv
from funcenv.adapters.wrappers.wrapper import inherited
from funcenv.struct import NDArray
from funcenv.vector import AutoresetMode


class VectorWrapper(VectorEnv[ObsType, ActType]):
    """A vector environment around another one, with the same behavior; a subclass overrides what it changes.

    The semantics are Gymnasium's (`gymnasium.vector.VectorWrapper`, 1.4.0): spaces and `metadata` are those of the
    vector inside until they are set on the wrapper. Other attributes that the vector inside has, such as `call` and
    `set_attr`, can be read and called through it.

    Attributes:
        env: The vector environment inside.

    Raises:
        TypeError: `env` is not a `VectorEnv`.

    >>> from funcenv import adapters
    >>> class Doubled(VectorWrapper):
    ...     def _after_step(self, result):
    ...         observations, rewards, *rest = result
    ...         return observations, 2 * rewards, *rest
    >>> envs = Doubled(adapters.make_vec("CartPole-v1", 2))
    >>> _ = envs.reset(seed=0)
    >>> envs.step(np.array([0, 1]))[1].tolist(), envs.get_attr("gravity")
    ([2.0, 2.0], (9.8, 9.8))
    """

    env: VectorEnv[Any, Any]

    observation_space: Any = inherited("observation_space", "Space of the batch of observations.")
    action_space: Any = inherited("action_space", "Space of the batch of actions.")
    single_observation_space: Any = inherited("single_observation_space", "Space of one observation.")
    single_action_space: Any = inherited("single_action_space", "Space of one action.")
    metadata: Any = inherited("metadata", "Render modes, frame rate and autoreset mode.")
    num_envs: Any = inherited("num_envs", "Number of environments.", may_be_set=False)
    spec: Any = inherited("spec", "Specification of one environment, or None.", may_be_set=False)
    render_mode: Any = inherited("render_mode", "Render mode of the vector inside.", may_be_set=False)
    closed: Any = inherited("closed", "Whether `close` was called.", may_be_set=False)

    def __init__(self, env: VectorEnv[Any, Any]) -> None:
        if not isinstance(env, VectorEnv):
            single = "; around a single environment goes a class of funcenv.adapters.wrappers"
            raise TypeError(
                f"{type(self).__name__} wraps a VectorEnv, such as funcenv.adapters.make_vec gives, got "
                f"{type(env).__name__}{single if isinstance(env, Env) else ''}"
            )
        self.env = env

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode in every environment, or in those of the mask `options["reset_mask"]`."""
        mask = None if options is None else options.get("reset_mask")
        result: Any = self.env.reset(seed=seed, options=options)
        is_new = np.ones(self.num_envs, bool) if mask is None else np.asarray(mask)
        returned: tuple[ObsType, dict[str, Any]] = self._after_reset(result, is_new)
        return returned

    def step(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Play one action in each environment."""
        returned: tuple[ObsType, Any, Any, Any, dict[str, Any]] = self._after_step(self.env.step(actions))
        return returned

    def _after_reset(self, result: Any, is_new: NDArray) -> Any:
        """Return what `reset` returns for a result of the vector inside; `is_new` tells which environments began."""
        del is_new
        return result

    def _after_step(self, result: Any) -> Any:
        """Return what `step` returns for a result of the vector inside."""
        return result

    def render(self) -> Any:
        """Render the vector inside."""
        return self.env.render()

    def close(self, **kwargs: Any) -> None:
        """Close the vector inside."""
        self.env.close(**kwargs)

    def close_extras(self, **kwargs: Any) -> None:
        """Release the resources of the vector inside."""
        self.env.close_extras(**kwargs)

    @property
    def unwrapped(self) -> VectorEnv[Any, Any]:
        """The vector environment inside all wrappers."""
        return self.env.unwrapped

    @property
    def np_random(self) -> Any:
        """Generator of the vector inside, or one of each environment, a tuple."""
        return self.env.np_random

    @np_random.setter
    def np_random(self, generator: Any) -> None:
        self.env.np_random = generator

    @property
    def np_random_seed(self) -> Any:
        """Seed of that generator, or of each."""
        return self.env.np_random_seed

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """The mode of resets; a vector that does not say resets at the step after an end, as in Gymnasium."""
        return AutoresetMode.of(self.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "env" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.env, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self.env}>"


class VectorObservationWrapper(VectorWrapper[ObsType, ActType]):
    """A wrapper that changes batches of observations: a subclass defines `observations`, and the spaces if they change.

    In the same-step mode, the last observations of episodes, `infos["final_obs"]`, change in the same way.

    >>> from funcenv import adapters
    >>> class Halved(VectorObservationWrapper):
    ...     def observations(self, observations): return observations / 2
    >>> envs, inside = (make(adapters.make_vec("CartPole-v1", 2)) for make in (Halved, VectorWrapper))
    >>> bool((2 * envs.reset(seed=1)[0] == inside.reset(seed=1)[0]).all())
    True
    """

    def observations(self, observations: Any) -> Any:
        """Return what agents observe for the observations of the vector inside."""
        raise NotImplementedError(f"{type(self).__name__} must define observations(observations)")

    def final_observations(self, observations: Any) -> Any:
        """Return what agents observe at the end of episodes; by default the same as otherwise."""
        return self.observations(observations)

    def _after_reset(self, result: Any, is_new: NDArray) -> Any:
        observations, infos = result
        return self.observations(observations), infos

    def _after_step(self, result: Any) -> Any:
        observations, rewards, terminations, truncations, infos = result
        if "final_obs" in infos:
            infos = {**infos, "final_obs": self._final_column(observations, infos["final_obs"], infos["_final_obs"])}
        return self.observations(observations), rewards, terminations, truncations, infos

    def _final_column(self, observations: Any, final: Any, ended: NDArray) -> Any:
        """Return the changed last observations, in the form of `infos["final_obs"]`."""
        rows = member_rows(self.env.observation_space, observations, self.num_envs)
        rows = [final[i] if ended[i] else row for i, row in enumerate(rows)]
        changed = self.final_observations(stack_members(self.env.single_observation_space.pure, rows))
        if isinstance(final, np.ndarray) and final.dtype != object:
            return changed
        column = np.full(self.num_envs, None, object)
        for i, row in enumerate(member_rows(self.observation_space, changed, self.num_envs)):
            column[i] = row if ended[i] else None
        return column


class VectorActionWrapper(VectorWrapper[ObsType, ActType]):
    """A wrapper that changes batches of actions: a subclass defines `actions`, and the spaces if they change.

    >>> from funcenv import adapters
    >>> class Mirrored(VectorActionWrapper):
    ...     def actions(self, actions): return 1 - actions
    >>> envs, inside = (make(adapters.make_vec("CartPole-v1", 2)) for make in (Mirrored, VectorWrapper))
    >>> _ = envs.reset(seed=0), inside.reset(seed=0)
    >>> bool((envs.step(np.array([0, 1]))[0] == inside.step(np.array([1, 0]))[0]).all())
    True
    """

    def actions(self, actions: Any) -> Any:
        """Return the actions of the vector inside for the actions of agents."""
        raise NotImplementedError(f"{type(self).__name__} must define actions(actions)")

    def step(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Play one action in each environment."""
        return super().step(self.actions(actions))


class VectorRewardWrapper(VectorWrapper[ObsType, ActType]):
    """A wrapper that changes rewards: a subclass defines `rewards`.

    >>> from funcenv import adapters
    >>> class Negated(VectorRewardWrapper):
    ...     def rewards(self, rewards): return -rewards
    >>> envs = Negated(adapters.make_vec("CartPole-v1", 2))
    >>> _ = envs.reset(seed=0)
    >>> envs.step(np.array([0, 1]))[1].tolist()
    [-1.0, -1.0]
    """

    def rewards(self, rewards: Any) -> Any:
        """Return the rewards of agents for the rewards of the vector inside."""
        raise NotImplementedError(f"{type(self).__name__} must define rewards(rewards)")

    def _after_step(self, result: Any) -> Any:
        observations, rewards, *rest = result
        return (observations, self.rewards(rewards), *rest)


class OneOfMany(Env[Any, Any]):
    """The spaces of one environment of a vector, as an environment that the wrappers of single ones take.

    >>> from funcenv import adapters
    >>> OneOfMany(adapters.make_vec("CartPole-v1", 2)).action_space
    Discrete(2)
    """

    def __init__(self, envs: VectorEnv[Any, Any]) -> None:
        self.observation_space, self.action_space = envs.single_observation_space, envs.single_action_space
