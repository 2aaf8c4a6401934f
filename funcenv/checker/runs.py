"""Compiled programs that all dynamic checks share, and a recording of the environment's steps.

    reset, step     one environment, compiled once; how often JAX traces `step` is counted
    record          sixteen environments in one scan: half of them play random actions, each of the others repeats one
                    action. A row whose episode ends starts again from its first state.

Compiling is expensive and a step is cheap, so few programs are compiled and many steps taken.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from funcenv._compile.options import quick_options
from funcenv.checker.trace import EnvUnderTest, Failure, format_aval, leaves_by_path
from funcenv.func_env import AnyEnv, Timestep
from funcenv.random.keys import is_key
from funcenv.spaces.space import AnySpace
from funcenv.struct import NDArray, PyTreeNode
from funcenv.trees import select
from funcenv.wrappers import StatefulWrapper, Wrapper

NUM_ENVS = 16
MIN_STEPS, MAX_STEPS = 8, 256
MAX_RECORDED_BYTES = 2**24  # states and time steps; environments with images run fewer steps


class StepResult(NamedTuple):
    """The result of `reset` or `step`."""

    state: Any
    timestep: Timestep[Any]


class Starts(NamedTuple):
    """The results of `reset`; every leaf has a leading axis `[NUM_ENVS]`."""

    result: StepResult
    in_space: Any  # true if the observation lies in its space
    ended: Any  # true if the first state is terminal or truncated, which `reset` does not report


class Transitions(NamedTuple):
    """Arguments and results of `step`; every leaf has leading axes `[num_steps, NUM_ENVS]`."""

    state: Any
    action: Any
    key: jax.Array
    result: StepResult
    in_space: Any
    inner_actions_in_space: Any  # see `inner_actions_in_space`


class Runs:
    """Compiled programs of the environment under test, and a recording of its steps."""

    def __init__(self, tested: EnvUnderTest) -> None:
        self.tested = tested
        self.env = tested.env
        self.num_step_traces = 0
        reset_key, self.step_key, self.action_key = jax.random.split(tested.key, 3)
        self.reset_keys = jax.random.split(reset_key, NUM_ENVS)  # keys of the recording's rows
        self._reset = compile_quickly(lambda env, key: (env or self.env).reset(key))
        self._step = compile_quickly(self._traced_step)

    def _traced_step(self, env: AnyEnv | None, *args: Any) -> Any:
        self.num_step_traces += 1
        return (env or self.env).step(*args)

    def argument(self, env: AnyEnv) -> AnyEnv | None:
        """Return the environment as an argument of a program, or None where its parameters are constants."""
        return env if self.tested.traced_parameters else None

    def reset(self, key: jax.Array) -> StepResult:
        """Call the compiled `env.reset`."""
        return StepResult(*self._reset(self.argument(self.env), key))

    def step(self, state: Any, action: Any, key: jax.Array, env: AnyEnv | None = None) -> StepResult:
        """Call the compiled `env.step`, for another environment of the same structure if one is given."""
        return StepResult(*self._step(self.argument(env or self.env), state, action, key))

    @functools.cached_property
    def recorded(self) -> tuple[Starts, Transitions]:
        """Return all resets and transitions as NumPy arrays; keys stay JAX arrays."""
        values = self.tested.report.values
        leaves = jax.tree.leaves((values["state"], values["observation"]))
        step_bytes = NUM_ENVS * 2 * max(sum(leaf.size * leaf.dtype.itemsize for leaf in leaves), 1)
        num_steps = max(MIN_STEPS, min(MAX_STEPS, MAX_RECORDED_BYTES // step_bytes))
        step_keys = jax.random.split(self.step_key, (num_steps, NUM_ENVS))
        actions = sample_actions(self.env.action_space, self.action_key, num_steps)
        program = compile_quickly(lambda env, *args: record(env or self.env, *args))
        recorded = program(self.argument(self._with_probe()), self.reset_keys, step_keys, actions)
        return jax.tree.map(lambda leaf: leaf if is_key(leaf) else np.asarray(leaf), recorded)

    def _with_probe(self) -> AnyEnv:
        """Put a probe inside the wrappers, unless one depends on what it wraps, as `RandomizeParameters` does.

        One that shows the state, as `StateObservation` does, would show the probe.
        """

        def probed() -> AnyEnv:
            env = with_probe(self.env)
            _, timestep = jax.eval_shape(lambda env, key: env.reset(key), env, self.reset_keys[0])
            seen = (timestep.observation, self.tested.report.values["observation"])
            return env if operator.eq(*map(jax.tree.structure, seen)) else self.env

        env: AnyEnv | Failure = self.tested.attempt(probed)
        return self.env if isinstance(env, Failure) else env

    def transition(self, step: int, row: int) -> Transitions:
        """Return one recorded transition."""
        return take(self.recorded[1], step, row)


def compile_quickly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile with options that suit a program which runs a few times only."""
    return jax.jit(function, compiler_options=quick_options())


def record(env: AnyEnv, reset_keys: jax.Array, step_keys: jax.Array, actions: Any) -> tuple[Starts, Transitions]:
    """Play the given actions in a batch of environments."""
    first_states, timesteps = jax.vmap(env.reset)(reset_keys)
    contains = jax.vmap(env.observation_space.contains)
    starts = Starts(
        result=StepResult(without_probe(first_states), timesteps),
        in_space=contains(timesteps.observation),
        ended=jax.vmap(lambda state: env.terminal(state) | env.truncated(state))(first_states),
    )

    def step(state: Any, given: tuple[jax.Array, Any]) -> tuple[Any, Transitions]:
        key, action = given
        next_state, timestep = jax.vmap(env.step)(state, action, key)
        transitions = Transitions(
            state=without_probe(state),
            action=action,
            key=key,
            result=StepResult(without_probe(next_state), timestep),
            in_space=contains(timestep.observation),
            inner_actions_in_space=jax.vmap(inner_actions_in_space)(next_state),
        )
        return select(timestep.done, first_states, next_state), transitions

    _, transitions = jax.lax.scan(step, first_states, (step_keys, actions))
    return starts, transitions


