"""The memory of a stateful vector environment between its calls."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.adapters.engine.batch_actions import block_length
from funcenv.adapters.engine.outputs import DeviceOutput, NumpyOutput, StepResult, jax_output, torch_output
from funcenv.adapters.engine.parameters import with_parameters
from funcenv.adapters.engine.programs_vector import Result, VectorPrograms, vector_programs
from funcenv.adapters.engine.reset_options import batch_parameters, with_batched_options
from funcenv.adapters.engine.snapshot import same_shapes, same_structure
from funcenv.adapters.error import ResetNeeded
from funcenv.func_env import AnyEnv
from funcenv.random import default_impl, find_impl, impl_name
from funcenv.struct import NDArray
from funcenv.transfers import transferred
from funcenv.vector import AnyVectorEnv, AutoresetMode, FuncVectorEnv, VectorState


class VectorSession:
    """The memory of a stateful vector environment between two calls.

    Attributes:
        func_env: The environment of later episodes, or a batch of `num_envs`.
        num_envs: Number of environments.
        mode: When an environment is reset.
        output: The kind of arrays that it returns, "numpy", "jax" or "torch".
        venv: The vector environment whose parameters are constants of the programs.
        impl: The PRNG implementation of the keys.
        key_words: The keys, `[num_envs, words_in_key]`; None before the first reset.
        packed: The state after the last call; None before the first reset.
        parameters: The environments, with a leading axis on every parameter, while episodes may have other parameters
            than `venv`; else None.
        ended: The environments whose episodes are over, `[num_envs]`, in DISABLED mode; else None.
        pending: Result of a call that was started and not waited for.
    """

    def __init__(self, func_env: AnyEnv, num_envs: int, mode: AutoresetMode, output: str) -> None:
        self.func_env, self.num_envs, self.mode, self.output = func_env, num_envs, mode, output
        self.venv = self.vector_env()
        self.impl = default_impl()
        self.key_words: jax.Array | None = None
        self.packed: jax.Array | None = None
        self.parameters: Any = None
        self.ended: NDArray | None = None
        self.pending: Result | None = None
        self._checks_ends = output == "numpy" and mode is AutoresetMode.DISABLED

    @property
    def present_envs(self) -> Any:
        """The environments of the present episodes, with a leading axis on every parameter."""
        return self._usual if self.parameters is None else self.parameters

    @property
    def state(self) -> VectorState[Any]:
        """The state of all environments.

        Raises:
            ResetNeeded: There was no reset yet.
        """
        if self.packed is None:
            raise ResetNeeded("call reset() first: there is no state yet")
        vstate: VectorState[Any] = self._programs.vstate(self.key_words, self.packed)
        return vstate

    def restore(self, vstate: VectorState[Any]) -> None:
        """Return to a state."""
        self.require_nothing_pending("state")
        impl = find_impl(impl_name(vstate.key))
        if impl != self.impl:  # another implementation takes other programs
            self.impl = impl
            self._forget_programs()
        self.key_words, self.packed = jax.random.key_data(vstate.key), self._programs.pack_vstate(vstate)
        self.ended = np.asarray(vstate.done) if self._checks_ends else None

    def vector_env(self) -> AnyVectorEnv:
        """Return the vector environment with the present parameters."""
        return FuncVectorEnv(self.func_env, self.num_envs, self.mode)

    def envs_of_episodes(self, options: dict[str, Any], mask: NDArray) -> Any:
        """Return the environments of episodes with these options where `mask` is true; None for the compiled ones."""
        if not options and (mask.all() or self.parameters is None):
            return None if self.func_env is self.venv.env else self._usual
        return with_batched_options(self.func_env, self.num_envs, self.present_envs, options, mask)

    def reset(self, parameters: Any, key_words: NDArray, seeded: NDArray, mask: NDArray) -> Result:
        """Start episodes.

        Args:
            parameters: As `envs_of_episodes` returns them.
            key_words: New keys, `[num_envs, words_in_key]`.
            seeded: The environments that take a new key, `[num_envs]`.
            mask: The environments that are reset, `[num_envs]`.
        """
        env = self.func_env if parameters is None else parameters
        if self.packed is None or self.key_words is None:
            self.key_words = jnp.asarray(transferred(key_words))
            result: Result = self._programs.first_reset(transferred(env), self.key_words)
        else:
            if seeded.any():
                self.key_words = jnp.asarray(
                    transferred(np.where(seeded[:, None], key_words, np.asarray(self.key_words)))
                )
            result = self._programs.reset(transferred(env), self.key_words, self.packed, *transferred((seeded, mask)))
        self.parameters, self.packed = parameters, result[1]
        return result

    def step(self, encoded: Any) -> Result:
        """Step all environments with encoded actions."""
        encoded = transferred(encoded)
        if self.parameters is None:
            result: Result = self._programs.step(self.key_words, self.packed, encoded)
        else:
            result, self.parameters = self._programs.step_with(
                self._usual, self.parameters, self.key_words, self.packed, encoded
            )
        self.packed = result[1]
        return result

    def rollout(self, encoded: Any) -> StepResult:
        """Step all environments with a block of encoded actions, and return the results of all steps."""
        encoded = transferred(encoded)
        self._programs.rollout_lengths.add(block_length(encoded))
        if self.parameters is None:
            result: Any = self._programs.rollout(self.key_words, self.packed, encoded)
        else:
            result, self.parameters = self._programs.rollout_with(
                self._usual, self.parameters, self.key_words, self.packed, encoded
            )
        self.packed = result[1]
        returned = self.results.rollout(result[0])
        self.note_ends(returned[2][-1], returned[3][-1])
        return returned

    def note_ends(self, terminated: Any, truncated: Any) -> None:
        """Remember whose episodes are over, if the mode needs it."""
        if self._checks_ends:
            self.ended = terminated | truncated

    def set_parameters(self, changes: dict[str, Any]) -> bool:
        """Replace parameters, each one value or one for each environment, in the present episodes and in later ones.

        Returns:
            Whether the present episodes go on; they do not if their states have other shapes with the new values.
        """
        func_env = with_parameters(self.func_env, changes, self.num_envs)
        present = batch_parameters(with_parameters(self.present_envs, changes, self.num_envs), self.num_envs)
        vstate, goes_on = None if self.packed is None else self.state, True
        self.func_env = func_env
        vars(self).pop("_usual", None)
        venv = self.vector_env()
        if not same_structure(venv, self.venv):
            self.venv = venv
            self._forget_programs()
            shapes = jax.eval_shape(venv.reset, jax.random.key(0))[0].env_state
            if vstate is not None and same_shapes(shapes, vstate.env_state):
                self.packed = self._programs.pack_vstate(vstate)
            elif vstate is not None:
                self.packed, self.key_words, goes_on = None, None, False
        self.parameters = None if self.packed is None else present
        return goes_on

    def require_ready(self, method: str) -> None:
        """Raise `ResetNeeded` or `RuntimeError` unless every environment can be stepped."""
        if self.packed is None:
            raise ResetNeeded(f"call reset() before the first {method}")
        self.require_nothing_pending(method)
        if self.ended is not None and self.ended.any():
            raise ResetNeeded(
                f"the episodes of environments {np.flatnonzero(self.ended).tolist()} are over; in DISABLED mode call "
                'reset(options={"reset_mask": terminations | truncations}) first'
            )

    def require_nothing_pending(self, method: str) -> None:
        """Raise `RuntimeError` if a call was started and its results were not read."""
        if self.pending is not None:
            raise RuntimeError(f"the results of a call are pending; call step_wait() or recv() before {method}")

    @functools.cached_property
    def results(self) -> NumpyOutput | DeviceOutput:
        """The conversion of packed results to the returned arrays and infos."""
        if self.output == "numpy":
            return NumpyOutput(self._programs, self.venv.single_observation_space)
        return jax_output() if self.output == "jax" else torch_output()

    @functools.cached_property
    def _programs(self) -> VectorPrograms:
        return vector_programs(self.venv, self.impl, self.output == "numpy")

    @functools.cached_property
    def _usual(self) -> Any:
        return batch_parameters(self.func_env, self.num_envs)

    def _forget_programs(self) -> None:
        for name in ("_programs", "results"):
            vars(self).pop(name, None)

    def __getstate__(self) -> dict[str, Any]:
        self.require_nothing_pending("a copy")
        state = {name: getattr(self, name) for name in ("func_env", "num_envs", "mode", "output", "ended")}
        if self.packed is not None and self.key_words is not None:
            vstate = self.state
            state["vstate"] = jax.tree.map(np.asarray, vstate.replace(key=jax.random.key_data(vstate.key)))
            state["impl"] = impl_name(vstate.key)
        return state | {"parameters": jax.tree.map(np.asarray, self.parameters)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        VectorSession.__init__(self, *(state[name] for name in ("func_env", "num_envs", "mode", "output")))
        if "vstate" in state:
            key = jax.random.wrap_key_data(jnp.asarray(state["vstate"].key), impl=find_impl(state["impl"]))
            self.restore(jax.tree.map(jnp.asarray, state["vstate"].replace(key=None)).replace(key=key))
        self.parameters, self.ended = jax.tree.map(jnp.asarray, state["parameters"]), state["ended"]
