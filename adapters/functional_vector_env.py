"""The stateful vector interface to any functional environment."""

from __future__ import annotations

import functools
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.adapters.engine.batch_actions import Encode, batch_encoder, block_length
from funcenv.adapters.engine.batch_seeding import batch_np_random, parse_seeds, require_mask, seeds_to_key_words
from funcenv.adapters.engine.lifecycle import acquire, exclusive
from funcenv.adapters.engine.outputs import DeviceOutput, NumpyOutput, StepResult, jax_output, torch_output
from funcenv.adapters.engine.parameters import with_parameters
from funcenv.adapters.engine.programs_vector import Result, VectorPrograms, vector_programs
from funcenv.adapters.engine.reset_options import batch_parameters, with_batched_options
from funcenv.adapters.engine.seeding import draw_key_words, np_random
from funcenv.adapters.engine.sending import SendingVectorEnv
from funcenv.adapters.engine.snapshot import same_shapes, same_structure
from funcenv.adapters.env import ActType, ObsType, require_func_env
from funcenv.adapters.errors import ResetNeeded
from funcenv.adapters.spaces.space import Space
from funcenv.func_env import AnyEnv
from funcenv.random import default_impl, find_impl, impl_name, words_in_key
from funcenv.registry import EnvSpec
from funcenv.spaces import batch_space
from funcenv.spaces.space import AnySpace
from funcenv.struct import NDArray
from funcenv.vector import AnyVectorEnv, AutoresetMode, FuncVectorEnv, VectorState

_OUTPUTS = ("numpy", "jax", "torch")
# The attributes that follow from the others, or that are pickled in another form.
_NOT_PICKLED = {"_venv", "_impl", "_programs", "_output", "_encode", "_checks_ends", "_lock", "_usual", "_window"}
_NOT_PICKLED |= {"_key_words", "_packed_state"}


