"""Steps and resets of an environment with few states, whose results are remembered.

A call of a compiled program takes longer than such a step. The result of a step is a function of the state, the action
and the noise, and the noise of an environment with `noise_bounds` takes few values. So a result that the program
returned once is repeated bit for bit, except for the words that count calls and steps.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.options import is_debugging, jit_quickly
from funcenv._compile.switch import is_enabled
from funcenv.func_env import AnyEnv, FuncEnv, split_call_key
from funcenv.spaces import Discrete
from funcenv.struct import NDArray
from funcenv.traits import declared_noise_bounds
from funcenv.transfers import transferred
from funcenv.vector import call_key
from funcenv.wrappers.time_limit import TimeLimit

MAX_RESULTS = 20_000  # results that are kept, of some hundred bytes each
NUM_COMPUTED_STEPS = 256  # first steps, which are computed, so that a short session does not compile the draws of noise
BLOCK_DRAWS = 256  # draws of one compiled call
MARGIN = 1e-6  # distance to a bound within which rounding may decide, so that the step is computed
MAX_KEPT = 256  # blocks of draws, and encoded actions, that are kept

Program = Callable[..., Any]


def remember(func_env: AnyEnv, spans: Any, impl: Hashable, step: Program, reset: Program) -> Remembered | None:
    """Return programs that remember results; None if the environment does not allow it.

    The class of the environment declares `noise_bounds`, its actions are `Discrete`, at most a `TimeLimit` is around
    it, and nothing asks for plain programs.

    Args:
        func_env: The environment.
        spans: The slices of the words of a result, as `Packing.spans` returns them.
        impl: The implementation of its keys.
        step: The program from packed words and an encoded action to packed words.
        reset: The program from packed words to packed words.
    """
    inner, env_state, counter = func_env, spans.snapshot.env_state, None
    if type(func_env) is TimeLimit:
        counter = _Counter(env_state.elapsed_steps.start, spans.truncated.start, int(func_env.max_episode_steps))
        inner, env_state = func_env.env, env_state.env_state
    bounds = declared_noise_bounds(inner)
    if bounds is None or type(inner).truncated is not FuncEnv.truncated or not isinstance(inner.action_space, Discrete):
        return None
    if not is_enabled() or is_debugging():
        return None
    leaves = jax.tree.leaves(env_state)
    state = slice(leaves[0].start, leaves[-1].stop)
    noise = _Noise(bounds, impl)
    return Remembered(step, reset, inner.fixed_start, state, spans.snapshot.key, counter, noise)


class _Counter(NamedTuple):
    """The words of a time limit."""

    elapsed: int  # index of the number of steps
    truncated: int  # index of the flag
    limit: int  # number of steps of an episode


class Remembered:
    """A step, and a reset of a fixed start, that repeat results. Packed words are NumPy arrays, which nobody changes.

    Args:
        step: The program of a step.
        reset: The program of a reset.
        fixed_start: True if all resets have the same result.
        state: The words of the state without its step counter.
        key: The words of the key; the number of calls is the last word.
        counter: The words of the time limit; None if there is none.
        noise: The noise of each call.
    """

    def __init__(
        self,
        step: Program,
        reset: Program,
        fixed_start: bool,
        state: slice,
        key: slice,
        counter: _Counter | None,
        noise: _Noise,
    ) -> None:
        self._step, self._reset, self._fixed_start, self._noise = step, reset, fixed_start, noise
        self._state, self._key, self._counter, self._num_computed = state, key, counter, 0
        self._first: NDArray | None = None  # result of a reset
        self._results: dict[tuple[bytes, int, int], NDArray] = {}  # results by state, action and noise
        self._members: dict[int, tuple[Any, int]] = {}  # encoded actions and their values, by identity

    def step(self, words: NDArray, action: Any) -> NDArray:
        """Take a step."""
        if self._num_computed < NUM_COMPUTED_STEPS:
            self._num_computed += 1
            return np.asarray(self._step(transferred(words), action))
        noise = self._noise.of_call(words[self._key], int(words[-1]))
        place = words[self._state].tobytes(), self._member(action), noise
        known = self._results.get(place)
        if known is None:
            return self._compute(words, action, place)
        result = self._next_call(known, words)
        if self._counter is not None:
            elapsed, truncated, limit = self._counter
            num_steps = int(words[elapsed]) + 1
            result[elapsed] = num_steps
            if num_steps >= limit:
                result[truncated] = 1
        return result

    def reset(self, words: NDArray) -> NDArray:
        """Start an episode."""
        if self._first is not None:
            return self._next_call(self._first, words)
        result = np.asarray(self._reset(transferred(words)))
        if self._fixed_start:
            self._first = result
        return result

    def _next_call(self, result: NDArray, words: NDArray) -> NDArray:
        """Return a result with the key and the number of calls that follow the last ones."""
        result = result.copy()
        result[self._key] = words[self._key]
        result[-1] = (int(words[-1]) + 1) % 2**32
        return result

    def _compute(self, words: NDArray, action: Any, place: tuple[bytes, int, int]) -> NDArray:
        result = np.asarray(self._step(transferred(words), action))
        is_last = self._counter is not None and result[self._counter.elapsed] >= self._counter.limit
        if place[2] >= 0 and not is_last and len(self._results) < MAX_RESULTS:
            self._results[place] = result
        return result

    def _member(self, action: Any) -> int:
        """Return the value of an encoded action, which is read once, because reading takes as long as a step."""
        array, value = self._members.get(id(action), (None, 0))
        if array is not action:
            if len(self._members) >= MAX_KEPT:
                self._members.clear()
            value = int(action)
            self._members[id(action)] = action, value
        return value


class _Noise:
    """The noise of each call of a stream: how many of the bounds its uniform number reaches, or -1 near a bound."""

    def __init__(self, bounds: tuple[float, ...], impl: Hashable) -> None:
        self._bounds = np.asarray(bounds, np.float64)
        self._blocks: dict[tuple[bytes, int], list[int]] = {}  # draws by key words and block number

        def draw(key_words: jax.Array, first: jax.Array) -> jax.Array:
            env_key = jax.random.wrap_key_data(key_words, impl=impl)

            def draw_one(call: jax.Array) -> jax.Array:
                transition_key, _ = split_call_key(call_key(env_key, call))
                return jax.random.uniform(transition_key, (), float)

            return jax.vmap(draw_one)(first + jnp.arange(BLOCK_DRAWS, dtype=jnp.uint32))

        self._draw = jit_quickly(draw, "block of noise", str(impl))

    def of_call(self, key_words: NDArray, num_calls: int) -> int:
        """Return the noise of call number `num_calls`."""
        if not len(self._bounds):
            return 0
        number, index = divmod(num_calls, BLOCK_DRAWS)
        place = key_words.tobytes(), number
        block = self._blocks.get(place)
        if block is None:
            if len(self._blocks) >= MAX_KEPT:
                self._blocks.clear()
            block = self._blocks[place] = self._drawn(key_words, number)
        return block[index]

    def _drawn(self, key_words: NDArray, number: int) -> list[int]:
        draws = np.asarray(self._draw(*transferred((key_words, np.uint32(number * BLOCK_DRAWS)))), np.float64)[:, None]
        is_near = (np.abs(draws - self._bounds) < MARGIN).any(axis=1)
        noise: list[int] = np.where(is_near, -1, (draws >= self._bounds).sum(axis=1)).tolist()
        return noise
