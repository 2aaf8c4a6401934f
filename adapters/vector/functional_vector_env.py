"""A stateful vector environment over a pure one."""

from __future__ import annotations

import functools
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.adapters.errors import ClosedEnvironment, ConcurrentUse, ResetNeeded
from funcenv.adapters.reset_options import batched, with_batched_options
from funcenv.adapters.seeding import np_random
from funcenv.adapters.single.env import ActType, ObsType
from funcenv.adapters.spaces import Space
from funcenv.adapters.vector.actions import batch_encoder, block_length
from funcenv.adapters.vector.outputs import DeviceOutput, NumpyOutput, StepResult, jax_output, torch_output
from funcenv.adapters.vector.programs import VectorPrograms, vector_programs
from funcenv.adapters.vector.rendering import RenderedVectorEnv
from funcenv.adapters.vector.seeding import generator_words, parse_seeds, require_mask, root_of, seed_words
from funcenv.func_env import FuncEnv
from funcenv.random import default_impl, find_impl, impl_name
from funcenv.registry import EnvSpec
from funcenv.spaces import batch_space
from funcenv.vector import AutoresetMode, FuncVectorEnv, VectorState

_OUTPUTS = ("numpy", "jax", "torch")
# What is not pickled as it is: what follows from the rest, and what is pickled in another form.
_DERIVED = {"_venv", "_impl", "_programs", "_output", "_encode", "_checks_ends", "_busy", "_usual", "_window"}
_CONVERTED = {"_keys", "_carried"}


