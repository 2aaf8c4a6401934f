"""Compiled programs and the outcomes of trials on disk, found by what they are made of.

JAX's own cache is asked for a program that is traced and lowered already, which takes seconds where bodies collide.
Here a program is found by a description of all that it is made of, so that a warm start traces nothing: the source of
this package, the versions of the packages below it, the settings of JAX, the kind of processor, the environment with
its parameters, and the shapes of the arguments.

A program that holds a user's function or class has no description (`funcenv._compile.fingerprint`), and is compiled
as ever. Entries are sealed with the user's key (`funcenv.signatures`): one that was cut or altered, or that somebody
else wrote, is taken for missing.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import os
import pathlib
import pickle
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import serialize_executable
from jax.experimental.compilation_cache import compilation_cache

from funcenv._compile.beside import beside
from funcenv._compile.fingerprint import fingerprint, surroundings
from funcenv._jax import Shape, config
from funcenv.files import write_bytes
from funcenv.signatures import sealed, unsealed

MAX_BYTES = 2**29
"""The size of all entries above which the oldest are deleted, and that of JAX's cache beside them."""

SUFFIX = ".program"

_CUSTOM_CALL = re.compile(r"custom_call @(\w+)")
_LAPACK = "lapack_"
_KIND = "compiled program"  # of what is sealed

_folder: pathlib.Path | None = None
_compiling = threading.RLock()
_stages: contextvars.ContextVar[Callable[[str], None] | None] = contextvars.ContextVar("_stages", default=None)


class Fact(NamedTuple):
    """Anything but a program that takes long to find out, such as the outcome of a trial."""

    value: Any


class _Program(NamedTuple):
    """A serialized program."""

    needs_lapack: bool
    executable: bytes
    in_tree: Any
    out_tree: Any


def use_folder(folder: pathlib.Path | None) -> None:
    """Keep programs in a folder, which exists, from now on; None for nowhere."""
    global _folder
    _folder = folder


def folder() -> pathlib.Path | None:
    """Return the folder where programs are kept, or None."""
    return _folder


def describe(kind: str, parts: Any, args: Any = (), settings: Any = None) -> str | None:
    """Return the name of an entry, or None if nothing is kept, or if a part has no description.

    Args:
        kind: what the entry is of.
        parts: all that a program is made of besides the shapes of its arguments, described by value; None for a program
            that is not kept.
        args: the arguments, of which structure, shapes and dtypes count.
        settings: anything else that is described by value, such as the options of the compiler.
    """
    if _folder is None or parts is None or not _is_usual():
        return None
    leaves, structure = jax.tree.flatten(args)
    own = fingerprint((kind, parts, settings, structure, [*map(_kind_of, leaves)]))
    return None if own is None else f"{kind.replace(' ', '-')}.{own}.{fingerprint(surroundings())}"


def find(name: str | None) -> Any:
    """Return the entry of a name: a program, a `Fact`, or None if there is none that can be used."""
    path = _path(name)
    if path is None:
        return None
    try:
        contents = unsealed(_KIND, path.read_bytes())
        if contents is None:
            return None
        os.utime(path)  # the oldest entries are deleted first
        entry = pickle.loads(contents)
    except OSError:
        return None
    if isinstance(entry, Fact):
        return entry
    if entry.needs_lapack:
        _load_lapack()
    with contextlib.suppress(jax.errors.JaxRuntimeError):  # XLA cannot load what another of its builds has compiled.
        return serialize_executable.deserialize_and_load(*entry[1:])
    return None


def keep(name: str | None, entry: Any, needs_lapack: bool = False) -> None:
    """Keep a compiled program or a `Fact`; where that is impossible, warn once and keep nothing more.

    Args:
        name: from `describe`.
        entry: the program or `Fact`.
        needs_lapack: whether the program calls LAPACK.
    """
    path = _path(name)
    if path is None:
        return
    if not isinstance(entry, Fact):
        try:
            entry = _Program(needs_lapack, *serialize_executable.serialize(entry))
        except (ValueError, TypeError, NotImplementedError, jax.errors.JaxRuntimeError):  # not every program can be
            return
    contents = sealed(_KIND, pickle.dumps(entry))
    if contents is None:
        return
    try:
        write_bytes(path, contents)
        _delete_oldest(path.parent)
    except OSError as error:
        use_folder(None)
        warnings.warn(f"compiled programs are not kept: {error}", RuntimeWarning, stacklevel=2)


def find_out(kind: str, parts: Any, function: Callable[[], Any]) -> Any:
    """Return what a function returns, and keep it; the other arguments are those of `describe`."""
    name = describe(kind, parts)
    known = find(name)
    if known is None:
        known = Fact(function())
        keep(name, known)
    return known.value