class FunctionalVectorEnv(SendingVectorEnv[ObsType, ActType]):
    """Gymnasium's vector interface to any `FuncEnv`.

    After `reset(seed=s)`, environment i behaves as `FunctionalEnv` does after `reset(seed=s + i)`, and as environment i
    of a `FuncVectorEnv` that is reset with the keys `seed_to_key(s + i)`. `step` is one compiled call, compiled once.

    On a CPU, a program that steps a batch from Python and does little else with JAX is faster with
    `jax.config.update("jax_cpu_enable_async_dispatch", False)` before the first use of JAX, because most steps are
    shorter than the handover to another thread. Leave the default where Python works while JAX computes.

    Infos have Gymnasium's form: every key comes with a mask `_key` `[num_envs]` of the environments that have it. In
    SAME_STEP mode, `final_obs` and `final_info` hold the last observations and infos of the episodes that ended. Values
    are stacked arrays `[num_envs, ...]`; where no episode ended, `final_obs` holds the present observation. For `Tuple`
    and `Dict` observations `final_obs` is an array of objects, None where no episode ended.

    `get_attr(name)`, `set_attr(name, values)` and `call(name, ...)` are those of Gymnasium's `SyncVectorEnv`. A
    parameter that is set, one value or one per environment, takes effect with the next step, without compiling again.

    `async_reset`, `send`, `recv` and `xla` are those of EnvPool.

    Args:
        func_env: the functional environment with its wrappers; or a batch of `num_envs`, whose parameters have a
            leading axis: `CartPole(gravity=gravities)`.
        num_envs: at least 1. On a CPU, multiples of 256 are fastest above 256.
        autoreset_mode: what happens when an episode ends, an `AutoresetMode` or its value. By default, as in
            Gymnasium, the next step resets the environment and ignores its action.
        output: "numpy" returns fresh arrays, in Fortran order for small observations. "jax" returns JAX arrays without
            waiting for them, and "torch" returns tensors that share their memory. With these two, actions may be device
            arrays, which are not read. So an action outside of the space raises no error, nor does a step after the end
            of an episode in DISABLED mode.
        render_mode: "rgb_array" and "ansi" make `render` return a tuple with a frame of each environment; with
            "rgb_array_list" and "ansi_list" it returns a list for each, of the frames of its present episode since the
            last `render`, of which `rollout` leaves the last. "human" is a window with all of them, which `reset`,
            `step` and `rollout` update.
        render_height: rows of an image of one environment, as for `FunctionalEnv`.
        render_width: columns of an image of one environment, likewise.
        spec: the id and arguments that made one of the environments.

    Attributes:
        func_env: the functional environment.
        autoreset_mode: also `metadata["autoreset_mode"]`.

    Raises:
        TypeError: `func_env` is not a `FuncEnv`.
        ValueError: `num_envs` is below 1, parameters have another leading axis, or a mode or output is unknown.
        RuntimeError: the render mode is "human" and there is no display.
        ImportError: the output is "torch" and torch is not installed.

    >>> import funcenv
    >>> envs = FunctionalVectorEnv(funcenv.make("CartPole-v1"), 3)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations, rewards, terminations, truncations, infos = envs.step(np.array([0, 1, 1]))
    >>> observations.shape, rewards, infos
    ((3, 4), array([1., 1., 1.], dtype=float32), {})
    >>> _ = envs.reset(seed=0)
    >>> observations, rewards, terminations, truncations, infos = envs.rollout(np.ones((20, 3), int))
    >>> observations.shape, int(terminations.sum())
    ((20, 3, 4), 5)
    """

    def __init__(
        self,
        func_env: AnyEnv,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        output: str = "numpy",
        render_mode: str | None = None,
        render_height: int | None = None,
        render_width: int | None = None,
        spec: EnvSpec | None = None,
    ) -> None:
        require_func_env(type(self).__name__, func_env)
        if output not in _OUTPUTS:
            raise ValueError(f"output must be one of {', '.join(_OUTPUTS)}, got {output!r}")
        if output == "torch":
            torch_output()  # raises if torch is missing
        self.func_env = func_env
        self.num_envs = num_envs
        self._mode = AutoresetMode(autoreset_mode)
        self.autoreset_mode: Any = self._mode
        self.output = output
        self._set_up_rendering(render_mode, render_height, render_width)
        self.spec = spec
        self.metadata = {**self.metadata, "jax": True, "autoreset_mode": self._mode}
        self._set_up()
        self._set_spaces(self._venv)

    def _set_spaces(self, venv: AnyVectorEnv) -> None:
        self.single_observation_space = Space(venv.single_observation_space)
        self.single_action_space = Space(venv.single_action_space)
        self.observation_space = Space(batch_space(venv.single_observation_space, self.num_envs))
        self.action_space = Space(batch_space(venv.single_action_space, self.num_envs))

    def _set_up(self) -> None:
        """Set everything that follows from the arguments, also after unpickling."""
        self._venv = self._func_vector_env()  # whose parameters are constants of the compiled programs
        self._impl = default_impl()
        self._encode = self._action_encoder(self._venv.single_action_space)
        self._checks_ends = self.output == "numpy" and self._mode is AutoresetMode.DISABLED
        self._key_words: jax.Array | None = None  # [num_envs, words_in_key]
        self._packed_state: jax.Array | None = None  # from the last call; None before the first reset
        self._parameters: Any = None  # [num_envs] environments, while there may be episodes with other parameters
        self._ended: NDArray | None = None  # [num_envs], in DISABLED mode
        self._pending: Result | None = None  # of the step that step_async started
        self._key_is_stale = False
        self._lock = threading.Lock()

    def _action_encoder(self, space: AnySpace) -> Encode:
        return batch_encoder(space)

    @exclusive
    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[ObsType, dict[str, Any]]:
        """Start episodes.

        Args:
            seed: an integer, which gives environment i the seed `seed + i`; or a sequence with a seed for each
                environment, or None where the randomness continues. By default it continues everywhere.
            options: `"reset_mask"`, a bool array `[num_envs]`, selects the environments to reset; the others return
                their present observation. All other options are parameters for these episodes, such as
                `{"low": -0.1}`, each one value or one per environment. An autoreset returns to the usual parameters.

        Returns:
            Observations and infos.

        Raises:
            ValueError: an option is not a parameter or is a compile-time choice, the environment refuses its value, a
                mask or a sequence of seeds has another length, or a mask selects nothing.
            TypeError: a seed is not an integer, or a mask is not bool.
            ResetNeeded: the first reset has a mask.
        """
        self._require_nothing_pending("reset")
        result, mask = self._start_reset(seed, dict(options or {}))
        observation, _, terminated, truncated, infos = self._output.reset(result, mask)
        self._after_call(terminated, truncated, None, moved=mask)
        return observation, infos

    def _start_reset(self, seed: Any, options: dict[str, Any]) -> tuple[Result, NDArray]:
        """Start episodes, and return their result and the mask of the environments that were reset."""
        partial = "reset_mask" in options
        mask = require_mask(options.pop("reset_mask"), self.num_envs) if partial else np.ones(self.num_envs, bool)
        if partial and self._packed_state is None:
            raise ResetNeeded("call reset() without a reset_mask first: there are no episodes to keep")
        parameters = self._with_options(options, mask)
        key_words, seeded = self._new_key_words(seed, mask, partial)
        env = self.func_env if parameters is None else parameters
        if self._packed_state is None or self._key_words is None:
            self._key_words = jnp.asarray(key_words)
            result = self._programs.first_reset(env, self._key_words)
        else:
            if seeded.any():
                self._key_words = jnp.asarray(np.where(seeded[:, None], key_words, np.asarray(self._key_words)))
            result = self._programs.reset(env, self._key_words, self._packed_state, seeded, mask)
        self._parameters, self._packed_state = parameters, result[1]
        return result, mask

    def step(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Take an action in each environment.

        Args:
            actions: a batch of actions, `[num_envs, ...]`.

        Returns:
            Observations, rewards (float32, or float64 under x64), terminations, truncations and infos.

        Raises:
            ResetNeeded: before the first `reset`, and in DISABLED mode if an episode has ended.
            ValueError: an action is outside of the space; the states are unchanged. Beyond the bounds of a `Box` of
                floats, an action is passed on, with one warning.
            ConcurrentUse: another thread is inside a call.
            ClosedEnvironment: after `close`.
        """
        acquire(self)  # not `exclusive`, which takes a thirtieth of a step
        try:
            return self._finish_step(self._start_step(actions))
        finally:
            self._lock.release()

    @exclusive
    def step_async(self, actions: ActType) -> None:
        """Start a step, and return while it is computed. `step_wait` returns the results. Errors are as in `step`."""
        self._pending = self._start_step(actions)

    @exclusive
    def step_wait(self) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Return the results of the step that `step_async` started.

        Raises:
            RuntimeError: no step was started.
        """
        if self._pending is None:
            raise RuntimeError("step_wait() has nothing to wait for; call step_async(actions) or send(actions) first")
        result, self._pending = self._pending, None
        return self._finish_step(result)

    @exclusive
    def rollout(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Take a block of steps in one call, which equals as many calls of `step`.

        It is compiled once for each number of steps. In DISABLED mode, an environment whose episode ends within the
        block is stepped further, with the dynamics that it defines beyond the end of an episode.

        Args:
            actions: `[num_steps, num_envs, ...]`.

        Returns:
            The results of `step`, infos included, with another leading axis `[num_steps]`.

        Raises:
            ValueError: an action is outside of the space, or there are none.
            ResetNeeded: as for `step`.
        """
        packed = self._require_ready("rollout")
        encoded = self._encode(actions, (block_length(actions), self.num_envs))
        programs = self._programs
        if self._parameters is None:
            result = programs.rollout(self._key_words, packed, encoded)
        else:
            result, self._parameters = programs.rollout_with(
                self._usual, self._parameters, self._key_words, packed, encoded
            )
        self._packed_state = result[1]
        returned = self._output.rollout(result[0])
        self._after_call(returned[2][-1], returned[3][-1], (encoded, True), skips_frames=True)
        return returned

    @property
    def state(self) -> VectorState[Any]:
        """The state of all environments, as a value of the functional `FuncVectorEnv`.

        Setting it returns to it: the same actions then have the same results. It does not hold the parameters of
        episodes with options.

        Raises:
            ResetNeeded: before the first `reset`.
        """
        if self._packed_state is None:
            raise ResetNeeded("call reset() first: there is no state yet")
        vstate: VectorState[Any] = self._programs.vstate(self._key_words, self._packed_state)
        return vstate

    @state.setter
    def state(self, vstate: VectorState[Any]) -> None:
        self._require_nothing_pending("state")
        impl = find_impl(impl_name(vstate.key))
        if impl != self._impl:  # which other programs take
            self._impl = impl
            for name in ("_programs", "_output"):
                vars(self).pop(name, None)
        self._key_words, self._packed_state = jax.random.key_data(vstate.key), self._programs.pack_vstate(vstate)
        self._ended = np.asarray(vstate.done) if self._checks_ends else None
        self._key_is_stale, self._last_actions = False, None

    @exclusive
    def _set_parameters(self, changes: dict[str, Any]) -> None:
        """Replace parameters, each one value or one per environment, in the present episodes and in later ones."""
        self._require_nothing_pending("set_attr")
        func_env = with_parameters(self.func_env, changes, self.num_envs)
        present = self._usual if self._parameters is None else self._parameters
        present = batch_parameters(with_parameters(present, changes, self.num_envs), self.num_envs)
        vstate = None if self._packed_state is None else self.state
        self.func_env = func_env
        vars(self).pop("_usual", None)
        venv = self._func_vector_env()
        if not same_structure(venv, self._venv):
            self._venv = venv
            for name in ("_programs", "_output"):
                vars(self).pop(name, None)
            shapes = jax.eval_shape(venv.reset, jax.random.key(0))[0].env_state
            if vstate is not None and same_shapes(shapes, vstate.env_state):
                self._packed_state = self._programs.pack_vstate(vstate)
            elif vstate is not None:  # the next reset begins new episodes
                self._packed_state, self._key_words, self._key_is_stale = None, None, True
        self._parameters = None if self._packed_state is None else present
        self._encode = self._action_encoder(venv.single_action_space)
        generators = [space._np_random for space in self._spaces]
        self._set_spaces(venv)
        for space, generator in zip(self._spaces, generators, strict=True):
            space._np_random = generator

    @property
    def _spaces(self) -> tuple[Any, ...]:
        return self.single_observation_space, self.single_action_space, self.observation_space, self.action_space

    def _func_vector_env(self) -> AnyVectorEnv:
        return FuncVectorEnv(self.func_env, self.num_envs, self._mode)

    def _start_step(self, actions: Any) -> Result:
        packed = self._require_ready("step")
        encoded = self._encode(actions, (self.num_envs,))
        self._last_actions = encoded, False
        if self._parameters is None:
            result: Result = self._programs.step(self._key_words, packed, encoded)
        else:
            result, self._parameters = self._programs.step_with(
                self._usual, self._parameters, self._key_words, packed, encoded
            )
        self._packed_state = result[1]
        return result

    def _finish_step(self, result: Result) -> StepResult:
        returned = self._output.step(result)
        self._after_call(returned[2], returned[3], self._last_actions)
        return returned

    def _after_call(
        self,
        terminated: Any,
        truncated: Any,
        last_actions: Any,
        *,
        moved: NDArray | None = None,
        skips_frames: bool = False,
    ) -> None:
        self._last_actions = last_actions
        if self._checks_ends:
            self._ended = terminated | truncated
        if self._renders_each_call:
            self._render_call(np.ones(self.num_envs, bool) if moved is None else moved, skips_frames=skips_frames)

    def _present(self) -> tuple[Any, VectorState[Any]]:
        return self._usual if self._parameters is None else self._parameters, self.state

    def _require_ready(self, method: str) -> jax.Array:
        if self._packed_state is None:
            raise ResetNeeded(f"call reset() before the first {method}")
        self._require_nothing_pending(method)
        if self._ended is not None and self._ended.any():
            raise ResetNeeded(
                f"the episodes of environments {np.flatnonzero(self._ended).tolist()} are over; in DISABLED mode call "
                'reset(options={"reset_mask": terminations | truncations}) first'
            )
        return self._packed_state

    def _require_nothing_pending(self, method: str) -> None:
        if self._pending is not None:
            raise RuntimeError(f"the results of a call are pending; call step_wait() or recv() before {method}")

    def _new_key_words(self, seed: Any, mask: NDArray, partial: bool) -> tuple[NDArray, NDArray]:
        """Return the words of new keys `[num_envs, words_in_key]`, and the mask of the environments that take them."""
        num_words = words_in_key(self._impl)
        if seed is None and self._key_is_stale:
            self._key_is_stale = False
            return np.stack([draw_key_words(self.np_random, num_words) for _ in range(self.num_envs)]), mask
        if seed is None and self._packed_state is None:
            seeds = parse_seeds(self.np_random_seed, self.num_envs)
        elif seed is None:
            return np.zeros((self.num_envs, num_words), np.uint32), np.zeros(self.num_envs, bool)
        else:
            seeds = parse_seeds(seed, self.num_envs)
            if self._packed_state is None:
                seeds = [np_random()[1] if one is None else one for one in seeds]
            if not partial and None not in seeds:
                self._np_random, self._np_random_seed = batch_np_random(seed, seeds)
                self._key_is_stale = False
        seeded = np.array([one is not None for one in seeds]) & mask
        return seeds_to_key_words(seeds, self._impl), seeded

    def _with_options(self, options: dict[str, Any], mask: NDArray) -> Any:
        """Return the batched environments of the present episodes, or None for the usual ones."""
        if not options and (mask.all() or self._parameters is None):
            return None if self.func_env is self._venv.env else self._usual
        present = self._usual if self._parameters is None else self._parameters
        return with_batched_options(self.func_env, self.num_envs, present, options, mask)

    @functools.cached_property
    def _usual(self) -> Any:
        """The usual environments, in which every parameter has a leading axis."""
        return batch_parameters(self.func_env, self.num_envs)

    @functools.cached_property
    def _programs(self) -> VectorPrograms:
        return vector_programs(self._venv, self._impl, self.output == "numpy")

    @functools.cached_property
    def _output(self) -> NumpyOutput | DeviceOutput:
        if self.output == "numpy":
            return NumpyOutput(self._programs, self._venv.single_observation_space)
        return jax_output() if self.output == "jax" else torch_output()

    def __getstate__(self) -> dict[str, Any]:
        self._require_nothing_pending("a copy")
        state = {name: value for name, value in vars(self).items() if name not in _NOT_PICKLED}
        if self._packed_state is not None and self._key_words is not None:
            vstate = self.state
            state["vstate"] = jax.tree.map(np.asarray, vstate.replace(key=jax.random.key_data(vstate.key)))
            state["impl"] = impl_name(vstate.key)
        state["_parameters"] = jax.tree.map(np.asarray, self._parameters)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vstate, impl = state.pop("vstate", None), state.pop("impl", None)
        vars(self).update(state)
        kept = self._parameters, self._ended, self._key_is_stale, self._last_actions
        self._set_up()
        if vstate is not None:
            key = jax.random.wrap_key_data(jnp.asarray(vstate.key), impl=find_impl(impl))
            self.state = jax.tree.map(jnp.asarray, vstate.replace(key=None)).replace(key=key)
        parameters, self._ended, self._key_is_stale, self._last_actions = kept
        self._parameters = jax.tree.map(jnp.asarray, parameters)
