"""Checks that every function is defined, traces, and returns the right structure and dtype."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.checker.findings import Finding, error, warning
from funcenv.checker.trace import EnvUnderTest, Failure, Trace, format_aval, leaves_by_path
from funcenv.func_env import AnyEnv
from funcenv.scene import Scene, rasterize, require_same_structure
from funcenv.spaces import Space

NEEDS_VALUES = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
NUM_SCENE_EPISODES, NUM_SCENE_STEPS = 4, 20  # played to explain why a scene does not trace


def check_spaces(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that both spaces are spaces."""
    for name in ("observation_space", "action_space"):
        space = tested.attempt(lambda name=name: getattr(tested.env, name))  # type: ignore[misc]
        if isinstance(space, Failure):
            seen, remedy = f"reading it raises {space}", "define the property so that it returns a space"
        elif not isinstance(space, Space):
            seen, remedy = f"it is {space!r}, of type {type(space).__name__}", "return a space of funcenv.spaces"
        else:
            continue
        yield error("space-missing", tested.env, name, seen, remedy)


def check_functions(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that every function is defined and traces."""
    for name, failure in tested.report.failures.items():
        if isinstance(failure.error, NotImplementedError):
            code, seen, remedy = "function-missing", f"it raises {failure}", "define it"
        elif isinstance(failure.error, NEEDS_VALUES):
            code, seen = "not-traceable", f"it works on values but not inside jax.jit: {failure}"
            remedy = "use jnp functions, jnp.where and jax.lax.cond for what depends on the values of arrays"
        else:
            code = "function-fails"
            seen = f"traced with the state, action and key that reset and step give it, it raises {failure}"
            remedy = "return arrays, and accept those that the other functions and the action space give"
        yield error(code, tested.env, name, seen, remedy)


def check_results(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that flags are scalar bools, rewards scalar floats, infos dicts, and observations as in their space."""
    out = {name: trace.out for name, trace in tested.report.traces.items()}
    for name in ("terminal", "truncated", "reward"):
        yield from _scalar_findings(tested.env, name, out[name])
    infos = {name: out[name] for name in ("state_info", "transition_info")}
    for name, info in infos.items():
        if not isinstance(info, dict):
            seen = f"it returns a {type(info).__name__} instead of a dict"
            yield error("info-not-dict", tested.env, name, seen, "return a dict from names to arrays")
    state_info, transition_info = (info if isinstance(info, dict) else {} for info in infos.values())
    if clash := ", ".join(sorted(map(repr, state_info.keys() & transition_info.keys()))):
        seen = f"state_info returns {clash} too, and hides it"
        yield warning("info-clash", tested.env, "transition_info", seen, "give them different names")
    yield from _observation_findings(tested)


def _scalar_findings(env: AnyEnv, name: str, value: Any) -> Iterator[Finding]:
    is_flag = name != "reward"
    if value is None:
        return
    if not hasattr(value, "dtype") or value.shape != ():
        seen = format_aval(value) if hasattr(value, "dtype") else f"a {type(value).__name__}"
        code, remedy = "reward-not-scalar", "sum or index it to one number"
        if is_flag:
            code, remedy = "flag-not-scalar", "reduce it with jnp.any or jnp.all, or index it"
        yield error(code, env, name, f"it returns {seen} instead of a scalar", remedy)
    elif is_flag and value.dtype != bool:
        seen = f"it returns {value.dtype} instead of a bool"
        yield error("flag-not-bool", env, name, seen, "return a comparison, such as x > limit")
    elif not is_flag and not jnp.issubdtype(value.dtype, jnp.floating):
        seen = f"it returns {value.dtype}, which a float discount cannot multiply under strict dtype promotion"
        yield warning("reward-not-float", env, name, seen, "return a float, such as -1.0, or cast with astype(float)")


def _observation_findings(tested: EnvUnderTest) -> Iterator[Finding]:
    """Compare the observation with a sample of its space."""
    env, space = tested.env, tested.env.observation_space
    member = tested.attempt(lambda: jax.eval_shape(space.sample, tested.key))
    if isinstance(member, Failure):
        seen = f"its sample(key) raises {member}"
        yield error("space-broken", env, "observation_space", seen, "make sample work under jax.jit")
        return
    leaves, declared = leaves_by_path(tested.report.values["observation"]), leaves_by_path(member)
    if list(leaves) != list(declared):
        seen = f"its leaves are {list(leaves)}, those of a member of {space!r} are {list(declared)}"
        remedy = "return the structure that observation_space declares"
        yield error("observation-kind", env, "observation", seen, remedy)
        return
    for path, leaf in leaves.items():
        if (leaf.shape, leaf.dtype) != (declared[path].shape, declared[path].dtype):
            seen = f"{path or 'it'} is {format_aval(leaf)}, but {space!r} holds {format_aval(declared[path])}"
            remedy = "cast with astype, or declare the space with that dtype and shape"
            yield error("observation-kind", env, "observation", seen, remedy)


def check_states(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that `transition` returns a state like that of `initial`, so that `jax.lax.scan` can carry it."""
    states = {name: tested.report.traces[name].out for name in ("initial", "transition")}
    for seen in state_differences(**states):
        remedy = "return the same structure, shapes and dtypes from initial and transition, say with astype or "
        yield error("state-drift", tested.env, "transition", seen, remedy + "jnp.zeros((), float)")
    for name, state in states.items():
        if weak := ", ".join(path or "the state" for path, leaf in leaves_by_path(state).items() if leaf.weak_type):
            seen = f"{weak} has a weak type, as a Python number has; reset and step remove it, but a scan over "
            seen += "transition itself compiles twice or fails"
            remedy = "give the dtype, as in jnp.zeros((), float) or jnp.asarray(x, jnp.int32)"
            yield warning("state-weak-type", tested.env, name, seen, remedy)


def state_differences(initial: Any, transition: Any) -> Iterator[str]:
    """Yield the differences between the states of `initial` and `transition`: structure, or else shapes and dtypes."""
    structures: list[Any] = [jax.tree.structure(state) for state in (initial, transition)]
    if structures[0] != structures[1]:
        first, second = (str(each).removeprefix("PyTreeDef(").removesuffix(")") for each in structures)
        yield f"its structure is {first} after initial and {second} after transition"
        return
    others = leaves_by_path(transition)
    for path, leaf in leaves_by_path(initial).items():
        if (leaf.shape, leaf.dtype) != (others[path].shape, others[path].dtype):
            first, second = format_aval(leaf), format_aval(others[path])
            yield f"{path or 'the state'} is {first} after initial and {second} after transition"


def check_composition(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that `reset` and `step` trace as a whole."""
    for name, arguments in (("reset", ("key",)), ("step", ("state", "action", "key"))):
        values = [tested.report.values[argument] for argument in arguments]
        trace = tested.trace(lambda env, *args, name=name: getattr(env, name)(*args), *values)
        if isinstance(trace, Failure):
            seen = f"the functions trace one by one, but together {name} raises {trace}"
            remedy = "let each function return what FuncEnv documents; the keys of infos are strings"
            yield error(f"{name}-fails", tested.env, name, seen, remedy)


def check_scene(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that `scene`, where it is defined, traces and can be drawn."""
    trace = tested.trace_scene()
    remedy = "return a funcenv.scene.Scene of shapes, each with the fields that its class declares"
    if isinstance(trace, Failure):
        if isinstance(trace.error, NotImplementedError):
            return
        changed = tested.attempt(lambda: _require_fixed_shapes(tested))
        has_reason = isinstance(changed, Failure) and isinstance(changed.error, ValueError)
        seen = f"traced, it raises {trace}" + (f"; run, it raises {changed}" if has_reason else "")
        remedy = "build the scene from jnp operations, with a number of shapes that does not depend on the state"
        if isinstance(trace.error, (AttributeError, NameError, ImportError)):
            remedy = "correct that name"
    elif not isinstance(trace.out, Scene):
        seen = f"it is not a Scene but a {type(trace.out).__name__}"
    else:
        state = tested.report.values["state"]
        image = tested.trace(lambda env, state: rasterize(env.scene(state), 8, 8), state)
        if isinstance(image, Trace):
            return
        seen = f"drawn, it raises {image}"
    yield error("scene-fails", tested.env, "scene", seen, remedy)


def _require_fixed_shapes(tested: EnvUnderTest) -> None:
    """Raise `ValueError` if the shapes of the scene change during a few episodes."""
    env, first = tested.env, None
    for key in jax.random.split(tested.key, NUM_SCENE_EPISODES):
        keys = jax.random.split(key, 2 * NUM_SCENE_STEPS + 1)
        state = env.initial(keys[-1])
        first = env.scene(state) if first is None else first
        for t in range(NUM_SCENE_STEPS):
            require_same_structure(first, env.scene(state), f"after {t} steps")
            state = env.transition(state, env.action_space.sample(keys[2 * t]), keys[2 * t + 1])
