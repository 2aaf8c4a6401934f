"""The memory of a stateful environment between its calls, and the faces that step it.

A `FunctionalEnv` and its `unwrapped` are two faces of one session. Each has programs of its own, and each takes over
the state that the other left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from funcenv.adapters.engine.actions import refuse_traced
from funcenv.adapters.engine.parameters import read_attribute, with_parameters
from funcenv.adapters.engine.programs_single import EnvPrograms, env_programs
from funcenv.adapters.engine.reset_options import read_options, with_options
from funcenv.adapters.engine.single_actions import action_encoder
from funcenv.adapters.engine.snapshot import Snapshot, innermost, same_shapes, same_structure
from funcenv.adapters.error import ResetNeeded
from funcenv.adapters.rendering.renderer import PendingFrame
from funcenv.func_env import AnyEnv
from funcenv.random import impl_name
from funcenv.spaces.space import AnySpace
from funcenv.transfers import transferred

Conversions = Callable[[AnySpace, AnySpace], tuple[Callable[[Any], Any], Callable[[Any], Any]]]
"""Returns how actions become arguments of compiled code, and how observations are returned, from their two spaces."""


class Session:
    """The memory of a stateful environment between two calls.

    Attributes:
        func_env: The environment of later episodes.
        compiled_env: The environment whose parameters are constants of the programs.
        episode_env: The environment of this episode if it has other parameters than `compiled_env`, else None.
        impl_name: Name of the PRNG implementation of the keys; None before the first one.
        version: An object that is replaced whenever the programs or the spaces may have changed.
        packed: Result of the last call; None before the first one.
        programs: The programs that returned it.
        is_playing: Whether the session is between a reset and the end of an episode.
        action: The last action of this episode; None after a reset.
    """

    def __init__(self, func_env: AnyEnv) -> None:
        self.func_env = self.compiled_env = func_env
        self.episode_env: AnyEnv | None = None
        self.impl_name: str | None = None
        self.version = object()
        self.packed: Any = None
        self.programs: Any = None
        self.is_playing = False
        self.action: Any = None
        self._constants: tuple[Any, dict[str, Any]] = None, {}  # attributes that are read once, and their environment

    @property
    def present_env(self) -> AnyEnv:
        """The environment of this episode."""
        return self.episode_env or self.func_env

    @property
    def snapshot(self) -> Snapshot:
        """The whole state, as a value.

        Raises:
            ResetNeeded: There was no call yet.
        """
        if self.packed is None:
            raise ResetNeeded("call reset() first: there is no state yet")
        found: Snapshot = self.programs.snapshot(transferred(self.packed))
        return found

    @property
    def state(self) -> Any:
        """The state of the environment inside all wrappers."""
        return innermost(self.snapshot.env_state)

    def env_of_episode(self, options: dict[str, Any] | None) -> AnyEnv | None:
        """Return the environment of an episode with these options; None for the compiled one."""
        if options is not None and (given := read_options(options)):
            return with_options(self.func_env, given)
        return None if self.func_env is self.compiled_env else self.func_env

    def set_parameters(self, changes: dict[str, Any]) -> None:
        """Replace parameters of this episode and of later ones.

        If a static one changes, the episode goes on unless its state has other shapes with the new value.
        """
        func_env = with_parameters(self.func_env, changes)
        episode_env: AnyEnv | None = with_parameters(self.present_env, changes)
        if not same_structure(func_env, self.compiled_env):
            if self.packed is not None:
                snapshot = self.snapshot
                if not same_shapes(jax.eval_shape(func_env.initial, snapshot.key), snapshot.env_state):
                    self.packed, self.is_playing = None, False
            self.compiled_env = func_env
            episode_env = None if self.episode_env is None else episode_env
        self.func_env, self.episode_env, self.version = func_env, episode_env, object()

    def use_impl_of(self, key: jax.Array) -> None:
        """Use programs for keys of this PRNG implementation, on which the layout of results depends."""
        if self.impl_name != impl_name(key):
            self.impl_name, self.version = impl_name(key), object()

    def frame(self) -> PendingFrame:
        """Return the frame of the present state, which is not drawn yet."""
        return PendingFrame(self.present_env, self.programs.read_env_state, self.packed, self.action)

    def read_attribute(self, name: str) -> Any:
        """Return an attribute of the environment or of a wrapper inside. One that is constant is read once.

        Raises:
            AttributeError: There is no such attribute.
        """
        added = self.func_env.unwrapped.stateful_attributes.get(name)
        if added is None or not added.is_constant:
            return read_attribute(self.func_env, name) if added is None else added.read(self)
        func_env, values = self._constants
        if func_env is not self.func_env:
            values = {}
            self._constants = self.func_env, values
        if name not in values:
            values[name] = read_attribute(self.func_env, name)
        return values[name]

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_constants": (None, {})}


class Face:
    """One way to step a session, which returns what Gymnasium's `reset` and `step` return.

    Args:
        session: The session.
        stepped: Returns the environment that is stepped, from the environment of the session.
        conversions: Returns the conversions of its actions and observations.
    """

    def __init__(self, session: Session, stepped: Callable[[AnyEnv], AnyEnv], conversions: Conversions) -> None:
        self.session, self._stepped, self._conversions = session, stepped, conversions
        self._version: Any = None  # the session's version that the conversions belong to
        self._programs: Any = None
        self._wanted: tuple[Any, ...] = (None,)  # the arguments of these programs

    @property
    def programs(self) -> EnvPrograms:
        """The compiled functions, made when first used: until then no backend starts, so a process may still fork."""
        self._follow()
        wanted = self.session.compiled_env, self.session.impl_name, self._stepped
        if self._wanted[0] is not wanted[0] or self._wanted[1:] != wanted[1:]:
            known = self.session.programs
            self._wanted = wanted
            self._programs = known if known is not None and known.are_for(*wanted) else env_programs(*wanted)
        found: EnvPrograms = self._programs
        return found

    def reset(self, episode_env: AnyEnv | None, key: jax.Array | None) -> tuple[Any, dict[str, Any]]:
        """Start an episode.

        Args:
            episode_env: As `Session.env_of_episode` returns it.
            key: A new key; None to go on with the present one.
        """
        session = self.session
        if key is not None:
            session.use_impl_of(key)
            env, num_calls = transferred(episode_env or session.func_env), jax.device_put(np.uint32(0))
            refuse_traced("reset", num_calls)
            packed = self.programs.first_reset(env, key, num_calls)
            session.packed, session.programs = packed, self._programs
        else:
            packed = self._take_over()
            programs = self._programs
            if episode_env is None:
                session.packed = (programs.remembered or programs).reset(packed)
            else:
                session.packed = programs.reset_with(*transferred((episode_env, packed)))
        session.episode_env, session.is_playing, session.action = episode_env, True, None
        _, _, _, observation, info = self._read()
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Raises:
            ResetNeeded: There is no episode.
            ValueError: The action is not in the action space; the state is unchanged.
        """
        session = self.session
        if (
            self._version is not session.version or session.programs is not self._programs
        ) and session.packed is not None:
            self._take_over()
        if not session.is_playing:
            raise ResetNeeded("call reset() before the first step, and after an episode's end")
        encoded, programs = transferred(self._encode(action)), self._programs
        if session.episode_env is None:
            session.packed = (programs.remembered or programs).step(session.packed, encoded)
        else:
            session.packed = programs.step_with(*transferred((session.episode_env, session.packed)), encoded)
        session.action = action
        reward, terminated, truncated, observation, info = self._read()
        session.is_playing = not (terminated or truncated)
        return observation, reward, terminated, truncated, info

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a state."""
        session = self.session
        session.use_impl_of(snapshot.key)
        programs = self.programs
        packed = programs.restore(transferred(session.present_env), snapshot)
        words = np.asarray(packed)
        if programs.remembered:
            packed = words
        _, terminated, truncated = programs.read_scalars(words)
        session.packed, session.programs = packed, programs
        session.is_playing, session.action = not (terminated or truncated), None

    def _take_over(self) -> Any:
        """Return the last result in the layout of this face's programs, whichever face it came from."""
        session, programs = self.session, self.programs
        if session.packed is not None and session.programs is not programs:
            action = session.action
            self.restore(session.snapshot)
            session.action = action
        return session.packed

    def _follow(self) -> None:
        """Renew the conversions if the environment has changed."""
        if self._version is not self.session.version:
            self._version = self.session.version
            func_env = self._stepped(self.session.func_env)
            self._encode, self._decode = self._conversions(func_env.action_space, func_env.observation_space)

    def _read(self) -> tuple[float, bool, bool, Any, dict[str, Any]]:
        session, programs = self.session, self._programs
        if programs.remembered:
            session.packed = np.asarray(session.packed)
        words = np.array(session.packed)  # a copy, which the arrays below are views of
        reward, terminated, truncated = programs.read_scalars(words)
        info = programs.read_info(words) if programs.has_info else {}
        return reward, terminated != 0, truncated != 0, self._decode(programs.read_observation(words)), info


def whole(func_env: AnyEnv) -> AnyEnv:
    """Return the environment itself: the face that steps all of it."""
    return func_env


def plain_conversions(
    action_space: AnySpace, observation_space: AnySpace
) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return the conversions to and from NumPy arrays and scalars."""
    return action_encoder(action_space), observation_space.decode
