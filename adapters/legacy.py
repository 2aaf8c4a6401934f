"""Compatibility with code written for old Gym.

    until 0.21    env.seed(0); observation = env.reset(); observation, reward, done, info = env.step(action)
                  env.render(mode="rgb_array")
    0.22, 0.23    observation = env.reset(seed=0); observation, info = env.reset(return_info=True)
    0.24, 0.25    the same; step returns two flags on request; render_mode is given at construction
    since 0.26    Gymnasium's interface, which needs no compatibility

At the end of an episode `info["TimeLimit.truncated"]` is true if the episode was truncated without being terminated,
as in Gym.
"""

from __future__ import annotations

import inspect
from typing import Any

from funcenv.adapters.rendering.modes import LIST_SUFFIX
from funcenv.adapters.results import observation_and_info, step_api_compatibility
from funcenv.adapters.seeding import np_random
from funcenv.adapters.single.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper


class StepCompatibility(Wrapper[ObsType, ActType]):
    """A wrapper with the interface of old Gym, around an environment with today's interface or one of old Gym's.

    Attributes of the inner environment can be read and set through it. Wrappers of `funcenv.adapters` around it keep
    this interface. `unwrapped` has it too.

    Args:
        env: Environment whose `step` returns five values, or four. Its `reset` may return the observation alone and
            take no arguments, it may have a method `seed`, and its `render` may take `mode`.
        return_two_dones: Whether `step` returns `observation, reward, terminated, truncated, info`, as Gym 0.24 and
            0.25 did on request, instead of `observation, reward, done, info`.

    >>> from funcenv import adapters
    >>> env = StepCompatibility(adapters.make("CartPole-v1", max_episode_steps=1))
    >>> env.seed(0)
    [0]
    >>> observation = env.reset()
    >>> observation, reward, done, info = env.step(env.action_space.sample())
    >>> reward, done, info
    (1.0, True, {'TimeLimit.truncated': True})
    """

    def __init__(self, env: Env[Any, Any], return_two_dones: bool = False) -> None:
        super().__init__(env)
        self._return_two_dones = return_two_dones
        self._next_seed: int | None = None

    def seed(self, seed: int | None = None) -> list[int]:
        """Seed the next `reset`, by default with entropy of the system, and return a list with the seed.

        Raises:
            TypeError: The seed is not an integer.
            ValueError: The seed is negative.
        """
        _, self._next_seed = np_random(seed)
        return [self._next_seed]

    def reset(
        self, *, seed: int | None = None, return_info: bool = False, options: dict[str, Any] | None = None
    ) -> Any:
        """Start an episode.

        Args:
            seed: As for `Env.reset`; replaces the seed of an earlier `seed(...)`.
            return_info: Whether to return `info` too.
            options: As for `Env.reset`.

        Returns:
            The observation, or a tuple of observation and info.
        """
        observation, info = _reset(self.env, self._next_seed if seed is None else seed, options)
        self._next_seed = None
        return (observation, info) if return_info else observation

    def step(self, action: ActType) -> Any:
        """Play one action, and return observation, reward, one flag or two, and info."""
        return step_api_compatibility(self.env.step(action), self._return_two_dones)

    def render(self, mode: str | None = None) -> Any:
        """Render the current state.

        Args:
            mode: Render mode of this call; by default the environment's mode, or "human" if it has none. A mode that
                collects frames must be the environment's.

        Raises:
            ValueError: The environment does not have the mode.
        """
        own_mode = self.env.render_mode
        mode = mode or own_mode or "human"
        if "mode" in inspect.signature(self.env.render).parameters:
            render: Any = self.env.render
            return render(mode=mode)
        modes = [known for known in self.env.metadata.get("render_modes", []) if not known.endswith(LIST_SUFFIX)]
        if mode not in [*modes, own_mode]:
            raise ValueError(f"mode must be one of {modes}, the render modes of {self.env}, got {mode!r}")
        innermost = self.env
        while isinstance(innermost, Wrapper):
            innermost = innermost.env
        innermost.render_mode = mode
        try:
            return self.env.render()
        finally:
            innermost.render_mode = own_mode

    @property
    def unwrapped(self) -> Env[Any, Any]:
        """The environment inside all wrappers, with this interface."""
        inner = self.env.unwrapped
        return self if inner is self.env else StepCompatibility(inner, self._return_two_dones)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "env" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.env, name)

    def __setattr__(self, name: str, value: Any) -> None:
        is_own = name.startswith("_") or name == "env" or hasattr(type(self), name)
        super().__setattr__(name, value) if is_own else setattr(self.env, name, value)


def _reset(env: Env[Any, Any], seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
    """Reset an environment with today's interface or one of old Gym's, and return observation and info."""
    parameters = inspect.signature(env.reset).parameters
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    arguments: dict[str, Any] = {"seed": seed, "options": options, "return_info": True}
    if options is not None and not takes_any and "options" not in parameters:
        raise TypeError(f"reset of {env} takes no options, got {options!r}; leave them out")
    if seed is not None and not takes_any and "seed" not in parameters:
        seed_env: Any = getattr(env, "seed", None)
        if not callable(seed_env):
            raise TypeError(f"{env} cannot be seeded; give it a method seed(seed), or let reset take seed=")
        seed_env(seed)
    known = ("seed", "options") if takes_any else tuple(arguments)
    return observation_and_info(
        env.reset(**{name: arguments[name] for name in known if takes_any or name in parameters})
    )
