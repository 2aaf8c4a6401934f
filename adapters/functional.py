"""A stateful environment over a pure one."""

from __future__ import annotations

import functools
import struct
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.adapters.conversion import action_encoder, decode_info, observation_decoder
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.errors import ClosedEnvironment, ConcurrentUse, ResetNeeded
from funcenv.adapters.options import with_options
from funcenv.adapters.packing import Packing
from funcenv.adapters.seeding import draw_key, np_random
from funcenv.adapters.spaces import Space
from funcenv.func_env import FuncEnv, Timestep
from funcenv.fused import Fused
from funcenv.registry import EnvSpec
from funcenv.vector import call_key
from funcenv.wrappers.wrapper import layers


class Snapshot(NamedTuple):
    """Where an environment is: everything that `step` depends on."""

    env_state: Any
    key: jax.Array
    num_calls: jax.Array


class _Frame(NamedTuple):
    """What one compiled call returns, packed: what is shown, and what is carried to the next call."""

    reward: Any
    terminated: Any
    truncated: Any
    observation: Any
    info: Any
    snapshot: Snapshot


class FunctionalEnv(Env[ObsType, ActType]):
    """The ordinary stateful interface over any `FuncEnv`.

    Randomness: `np_random` is the root. Whenever it is seeded or set, a JAX key is drawn from it, and the environment's
    calls, resets and steps alike, are counted; call number c uses `fold_in(key, c)`, which is the law of
    `FuncVectorEnv`. So `reset(seed=s)` replays, `reset()` goes on, and the environment lives as environment i of a
    vector environment seeded with s - i does.

    Each `step` is one compiled call that returns one array. Environments with equal parameters share compiled code.

    Args:
        func_env: the pure environment, with its wrappers.
        render_mode: must be None until scenes exist.

    Raises:
        ValueError: an unknown render mode.

    >>> import funcenv
    >>> env = FunctionalEnv(funcenv.make("CartPole-v1"))
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> observation.shape, reward, terminated, truncated
    ((4,), 1.0, False, False)
    """

    def __init__(
        self, func_env: FuncEnv[Any, Any, Any], render_mode: str | None = None, *, spec: EnvSpec | None = None
    ) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"render_mode must be one of {[None, *modes]}, got {render_mode!r}")
        self.func_env = func_env
        self.render_mode = render_mode
        self.spec = spec
        self.closed = False
        self._set_up()

    def _set_up(self) -> None:
        """Everything that follows from `func_env`; done again after unpickling."""
        self.observation_space = Space(self.func_env.observation_space)
        self.action_space = Space(self.func_env.action_space)
        self._encode = action_encoder(self.func_env.action_space)
        self._decode = observation_decoder(self.func_env.observation_space)
        self._episode_env: FuncEnv[Any, Any, Any] | None = None  # of an episode with options
        self._words: jax.Array | None = None  # the present frame, packed
        self._playing = False  # between reset and the end of the episode
        self._key_is_stale = True  # np_random was set since the key was drawn
        self._busy = threading.Lock()

    @functools.cached_property
    def _programs(self) -> _Programs:
        """Made when first used: until then no backend starts, so that a process may still fork."""
        return _programs(self.func_env)

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
                self._words = self._programs.start(episode_env or self.func_env, key, num_calls)
                self._key_is_stale = False
            elif episode_env is None:
                self._words = self._programs.reset(self._words)
            else:
                self._words = self._programs.reset_with(episode_env, self._words)
            self._episode_env, self._playing = episode_env, True
            _, _, _, observation, info = self._show()
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
            return observation, reward, terminated, truncated, info
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
        words = self._programs.restore(self._episode_env or self.func_env, snapshot)
        _, terminated, truncated = self._programs.read_scalars(np.asarray(words))
        self._words, self._playing, self._key_is_stale = words, not (terminated or truncated), False

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
        """End its use; calling it again does nothing."""
        self.closed = True

    def _show(self) -> tuple[float, bool, bool, ObsType, dict[str, Any]]:
        words, programs = np.asarray(self._words), self._programs
        reward, terminated, truncated = programs.read_scalars(words)
        info = decode_info(programs.read_info(words)) if programs.has_info else {}
        return reward, terminated != 0, truncated != 0, self._decode(programs.read_observation(words)), info

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
            "spec",
            "closed",
            "action_space",
            "observation_space",
            "_episode_env",
            "_np_random",
            "_np_random_seed",
            "_playing",
            "_key_is_stale",
        )
        state = {name: self.__dict__.get(name) for name in kept}
        state["_words"] = None if self._words is None else np.array(self._words)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.func_env = state["func_env"]
        self._set_up()
        words = state.pop("_words")
        self.__dict__.update(state)
        self._words = None if words is None else jnp.asarray(words)

    def __str__(self) -> str:
        names = [type(layer).__name__ for layer in layers(self.func_env)]
        innermost = names[-1] if self.spec is None else f"{names[-1]}<{self.spec.id}>"
        return "<" + "<".join([*names[:-1], innermost]) + ">" * len(names)


