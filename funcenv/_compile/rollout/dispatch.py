"""Run a rollout as one function where that is possible and known to be right; else say so."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.rollout.chunks import chunks_of
from funcenv._compile.rollout.program import Outcome, Rules, Situation, compile_as_one, is_elementwise, play_on
from funcenv._compile.rollout.step import Play, Policy
from funcenv._compile.rollout.threads import num_parts, num_threads, parts_of, play_parts
from funcenv._compile.rollout.verify import is_faithful
from funcenv._compile.single_kernel import applies_to, compiler_options
from funcenv.vector import FuncVectorEnv, VectorState


def run(
    play: Play,
    venv: FuncVectorEnv[Any, Any, Any],
    policy: Policy,
    key: jax.Array,
    vstate: VectorState[Any] | None,
    num_steps: int,
    *,
    collect: Callable[[Any, Any], Any] | None = None,
    keeps_apart: bool = False,
) -> Outcome | None:
    """Play `num_steps` steps.

    Args:
        play: the totals to keep.
        venv: the environments.
        policy: of one environment.
        key: split into a key for the reset and one for the policy; with `vstate` all of it is the policy's.
        vstate: where to go on; None resets first.
        num_steps: at least 1.
        collect: what to keep of a step, from the time step and the actions of all environments.
        keeps_apart: whether `collect` is known to keep the environments apart.

    Returns:
        The outcome, with keys in its vector state; or None where this way is closed: inside a traced function, on
        another device than one CPU, for a program that XLA cannot compile as one or whose results differ from the
        plain one's, and with `FUNCENV_NO_FAST_PATH=1`.
    """
    device = _only_device((venv, policy.tree, key, vstate))
    if num_steps >= 2**31 or device is None:
        return None
    venv, tree = jax.tree.map(functools.partial(_placed, device), (venv, policy.tree))
    reset_keys, policy_keys = _streams(key, venv.num_envs, vstate is None)
    keys = reset_keys if vstate is None else vstate.key
    situation = Situation(venv, tree, keys, policy_keys)
    pieces = [(situation, vstate)]
    if collect is None:
        pieces = parts_of(situation, vstate, num_parts(venv.num_envs, num_steps, num_threads()))
    capacity = 0 if collect is None else num_steps
    programs = _programs(play, policy.function, collect, keeps_apart, capacity, device, *_kinds(pieces[0]))
    if not programs.prepare(*pieces[0], num_steps):
        return None
    return play_parts(functools.partial(programs.run, num_steps=num_steps), pieces, keys)


class _Programs:
    """The programs of rollouts of one kind, compiled when they are first needed."""

    def __init__(self, play: Play, function: Any, collect: Any, keeps_apart: bool, capacity: int) -> None:
        self._play, self._function, self._collect, self._capacity = play, function, collect, capacity
        self._keeps_apart = keeps_apart
        self._lock = threading.Lock()
        self._is_usable: bool | None = None  # None: not known yet
        self._program: Callable[..., Outcome] | None = None
        self._nothing: Any = None  # takes the place of a vector state where there is none yet

    def prepare(self, situation: Situation, vstate: VectorState[Any] | None, num_steps: int) -> bool:
        """Compile what is not compiled yet; whether `run` may be called."""
        with self._lock:
            if self._is_usable is None:
                self._is_usable = self._build(situation, vstate, num_steps)
        return self._is_usable

    def run(self, situation: Situation, vstate: VectorState[Any] | None, num_steps: int) -> Outcome:
        """Play."""
        assert self._program is not None
        outcome = self._program(*self._start(situation, vstate), np.uint32(0), np.int32(num_steps))
        return outcome._replace(vstate=outcome.vstate.replace(key=situation.keys))

    def _build(self, situation: Situation, vstate: VectorState[Any] | None, num_steps: int) -> bool:
        """Compile and examine; whether the programs may be used."""
        venv = situation.venv
        shown = jax.eval_shape(lambda venv, key: venv.reset(key), venv, situation.keys)
        chunks = chunks_of(venv.num_envs, _bytes(shown) // venv.num_envs)
        collect = self._collect
        if collect is not None and not (chunks.whole or self._keeps_apart):
            actions = jax.eval_shape(jax.vmap(venv.single_action_space.sample), situation.keys)
            if not is_elementwise(collect, shown[1], actions):
                return False
        rules = Rules(self._play, self._function, collect, self._capacity, chunks)
        if vstate is None:
            shapes = jax.eval_shape(lambda vstate: vstate.replace(key=None), shown[0])
            self._nothing = jax.device_put(jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes))
        start = self._start(situation, vstate)
        program = compile_as_one(
            functools.partial(play_on, rules), *start, np.uint32(0), np.int32(1), mapped=chunks.size >= _MANY
        )
        self._program = program
        return program is not None and is_faithful(program, rules, *start, num_steps)

    def _start(self, situation: Situation, vstate: VectorState[Any] | None) -> tuple[Situation, VectorState[Any], Any]:
        """What a program is told: the situation, where to go on, and whether it begins anew."""
        if vstate is None:
            return situation, self._nothing, np.True_
        return situation, vstate.replace(key=None), np.False_


@functools.lru_cache(maxsize=128)
def _programs(play: Play, function: Any, collect: Any, keeps_apart: bool, capacity: int, *kinds: Any) -> _Programs:
    del kinds  # a part of what the programs depend on
    return _Programs(play, function, collect, keeps_apart, capacity)


def _kinds(tree: Any) -> tuple[Any, ...]:
    """What a compiled program depends on of its arguments."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, jax.config.jax_enable_x64, *map(_kind, leaves)  # type: ignore[attr-defined]  # set by JAX


