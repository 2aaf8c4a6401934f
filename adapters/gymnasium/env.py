"""A real Gymnasium environment over a pure one."""

from __future__ import annotations

import gymnasium

from funcenv.adapters.gymnasium.member_conversion import is_padded, plain_decoder
from funcenv.adapters.gymnasium.spaces import to_gymnasium
from funcenv.adapters.single.env import ActType, ObsType
from funcenv.adapters.single.functional_env import FunctionalEnv


class GymnasiumEnv(FunctionalEnv[ObsType, ActType], gymnasium.Env[ObsType, ActType]):  # type: ignore[misc]  # it has two specs
    """A `gymnasium.Env` over any `FuncEnv`: `FunctionalEnv` with Gymnasium's spaces.

    Everything that Gymnasium wraps, checks or vectorises takes it. All code is that of `FunctionalEnv`, so a step costs
    the same. The functional wrappers of `func_env` are a part of the environment: `unwrapped` is the whole. Time limits
    are best left to Gymnasium, as `gymnasium.make` does.

    Observations and actions are members of Gymnasium's spaces: ints, strings and tuples, where arrays of fixed size
    stand for them here.

    Args:
        func_env: the pure environment, with its wrappers.
        render_mode: as for `FunctionalEnv`; so are `render_height`, `render_width` and `spec`.

    Raises:
        ValueError: as for `FunctionalEnv`.
        RuntimeError: likewise.
        TypeError: a space that Gymnasium has no counterpart of.

    >>> import funcenv
    >>> from funcenv.wrappers import RescaleAction
    >>> env = GymnasiumEnv(RescaleAction(funcenv.make("Pendulum-v1"), min_action=-1, max_action=1))
    >>> isinstance(env, gymnasium.Env), env.action_space
    (True, Box(-1.0, 1.0, (1,), float32))
    """

    def _set_up(self) -> None:
        super()._set_up()
        observation_space, action_space = self.func_env.observation_space, self.func_env.action_space
        self.observation_space = to_gymnasium(observation_space)
        self.action_space = to_gymnasium(action_space)
        self._decode = plain_decoder(observation_space)
        if is_padded(action_space):
            encode = self._encode
            self._encode = lambda action: encode(action_space.pack(action))