class FunctionalVectorEnv(RenderedVectorEnv[ObsType, ActType]):
    """Gymnasium's vector interface over any `FuncEnv`.

    Environment i of `reset(seed=s)` lives as `FunctionalEnv` after `reset(seed=s + i)`, and as environment i of the
    pure `FuncVectorEnv` that is reset with the keys `seed_to_key(s + i)`. `step` is one compiled call, compiled once.

    A program that steps a batch from Python on a CPU, and does little else with JAX, is faster with
    `jax.config.update("jax_cpu_enable_async_dispatch", False)` before the first use of JAX: handing a step to another
    thread takes longer than most steps. Leave the default where Python has work to do while JAX computes, as a
    learner does that reads no result until it needs it. Small steps stay on the calling thread in either case.

    Infos follow Gymnasium: every key comes with a mask `_key` `[num_envs]` of the environments that have it, and when
    episodes begin within the step that ends them, `final_obs` and `final_info` hold the last observations and infos.
    Values are stacked arrays `[num_envs, ...]`. So is `final_obs`, which shows the present observation where nothing
    ended; for `Tuple` and `Dict` observations it is an array of objects, None where nothing ended.

    Args:
        func_env: the pure environment with its wrappers; or a batch of `num_envs`, whose parameters have a leading
            axis: `CartPole(gravity=gravities)`.
        num_envs: at least 1. On a CPU a multiple of 256 is fastest above 256.
        autoreset_mode: what happens when an episode ends, an `AutoresetMode` or its value. By default, as in
            Gymnasium, the next step begins the next episode and ignores that environment's action.
        output: "numpy" hands out fresh arrays, observations of a few numbers in Fortran's order. "jax" hands out JAX
            arrays and does not wait for them; "torch" tensors that share their memory. With these two, actions may be
            device arrays; they are not read, so an action outside of the space is not noticed, nor is a step after an
            episode's end in `DISABLED` mode.
        render_mode: how they are drawn: "rgb_array" and "ansi" give a tuple of frames, one for each environment;
            "human" is a window with all of them, which `reset`, `step` and `rollout` keep up to date.
        render_height: rows of a picture of one environment, as for `FunctionalEnv`.
        render_width: columns of such a picture, likewise.
        spec: how it was made.

    Attributes:
        func_env: as given.
        autoreset_mode: also `metadata["autoreset_mode"]`.

    Raises:
        ValueError: `num_envs` below 1, parameters with another leading axis, an unknown mode or output.
        RuntimeError: a window is asked for and there is no display.
        ImportError: torch tensors are asked for and torch is not installed.

    >>> import funcenv
    >>> envs = FunctionalVectorEnv(funcenv.make("CartPole-v1"), 3)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations, rewards, terminations, truncations, infos = envs.step(np.array([0, 1, 1]))
    >>> observations.shape, rewards, infos
    ((3, 4), array([1., 1., 1.], dtype=float32), {})
    """

    def __init__(
        self,
        func_env: FuncEnv[Any, Any, Any],
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        output: str = "numpy",
        render_mode: str | None = None,
        render_height: int | None = None,
        render_width: int | None = None,
        spec: EnvSpec | None = None,
    ) -> None:
        if output not in _OUTPUTS:
            raise ValueError(f"output must be one of {', '.join(_OUTPUTS)}, got {output!r}")
        if output == "torch":
            torch_output()  # is it there?
        self.func_env = func_env
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.output = output
        self._set_up_rendering(render_mode, render_height, render_width)
        self.spec = spec
        self.metadata = {**self.metadata, "jax": True, "autoreset_mode": self.autoreset_mode}
        self._set_up()
        self.single_observation_space = Space(self._venv.single_observation_space)
        self.single_action_space = Space(self._venv.single_action_space)
        self.observation_space = Space(batch_space(self._venv.single_observation_space, num_envs))
        self.action_space = Space(batch_space(self._venv.single_action_space, num_envs))

    def _set_up(self) -> None:
        """Everything that follows from the arguments; done again after unpickling."""
        self._venv = FuncVectorEnv(self.func_env, self.num_envs, self.autoreset_mode)
        self._impl = default_impl()
        self._encode = batch_encoder(self._venv.single_action_space)
        self._checks_ends = self.output == "numpy" and self.autoreset_mode is AutoresetMode.DISABLED
        self._keys: jax.Array | None = None  # [num_envs, words], what the keys are made of
        self._carried: jax.Array | None = None  # from the last call to the next; None before the first reset
        self._parameters: Any = None  # [num_envs] environments, while episodes with options may be under way
        self._ended: np.ndarray[Any, Any] | None = None  # in DISABLED mode: which episodes are over
        self._pending: Any = None  # between step_async and step_wait: what the call returned
        self._key_is_stale = False  # np_random was set since the keys were made
        self._busy = threading.Lock()

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[ObsType, dict[str, Any]]:
        """Start episodes.

        Args:
            seed: an integer, for environment i `seed + i`; or a sequence of one for each, None for those whose stream
                goes on. Without it all streams go on.
            options: `"reset_mask"`, a bool array `[num_envs]`, resets only some environments; the others show their
                present observation. Everything else is a parameter for these episodes, such as `{"low": -0.1}`, one
                value or one for each environment; the next autoreset goes back to the usual parameters.

        Returns:
            Observations and infos.

        Raises:
            ValueError: an option that is not a parameter or is a compile-time choice, one that the environment
                refuses, a mask or a sequence of seeds of another length, a mask that resets nothing.
            TypeError: a seed that is not an integer, a mask that is not bool.
            ResetNeeded: a mask in the first reset.
        """
        self._begin()
        try:
            self._require_nothing_pending("reset")
            options = dict(options or {})
            partial = "reset_mask" in options
            mask = require_mask(options.pop("reset_mask"), self.num_envs) if partial else np.ones(self.num_envs, bool)
            if partial and self._carried is None:
                raise ResetNeeded("call reset() without a reset_mask first: there are no episodes to keep")
            parameters = self._with_options(options, mask)
            words, seeded = self._new_words(seed, mask, partial)
            env = self.func_env if parameters is None else parameters
            if self._carried is None or self._keys is None:
                self._keys = jnp.asarray(words)
                output = self._programs.begin(env, self._keys)
            else:
                if seeded.any():
                    self._keys = jnp.asarray(np.where(seeded[:, None], words, np.asarray(self._keys)))
                output = self._programs.begin_some(env, self._keys, self._carried, seeded, mask)
            self._parameters = parameters
            self._carried = output if self._output.packed else output[1]
            observation, _, terminated, truncated, infos = self._output.reset(output, mask)
            self._note_ends(terminated, truncated)
            self._follow(None)
            return observation, infos
        finally:
            self._busy.release()

    def step(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Play one action in each environment.

        Args:
            actions: a batch of actions, `[num_envs, ...]`.

        Returns:
            Observations, rewards (float32, or float64 under x64), terminations, truncations, infos.

        Raises:
            ResetNeeded: before the first `reset`; in `DISABLED` mode where an episode is over.
            ValueError: actions outside of the space; nothing has changed.
            ConcurrentUse: another thread is in the middle of a call.
            ClosedEnvironment: after `close`.
        """
        self._begin()
        try:
            return self._receive(self._send(actions))
        finally:
            self._busy.release()

    def step_async(self, actions: ActType) -> None:
        """Start a step, and return while it is computed; `step_wait` gives the results. Errors are those of `step`."""
        self._begin()
        try:
            self._pending = self._send(actions)
        finally:
            self._busy.release()

    def step_wait(self) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """The results of the step that `step_async` started.

        Raises:
            RuntimeError: no step was started.
        """
        self._begin()
        try:
            if self._pending is None:
                raise RuntimeError("step_wait() has nothing to wait for; call step_async(actions) first")
            output, self._pending = self._pending, None
            return self._receive(output)
        finally:
            self._busy.release()

    def rollout(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Play a block of steps in one call, as that many calls of `step` would.

        It is compiled once for each number of steps. In `DISABLED` mode an episode that ends within the block goes on
        by what the environment defines beyond an episode's end.

        Args:
            actions: `[num_steps, num_envs, ...]`.

        Returns:
            What `step` returns, with another leading axis `[num_steps]` throughout, infos included.

        Raises:
            ValueError: actions outside of the space, or none.
            ResetNeeded: as for `step`.

        >>> import funcenv
        >>> envs = FunctionalVectorEnv(funcenv.make("CartPole-v1"), 3)
        >>> _ = envs.reset(seed=0)
        >>> observations, rewards, terminations, truncations, infos = envs.rollout(np.ones((20, 3), int))
        >>> observations.shape, int(terminations.sum())
        ((20, 3, 4), 5)
        """
        self._begin()
        try:
            carried = self._require_ready("rollout")
            arguments = self._encode(actions, (block_length(actions), self.num_envs))
            if self._parameters is None:
                shown, self._carried = self._programs.play(self._keys, carried, arguments)
            else:
                shown, self._carried, self._parameters = self._programs.play_with(
                    self._usual, self._parameters, self._keys, carried, arguments
                )
            result = self._output.play(shown)
            self._note_ends(result[2][-1], result[3][-1])
            self._follow((arguments, True))
            return result
        finally:
            self._busy.release()

    @property
    def state(self) -> VectorState[Any]:
        """Where all environments are: a value, as the pure `FuncVectorEnv` takes it.

        Set it to come back; the same actions then lead the same way. It does not hold the parameters of episodes with
        options.

        Raises:
            ResetNeeded: before the first `reset`.
        """
        if self._carried is None:
            raise ResetNeeded("call reset() first: there is no state yet")
        vstate: VectorState[Any] = self._programs.vstate(self._keys, self._carried)
        return vstate

    @state.setter
    def state(self, vstate: VectorState[Any]) -> None:
        self._require_nothing_pending("state")
        impl = find_impl(impl_name(vstate.key))
        if impl != self._impl:  # its programs are others
            self._impl = impl
            for name in ("_programs", "_output"):
                vars(self).pop(name, None)
        self._keys, self._carried = jax.random.key_data(vstate.key), self._programs.restore(vstate)
        self._ended = np.asarray(vstate.done) if self._checks_ends else None
        self._key_is_stale, self._played = False, None

    @property
    def np_random(self) -> np.random.Generator:
        """The root of all randomness. Setting it gives every environment a key from it, at the next `reset`."""
        return super().np_random

    @np_random.setter
    def np_random(self, generator: np.random.Generator) -> None:
        self._np_random, self._np_random_seed, self._key_is_stale = generator, -1, True

    def _send(self, actions: Any) -> Any:
        """Start a step; what the compiled call returns."""
        carried = self._require_ready("step")
        arguments = self._encode(actions, (self.num_envs,))
        self._played = arguments, False
        if self._parameters is None:
            output = self._programs.step(self._keys, carried, arguments)
        else:
            output, self._parameters = self._programs.step_with(
                self._usual, self._parameters, self._keys, carried, arguments
            )
        self._carried = output if self._output.packed else output[1]
        return output

    def _receive(self, output: Any) -> StepResult:
        result = self._output.step(output)
        self._note_ends(result[2], result[3])
        self._follow(self._played)
        return result

    def _note_ends(self, terminated: Any, truncated: Any) -> None:
        if self._checks_ends:
            self._ended = terminated | truncated

    def _begin(self) -> None:
        """Take the lock that the caller releases; plain calls, because a context manager costs a microsecond."""
        if self.closed:
            raise ClosedEnvironment("this vector environment was closed; make a new one")
        if not self._busy.acquire(blocking=False):
            raise ConcurrentUse("another thread is using this vector environment; give each thread one of its own")

    def _present(self) -> tuple[Any, VectorState[Any]]:
        return self._usual if self._parameters is None else self._parameters, self.state

    def _require_ready(self, what: str) -> jax.Array:
        if self._carried is None:
            raise ResetNeeded(f"call reset() before the first {what}")
        self._require_nothing_pending(what)
        if self._ended is not None and self._ended.any():
            raise ResetNeeded(
                f"the episodes of environments {np.flatnonzero(self._ended).tolist()} are over; in DISABLED mode call "
                'reset(options={"reset_mask": terminations | truncations}) first'
            )
        return self._carried

    def _require_nothing_pending(self, what: str) -> None:
        if self._pending is not None:
            raise RuntimeError(f"step_async() started a step; call step_wait() before {what}")

    def _new_words(
        self, seed: Any, mask: np.ndarray[Any, Any], partial: bool
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The data of new keys `[num_envs, words]`, and which environments get one."""
        nowhere = np.zeros(self.num_envs, bool)
        if seed is None and self._key_is_stale:
            self._key_is_stale = False
            return generator_words(self.np_random, self.num_envs, self._impl), mask
        if seed is None and self._carried is None:
            seeds = parse_seeds(self.np_random_seed, self.num_envs)
        elif seed is None:
            return np.zeros((self.num_envs, 1), np.uint32), nowhere
        else:
            seeds = parse_seeds(seed, self.num_envs)
            if self._carried is None:
                seeds = [np_random()[1] if one is None else one for one in seeds]
            if not partial and None not in seeds:
                self._np_random, self._np_random_seed = root_of(seed, seeds)
                self._key_is_stale = False
        seeded = np.array([one is not None for one in seeds]) & mask
        return seed_words(seeds, self._impl), seeded

    def _with_options(self, options: dict[str, Any], mask: np.ndarray[Any, Any]) -> Any:
        """The environments of the episodes in play, batched throughout; None for the usual ones."""
        if not options and (mask.all() or self._parameters is None):
            return None
        present = self._usual if self._parameters is None else self._parameters
        return with_batched_options(self.func_env, self.num_envs, present, options, mask)

    @functools.cached_property
    def _usual(self) -> Any:
        """The usual environments, with every parameter as an array."""
        return batched(self.func_env, self.num_envs)

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
        state = {name: value for name, value in vars(self).items() if name not in _DERIVED | _CONVERTED}
        if self._carried is not None and self._keys is not None:
            vstate = self.state
            state["vstate"] = jax.tree.map(np.asarray, vstate.replace(key=jax.random.key_data(vstate.key)))
            state["impl"] = impl_name(vstate.key)
        state["_parameters"] = jax.tree.map(np.asarray, self._parameters)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vstate, impl = state.pop("vstate", None), state.pop("impl", None)
        vars(self).update(state)
        kept = self._parameters, self._ended, self._key_is_stale, self._played
        self._set_up()
        if vstate is not None:
            key = jax.random.wrap_key_data(jnp.asarray(vstate.key), impl=find_impl(impl))
            self.state = jax.tree.map(jnp.asarray, vstate.replace(key=None)).replace(key=key)
        parameters, self._ended, self._key_is_stale, self._played = kept
        self._parameters = jax.tree.map(jnp.asarray, parameters)