def _kind(leaf: Any) -> Any:
    """What `jax.typeof` tells, which takes its time."""
    if isinstance(leaf, jax.Array):
        return leaf.shape, leaf.dtype, getattr(leaf, "weak_type", False)  # keys have none
    return jax.typeof(leaf)


def _only_device(args: Any) -> jax.Device | None:
    """The device that the arguments lie on, if a rollout can be one function there."""
    leaves = jax.tree.leaves(args)
    if not applies_to("cpu", leaves):
        return None
    devices = {device for leaf in leaves if isinstance(leaf, jax.Array) for device in leaf.devices()}
    if len(devices) != 1 or any(getattr(jax.config, name) for name in _DEBUGGING):
        return None
    return next(iter(devices))


def _placed(device: jax.Device, leaf: Any) -> Any:
    """A number of Python's on the device, where it is put once, because that takes three microseconds; or the leaf."""
    kind: Any = type(leaf)
    if kind not in (bool, int, float):
        return leaf
    wide: bool = jax.config.jax_enable_x64  # type: ignore[attr-defined]  # set by JAX
    return _array_of(leaf or str(leaf), kind, wide, device)


@functools.lru_cache(maxsize=1024)
def _array_of(number: Any, kind: type, wide: bool, device: jax.Device) -> jax.Array:
    """A scalar. Zeros come in writing, because 0.0 and -0.0 are the same to a cache."""
    del wide  # a part of what the array depends on
    with jax.default_device(device):
        return jnp.asarray(number != "False" if kind is bool else kind(number))


_MANY = 4  # environments: one by one, they draw faster what each of them draws together

_DEBUGGING = ("jax_disable_jit", "jax_debug_nans", "jax_debug_infs")


def _streams(key: jax.Array, num_envs: int, resets: bool) -> Any:
    """The keys of environments that are reset, None if none are; and of their policies."""
    return _streams_program()(key, num_envs, resets)


@functools.cache
def _streams_program() -> Any:
    return jax.jit(_streams_of, static_argnums=(1, 2), compiler_options=compiler_options(level=1))


def _streams_of(key: jax.Array, num_envs: int, resets: bool) -> tuple[jax.Array | None, jax.Array]:
    if not resets:
        return None, jax.random.split(key, num_envs)
    reset_key, policy_key = jax.random.split(key)
    return jax.random.split(reset_key, num_envs), jax.random.split(policy_key, num_envs)


def _bytes(shapes: Any) -> int:
    return sum(
        leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes) if jnp.issubdtype(leaf.dtype, jnp.number)
    )
