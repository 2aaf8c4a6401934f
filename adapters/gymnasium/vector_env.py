"""A real Gymnasium vector environment over a pure environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space as gymnasium_batch_space

from funcenv.adapters.gymnasium.member_conversion import is_padded, member_encoder, plain_decoder
from funcenv.adapters.gymnasium.spaces import to_gymnasium
from funcenv.adapters.single.env import ActType, ObsType
from funcenv.adapters.vector.functional_vector_env import FunctionalVectorEnv
from funcenv.func_env import FuncEnv
from funcenv.spaces import batch_space
from funcenv.vector import AutoresetMode


class GymnasiumVectorEnv(  # type: ignore[misc]  # it has two specs, one of each library
    FunctionalVectorEnv[ObsType, ActType], gymnasium.vector.VectorEnv[ObsType, ActType, Any]
):
    """A `gymnasium.vector.VectorEnv` over any `FuncEnv`: `FunctionalVectorEnv` with Gymnasium's spaces and infos.

    `metadata["autoreset_mode"]` is Gymnasium's enum; `final_obs` is an array of objects, None where no episode ended,
    which Gymnasium's vector wrappers write to. With numpy output, observations and actions are members of Gymnasium's
    spaces; `rollout`, which Gymnasium does not know, shows them as `FunctionalVectorEnv` does, and so do the outputs
    "jax" and "torch".

    Args:
        func_env: as for `FunctionalVectorEnv`.
        num_envs: likewise.
        autoreset_mode: likewise; Gymnasium's enum is welcome.
        output: likewise.
        render_mode: likewise; so are `render_height` and `render_width`.

    Raises:
        ValueError: as for `FunctionalVectorEnv`.
        TypeError: a space that Gymnasium has no counterpart of.

    >>> import funcenv
    >>> envs = GymnasiumVectorEnv(funcenv.make("Blackjack-v1"), 2)
    >>> envs.reset(seed=0)[0] in envs.observation_space, envs.action_space, envs.metadata["autoreset_mode"]
    (True, MultiDiscrete([2 2]), <AutoresetMode.NEXT_STEP: 'NextStep'>)
    """

    def __init__(
        self,
        func_env: FuncEnv[Any, Any, Any],
        num_envs: int = 1,
        *,
        autoreset_mode: Any = AutoresetMode.NEXT_STEP,
        output: str = "numpy",
        render_mode: str | None = None,
        render_height: int | None = None,
        render_width: int | None = None,
    ) -> None:
        if isinstance(autoreset_mode, gymnasium.vector.AutoresetMode):
            autoreset_mode = autoreset_mode.value
        super().__init__(
            func_env,
            num_envs,
            autoreset_mode=autoreset_mode,
            output=output,
            render_mode=render_mode,
            render_height=render_height,
            render_width=render_width,
        )
        mode = gymnasium.vector.AutoresetMode(self.autoreset_mode.value)
        self.metadata = {**self.metadata, "jax": output == "jax", "autoreset_mode": mode}
        self.single_observation_space = to_gymnasium(self._venv.single_observation_space)
        self.single_action_space = to_gymnasium(self._venv.single_action_space)
        self.observation_space = gymnasium_batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium_batch_space(self.single_action_space, num_envs)

    def _set_up(self) -> None:
        super()._set_up()
        single, action = self._venv.single_observation_space, self._venv.single_action_space
        self._plain = plain_decoder(batch_space(single, self.num_envs))
        self._single_plain = plain_decoder(single)
        if self.output == "numpy" and is_padded(action):
            encode, pack = self._encode, member_encoder(batch_space(action, self.num_envs))
            self._encode = lambda actions, leading: encode(pack(actions), leading)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[ObsType, dict[str, Any]]:
        """As `FunctionalVectorEnv.reset`."""
        observations, infos = super().reset(seed=seed, options=options)
        return (self._plain(observations) if self.output == "numpy" else observations), infos

    def _receive(self, output: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observations, rewards, terminations, truncations, infos = super()._receive(output)
        if self.output == "numpy":
            observations = self._plain(observations)
            if "final_obs" in infos:
                infos["final_obs"] = self._final(infos["final_obs"], infos["_final_obs"])
        return observations, rewards, terminations, truncations, infos

    def _final(self, observations: Any, ended: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The last observations of the episodes that ended, as an array of objects."""
        rows = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(ended):
            rows[i] = self._single_plain(observations[i])
        return rows

    def __getstate__(self) -> dict[str, Any]:
        derived = ("_plain", "_single_plain")
        return {name: value for name, value in super().__getstate__().items() if name not in derived}