class _Programs:
    """The compiled functions of one environment, and the layout of what they return."""

    def __init__(self, func_env: FuncEnv[Any, Any, Any]) -> None:
        self._env = func_env
        example = jax.eval_shape(_first, func_env, draw_key(np.random.default_rng(0)), jnp.zeros((), jnp.uint32))
        example = example._replace(snapshot=example.snapshot._replace(key=draw_key(np.random.default_rng(0))))
        self._layout = Packing(example)
        readers = self._layout.readers()
        # The three scalars come first; reading them through `struct` is four times as fast as through numpy.
        self.read_scalars: Callable[[Any], tuple[float, int, int]] = struct.Struct(
            "=dII" if example.reward.dtype == np.float64 else "=fII"
        ).unpack_from
        self.read_observation = _tree_reader(readers.observation)
        self.read_info = _tree_reader(readers.info)
        self.has_info = bool(readers.info)
        self.start = jax.jit(lambda env, key, num_calls: self._layout.pack(_first(env, key, num_calls)))
        self.reset = Fused(lambda words: self._again(self._env, words), self._layout.read)
        self.reset_with = jax.jit(self._again)
        self.step = Fused(lambda words, action: self._advance(self._env, words, action), self._layout.read)
        self.step_with = jax.jit(self._advance)
        self.snapshot = jax.jit(lambda words: self._layout.unpack(words).snapshot)
        self.restore = jax.jit(self._restore)

    def _advance(self, env: FuncEnv[Any, Any, Any], words: jax.Array, action: Any) -> jax.Array:
        env_state, key, num_calls = self._layout.unpack(words).snapshot
        env_state, timestep = env.step(env_state, action, call_key(key, num_calls))
        return self._layout.pack(_frame(timestep, Snapshot(env_state, key, num_calls + np.uint32(1))))

    def _again(self, env: FuncEnv[Any, Any, Any], words: jax.Array) -> jax.Array:
        _, key, num_calls = self._layout.unpack(words).snapshot
        return self._layout.pack(_first(env, key, num_calls))

    def _restore(self, env: FuncEnv[Any, Any, Any], snapshot: Snapshot) -> jax.Array:
        timestep = env.look(snapshot.env_state, call_key(snapshot.key, snapshot.num_calls - np.uint32(1)))
        return self._layout.pack(_frame(timestep, snapshot))


def _first(env: FuncEnv[Any, Any, Any], key: jax.Array, num_calls: jax.Array) -> _Frame:
    env_state, timestep = env.reset(call_key(key, num_calls))
    return _frame(timestep, Snapshot(env_state, key, num_calls + np.uint32(1)))


def _tree_reader(readers: Any) -> Callable[[np.ndarray[Any, Any]], Any]:
    """One function for all leaves; the leaf's own where there is just one."""
    if callable(readers):
        return readers
    return lambda words: jax.tree.map(lambda read: read(words), readers)


def _frame(timestep: Timestep[Any], snapshot: Snapshot) -> _Frame:
    reward = timestep.reward.astype(float)
    shown = reward, timestep.terminated, timestep.truncated, timestep.observation, timestep.info
    return _Frame(*shown, snapshot)


def _programs(func_env: FuncEnv[Any, Any, Any]) -> _Programs:
    """Shared between equal environments; made anew for those that cannot be compared, as with array parameters."""
    try:
        hash(func_env)
    except TypeError:
        return _Programs(func_env)
    return _shared_programs(func_env, bool(jnp.zeros(()).dtype == np.float64))


@functools.lru_cache(maxsize=64)
def _shared_programs(func_env: FuncEnv[Any, Any, Any], x64: bool) -> _Programs:
    del x64  # a part of what a program depends on
    return _Programs(func_env)
