"""A Gymnasium vector environment over a functional environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space as gymnasium_batch_space

from funcenv.adapters.engine.batch_actions import Encode
from funcenv.adapters.env import ActType, ObsType
from funcenv.adapters.functional_vector_env import FunctionalVectorEnv
from funcenv.adapters.gymnasium.member_conversion import has_own_form, member_decoder, member_encoder
from funcenv.adapters.gymnasium.spaces import to_gymnasium
from funcenv.func_env import AnyEnv
from funcenv.spaces import batch_space
from funcenv.spaces.space import AnySpace
from funcenv.struct import NDArray
from funcenv.vector import AnyVectorEnv, AutoresetMode


class GymnasiumVectorEnv(  # type: ignore[misc]  # it has two specs, one of each library
    FunctionalVectorEnv[ObsType, ActType], gymnasium.vector.VectorEnv[ObsType, ActType, Any]
):
    """A `gymnasium.vector.VectorEnv` over any `FuncEnv`: `FunctionalVectorEnv` with Gymnasium's spaces and infos.

    `autoreset_mode` and `metadata["autoreset_mode"]` are Gymnasium's enum. `final_obs` is an array of objects with None
    where no episode ended, which Gymnasium's vector wrappers write to. With NumPy output, observations and actions are
    members of Gymnasium's spaces. `rollout` and the outputs "jax" and "torch" are those of `FunctionalVectorEnv`.

    Args:
        func_env: As for `FunctionalVectorEnv`.
        num_envs: As for `FunctionalVectorEnv`.
        autoreset_mode: As for `FunctionalVectorEnv`; Gymnasium's enum is accepted too.
        output: As for `FunctionalVectorEnv`.
        **rendering: `render_mode`, `render_height` and `render_width`, as for `FunctionalVectorEnv`.

    Raises:
        ValueError: As for `FunctionalVectorEnv`.
        TypeError: A space has no counterpart in Gymnasium.

    >>> import funcenv
    >>> envs = GymnasiumVectorEnv(funcenv.make("Blackjack-v1"), 2)
    >>> envs.reset(seed=0)[0] in envs.observation_space, envs.action_space, envs.metadata["autoreset_mode"]
    (True, MultiDiscrete([2 2]), <AutoresetMode.NEXT_STEP: 'NextStep'>)
    """

    reopens = True  # as Gymnasium's `CartPoleVectorEnv` and `SyncVectorEnv`

    def __init__(
        self,
        func_env: AnyEnv,
        num_envs: int = 1,
        *,
        autoreset_mode: Any = AutoresetMode.NEXT_STEP,
        output: str = "numpy",
        **rendering: Any,
    ) -> None:
        if isinstance(autoreset_mode, gymnasium.vector.AutoresetMode):
            autoreset_mode = autoreset_mode.value
        super().__init__(func_env, num_envs, autoreset_mode=autoreset_mode, output=output, **rendering)
        self.autoreset_mode = gymnasium.vector.AutoresetMode(self._session.mode.value)
        self.metadata = {**self.metadata, "jax": output == "jax", "autoreset_mode": self.autoreset_mode}

    def _set_spaces(self, venv: AnyVectorEnv) -> None:
        self.single_observation_space = to_gymnasium(venv.single_observation_space)
        self.single_action_space = to_gymnasium(venv.single_action_space)
        self.observation_space = gymnasium_batch_space(self.single_observation_space, self.num_envs)
        self.action_space = gymnasium_batch_space(self.single_action_space, self.num_envs)

    def _set_up(self) -> None:
        super()._set_up()
        observation_space = self._session.venv.single_observation_space
        self._decode_batch = member_decoder(batch_space(observation_space, self.num_envs))
        self._decode_single = member_decoder(observation_space)

    def _action_encoder(self, space: AnySpace) -> Encode:
        encode = super()._action_encoder(space)
        if self.output != "numpy" or not has_own_form(space):
            return encode
        pack = member_encoder(batch_space(space, self.num_envs))
        return lambda actions, leading: encode(pack(actions), leading)

    def reset(
        self, env_id: Any = None, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset environments as `FunctionalVectorEnv.reset` does."""
        observations, infos = super().reset(env_id, seed=seed, options=options)
        return (self._decode_batch(observations) if self.output == "numpy" else observations), infos

    def _finish_step(self, output: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observations, rewards, terminations, truncations, infos = super()._finish_step(output)
        if self.output == "numpy":
            observations = self._decode_batch(observations)
            if "final_obs" in infos:
                infos["final_obs"] = self._final_observations(infos["final_obs"], infos["_final_obs"])
        return observations, rewards, terminations, truncations, infos

    def _final_observations(self, observations: Any, ended: NDArray) -> NDArray:
        """Return an array of objects with the last observations of the episodes that ended."""
        rows = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(ended):
            rows[i] = self._decode_single(observations[i])
        return rows

    def __getstate__(self) -> dict[str, Any]:
        derived = ("_decode_batch", "_decode_single")
        return {name: value for name, value in super().__getstate__().items() if name not in derived}
