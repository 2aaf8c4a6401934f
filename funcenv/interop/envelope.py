"""Environments of envelope (Liesen, 2026), and environments of funcenv behind its interface."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.options import default_promotion
from funcenv.func_env import AnyEnv
from funcenv.interop.exported import env_of, typed_key
from funcenv.interop.imported import ImportedEnv, Outcome, Source, identity_of, import_library
from funcenv.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple, batch_space
from funcenv.spaces.space import AnySpace

MINIMUM = 0, 6
PACKAGE = "jax-envelope"


@default_promotion()
def from_envelope(env: Any, **arguments: Any) -> ImportedEnv:
    """Convert an environment of envelope.

    It tells truncation from termination, and so does the result. Its state carries random numbers of its own; steps do
    not use their keys. Entries of its info besides those four become the info.

    Args:
        env: an environment, or its id, such as "gymnax::CartPole-v1". As ids of funcenv contain no colons,
            "gymnax.CartPole-v1" is the same, in `envelope/gymnax.CartPole-v1`.
        **arguments: those of `envelope.create`, if `env` is an id, such as `max_episode_steps=100`.

    Raises:
        ModuleNotFoundError: envelope is not installed.
        ImportError: its version is older than 0.6.
        ValueError: envelope does not know the id.
        TypeError: a space has no counterpart.
    """
    envelope = import_library("envelope", MINIMUM, PACKAGE)
    identity = identity_of(env, {name: repr(value) for name, value in arguments.items()})
    if isinstance(env, str):
        env = envelope.create(env if "::" in env else env.replace(".", "::", 1), **arguments)
    spaces = space_from_envelope(env.observation_space), space_from_envelope(env.action_space)
    return ImportedEnv(None, _Envelope(env, *spaces, identity))


class _Envelope(Source):
    def reset(self, params: Any, key: jax.Array) -> Outcome:
        del params
        return _outcome(*self.env.init(key))

    def step(self, params: Any, state: Any, action: Any, key: jax.Array) -> Outcome:
        del params, key
        return _outcome(*self.env.step(state, action))


def _outcome(state: Any, info: Any) -> Outcome:
    known = ("obs", "reward", "terminated", "truncated")
    others = {name: value for name, value in info if name not in known}
    return Outcome(state, info.obs, info.reward, info.terminated, info.truncated, others)


def space_from_envelope(space: Any) -> AnySpace:
    """Return the counterpart of a space of envelope.

    Raises:
        TypeError: there is none.
    """
    envelope = import_library("envelope", MINIMUM, PACKAGE)

    if isinstance(space, envelope.Discrete):
        n = np.asarray(space.n)
        return Discrete(int(n), dtype=n.dtype) if n.ndim == 0 else MultiDiscrete(n, dtype=n.dtype)
    if isinstance(space, envelope.Continuous):
        low, high = (np.asarray(bound) for bound in (space.low, space.high))
        return Box(low, high, low.shape, low.dtype)
    if isinstance(space, envelope.BatchedSpace):
        return batch_space(space_from_envelope(space.space), space.batch_size)
    if isinstance(space, envelope.PyTreeSpace):
        return _from_tree(space.tree)
    raise TypeError(f"{space!r} of envelope has no counterpart in funcenv.spaces; wrap the environment to change it")


def _from_tree(tree: Any) -> AnySpace:
    if type(tree) is dict:
        return Dict({name: _from_tree(part) for name, part in tree.items()})
    if type(tree) is tuple:
        return Tuple([_from_tree(part) for part in tree])
    return space_from_envelope(tree)


def to_envelope(env: AnyEnv | str, **arguments: Any) -> Any:
    """Return an `envelope.Environment` for an environment of funcenv.

    Its `init` and `step` do not reset; envelope's `AutoResetWrapper` does. Truncation, as by a time limit, is in
    `info.truncated`; other entries of the info are there by name.

    Args:
        env: an environment or its id, such as "CartPole-v1".
        **arguments: those of `funcenv.make`, such as `gravity=1.6`.

    Raises:
        ModuleNotFoundError: envelope is not installed.
        TypeError: a space has no counterpart.
    """
    import_library("envelope", MINIMUM, PACKAGE)
    env = env_of("to_envelope", env, **arguments)
    space_to_envelope(env.observation_space), space_to_envelope(env.action_space)
    return _envelope_class()(env)


def space_to_envelope(space: AnySpace) -> Any:
    """Return the counterpart of a space among those of envelope.

    Raises:
        TypeError: there is none.
    """
    envelope = import_library("envelope", MINIMUM, PACKAGE)

    def leaf(space: AnySpace) -> Any:
        if isinstance(space, Discrete) and space.start == 0:
            return envelope.Discrete(n=jnp.asarray(space.n, space.dtype))
        if isinstance(space, MultiDiscrete) and not np.any(space.start):
            return envelope.Discrete(n=jnp.asarray(space.nvec, space.dtype))
        if isinstance(space, MultiBinary):
            return envelope.Discrete(n=jnp.full(space.shape, 2, space.dtype))
        if isinstance(space, Box):
            return envelope.Continuous(low=jnp.asarray(space.low), high=jnp.asarray(space.high))
        if isinstance(space, Dict):
            return {name: leaf(part) for name, part in space.spaces.items()}
        if isinstance(space, Tuple):
            return tuple(leaf(part) for part in space.spaces)
        raise TypeError(f"{space!r} has no counterpart among envelope's spaces; wrap the environment to change it")

    return envelope.PyTreeSpace(leaf(space)) if isinstance(space, (Dict, Tuple)) else leaf(space)


@functools.cache
def _envelope_class() -> type[Any]:
    """Return the class behind `to_envelope`, which needs envelope for its base class."""
    envelope: Any = importlib.import_module("envelope")

    class FuncEnvEnvelope(envelope.Environment):  # type: ignore[misc]  # envelope is not installed where types are checked.
        """An environment of funcenv behind envelope's interface."""

        env: Any = envelope.field()

        def init(self, key: jax.Array) -> tuple[Any, Any]:
            """Start an episode."""
            reset_key, key = jax.random.split(typed_key(key))
            return self._result(key, *self.env.reset(reset_key))

        def step(self, state: Any, action: Any) -> tuple[Any, Any]:
            """Perform an action, without a reset."""
            step_key, key = jax.random.split(state.key)
            return self._result(key, *self.env.step(state.env_state, action, step_key))

        def _result(self, key: jax.Array, env_state: Any, timestep: Any) -> tuple[Any, Any]:
            state = envelope.Container().update(key=key, env_state=env_state)
            flags = {"terminated": timestep.terminated, "truncated": timestep.truncated}
            info = envelope.InfoContainer(obs=timestep.observation, reward=timestep.reward, **flags)
            return state, info.update(**timestep.info)

        @functools.cached_property
        def observation_space(self) -> Any:
            """The space of observations, one of envelope's."""
            return space_to_envelope(self.env.observation_space)

        @functools.cached_property
        def action_space(self) -> Any:
            """The space of actions, one of envelope's."""
            return space_to_envelope(self.env.action_space)

    return FuncEnvEnvelope
