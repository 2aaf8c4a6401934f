"""The innermost environment behind a stateful one."""

from __future__ import annotations

from typing import Any

from funcenv.adapters.engine.innermost import Innermost
from funcenv.adapters.engine.parameters import has_attribute, read_attribute
from funcenv.adapters.engine.session import Face, plain_conversions
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.spaces.space import Space
from funcenv.func_env import AnyEnv


def _of_outer(name: str, doc: str) -> Any:
    """Return a property with the value of the environment with its wrappers."""
    return property(lambda env: getattr(env.outer, name), doc=doc)


class UnwrappedEnv(Env[ObsType, ActType]):
    """The environment inside the wrappers of a `FunctionalEnv`, with the stateful interface: `env.unwrapped`.

    Both have the same state, randomness, window and parameters, as in Gymnasium: a step of this environment moves the
    other one too, but no wrapper sees it, so there is no time limit.

    Args:
        outer: The `FunctionalEnv` with its wrappers.

    >>> from funcenv import adapters
    >>> env = adapters.make("CartPole-v1", max_episode_steps=1)
    >>> _ = env.reset(seed=0)
    >>> env.unwrapped, env.unwrapped.step(0)[3], env.step(0)[3]
    (<CartPole<CartPole-v1>>, False, True)
    """

    metadata: Any = _of_outer("metadata", "Render modes and frame rate.")
    render_mode: Any = _of_outer("render_mode", "Render mode, as for `FunctionalEnv`.")
    spec: Any = _of_outer("spec", "Specification from which the environment was made.")
    np_random: Any = _of_outer("np_random", "Generator that all randomness comes from.")
    np_random_seed: Any = _of_outer("np_random_seed", "Seed of that generator, or -1 if it was set by the user.")
    _np_random: Any = _of_outer("_np_random", "Generator, or None before the first use.")

    def __init__(self, outer: Any) -> None:
        vars(self).update(outer=outer, _face=Face(outer._session, Innermost, plain_conversions))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode, as `FunctionalEnv.reset` does."""
        return self.outer._reset(self._face, seed, options)

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Take an action, without the wrappers."""
        return self.outer._step(self._face, action)

    def render(self) -> Any:
        """Return what `render_mode` names."""
        return self.outer.render()

    def close(self) -> None:
        """Close the window and reject later calls."""
        self.outer.close()

    @property
    def func_env(self) -> AnyEnv:
        """The functional environment inside all wrappers."""
        return self.outer.func_env.unwrapped

    @property
    def state(self) -> Any:
        """The whole state, with that of the wrappers, as `FunctionalEnv.state`."""
        return self.outer.state

    @property
    def observation_space(self) -> Any:
        """Space of observations."""
        return self._space("observation_space")

    @property
    def action_space(self) -> Any:
        """Space of actions."""
        return self._space("action_space")

    @property
    def reward_range(self) -> tuple[float, float]:  # type: ignore[override]  # it follows from the parameters
        """Bounds of the reward of a step."""
        own: tuple[float, float] | None = vars(self.outer).get("_reward_range")
        return self.func_env.reward_range if own is None else own

    def _space(self, name: str) -> Any:
        """Return the space of the present parameters; the same object as long as it does not change."""
        pure = getattr(self.func_env, name)
        if getattr(self.outer.func_env, name) == pure:
            return getattr(self.outer, name)
        spaces = vars(self.outer).setdefault("_inner_spaces", {})
        if spaces.get(name) != pure:
            spaces[name] = Space(pure)
        return spaces[name]

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the innermost environment, or of the one with its wrappers."""
        if "outer" not in vars(self):
            raise AttributeError(name)
        if name in self.func_env.stateful_attributes or not has_attribute(self.func_env, name):
            return getattr(self.outer, name)
        return read_attribute(self.func_env, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a parameter or another attribute, which both environments have."""
        if name == "state":
            self.outer._restore(self._face, value)
        else:
            setattr(self.outer, name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.outer)})

    def __reduce__(self) -> tuple[Any, ...]:
        return UnwrappedEnv, (self.outer,)

    def __str__(self) -> str:
        name = type(self.func_env).__name__
        return f"<{name}>" if self.spec is None else f"<{name}<{self.spec.id}>>"
