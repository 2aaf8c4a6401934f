"""The stateful vector interface to any functional environment."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np

from funcenv.adapters.engine.attributes import attribute_of_each, joined_values
from funcenv.adapters.engine.batch_actions import Encode, batch_encoder, block_length
from funcenv.adapters.engine.batch_seeding import batch_np_random, parse_seeds, require_mask, seeds_to_key_words
from funcenv.adapters.engine.envpool import EnvPoolMethods
from funcenv.adapters.engine.lifecycle import acquire, exclusive
from funcenv.adapters.engine.outputs import StepResult, torch_output
from funcenv.adapters.engine.programs_vector import Result
from funcenv.adapters.engine.reset_options import read_options
from funcenv.adapters.engine.seeding import draw_key_words, np_random
from funcenv.adapters.engine.sending import (
    mask_of,
    rows_of,
)
from funcenv.adapters.engine.vector_session import VectorSession
from funcenv.adapters.env import ActType, ObsType, require_func_env
from funcenv.adapters.error import ResetNeeded
from funcenv.adapters.rendering.batch import BatchRenderer, PresentFrame, require_drawable
from funcenv.adapters.rendering.frames import Frame, require_frame_size
from funcenv.adapters.rendering.modes import metadata, render_modes, require_mode
from funcenv.adapters.rendering.window import window_title
from funcenv.adapters.spaces.space import Space
from funcenv.func_env import AnyEnv
from funcenv.random import words_in_key
from funcenv.registry import EnvSpec
from funcenv.spaces import batch_space
from funcenv.spaces.space import AnySpace
from funcenv.struct import NDArray
from funcenv.union import require_one_task
from funcenv.vector import AnyVectorEnv, AutoresetMode, VectorState

_OUTPUTS = ("numpy", "jax", "torch")
# Attributes of a single environment that the vector environment has under these names.
_OF_EACH = {
    "observation_space": "single_observation_space",
    "action_space": "single_action_space",
    **{name: name for name in ("metadata", "render_mode", "spec")},
}
_NOT_PICKLED = {"_encode", "_lock"}


class FunctionalVectorEnv(EnvPoolMethods[ObsType, ActType]):
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

    `async_reset`, `send`, `recv`, `xla`, `config`, `all_env_ids`, `len`, `step(actions, env_id)` and `reset(env_id)`
    are those of EnvPool.

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
            "rgb_array_list" and other modes that end with "_list" it returns a list for each, of the frames of its
            present episode since the last `render`, of which `rollout` leaves the last. "human" is a window with all
            of them, which `reset`, `step` and `rollout` update.
        render_height: rows of an image of one environment, as for `FunctionalEnv`.
        render_width: columns of an image of one environment, likewise.
        spec: the id and arguments that made one of the environments.

    Attributes:
        func_env: the functional environment.
        autoreset_mode: also `metadata["autoreset_mode"]`.

    Raises:
        TypeError: `func_env` is not a `FuncEnv`.
        ValueError: `num_envs` is below 1, parameters have another leading axis, a mode or output is unknown, or the
            environment is a `Union` of several tasks.
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
        require_one_task(type(self).__name__, func_env)
        if output not in _OUTPUTS:
            raise ValueError(f"output must be one of {', '.join(_OUTPUTS)}, got {output!r}")
        if output == "torch":
            torch_output()  # raises if torch is missing
        mode, modes = AutoresetMode.of(autoreset_mode), render_modes(func_env)
        require_mode(render_mode, modes, func_env)
        size = require_frame_size(render_height, render_width)
        self._session = VectorSession(func_env, num_envs, mode, output)
        self.num_envs, self.output, self.render_mode, self.spec = num_envs, output, render_mode, spec
        self.autoreset_mode: Any = mode
        self.metadata = {**metadata(func_env, modes), "jax": True, "autoreset_mode": mode}
        fps = self.metadata.get("render_fps", 30)
        self._renderer = BatchRenderer(render_mode, num_envs, window_title(self), fps, size)
        self._last_actions: Any = None  # with whether they are a block of several steps; None after a reset
        self._key_is_stale = False
        self._set_up()
        self._set_spaces(self._session.venv)

    def _set_spaces(self, venv: AnyVectorEnv) -> None:
        self.single_observation_space = Space(venv.single_observation_space)
        self.single_action_space = Space(venv.single_action_space)
        self.observation_space = Space(batch_space(venv.single_observation_space, self.num_envs))
        self.action_space = Space(batch_space(venv.single_action_space, self.num_envs))

    def _set_up(self) -> None:
        """Set everything that is not pickled."""
        self._encode = self._action_encoder(self._session.venv.single_action_space)
        self._lock = threading.Lock()

    def _action_encoder(self, space: AnySpace) -> Encode:
        return batch_encoder(space)

    @exclusive
    def reset(
        self, env_id: Any = None, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start episodes.

        Args:
            env_id: the numbers of the environments to reset, of which alone observations and infos are returned, as
                EnvPool does. By default all are reset.
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
            ResetNeeded: the first reset leaves environments out.
        """
        self._session.require_nothing_pending("reset")
        options = read_options(options)
        if env_id is not None:
            options["reset_mask"] = mask_of(env_id, self.num_envs)
        result, mask = self._start_reset(seed, options)
        observation, _, terminated, truncated, infos = self._session.results.reset(result, mask)
        self._after_call(terminated, truncated, None, moved=mask)
        if env_id is None:
            return observation, infos
        returned: tuple[ObsType, dict[str, Any]] = rows_of((observation, self._envpool_infos(infos)), env_id)
        return returned

    def _start_reset(self, seed: Any, options: dict[str, Any]) -> tuple[Result, NDArray]:
        """Start episodes, and return their result and the mask of the environments that were reset."""
        session, mask = self._session, np.ones(self.num_envs, bool)
        if "reset_mask" in options:
            mask = require_mask(options.pop("reset_mask"), self.num_envs)
        partial = not mask.all()  # a mask of all environments is a reset of all
        if partial and session.packed is None:
            raise ResetNeeded("call reset() without a reset_mask first: there are no episodes to keep")
        parameters = session.envs_of_episodes(options, mask)
        return session.reset(parameters, *self._new_key_words(seed, mask, partial), mask), mask

    def step(self, actions: ActType, env_id: Any = None) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Take an action in each environment.

        Args:
            actions: a batch of actions, `[num_envs, ...]`.
            env_id: the environment of each action, as for EnvPool; results have the same order, and EnvPool's infos.
                All environments are stepped together. By default actions are in order.

        Returns:
            Observations, rewards (float32, or float64 under x64), terminations, truncations and infos.

        Raises:
            ResetNeeded: before the first `reset`, and in DISABLED mode if an episode has ended.
            ValueError: an action is outside of the space; the states are unchanged. Beyond the bounds of a `Box` of
                floats, an action is passed on, with one warning.
            ConcurrentUse: another thread is inside a call.
            ClosedEnvironment: after `close`.
        """
        if env_id is not None:
            return self._step_in_order(actions, env_id)
        acquire(self)  # not `exclusive`, which takes a thirtieth of a step
        try:
            return self._finish_step(self._start_step(actions))
        finally:
            self._lock.release()

    @exclusive
    def step_async(self, actions: ActType) -> None:
        """Start a step, and return while it is computed. `step_wait` returns the results. Errors are as in `step`."""
        self._session.pending = self._start_step(actions)

    @exclusive
    def step_wait(self) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Return the results of the step that `step_async` started.

        Raises:
            RuntimeError: no step was started.
        """
        result, self._session.pending = self._session.pending, None
        if result is None:
            raise RuntimeError("step_wait() has nothing to wait for; call step_async(actions) or send(actions) first")
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
        self._session.require_ready("rollout")
        encoded = self._encode(actions, (block_length(actions), self.num_envs))
        returned = self._session.rollout(encoded)
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
        return self._session.state

    @state.setter
    def state(self, vstate: VectorState[Any]) -> None:
        self._session.restore(vstate)
        self._key_is_stale, self._last_actions = False, None

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment, such as a parameter.

        Raises:
            AttributeError: the environments do not have the attribute.

        >>> from funcenv.adapters import make_vec
        >>> make_vec("CartPole-v1", 2).get_attr("gravity")
        (9.8, 9.8)
        """
        if name in _OF_EACH:
            return (getattr(self, _OF_EACH[name]),) * self.num_envs
        return attribute_of_each(self.func_env, self.num_envs, name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set a parameter, from the next step on, and also in later episodes.

        This does not compile again, unless the parameter is static. Episodes go on, unless their states have other
        shapes with the new value; then `reset` must come next.

        Args:
            name: a parameter of the environments, or of a wrapper such as `TimeLimit`.
            values: one value for all, or a list, tuple or array with one for each environment.

        Raises:
            AttributeError: there is no such parameter.
            ValueError: there are more or fewer values than environments, values of a static parameter differ, or the
                environment rejects one.

        >>> from funcenv.adapters import make_vec
        >>> envs = make_vec("CartPole-v1", 2)
        >>> envs.set_attr("gravity", [9.8, 1.6])
        >>> [float(gravity) for gravity in envs.get_attr("gravity")]
        [9.8, 1.6]
        """
        self._set_parameters({name: joined_values(self.func_env, self.num_envs, name, values)})

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of each environment with these arguments, and return the results.

        As in Gymnasium, attributes that are not functions are returned. `call("render")` returns what `render` does.

        Raises:
            AttributeError: the environments do not have the attribute. `reset` and `step` are those of the batch.
        """
        if name == "render":
            frames = self.render(*args, **kwargs)
            return frames if isinstance(frames, tuple) else (frames,) * self.num_envs
        attributes = self.get_attr(name)
        return tuple(one(*args, **kwargs) if callable(one) else one for one in attributes)

    @exclusive
    def render(self) -> Any:
        """Return a tuple with an image, a string or a list of these for each environment; None if the mode is "human".

        Without a mode this warns and returns None.

        Raises:
            ResetNeeded: before the first `reset`.
            ClosedEnvironment: after `close`.
        """
        if self.render_mode is None:
            warnings.warn(
                f"render() draws nothing: {self} has no render mode; say which when you make it, as in "
                'make_vec(..., render_mode="rgb_array")',
                UserWarning,
                stacklevel=3,
            )
            return None
        return self._renderer.render(self._present_frame)

    @exclusive
    def render_mosaic(self, height: int | None = None, width: int | None = None, columns: int | None = None) -> Frame:
        """Return one image with a tile for each environment, in any render mode.

        Args:
            height: rows of the image. By default the aspect ratio is that of the grid, and the longer side has 900
                pixels, or as many as the other side requires.
            width: columns of the image, with the same default.
            columns: the number of environments in a row; by default the grid is about square.

        Returns:
            uint8 `[height, width, 3]`, a fresh array.

        Raises:
            ResetNeeded: before the first `reset`.
            ValueError: a size is below 1, or the environment draws nothing.
        """
        size = require_frame_size(height, width)
        require_drawable(self.func_env)
        return self._renderer.mosaic(self._present_frame(), *size, columns)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window."""
        self._renderer.close()

    @exclusive
    def _set_parameters(self, changes: dict[str, Any]) -> None:
        """Replace parameters, each one value or one per environment, in the present episodes and in later ones."""
        self._session.require_nothing_pending("set_attr")
        if not self._session.set_parameters(changes):
            self._key_is_stale = True  # the next reset begins new episodes
        venv = self._session.vector_env()
        self._encode = self._action_encoder(venv.single_action_space)
        generators = [space._np_random for space in self._spaces]
        self._set_spaces(venv)
        for space, generator in zip(self._spaces, generators, strict=True):
            space._np_random = generator

    @property
    def _spaces(self) -> tuple[Any, ...]:
        return self.single_observation_space, self.single_action_space, self.observation_space, self.action_space

    def _start_step(self, actions: Any) -> Result:
        self._session.require_ready("step")
        encoded = self._encode(actions, (self.num_envs,))
        self._last_actions = encoded, False
        return self._session.step(encoded)

    def _finish_step(self, result: Result) -> StepResult:
        returned = self._session.results.step(result)
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
        self._session.note_ends(terminated, truncated)
        if self._renderer.renders_each_call:
            self._renderer.render_call(self._present_frame(moved), skips_frames=skips_frames)

    def _present_frame(self, moved: NDArray | None = None) -> PresentFrame:
        vstate = self.state
        moved = np.ones(self.num_envs, bool) if moved is None else moved
        return PresentFrame(
            self._session.present_envs, vstate.env_state, vstate.episode_length, self._last_actions, moved
        )

    def _new_key_words(self, seed: Any, mask: NDArray, partial: bool) -> tuple[NDArray, NDArray]:
        """Return the words of new keys `[num_envs, words_in_key]`, and the mask of the environments that take them."""
        num_words = words_in_key(self._session.impl)
        if seed is None and self._key_is_stale:
            self._key_is_stale = False
            return np.stack([draw_key_words(self.np_random, num_words) for _ in range(self.num_envs)]), mask
        if seed is None and self._session.packed is None:
            seeds = parse_seeds(self.np_random_seed, self.num_envs)
        elif seed is None:
            return np.zeros((self.num_envs, num_words), np.uint32), np.zeros(self.num_envs, bool)
        else:
            seeds = parse_seeds(seed, self.num_envs)
            if self._session.packed is None:
                seeds = [np_random()[1] if one is None else one for one in seeds]
            if not partial and None not in seeds:
                self._np_random, self._np_random_seed = batch_np_random(seed, seeds)
                self._key_is_stale = False
        seeded = np.array([one is not None for one in seeds]) & mask
        return seeds_to_key_words(seeds, self._session.impl), seeded

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _NOT_PICKLED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._set_up()
