"""The stateful interface to any functional environment."""

from __future__ import annotations

import functools
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.adapters.engine.lifecycle import acquire, exclusive
from funcenv.adapters.engine.parameters import (
    TransitionDict,
    attribute_names,
    has_attribute,
    read_attribute,
    with_parameters,
)
from funcenv.adapters.engine.programs_single import EnvPrograms, env_programs
from funcenv.adapters.engine.reset_options import with_options
from funcenv.adapters.engine.seeding import draw_key
from funcenv.adapters.engine.single_actions import action_encoder
from funcenv.adapters.engine.snapshot import Snapshot, innermost, same_shapes, same_structure
from funcenv.adapters.env import ActType, Env, ObsType, require_func_env
from funcenv.adapters.errors import ResetNeeded
from funcenv.adapters.rendering.frames import require_frame_size
from funcenv.adapters.rendering.modes import LIST_SUFFIX, metadata, render_modes, require_mode
from funcenv.adapters.rendering.renderer import Renderer, RenderInput
from funcenv.adapters.rendering.window import window_title
from funcenv.adapters.spaces.space import Space
from funcenv.adapters.unwrapped_env import UnwrappedEnv
from funcenv.envs.toy_text.tabular import TabularEnv
from funcenv.func_env import AnyEnv
from funcenv.random import default_impl, find_impl, impl_name
from funcenv.registry import EnvSpec
from funcenv.wrappers.base import layers


class PendingFrame(NamedTuple):
    """The content of a frame that is not drawn yet."""

    func_env: AnyEnv
    packed: Any
    action: Any


# The attributes that a pickled environment keeps as they are.
_PICKLED: tuple[str, ...] = (
    "func_env",
    "render_mode",
    "_render_size",
    "spec",
    "closed",
    "action_space",
    "observation_space",
    "_episode_env",
    "_np_random",
    "_np_random_seed",
    "_is_playing",
    "_key_is_stale",
    "_impl_name",
    "_action",
    "_inside",
)


