"""A stateful environment over a pure one."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.adapters.errors import ClosedEnvironment, ConcurrentUse, ResetNeeded
from funcenv.adapters.rendering.frames import require_frame_size
from funcenv.adapters.rendering.modes import LIST_SUFFIX, metadata, render_modes, require_mode
from funcenv.adapters.rendering.renderer import Renderer, RenderInput
from funcenv.adapters.reset_options import with_options
from funcenv.adapters.seeding import draw_key, np_random
from funcenv.adapters.single.actions import action_encoder, decode_info
from funcenv.adapters.single.env import ActType, Env, ObsType
from funcenv.adapters.single.programs import Programs, Snapshot, programs
from funcenv.adapters.spaces import Space
from funcenv.func_env import FuncEnv
from funcenv.random import default_impl, find_impl, impl_name
from funcenv.registry import EnvSpec
from funcenv.wrappers.base import layers


class _Kept(NamedTuple):
    """A frame that is not drawn yet."""

    episode_env: FuncEnv[Any, Any, Any] | None
    words: Any
    action: Any


class FunctionalEnv(Env[ObsType, ActType]):
    """The ordinary stateful interface over any `FuncEnv`.

    Randomness: `np_random` is the root. Whenever it is seeded or set, a JAX key is drawn from it, and the environment's
    calls, resets and steps alike, are counted; call number c uses `fold_in(key, c)`, which is the law of
    `FuncVectorEnv`. So `reset(seed=s)` replays, `reset()` goes on, and the environment lives as environment i of a
    vector environment seeded with s - i does.

    Each `step` is one compiled call that returns one array. Environments with equal parameters share compiled code.

    `render_mode` is one of `metadata["render_modes"]`: None draws nothing; "rgb_array" is a picture, uint8
    `[height, width, 3]`; "ansi" a string for a terminal, the environment's own text or else its picture, as large as
    there is room for; "human" a window that `reset` and `step` keep up to date, `metadata["render_fps"]` times a
    second; "rgb_array_list" and "ansi_list" are the frames of all calls since the last `render` or `reset`. They are
    kept as states and drawn by `render`, so that frames which nobody asks for cost nothing.

    Args:
        func_env: the pure environment, with its wrappers.
        render_mode: how it is drawn.
        render_height: rows of a picture. By default the proportions are those of the scene's camera, and the longer
            side has 600 pixels, or what the other side demands.
        render_width: columns of a picture; likewise.
        spec: how it was made.

    Raises:
        ValueError: a render mode that the environment does not have, or a size below 1.
        RuntimeError: a window is asked for where there is no display.
        ModuleNotFoundError: a window is asked for and pygame is not installed.

    >>> import funcenv
    >>> env = FunctionalEnv(funcenv.make("CartPole-v1"))
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> observation.shape, reward, terminated, truncated
    ((4,), 1.0, False, False)
    """

    def __init__(
        self,
        func_env: FuncEnv[Any, Any, Any],
        render_mode: str | None = None,
        *,
        render_height: int | None = None,
        render_width: int | None = None,
        spec: EnvSpec | None = None,
    ) -> None:
        require_mode(render_mode, render_modes(func_env), func_env)
        self.func_env = func_env
        self.render_mode = render_mode
        self._render_size = require_frame_size(render_height, render_width)
        self.spec = spec
        self.closed = False
        self._set_up()

    def _set_up(self) -> None:
        """Everything that follows from `func_env`; done again after unpickling."""
        self.observation_space = Space(self.func_env.observation_space)
        self.action_space = Space(self.func_env.action_space)
        self._encode = action_encoder(self.func_env.action_space)
        self._decode: Callable[[Any], Any] = self.func_env.observation_space.decode
        self._episode_env: FuncEnv[Any, Any, Any] | None = None  # of an episode with options
        self._generator: str | None = None  # of the present key
        self._words: jax.Array | None = None  # the present frame, packed
        self._playing = False  # between reset and the end of the episode
        self._key_is_stale = True  # np_random was set since the key was drawn
        self.metadata = metadata(self.func_env, render_modes(self.func_env))
        self._renderer = Renderer(str(self), self.metadata.get("render_fps", 30), *self._render_size)
        # Whether each call shows or keeps a frame.
        self._follows = self.render_mode == "human" or (self.render_mode or "").endswith(LIST_SUFFIX)
        self._action: Any = None  # the last one of this episode
        self._frames: list[_Kept] = []  # since the last `render` or `reset`
        self._seen: jax.Array | None = None  # the frame that the window shows
        self._busy = threading.Lock()

    @functools.cached_property
    def _programs(self) -> Programs:
        """Made when first used: until then no backend starts, so that a process may still fork."""
        return programs(self.func_env, find_impl(self._generator) if self._generator else default_impl())

    def _use_generator_of(self, key: jax.Array) -> None:
        """Go on with the programs for keys of this kind; where its words lie depends on it."""
        if self._generator != impl_name(key):
            self._generator = impl_name(key)
            vars(self).pop("_programs", None)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: any non-negative integer: the stream begins anew. Without it the present stream goes on.
            options: parameters of the environment for this episode, such as `{"low": -0.1, "high": 0.1}`.

        Returns:
            Observation and info.

        Raises:
            ValueError: an option that is not a parameter, or one that the environment refuses.
            ClosedEnvironment: after `close`.
        """
        self._begin()
        try:
            episode_env = self._with_options(options)
            if seed is not None:
                generator, entropy = np_random(seed)
                self._np_random, self._np_random_seed, self._key_is_stale = generator, entropy, True
            if self._key_is_stale or self._words is None:
                key, num_calls = draw_key(self.np_random), jnp.zeros((), jnp.uint32)
                self._use_generator_of(key)
                self._words = self._programs.start(episode_env or self.func_env, key, num_calls)
                self._key_is_stale = False
            elif episode_env is None:
                self._words = self._programs.reset(self._words)
            else:
                self._words = self._programs.reset_with(episode_env, self._words)
            self._episode_env, self._playing = episode_env, True
            self._action = None
            _, _, _, observation, info = self._show()
            if self._follows:
                self._frames.clear()
                self._follow()
            return observation, info
        finally:
            self._busy.release()

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action.

        Returns:
            Observation, reward, terminated, truncated, info; fresh arrays that no later call touches.

        Raises:
            ResetNeeded: before the first `reset`, and after an episode's end.
            ValueError: the action is not in the action space; nothing has changed.
            ConcurrentUse: another thread is in the middle of a call.
            ClosedEnvironment: after `close`.
        """
        self._begin()
        try:
            if not self._playing or self._words is None:
                raise ResetNeeded("call reset() before the first step, and after an episode's end")
            argument = self._encode(action)
            if self._episode_env is None:
                self._words = self._programs.step(self._words, argument)
            else:
                self._words = self._programs.step_with(self._episode_env, self._words, argument)
            reward, terminated, truncated, observation, info = self._show()
            self._playing = not (terminated or truncated)
            self._action = action
            if self._follows:
                self._follow()
            return observation, reward, terminated, truncated, info
        finally:
            self._busy.release()

    def render(self) -> Any:
        """What `render_mode` names: a picture, a string, a list of them, or None.

        Without a mode it warns and returns None, as Gymnasium's environments do.

        Raises:
            ResetNeeded: before the first `reset`.
            ClosedEnvironment: after `close`.
        """
        self._begin()
        try:
            mode = self.render_mode
            if mode is None:
                modes = self.metadata["render_modes"]
                remedy = (
                    f'say which when you make it, as in make(..., render_mode="{modes[0]}")' if modes else "it has none"
                )
                warnings.warn(f"render() draws nothing: {self} has no render mode; {remedy}", UserWarning, stacklevel=2)
                return None
            if self._words is None:
                raise ResetNeeded("call reset() before render(): there is nothing to draw yet")
            if mode.endswith(LIST_SUFFIX):
                frames, self._frames = self._frames, []
                return [self._renderer.draw(mode.removesuffix(LIST_SUFFIX), self._moment(kept)) for kept in frames]
            if mode == "human":
                self._show_window()
                return None
            return self._renderer.draw(mode, self._moment(self._present()))
        finally:
            self._busy.release()

    @property
    def state(self) -> Snapshot:
        """Where the environment is: a value. Set it to come back; the same actions then lead the same way.

        Raises:
            ResetNeeded: before the first `reset`.
        """
        if self._words is None:
            raise ResetNeeded("call reset() first: there is no state yet")
        return self._programs.snapshot(self._words)

    @state.setter
    def state(self, snapshot: Snapshot) -> None:
        self._use_generator_of(snapshot.key)
        words = self._programs.restore(self._episode_env or self.func_env, snapshot)
        _, terminated, truncated = self._programs.read_scalars(np.asarray(words))
        self._words, self._playing, self._key_is_stale = words, not (terminated or truncated), False
        self._action = None

    @property
    def np_random(self) -> np.random.Generator:
        """The root of all randomness; setting it steers the environment from the next `reset` on."""
        return super().np_random

    @np_random.setter
    def np_random(self, generator: np.random.Generator) -> None:
        self._np_random, self._np_random_seed, self._key_is_stale = generator, -1, True

    @property
    def reward_range(self) -> tuple[float, float]:  # type: ignore[override]  # it follows from the parameters
        """Bounds of the reward of a step, with the options of this episode."""
        return (self._episode_env or self.func_env).reward_range

    def has_wrapper_attr(self, name: str) -> bool:
        """Whether this environment has an attribute, or one of the pure environments inside."""
        return hasattr(self, name) or self._layer_with(name) is not None

    def get_wrapper_attr(self, name: str) -> Any:
        """The attribute of this environment, or of the outermost pure one that has it, say `"max_episode_steps"`."""
        return getattr(self if hasattr(self, name) else self._layer_with(name) or self, name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Set an attribute where it exists; or here, if `force`. Returns whether it was set.

        Raises:
            AttributeError: it belongs to a pure environment, which cannot change.
        """
        layer = None if hasattr(self, name) else self._layer_with(name)
        if layer is not None:
            raise AttributeError(
                f"{name} belongs to the pure {type(layer).__name__}, which cannot change; "
                "pass another value to make, or to reset(options=...)"
            )
        return super().set_wrapper_attr(name, value, force=force)

    def _layer_with(self, name: str) -> FuncEnv[Any, Any, Any] | None:
        return next((layer for layer in layers(self.func_env) if hasattr(layer, name)), None)

    def close(self) -> None:
        """End its use, and close its window; calling it again does nothing."""
        self.closed = True
        self._renderer.close()

    def _show(self) -> tuple[float, bool, bool, ObsType, dict[str, Any]]:
        words, programs = np.asarray(self._words), self._programs
        reward, terminated, truncated = programs.read_scalars(words)
        info = decode_info(programs.read_info(words)) if programs.has_info else {}
        return reward, terminated != 0, truncated != 0, self._decode(programs.read_observation(words)), info

    def _follow(self) -> None:
        if self.render_mode == "human":
            self._show_window()
        else:
            self._frames.append(self._present())

    def _show_window(self) -> None:
        if self._seen is self._words:
            self._renderer.refresh()
            return
        self.close_by_itself()
        self._renderer.show(self._moment(self._present()))
        self._seen = self._words

    def _present(self) -> _Kept:
        return _Kept(self._episode_env, self._words, self._action)

    def _moment(self, kept: _Kept) -> RenderInput:
        env_state = self._programs.read_env_state(np.asarray(kept.words))
        return RenderInput(kept.episode_env or self.func_env, env_state, kept.action)

    def _with_options(self, options: dict[str, Any] | None) -> FuncEnv[Any, Any, Any] | None:
        return with_options(self.func_env, options) if options else None

    def _begin(self) -> None:
        """Take the lock that the caller releases; plain calls, because a context manager costs a microsecond."""
        if self.closed:
            raise ClosedEnvironment("this environment was closed; make a new one")
        if not self._busy.acquire(blocking=False):
            raise ConcurrentUse("another thread is using this environment; give each thread one of its own")

    def __getstate__(self) -> dict[str, Any]:
        kept = (
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
            "_playing",
            "_key_is_stale",
            "_generator",
            "_action",
        )
        state = {name: self.__dict__.get(name) for name in kept}
        state["_frames"] = [frame._replace(words=np.array(frame.words)) for frame in self._frames]
        state["_words"] = None if self._words is None else np.array(self._words)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name in ("func_env", "render_mode", "_render_size", "spec"):
            setattr(self, name, state[name])
        self._set_up()
        words = state.pop("_words")
        self.__dict__.update(state)
        self._words = None if words is None else jnp.asarray(words)

    def __str__(self) -> str:
        names = [type(layer).__name__ for layer in layers(self.func_env)]
        innermost = names[-1] if self.spec is None else f"{names[-1]}<{self.spec.id}>"
        return "<" + "<".join([*names[:-1], innermost]) + ">" * len(names)