def compile_kept(
    name: str | None,
    trace: Callable[[], Any],
    options: dict[str, Any] | None = None,
    check: Callable[[Any], object] = lambda jaxpr: None,
    meanwhile: Callable[[], object] | None = None,
) -> Any:
    """Return a compiled program: the one that was kept, or else a new one, which is kept.

    Args:
        name: from `describe`.
        trace: returns the traced program, as `jax.jit(...).trace` does.
        options: of the compiler.
        check: takes the program's jaxpr before it is compiled, and raises an exception if it should not be.
        meanwhile: is called in this thread while another one compiles the program; not if the program was kept.
    """
    program = find(name)
    if program is None:
        _enter("tracing")
        traced = trace()
        check(traced.jaxpr.jaxpr)
        lowered = traced.lower()
        _enter(f"compiling{_expectation(name)}")
        start = time.process_time()
        calls = set() if name is None else set(_CUSTOM_CALL.findall(lowered.as_text()))
        if name is None or not all(call.startswith(_LAPACK) for call in calls):
            return compile_beside(lowered, options, meanwhile)  # Other code, such as a callback, may be gone by then.
        with without_jax_cache():
            program = compile_beside(lowered, options, meanwhile)
        keep(name, program, needs_lapack=bool(calls))
        keep(_time_name(name), Fact(time.process_time() - start))
    return program


def compile_beside(lowered: Any, options: dict[str, Any] | None, meanwhile: Callable[[], object] | None) -> Any:
    """Compile a lowered program, and do something else in this thread meanwhile."""
    if meanwhile is None:
        return lowered.compile(compiler_options=options)
    with beside(functools.partial(lowered.compile, compiler_options=options)) as compiled:
        meanwhile()
    return compiled.result()


@contextlib.contextmanager
def announced_stages(enter: Callable[[str], None]) -> Iterator[None]:
    """Call `enter` in this block before a program is traced or compiled, with words for it.

    >>> with announced_stages(print):
    ...     compile_kept(None, lambda: jax.jit(lambda x: x + 1).trace(1))(1)
    tracing
    compiling
    Array(2, dtype=int32, weak_type=True)
    """
    token = _stages.set(enter)
    try:
        yield
    finally:
        _stages.reset(token)


def entries() -> list[pathlib.Path]:
    """Return the files of all entries, those first that were used last."""
    if _folder is None:
        return []
    found = []
    for path in _folder.glob(f"*{SUFFIX}"):
        with contextlib.suppress(OSError):  # Another process has deleted it.
            found.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(found, reverse=True)]


def _is_usual() -> bool:
    """Return whether this process computes on one CPU, for which programs are kept."""
    return jax.default_backend() == "cpu" and len(jax.devices()) == 1


def _kind_of(leaf: Any) -> tuple[Any, ...]:
    kind = jax.typeof(leaf)
    return kind.shape, str(kind.dtype), getattr(kind, "weak_type", False)


@functools.cache
def _load_lapack() -> None:
    """Let JAX look up LAPACK, which it does when it lowers a call; a program that calls it would crash otherwise."""
    jax.jit(jnp.linalg.qr).lower(Shape((1, 1), np.float32))


def _enter(stage: str) -> None:
    if (enter := _stages.get()) is not None:
        enter(stage)


def _expectation(name: str | None) -> str:
    """Return what there is to say of how long a program takes to compile."""
    if name is None or _folder is None:
        return ""
    last = find(_time_name(name))
    took = "" if last is None else f"{last.value:.0f} CPU-s last time, "
    return f" ({took}kept for the next run)"


def _time_name(name: str) -> str:
    """Return the name of how long a program took to compile, which stays when its surroundings change."""
    return f"time-of-{name.rpartition('.')[0]}"


@contextlib.contextmanager
def without_jax_cache() -> Iterator[None]:
    """Compile anew in this block: XLA does not serialize again what it has loaded from JAX's persistent cache."""
    with _compiling:
        was_enabled = config.jax_enable_compilation_cache
        config.update("jax_enable_compilation_cache", False)
        compilation_cache.reset_cache()  # or JAX goes by the setting that it has read before
        try:
            yield
        finally:
            config.update("jax_enable_compilation_cache", was_enabled)
            compilation_cache.reset_cache()


def _path(name: str | None) -> pathlib.Path | None:
    return None if name is None or _folder is None else _folder / f"{name}{SUFFIX}"


def _delete_oldest(folder: pathlib.Path) -> None:
    """Delete the entries that were not used for longest, until the others are not too large."""
    total = 0
    for path in entries():
        with contextlib.suppress(OSError):  # Another process has deleted it.
            total += path.stat().st_size
            if total > MAX_BYTES:
                path.unlink()