class FunctionalEnv(Env[ObsType, ActType]):
    """The stateful interface to any `FuncEnv`.

    Randomness: whenever `np_random` is seeded or set, the next `reset` draws a JAX key from it. The environment counts
    its calls, resets and steps alike, and call number c uses `fold_in(key, c)`, which is the law of `FuncVectorEnv`.
    So `reset(seed=s)` replays an episode and `reset()` starts a new one. A vector environment seeded with s - i behaves
    at index i as this environment does seeded with s.

    Each `step` is one compiled call that returns one array. Environments with equal parameters share compiled code.

    The parameters and the other public attributes of the functional environment are attributes of this object:
    `env.gravity` reads one, and `env.gravity = 1.6` sets one for all later calls, without compiling again unless the
    parameter is static. Environments with numbered states have `P`, `s`, `nS`, `nA`, `encode` and `decode` in
    Gymnasium's form. Any other name that is set becomes an ordinary attribute of this object.

    The render modes, of which `metadata["render_modes"]` lists those that the environment has:

    - None: nothing is drawn.
    - "rgb_array": `render` returns an image, uint8 `[height, width, 3]`.
    - "ansi": `render` returns a string for a terminal: the environment's own text, or else its image at the size of the
      terminal.
    - "human": `reset` and `step` show a window, at `metadata["render_fps"]` frames a second.
    - "rgb_array_list", "ansi_list": `render` returns the frames of all calls since the last `render` or `reset`. It
      draws them from stored states, so frames that nobody asks for cost nothing.

    Args:
        func_env: the functional environment with its wrappers.
        render_mode: one of the modes above.
        render_height: rows of an image. By default the aspect ratio is that of the scene's camera, and the longer side
            has 600 pixels, or as many as the other side requires.
        render_width: columns of an image, with the same default.
        spec: the id and arguments that made the environment.

    Raises:
        TypeError: `func_env` is not a `FuncEnv`.
        ValueError: the environment does not have this render mode, or a size is below 1.
        RuntimeError: the mode is "human" and there is no display.
        ModuleNotFoundError: the mode is "human" and pygame is not installed.

    >>> import funcenv
    >>> env = FunctionalEnv(funcenv.make("CartPole-v1"))
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> observation.shape, reward, terminated, truncated
    ((4,), 1.0, False, False)
    >>> env.gravity = 1.6
    >>> env.gravity, env.func_env.unwrapped.gravity
    (1.6, 1.6)
    """

    _inside: bool = False  # whether the last call was one of `unwrapped`
    _unwrapped_ref: weakref.ref[UnwrappedEnv[Any, Any]] | None = None

    def __init__(
        self,
        func_env: AnyEnv,
        render_mode: str | None = None,
        *,
        render_height: int | None = None,
        render_width: int | None = None,
        spec: EnvSpec | None = None,
    ) -> None:
        require_func_env(type(self).__name__, func_env)
        self._check_mode(render_mode, func_env)
        self.func_env = func_env
        self.render_mode = render_mode
        self._render_size = require_frame_size(render_height, render_width)
        self.spec = spec
        self.closed = self._inside = False
        self._set_up()

    def _check_mode(self, render_mode: str | None, func_env: AnyEnv) -> None:
        """Raise an error for a render mode that the environment lacks, or that does not work on this machine."""
        require_mode(render_mode, render_modes(func_env), func_env)

    def _set_up(self) -> None:
        """Set everything that follows from the arguments, also after unpickling."""
        self._set_up_spaces()
        self._compiled_env = self.func_env  # whose parameters are constants of the compiled programs
        self._episode_env: AnyEnv | None = None  # the environment of this episode, if it has other parameters
        self._impl_name: str | None = None  # of the present key
        self._packed: jax.Array | None = None  # the result of the last call
        self._is_playing = False  # between reset and the end of the episode
        self._key_is_stale = True
        self.metadata = metadata(self.func_env, render_modes(self.func_env))
        self._renderer = Renderer(window_title(self), self.metadata.get("render_fps", 30), *self._render_size)
        self._renders_each_call = self.render_mode == "human" or (self.render_mode or "").endswith(LIST_SUFFIX)
        self._action: Any = None  # the last action of this episode
        self._frames: list[PendingFrame] = []  # since the last `render` or `reset`
        self._in_window: jax.Array | None = None  # the result that the window shows
        self._lock = threading.Lock()

    def _set_up_spaces(self) -> None:
        """Set the spaces, and the conversions of their members."""
        self.observation_space = Space(self.func_env.observation_space)
        self.action_space = Space(self.func_env.action_space)
        self._set_up_conversions()

    def _set_up_conversions(self) -> None:
        """Set how actions and observations are converted, inside all wrappers or outside of them."""
        func_env = self.func_env.unwrapped if self._inside else self.func_env
        self._encode = action_encoder(func_env.action_space)
        self._decode: Callable[[Any], Any] = func_env.observation_space.decode

    @functools.cached_property
    def _programs(self) -> EnvPrograms:
        """The compiled functions, made when first used: until then no backend starts, so a process may still fork."""
        impl = find_impl(self._impl_name) if self._impl_name else default_impl()
        return env_programs(self._compiled_env, impl, self._inside)

    def _use_impl_of(self, key: jax.Array) -> None:
        """Use the programs for keys of this PRNG implementation, on which the layout of results depends."""
        if self._impl_name != impl_name(key):
            self._impl_name = impl_name(key)
            vars(self).pop("_programs", None)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: any non-negative integer, which restarts the randomness; by default it continues.
            options: parameters of the environment for this episode, such as `{"low": -0.1, "high": 0.1}`.

        Returns:
            Observation and info.

        Raises:
            ValueError: an option is not a parameter, or the environment refuses its value.
            ClosedEnvironment: after `close`.
        """
        return self._reset(seed, options, inside=False)

    @exclusive
    def _reset(self, seed: int | None, options: dict[str, Any] | None, inside: bool) -> tuple[ObsType, dict[str, Any]]:
        """Reset as `reset` does; if `inside`, return what the environment inside all wrappers returns."""
        episode_env = None if self.func_env is self._compiled_env else self.func_env
        if options:
            episode_env = with_options(self.func_env, options)
        if seed is not None:
            self._set_seed(seed)
        self._enter(inside)
        if self._key_is_stale or self._packed is None:
            key, num_calls = draw_key(self.np_random), jnp.zeros((), jnp.uint32)
            self._use_impl_of(key)
            self._packed = self._programs.first_reset(episode_env or self.func_env, key, num_calls)
            self._key_is_stale = False
        elif episode_env is None:
            self._packed = self._programs.reset(self._packed)
        else:
            self._packed = self._programs.reset_with(episode_env, self._packed)
        self._episode_env, self._is_playing = episode_env, True
        self._action = None
        _, _, _, observation, info = self._read_result()
        if self._renders_each_call:
            self._frames.clear()
            self._render_call()
        return observation, info

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Returns:
            Observation, reward, terminated, truncated and info, in fresh arrays that no later call changes.

        Raises:
            ResetNeeded: before the first `reset`, and after the end of an episode.
            ValueError: the action is not in the action space; the state is unchanged.
            ConcurrentUse: another thread is inside a call.
            ClosedEnvironment: after `close`.
        """
        return self._step(action, inside=False)

    def _step(self, action: Any, inside: bool) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Step as `step` does; if `inside`, step the environment inside all wrappers."""
        acquire(self)  # not `exclusive`, which takes a thirtieth of a step
        try:
            if inside is not self._inside:
                self._enter(inside)
            if not self._is_playing or self._packed is None:
                raise ResetNeeded("call reset() before the first step, and after an episode's end")
            encoded = self._encode(action)
            fields = self.__dict__  # written directly, because `__setattr__` takes a tenth of a step
            if self._episode_env is None:
                fields["_packed"] = self._programs.step(self._packed, encoded)
            else:
                fields["_packed"] = self._programs.step_with(self._episode_env, self._packed, encoded)
            reward, terminated, truncated, observation, info = self._read_result()
            fields["_is_playing"] = not (terminated or truncated)
            fields["_action"] = action
            if self._renders_each_call:
                self._render_call()
            return observation, reward, terminated, truncated, info
        finally:
            self._lock.release()

    @exclusive
    def render(self) -> Any:
        """Return what `render_mode` names: an image, a string, a list of them, or None.

        Without a mode this warns and returns None, as Gymnasium's environments do.

        Raises:
            ResetNeeded: before the first `reset`.
            ClosedEnvironment: after `close`.
        """
        mode = self.render_mode
        if mode is None:
            modes = self.metadata["render_modes"]
            remedy = (
                f'say which when you make it, as in make(..., render_mode="{modes[0]}")' if modes else "it has none"
            )
            warnings.warn(f"render() draws nothing: {self} has no render mode; {remedy}", UserWarning, stacklevel=3)
            return None
        if self._packed is None:
            raise ResetNeeded("call reset() before render(): there is nothing to draw yet")
        if mode.endswith(LIST_SUFFIX):
            frames, self._frames = self._frames, []
            return [self._renderer.draw(mode.removesuffix(LIST_SUFFIX), self._render_input(frame)) for frame in frames]
        if mode == "human":
            self._show_window()
            return None
        return self._renderer.draw(mode, self._render_input(self._pending_frame()))

    @property
    def state(self) -> Snapshot:
        """The whole state, as a value. Setting it returns to it: the same actions then have the same results.

        `numpy.asarray(env.state)` is the vector that Gymnasium's environments have as `state`, and such a vector can be
        set as well; then the wrappers and the randomness stay as they are.

        Raises:
            ResetNeeded: before the first `reset`.
            ValueError: a vector of another length than the state's.
        """
        if self._packed is None:
            raise ResetNeeded("call reset() first: there is no state yet")
        return self._programs.snapshot(self._packed)

    @state.setter
    def state(self, value: Any) -> None:
        snapshot = value if isinstance(value, Snapshot) else self.state.with_vector(value)
        self._use_impl_of(snapshot.key)
        packed = self._programs.restore(self._present_env, snapshot)
        _, terminated, truncated = self._programs.read_scalars(np.asarray(packed))
        self._packed, self._is_playing, self._key_is_stale = packed, not (terminated or truncated), False
        self._action = None

    @property
    def s(self) -> int:
        """The number of the present state, for environments with numbered states; setting it moves the agent there."""
        return int(self._tabular_env("s").encode(innermost(self.state.env_state)))

    @s.setter
    def s(self, number: int) -> None:
        state = self._tabular_env("s").decode(int(number))
        self.state = self.state.with_innermost(jax.tree.map(jnp.asarray, state))

    @property
    def lastaction(self) -> Any:
        """The last action of this episode, None after `reset`, for environments with numbered states."""
        self._tabular_env("lastaction")
        return self._action

    @property
    def _present_env(self) -> AnyEnv:
        return self._episode_env or self.func_env

    def _tabular_env(self, name: str) -> TabularEnv[Any]:
        env = self.func_env.unwrapped
        if not isinstance(env, TabularEnv):
            raise AttributeError(f"{type(env).__name__} has no attribute {name!r}")
        return env

    @property
    def reward_range(self) -> tuple[float, float]:
        """Bounds of the reward of a step, with the options of this episode, until they are set."""
        own: tuple[float, float] | None = vars(self).get("_reward_range")
        return self._present_env.reward_range if own is None else own

    @reward_range.setter
    def reward_range(self, bounds: tuple[float, float]) -> None:
        self._reward_range = bounds

    @property
    def unwrapped(self) -> Env[Any, Any]:
        """The environment inside all wrappers, with the same state: no time limit ends its episodes."""
        if self.func_env.unwrapped is self.func_env:
            return self
        known = None if self._unwrapped_ref is None else self._unwrapped_ref()
        if known is None:
            known = UnwrappedEnv(self)
            self._unwrapped_ref = weakref.ref(known)
        return known

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the functional environment or of a wrapper inside, such as `gravity` or `P`."""
        func_env = self.__dict__.get("func_env")
        if name in ("ale", "_frameskip", "_obs_type") and func_env is not None:
            read = getattr(func_env.unwrapped, "stateful_attribute", None)
            if read is not None:
                return read(name, lambda: innermost(self.state.env_state))
        if func_env is None or name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        if name == "P" and has_attribute(func_env, name):
            return self._transition_dict()
        return read_attribute(func_env, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a parameter of the functional environment, or else an attribute of this object."""
        func_env: Any = self.__dict__.get("func_env")
        is_own = func_env is None or name.startswith("_") or name in self.__dict__ or hasattr(type(self), name)
        if is_own or not has_attribute(func_env, name):
            super().__setattr__(name, value)
        else:
            self._set_parameters({name: value})

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *attribute_names(self.func_env)})

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Set an attribute or parameter that exists, or any attribute if `force`, and return whether it was set.

        A parameter of the functional environment takes effect with the next call. Programs are compiled again only if
        the parameter is static.

        Raises:
            AttributeError: the attribute follows from the parameters.
            ValueError: the environment rejects the value.
        """
        return super().set_wrapper_attr(name, value, force=force)

    @exclusive
    def _set_parameters(self, changes: dict[str, Any]) -> None:
        old, func_env = self.func_env, with_parameters(self.func_env, changes)
        episode_env = with_parameters(self._present_env, changes)
        if same_structure(func_env, self._compiled_env):
            self.func_env, self._episode_env = func_env, episode_env
        else:
            self._compile_for(func_env, None if self._episode_env is None else episode_env)
        if (func_env.observation_space, func_env.action_space) != (old.observation_space, old.action_space):
            generators = self.observation_space._np_random, self.action_space._np_random
            self._set_up_spaces()
            self.observation_space._np_random, self.action_space._np_random = generators

    def _compile_for(self, func_env: AnyEnv, episode_env: AnyEnv | None) -> None:
        """Go on with another environment, from the present state if it has such states, or else from the next reset."""
        snapshot = None if self._packed is None else self.state
        self.func_env = self._compiled_env = func_env
        self._episode_env = episode_env
        self._change_programs(snapshot)

    def _enter(self, inside: bool) -> None:
        """Use the programs that step the environment inside all wrappers, or those that step the whole."""
        if inside is not self._inside:
            snapshot = None if self._packed is None else self.state
            self._inside = inside
            self._set_up_conversions()
            self._change_programs(snapshot)

    def _change_programs(self, snapshot: Snapshot | None) -> None:
        vars(self).pop("_programs", None)
        self._frames.clear()  # which the former programs stored
        if snapshot is None:
            return
        key_is_stale, action = self._key_is_stale, self._action
        if same_shapes(jax.eval_shape(self.func_env.initial, snapshot.key), snapshot.env_state):
            self.state = snapshot
            self._key_is_stale, self._action = key_is_stale, action
        else:
            self._packed, self._is_playing = None, False

    def _transition_dict(self) -> TransitionDict:
        """Return `P`, built for the present parameters when it is first read."""
        func_env, table = vars(self).get("_table", (None, None))
        if func_env is not self.func_env:
            table = read_attribute(self.func_env, "P")
            self._table = self.func_env, table
        return table

    def close(self) -> None:
        """Close the window and refuse later calls; calling it again does nothing."""
        self.closed = True
        self._renderer.close()

    def _read_result(self) -> tuple[float, bool, bool, ObsType, dict[str, Any]]:
        words, programs = np.array(self._packed), self._programs  # a copy, which the arrays below are views of
        reward, terminated, truncated = programs.read_scalars(words)
        info = programs.read_info(words) if programs.has_info else {}
        return reward, terminated != 0, truncated != 0, self._decode(programs.read_observation(words)), info

    def _render_call(self) -> None:
        """Show or store the frame of the present call."""
        if self.render_mode == "human":
            self._show_window()
        else:
            self._frames.append(self._pending_frame())

    def _show_window(self) -> None:
        if self._in_window is self._packed:
            self._renderer.refresh()
            return
        self.close_by_itself()
        self._renderer.show(self._render_input(self._pending_frame()))
        self._in_window = self._packed

    def _pending_frame(self) -> PendingFrame:
        return PendingFrame(self._present_env, self._packed, self._action)

    def _render_input(self, frame: PendingFrame) -> RenderInput:
        env_state = self._programs.read_env_state(np.array(frame.packed))
        return RenderInput(frame.func_env, env_state, frame.action)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: self.__dict__.get(name) for name in _PICKLED}
        state["_frames"] = [frame._replace(packed=np.array(frame.packed)) for frame in self._frames]
        state["_packed"] = None if self._packed is None else np.array(self._packed)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name in ("func_env", "render_mode", "_render_size", "spec", "_inside"):
            setattr(self, name, state[name])
        self._set_up()
        packed = state.pop("_packed")
        self.__dict__.update(state)
        self._packed = None if packed is None else jnp.asarray(packed)

    def __str__(self) -> str:
        names = [type(layer).__name__ for layer in layers(self.func_env)]
        innermost = names[-1] if self.spec is None else f"{names[-1]}<{self.spec.id}>"
        return "<" + "<".join([*names[:-1], innermost]) + ">" * len(names)
