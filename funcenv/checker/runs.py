"""The environment under test, run: the few compiled programs that all dynamic checks share.

    reset, step     one environment, compiled once, with their tracings counted
    record          sixteen environments side by side through one scan, half of them with random actions, half with
                    each its own action held; where an episode ends, the row starts again from its first state

Compiling is what costs; a step costs next to nothing. So few programs are built, and many steps taken.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.single_kernel import quick_options
from funcenv.checker.probe import all_inside, with_probe, without_probe
from funcenv.checker.subject import Failure, Subject, leaves_by_path
from funcenv.func_env import FuncEnv, Timestep

NUM_ENVS = 16
MAX_STEPS = 256
MAX_BYTES = 2**24  # of recorded states and time steps; environments with images run fewer steps


class Outcome(NamedTuple):
    """What `reset` and `step` return."""

    state: Any
    timestep: Timestep[Any]


class Starts(NamedTuple):
    """What `reset` gave; every leaf has a leading axis `[NUM_ENVS]`."""

    state: Any
    timestep: Timestep[Any]
    inside: Any  # whether the observation lies in its space
    ended: Any  # whether the first state is terminal or truncated, which `reset` does not report


class Transitions(NamedTuple):
    """What `step` was given and what it made of it; every leaf has leading axes `[num_steps, NUM_ENVS]`."""

    state: Any
    action: Any
    key: jax.Array
    next_state: Any
    timestep: Timestep[Any]
    inside: Any
    passed_on: Any  # whether the actions that wrappers made of this one, and of earlier ones, were members inside


class Counted:
    """A function that counts how often JAX traces it."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.count = 0

    def __call__(self, *args: Any) -> Any:
        """Call it; under `jax.jit` this happens once for each tracing."""
        self.count += 1
        return self.function(*args)


