"""A rollout as one function: for each chunk of environments a loop over the steps, and nothing leaves the cache.

XLA's CPU backend makes of a marked program (`funcenv._compile.single_kernel`) one function, loops and all. What it cannot put into one
is refused before it is compiled; what remains is tried, and checked (`funcenv._compile.rollout.verify`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from funcenv._compile.jaxpr import equations
from funcenv._compile.rollout.chunks import Chunks, chunk_of, for_each_chunk, put_rows, put_step, rows
from funcenv._compile.rollout.step import Play, Policy, advance
from funcenv._compile.single_kernel import compiler_options, fuse, is_supported
from funcenv.random._counter_based import lowered_for_one_function
from funcenv.vector import FuncVectorEnv, VectorState


class Rules(NamedTuple):
    """What a program is made for beside its arguments: fixed when it is compiled, and hashable."""

    play: Play
    function: Callable[[Any, jax.Array], Any] | None  # a policy that is no argument
    collect: Callable[[Any, Any], Any] | None
    capacity: int  # steps that can be collected
    chunks: Chunks


class Situation(NamedTuple):
    """The arguments that all programs of a rollout share."""

    venv: FuncVectorEnv[Any, Any, Any]
    policy: Any  # a pytree, or None
    keys: jax.Array  # of each environment
    policy_keys: jax.Array  # likewise


class Outcome(NamedTuple):
    """What a rollout leaves."""

    vstate: VectorState[Any]  # without its keys, which do not change
    kept: Any
    totals: Any


def play_on(
    rules: Rules,
    situation: Situation,
    vstate: VectorState[Any],
    anew: jax.Array,
    number: jax.Array,
    num_steps: jax.Array,
) -> Outcome:
    """Play.

    Args:
        rules: what the program is made for.
        situation: environments, policy and keys.
        vstate: where to go on, without keys; of no account where all begin anew.
        anew: whether the environments are reset first, a bool.
        number: of the first step.
        num_steps: how many steps, at most `rules.capacity` if they are collected.
    """
    chunks, play, collect = rules.chunks, rules.play, rules.collect
    policy = Policy(rules.function, situation.policy)

    def play_chunk(start: jax.Array, outcome: Outcome) -> Outcome:
        venv = chunk_of(chunks, situation.venv, start)
        keys, policy_keys = rows(chunks, (situation.keys, situation.policy_keys), start)

        def reset() -> VectorState[Any]:
            fresh: VectorState[Any] = venv.reset(keys)[0].replace(key=None)
            return fresh

        some = jax.lax.cond(anew, reset, lambda: rows(chunks, vstate, start))
        observation, totals = venv.observation(some.replace(key=keys)), play.start(venv, some)
        unseen = collect is None and not policy.looks(observation, policy_keys)

        def goes_on(state: Any) -> jax.Array:
            step, (_, _, totals), _ = state
            return step < num_steps if play.over is None else (step < num_steps) & ~play.over(totals)

        def one_step(state: Any) -> Any:
            step, (some, observation, totals), kept = state
            carry, shown = advance(
                play,
                venv,
                policy,
                (some.replace(key=keys), observation, totals),
                policy_keys,
                number + step.astype(jnp.uint32),
                one_function=True,
                unseen=unseen,
            )
            if collect is not None:
                kept = put_step(chunks, kept, collect(*shown), step, start)
            some, observation, totals = carry
            return step + 1, (some.replace(key=None), observation, totals), kept

        first = jnp.zeros((), jnp.int32), (some, observation, totals), outcome.kept
        _, (some, _, totals), kept = jax.lax.while_loop(goes_on, one_step, first)
        return Outcome(
            put_rows(chunks, outcome.vstate, some, start), kept, put_rows(chunks, outcome.totals, totals, start)
        )

    return for_each_chunk(chunks, play_chunk, _zeros(_shapes(rules, situation, vstate)))


def compile_as_one(function: Callable[..., Any], *args: Any, mapped: bool = True) -> Callable[..., Any] | None:
    """The function compiled as one, for arguments like these; None if XLA cannot.

    `mapped` is as `funcenv.random._counter_based.lowered_for_one_function` takes it.
    """
    traced = jax.jit(fuse(function)).trace(*args)
    if not is_supported(traced.jaxpr.jaxpr):
        return None
    try:
        with lowered_for_one_function(mapped):
            lowered = traced.lower()
        program: Callable[..., Any] = lowered.compile(compiler_options=compiler_options())
    except jax.errors.JaxRuntimeError:  # of the compiler
        return None
    return program


def is_elementwise(function: Callable[..., Any], *shapes: Any) -> bool:
    """Whether each entry of the results depends on the entries at the same place alone, as far as is easy to see.

    >>> shape = jax.ShapeDtypeStruct((3,), "float32")
    >>> is_elementwise(lambda x, y: {"both": (x > 0) & (y > 0), "x": x}, shape, shape)
    True
    >>> is_elementwise(lambda x, y: x - x.mean(), shape, shape)
    False
    """
    closed = jax.make_jaxpr(function)(*shapes)
    return not closed.consts and all(map(_is_elementwise, equations(closed.jaxpr)))


def _is_elementwise(equation: Any) -> bool:
    name, of_scalar = equation.primitive.name, not any(variable.aval.shape for variable in equation.invars)
    return name in _ELEMENTWISE or (name == "broadcast_in_dim" and of_scalar)


def _shapes(rules: Rules, situation: Situation, vstate: VectorState[Any]) -> Outcome:
    def of_step(situation: Situation, vstate: VectorState[Any]) -> Any:
        assert rules.collect is not None
        venv = situation.venv.replace(reset_strategy="select")
        vstate = vstate.replace(key=situation.keys)
        carry = vstate, venv.observation(vstate), rules.play.start(venv, vstate)
        policy = Policy(rules.function, situation.policy)
        return rules.collect(*advance(rules.play, venv, policy, carry, situation.policy_keys, jnp.uint32(0))[1])

    kept = None if rules.collect is None else jax.eval_shape(of_step, situation, vstate)
    longer = jax.tree.map(lambda leaf: leaf.update(shape=(rules.capacity, *leaf.shape)), kept)
    return Outcome(vstate, longer, jax.eval_shape(rules.play.start, situation.venv, vstate))


def _zeros(shapes: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)


_ELEMENTWISE = frozenset(
    ["add", "sub", "mul", "div", "neg", "abs", "sign", "min", "max", "and", "or", "not", "xor", "select_n"]
    + ["eq", "ne", "lt", "le", "gt", "ge", "is_finite", "convert_element_type", "stop_gradient", "copy"]
    + ["exp", "log", "sqrt", "tanh", "integer_pow"]
)
