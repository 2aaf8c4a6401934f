"""A Gymnasium environment over a functional one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium

from funcenv.adapters.engine.session import plain_conversions
from funcenv.adapters.env import ActType, ObsType
from funcenv.adapters.functional_env import FunctionalEnv
from funcenv.adapters.gymnasium.member_conversion import has_own_form, member_decoder
from funcenv.adapters.gymnasium.spaces import to_gymnasium
from funcenv.adapters.rendering.display import NO_DISPLAY, can_open_window
from funcenv.adapters.rendering.modes import render_modes, require_mode
from funcenv.adapters.rendering.renderer import PendingFrame
from funcenv.func_env import AnyEnv
from funcenv.keyboard import key_code, parse_combination
from funcenv.spaces.space import AnySpace


def _member_conversions(
    action_space: AnySpace, observation_space: AnySpace
) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return the conversions from and to members of Gymnasium's spaces."""
    encode, _ = plain_conversions(action_space, observation_space)
    if has_own_form(action_space):
        return lambda action: encode(action_space.pack(action)), member_decoder(observation_space)
    return encode, member_decoder(observation_space)


class GymnasiumEnv(FunctionalEnv[ObsType, ActType], gymnasium.Env[ObsType, ActType]):  # type: ignore[misc]  # it has two specs
    """A `gymnasium.Env` over any `FuncEnv`: `FunctionalEnv` with Gymnasium's spaces.

    It works with Gymnasium's wrappers, checkers and vector environments, and a step is as fast as that of
    `FunctionalEnv`. The functional wrappers of `func_env` are part of the environment, so `unwrapped` includes them.
    Time limits are best left to Gymnasium, as `gymnasium.make` does.

    Observations and actions are members of Gymnasium's spaces: ints, strings and tuples instead of padded arrays.

    Where libraries rely on it, this environment is as lenient as Gymnasium's: it can be used after `close`, and in the
    render mode "human" it goes on without a window if there is no display, with a warning.

    Args:
        func_env: Functional environment with its wrappers.
        render_mode: As for `FunctionalEnv`, like `render_height`, `render_width` and `spec`.

    Raises:
        ValueError: As for `FunctionalEnv`.
        ModuleNotFoundError: As for `FunctionalEnv`.
        TypeError: A space has no counterpart in Gymnasium, or there is a `render_mode` although the environment draws
            nothing.

    >>> import funcenv
    >>> from funcenv.wrappers import RescaleAction
    >>> env = GymnasiumEnv(RescaleAction(funcenv.make("Pendulum-v1"), min_action=-1, max_action=1))
    >>> isinstance(env, gymnasium.Env), env.action_space
    (True, Box(-1.0, 1.0, (1,), float32))
    """

    reopens = True
    _said_no_display = False
    _conversions = staticmethod(_member_conversions)

    def _check_mode(self, render_mode: str | None, func_env: AnyEnv) -> None:
        if render_mode is not None and not render_modes(func_env):
            # In the words of an environment without this argument, for which libraries search.
            raise TypeError(
                f"{type(func_env.unwrapped).__name__} got an unexpected keyword argument 'render_mode'; "
                "it draws nothing until it defines scene(state)"
            )
        require_mode(render_mode, render_modes(func_env), func_env, on_display=False)

    def _render(self, render: Callable[[PendingFrame], Any]) -> Any:
        if self.render_mode != "human" or can_open_window():
            return super()._render(render)
        if not self._said_no_display:
            self._said_no_display = True
            warnings.warn(f"{self} shows no window: {NO_DISPLAY}", UserWarning, stacklevel=2)
        return None

    def _set_spaces(self) -> None:
        self.observation_space = to_gymnasium(self.func_env.observation_space)
        self.action_space = to_gymnasium(self.func_env.action_space)

    @property
    def seed(self) -> Any:
        """No attribute, as in Gymnasium, whose checker and whose users ask whether there is one."""
        raise AttributeError("seed")

    @property
    def unwrapped(self) -> Any:
        """This environment with its functional wrappers, because Gymnasium's wrappers are outside of it."""
        return self

    @property
    def get_keys_to_action(self) -> Callable[[], dict[tuple[int, ...], Any]]:
        """A function that returns the actions of keys, given by the codes that `gymnasium.utils.play` takes.

        Environments that nobody has given keys do not have it, as in Gymnasium.
        """
        actions = self.func_env.get_keys_to_action()
        if not actions:
            raise AttributeError("get_keys_to_action")
        return lambda: {
            tuple(sorted(map(key_code, parse_combination(combination)))) if combination else (): action
            for combination, action in actions.items()
        }