class Runs:
    """Programs and recordings of one subject."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.env = subject.env
        self.reset_key, self.step_key, self.action_key = jax.random.split(subject.key, 3)
        self.counted_step = Counted(lambda env, *args: (env or subject.env).step(*args))
        self._step = jax.jit(self.counted_step, compiler_options=quick_options())
        self._reset = jax.jit(lambda env, key: (env or subject.env).reset(key), compiler_options=quick_options())

    def reset(self, key: jax.Array) -> Outcome:
        """`env.reset`, compiled."""
        return Outcome(*self._reset(self._argument(self.env), key))

    def step(self, state: Any, action: Any, key: jax.Array, env: Any = None) -> Outcome:
        """`env.step`, compiled; of another environment of the same kind, if one is given."""
        return Outcome(*self._step(self._argument(env or self.env), state, action, key))

    @functools.cached_property
    def reset_keys(self) -> jax.Array:
        """`[NUM_ENVS]` keys that the rows of the recording start with."""
        return jax.random.split(self.reset_key, NUM_ENVS)

    @functools.cached_property
    def recorded(self) -> tuple[Starts, Transitions]:
        """What `reset` gave each row, and all transitions, as NumPy arrays (keys stay JAX arrays)."""
        num_steps = self._num_steps()
        step_keys = jax.random.split(self.step_key, (num_steps, NUM_ENVS))
        actions = sample_actions(self.env.action_space, self.action_key, num_steps)
        program = jax.jit(lambda env, *args: record(env or self.env, *args), compiler_options=quick_options())
        env = self._argument(self._probed)
        return _to_host(program(env, self.reset_keys, step_keys, actions))

    @property
    def _probed(self) -> FuncEnv[Any, Any, Any]:
        """With a probe inside the wrappers, unless one depends on what it wraps, as `RandomizeParameters` does."""
        probed: FuncEnv[Any, Any, Any] | Failure = self.subject.attempt(lambda: with_probe(self.env))
        if isinstance(probed, Failure):
            return self.env
        traced = self.subject.attempt(lambda: jax.eval_shape(lambda env, key: env.reset(key), probed, self.reset_key))
        return self.env if isinstance(traced, Failure) else probed

    def transition(self, step: int, row: int) -> Transitions:
        """One recorded transition."""
        return jax.tree.map(lambda leaf: leaf[step, row], self.recorded[1])

    def _argument(self, env: FuncEnv[Any, Any, Any]) -> FuncEnv[Any, Any, Any] | None:
        return env if self.subject.traced else None

    def _num_steps(self) -> int:
        known = self.subject.survey.known
        size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves((known["state"], known["observation"])))
        return max(8, min(MAX_STEPS, MAX_BYTES // (NUM_ENVS * 2 * max(size, 1))))


def record(
    env: FuncEnv[Any, Any, Any], reset_keys: jax.Array, step_keys: jax.Array, actions: Any
) -> tuple[Starts, Transitions]:
    """Play the given actions in rows side by side."""
    first_states, timesteps = jax.vmap(env.reset)(reset_keys)
    starts = Starts(
        state=without_probe(first_states),
        timestep=timesteps,
        inside=jax.vmap(env.observation_space.contains)(timesteps.observation),
        ended=jax.vmap(lambda state: env.terminal(state) | env.truncated(state))(first_states),
    )

    def advance(state: Any, given: tuple[jax.Array, Any]) -> tuple[Any, Transitions]:
        key, action = given
        next_state, timestep = jax.vmap(env.step)(state, action, key)
        done = timestep.done
        state_after = jax.tree.map(
            lambda first, following: jnp.where(
                done.reshape(done.shape + (1,) * (following.ndim - 1)), first, following
            ),
            first_states,
            next_state,
        )
        return state_after, Transitions(
            state=without_probe(state),
            action=action,
            key=key,
            next_state=without_probe(next_state),
            timestep=timestep,
            inside=jax.vmap(env.observation_space.contains)(timestep.observation),
            passed_on=jax.vmap(all_inside)(next_state),
        )

    _, transitions = jax.lax.scan(advance, first_states, (step_keys, actions))
    return starts, transitions


def sample_actions(space: Any, key: jax.Array, num_steps: int) -> Any:
    """`[num_steps, NUM_ENVS]` members: in the first half of the rows a new one each step, in the others one for all."""
    actions = _sample(space, key, num_steps)

    def hold(leaf: Any) -> Any:
        leaf = np.array(leaf)
        leaf[:, NUM_ENVS // 2 :] = leaf[:1, NUM_ENVS // 2 :]
        return leaf

    return jax.tree.map(hold, actions)


@functools.partial(jax.jit, static_argnames=("space", "num_steps"))
def _sample(space: Any, key: jax.Array, num_steps: int) -> Any:
    return jax.vmap(jax.vmap(space.sample))(jax.random.split(key, (num_steps, NUM_ENVS)))


@functools.partial(jax.jit, static_argnames="space")
def contains_each(space: Any, values: Any) -> Any:
    """Whether each of a batch of values is a member: `[batch]`."""
    return jax.vmap(space.contains)(values)


def differences(first: Any, second: Any) -> list[str]:
    """Paths of unequal leaves; floats may differ by 1e-4 of their largest magnitude, pixels by 1, others not at all.

    >>> differences({"x": np.float32(1), "n": np.int32(3)}, {"x": np.float32(1.00001), "n": np.int32(4)})
    ["['n']: 3 and 4"]
    """
    others = leaves_by_path(second)
    if list(leaves_by_path(first)) != list(others):
        return [f"the structure: {jax.tree.structure(first)} and {jax.tree.structure(second)}"]
    found = []
    for path, leaf in leaves_by_path(first).items():
        one, other = np.asarray(leaf), np.asarray(others[path])
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            found.append(f"{path or 'it'}: {one.dtype}{list(one.shape)} and {other.dtype}{list(other.shape)}")
        elif not _equal(one, other):
            found.append(f"{path}: {_show(one)} and {_show(other)}")
    return found


def not_finite(tree: Any) -> list[str]:
    """Paths of leaves that hold NaN or infinity.

    >>> not_finite({"x": np.float32("nan"), "n": np.int32(3)})
    ["['x'] = nan"]
    """
    return [
        f"{path} = {_show(np.asarray(leaf))}".strip()
        for path, leaf in leaves_by_path(tree).items()
        if jnp.issubdtype(leaf.dtype, jnp.inexact) and not np.isfinite(leaf).all()
    ]


def _equal(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    if one.dtype.kind == "f":
        finite = np.abs(one[np.isfinite(one)])
        return np.allclose(one, other, rtol=1e-4, atol=1e-4 * (1 + finite.max(initial=0)), equal_nan=True)
    if one.dtype == np.uint8 and one.ndim >= 2:  # an image: rounding may fall either way
        return bool((np.abs(one.astype(int) - other.astype(int)) <= 1).all())
    return np.array_equal(one, other)


def _show(array: np.ndarray[Any, Any]) -> str:
    return np.array2string(array, threshold=8, precision=6)


def _to_host(tree: Any) -> Any:
    """Arrays as NumPy arrays, with which single transitions are cut out without a dispatch; keys as they are."""
    return jax.tree.map(
        lambda leaf: leaf if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else np.asarray(leaf), tree
    )