@functools.partial(jax.jit, static_argnames=("space", "num_steps"))
def sample_actions(space: AnySpace, key: jax.Array, num_steps: int) -> Any:
    """Sample `[num_steps, NUM_ENVS]` actions: a new one each step in the first half of the rows, one in the others."""
    actions = jax.vmap(jax.vmap(space.sample))(jax.random.split(key, (num_steps, NUM_ENVS)))
    held = slice(NUM_ENVS // 2, None)
    return jax.tree.map(lambda leaf: leaf.at[:, held].set(leaf[:1, held]), actions)


@functools.partial(jax.jit, static_argnames="space")
def contains_each(space: AnySpace, values: Any) -> jax.Array:
    """Return whether each of a batch of values is a member, shape `[batch]`."""
    return jax.vmap(space.contains)(values)


def take(tree: Any, *index: Any) -> Any:
    """Index every leaf."""
    return jax.tree.map(lambda leaf: leaf[index], tree)


def differences(first: Any, second: Any) -> list[str]:
    """Describe unequal leaves: floats may differ by 1e-4 of their largest magnitude, pixels by 1, others not at all.

    >>> differences({"x": np.float32(1), "n": np.int32(3)}, {"x": np.float32(1.00001), "n": np.int32(4)})
    ["['n']: 3 and 4"]
    """
    others = leaves_by_path(second)
    if list(leaves_by_path(first)) != list(others):
        return [f"the structure: {jax.tree.structure(first)} and {jax.tree.structure(second)}"]
    found = []
    for path, leaf in leaves_by_path(first).items():
        pair = np.asarray(leaf), np.asarray(others[path])
        if format_aval(pair[0]) != format_aval(pair[1]):
            found.append(f"{path or 'it'}: {format_aval(pair[0])} and {format_aval(pair[1])}")
        elif not _are_close(*pair):
            one, other = (np.array2string(array, threshold=8, precision=6) for array in pair)
            found.append(f"{path}: {one} and {other}")
    return found


def _are_close(one: NDArray, other: NDArray) -> bool:
    if one.dtype.kind == "f":
        finite = np.abs(one[np.isfinite(one)])
        return np.allclose(one, other, rtol=1e-4, atol=1e-4 * (1 + finite.max(initial=0)), equal_nan=True)
    if one.dtype == np.uint8 and one.ndim >= 2:  # an image, whose pixels may be rounded either way
        return bool((np.abs(one.astype(int) - other.astype(int)) <= 1).all())
    return np.array_equal(one, other)


def not_finite(tree: Any) -> list[str]:
    """Describe the leaves that hold NaN or infinity, each by its first such number.

    >>> not_finite({"x": np.float32("nan"), "n": np.int32(3)})
    ["['x'] = nan"]
    """
    bad = {
        path: np.asarray(leaf)[~np.isfinite(leaf)]
        for path, leaf in leaves_by_path(tree).items()
        if jnp.issubdtype(leaf.dtype, jnp.inexact)
    }
    return [f"{path} = {numbers[0]}".removeprefix(" = ") for path, numbers in bad.items() if numbers.size]


class ProbeState(PyTreeNode):
    """The state of the environment, and whether every action since the reset was a member of its action space."""

    env_state: Any
    in_space: Bool[Array, ""]


class Probe(StatefulWrapper[ProbeState, Any, Any]):
    """A wrapper around the innermost environment that notes which actions reach it, and changes nothing.

    >>> import funcenv
    >>> env = with_probe(funcenv.make("CartPole-v1"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> state, _ = env.step(state, 7, funcenv.key(1))
    >>> bool(inner_actions_in_space(state))
    False
    """

    def initial(self, key: jax.Array) -> ProbeState:
        """Return the first state, before any action."""
        return ProbeState(self.env.initial(key), jnp.ones((), bool))

    def transition(self, state: ProbeState, action: Any, key: jax.Array) -> ProbeState:
        """Return the next state, and note whether the action is a member."""
        in_space = state.in_space & self.env.action_space.contains(action)
        return ProbeState(self.env.transition(state.env_state, action, key), in_space)


def with_probe(env: AnyEnv) -> AnyEnv:
    """Put a probe between the wrappers and the environment; without wrappers, return the environment itself."""
    if not isinstance(env, Wrapper):
        return env
    return env.replace(env=with_probe(env.env) if isinstance(env.env, Wrapper) else Probe(env.env))


def without_probe(state: Any) -> Any:
    """Remove the probe's part from a state."""
    return jax.tree.map(lambda node: node.env_state if _is_probe(node) else node, state, is_leaf=_is_probe)


def inner_actions_in_space(state: Any) -> jax.Array:
    """Return whether all actions that reached the innermost environment were members; True without a probe."""
    probes = [node.in_space for node in jax.tree.leaves(state, is_leaf=_is_probe) if _is_probe(node)]
    return jnp.stack([jnp.ones((), bool), *probes]).all()


def _is_probe(node: Any) -> bool:
    return isinstance(node, ProbeState)
