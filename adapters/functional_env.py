"""The stateful interface to any functional environment."""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from funcenv.adapters.engine.lifecycle import acquire, exclusive
from funcenv.adapters.engine.parameters import attribute_names, has_attribute, read_attribute
from funcenv.adapters.engine.seeding import draw_key
from funcenv.adapters.engine.session import Conversions, Face, Session, plain_conversions, whole
from funcenv.adapters.engine.snapshot import Snapshot
from funcenv.adapters.env import ActType, Env, ObsType, require_func_env
from funcenv.adapters.error import ResetNeeded
from funcenv.adapters.rendering.frames import require_frame_size
from funcenv.adapters.rendering.modes import metadata, render_modes, require_mode
from funcenv.adapters.rendering.renderer import CallRenderer, PendingFrame
from funcenv.adapters.rendering.window import window_title
from funcenv.adapters.spaces.space import Space
from funcenv.adapters.unwrapped_env import UnwrappedEnv
from funcenv.checks import explain_calls
from funcenv.func_env import AnyEnv
from funcenv.registry import EnvSpec
from funcenv.struct import changed_fields
from funcenv.wrappers.base import layers

_NOT_PICKLED = {"_face", "_lock", "_unwrapped_ref"}


class FunctionalEnv(Env[ObsType, ActType]):
    """The stateful interface to any `FuncEnv`.

    Randomness: whenever `np_random` is seeded or set, the next `reset` draws a JAX key from it. The environment counts
    its calls, resets and steps alike, and call number c uses `fold_in(key, c)`, which is the law of `FuncVectorEnv`.
    So `reset(seed=s)` replays an episode and `reset()` starts a new one. A vector environment seeded with s - i behaves
    at index i as this environment does seeded with s.

    Each `step` is one compiled call that returns one array. Environments with equal parameters share compiled code.

    The parameters and the other public attributes of the functional environment are attributes of this object:
    `env.gravity` reads one, and `env.gravity = 1.6` sets one for all later calls, without compiling again unless the
    parameter is static. The environment's `stateful_attributes` are attributes as well, such as Gymnasium's `P` and `s`
    of toy text. Any other name that is set becomes an ordinary attribute of this object.

    The render modes, of which `metadata["render_modes"]` lists those that the environment has:

    - None: nothing is drawn.
    - "rgb_array": `render` returns an image, uint8 `[height, width, 3]`.
    - "ansi": `render` returns a string for a terminal: the environment's own text, or else its image at the size of the
      terminal.
    - "depth_array": `render` returns the depth of each pixel, float32 `[height, width]`, where MuJoCo draws.
    - "rgbd_tuple": `render` returns an image and its depth.
    - "human": `reset` and `step` show a window, at `metadata["render_fps"]` frames a second.
    - "rgb_array_list" and the others that end with "_list": `render` returns the frames of all calls since the last
      `render` or `reset`. It draws them from stored states, so frames that nobody asks for cost nothing.

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

    _unwrapped_ref: weakref.ref[UnwrappedEnv[Any, Any]] | None = None
    _conversions: Conversions = staticmethod(plain_conversions)

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
        size = require_frame_size(render_height, render_width)
        self._session = Session(func_env)
        self._set_spaces()
        self._key_is_stale = True
        self.render_mode, self.spec, self.closed = render_mode, spec, False
        self.metadata = metadata(func_env, render_modes(func_env))
        self._renderer = CallRenderer(render_mode, window_title(self), self.metadata.get("render_fps", 30), size)
        self._set_up()

    def _check_mode(self, render_mode: str | None, func_env: AnyEnv) -> None:
        """Raise an error for a render mode that the environment lacks, or that does not work on this machine."""
        require_mode(render_mode, render_modes(func_env), func_env)

    def _set_spaces(self) -> None:
        """Set the spaces of the present parameters."""
        self.observation_space = Space(self.func_env.observation_space)
        self.action_space = Space(self.func_env.action_space)

    def _set_up(self) -> None:
        """Set everything that is not pickled."""
        self._face = Face(self._session, whole, self._conversions)
        self._lock = threading.Lock()
        if self.render_mode == "human":
            self.close_by_itself()

    @property
    def func_env(self) -> AnyEnv:
        """The functional environment, with its wrappers and present parameters."""
        return self._session.func_env

    @explain_calls("reset takes a seed by name: env.reset(seed=0). The interface that takes a key is funcenv.make(id)")
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
        return self._reset(self._face, seed, options)

    @exclusive
    def _reset(self, face: Face, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        """Start an episode, and return what a face of the session returns."""
        session = self._session
        episode_env = session.env_of_episode(options)
        if seed is not None:
            self._set_seed(seed)
        is_new = self._key_is_stale or session.packed is None
        returned = face.reset(episode_env, draw_key(self.np_random) if is_new else None)
        self._key_is_stale = False
        if self._renderer.renders_each_call:
            self._renderer.forget_frames()
            self._render(self._renderer.render_call)
        return returned

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
        return self._step(self._face, action)

    def _step(self, face: Face, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action, and return what a face of the session returns."""
        acquire(self)  # not `exclusive`, which takes a thirtieth of a step
        try:
            returned = face.step(action)
            if self._renderer.renders_each_call:
                self._render(self._renderer.render_call)
            return returned
        finally:
            self._lock.release()

    @exclusive
    @explain_calls("the mode is that of the environment: make(id, render_mode='human')")
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
        if self._session.packed is None:
            raise ResetNeeded("call reset() before render(): there is nothing to draw yet")
        return self._render(lambda frame: self._renderer.render(mode, frame))

    def _render(self, render: Callable[[PendingFrame], Any]) -> Any:
        """Let a method of the renderer draw the present state."""
        return render(self._session.frame())

    @property
    def state(self) -> Snapshot:
        """The whole state, as a value. Setting it returns to it: the same actions then have the same results.

        `numpy.asarray(env.state)` is the vector that Gymnasium's environments have as `state`, and such a vector can be
        set as well; then the wrappers and the randomness stay as they are.

        Raises:
            ResetNeeded: before the first `reset`.
            ValueError: a vector of another length than the state's.
        """
        return self._session.snapshot

    @state.setter
    def state(self, value: Any) -> None:
        self._restore(self._face, value)

    def _restore(self, face: Face, value: Any) -> None:
        """Return to a state, which a face of the session tells whether it ends the episode."""
        face.restore(value if isinstance(value, Snapshot) else self.state.with_vector(value))
        self._key_is_stale = False

    @property
    def reward_range(self) -> tuple[float, float]:
        """Bounds of the reward of a step, with the options of this episode, until they are set."""
        own: tuple[float, float] | None = vars(self).get("_reward_range")
        return self._session.present_env.reward_range if own is None else own

    @reward_range.setter
    def reward_range(self, bounds: tuple[float, float]) -> None:
        self._reward_range = bounds

    @property
    def _max_episode_steps(self) -> int | None:
        """The time limit, by the name of the attribute of Gymnasium's `TimeLimit`, which programs read and set."""
        limit: int | None = read_attribute(self.func_env, "max_episode_steps")
        return limit

    @_max_episode_steps.setter
    def _max_episode_steps(self, limit: int) -> None:
        self._set_parameters({"max_episode_steps": limit})

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
        session = self.__dict__.get("_session")
        added = {} if session is None else session.func_env.unwrapped.stateful_attributes
        if session is None or (name.startswith("_") and name not in added):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return session.read_attribute(name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a parameter of the functional environment, or its state by a name of its own, or else an attribute.

        Raises:
            AttributeError: the attribute follows from the parameters.
            ValueError: the environment rejects the value.
        """
        session: Any = self.__dict__.get("_session")
        is_own = session is None or name.startswith("_") or name in self.__dict__ or hasattr(type(self), name)
        if is_own or not has_attribute(session.func_env, name):
            super().__setattr__(name, value)
            return
        added = session.func_env.unwrapped.stateful_attributes.get(name)
        if added is None or added.write is None:
            self._set_parameters({name: value})
        else:
            self.state = session.snapshot.with_innermost(added.write(value))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *attribute_names(self.func_env)})

    @exclusive
    def _set_parameters(self, changes: dict[str, Any]) -> None:
        old = self.func_env
        self._session.set_parameters(changes)
        new = self.func_env
        if (new.observation_space, new.action_space) != (old.observation_space, old.action_space):
            generators = self.observation_space._np_random, self.action_space._np_random
            self._set_spaces()
            self.observation_space._np_random, self.action_space._np_random = generators

    def close(self) -> None:
        """Close the window and refuse later calls; calling it again does nothing."""
        self.closed = True
        self._renderer.close()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _NOT_PICKLED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._set_up()

    def __str__(self) -> str:
        names = [type(layer).__name__ for layer in layers(self.func_env)]
        innermost = names[-1] if self.spec is None else f"{names[-1]}<{self.spec.id}>"
        return "<" + "<".join([*names[:-1], innermost]) + ">" * len(names)

    def __repr__(self) -> str:
        """Return `str(self)` with the parameters of the innermost environment that differ from their defaults."""
        text, changed = str(self), changed_fields(self.func_env.unwrapped)
        inner = text.rstrip(">")
        return ", ".join([inner, *changed]) + text[len(inner) :]
