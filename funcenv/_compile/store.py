"""Compiled programs and the outcomes of trials on disk, found by what they are made of.

JAX's own cache is asked for a program that is traced and lowered already, which takes seconds where bodies collide.
Here a program is found by a description of all that it is made of, so that a warm start traces nothing: the source of
this package, the versions of the packages below it, the settings of JAX, the kind of processor, the environment with
its parameters, and the shapes of the arguments.

A description names code, and only the code of this package and of the packages below it has a name that changes with
its contents. A program that holds a user's function or class therefore has no description, and is compiled as ever.
Entries are sealed with the user's key (`funcenv.signatures`): one that was cut or altered, or that somebody else wrote,
is taken for missing.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import hashlib
import importlib
import importlib.metadata
import inspect
import io
import marshal
import os
import pathlib
import pickle
import re
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import serialize_executable
from jax.experimental.compilation_cache import compilation_cache

from funcenv._compile.cache_folder import processor
from funcenv._compile.signature import signature
from funcenv._compile.switch import is_plain
from funcenv._jax import Shape, config
from funcenv.files import write_bytes
from funcenv.signatures import sealed, unsealed

MAX_BYTES = 2**29
"""The size of all entries above which the oldest are deleted."""

SUFFIX = ".program"

_DIGEST_CHARACTERS = 40  # of SHA-256, of which a name holds two
_MAX_LOADED = 64  # programs of one function that stay in memory
_CUSTOM_CALL = re.compile(r"custom_call @(\w+)")
_LAPACK = "lapack_"
_KIND = "compiled program"  # of what is sealed
_NAMED_PACKAGES = ("funcenv", "jax", "jaxlib", "numpy", "optax", "flax")
_IRRELEVANT_SETTINGS = ("cache", "log", "traceback", "transfer_guard", "dump_ir", "pprint")
_RELEVANT_VARIABLES = ("XLA_", "FUNCENV_", "PJRT_")

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
    try:
        own = _digest((kind, parts, settings, structure, [*map(_kind_of, leaves)]))
    except (pickle.PicklingError, TypeError, AttributeError, NotImplementedError, ValueError):
        return None  # Something in it cannot be pickled, or is code of somebody else.
    return f"{kind.replace(' ', '-')}.{own}.{_digest(_surroundings())}"


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
    check: Callable[[Any], None] = lambda jaxpr: None,
) -> Any:
    """Return a compiled program: the one that was kept, or else a new one, which is kept.

    Args:
        name: from `describe`.
        trace: returns the traced program, as `jax.jit(...).trace` does.
        options: of the compiler.
        check: takes the program's jaxpr before it is compiled, and raises an exception if it should not be.
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
            return lowered.compile(compiler_options=options)  # Other code, such as a callback, may be gone by then.
        with _without_jax_cache():
            program = lowered.compile(compiler_options=options)
        keep(name, program, needs_lapack=bool(calls))
        keep(_time_name(name), Fact(time.process_time() - start))
    return program


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


class KeptJit:
    """A jitted function whose compiled programs are kept, if programs are.

    Args:
        function: a pure function.
        kind: what it is; by default its name, which must then be that of one function of the package.
        parts: all that it is made of, as `describe` takes them; by default nothing but its source.
        static_argnames: as `jax.jit` takes them.
        donate_argnums: as `jax.jit` takes them.
        options: of the compiler.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        kind: str | None = None,
        parts: Any = "source",
        static_argnames: Sequence[str] = (),
        donate_argnums: Sequence[int] = (),
        options: dict[str, Any] | None = None,
    ) -> None:
        self.jitted: Any = jax.jit(
            function, static_argnames=static_argnames, donate_argnums=donate_argnums, compiler_options=options
        )
        self._kind = kind or f"{function.__module__}.{function.__qualname__}"
        self._parts, self._options = parts, options
        names = inspect.signature(function).parameters if static_argnames else ()
        self._is_static = [name in static_argnames for name in names]
        self._programs: dict[Any, Any] = {}  # by static arguments, and the shapes of the others; None if not kept

    def __call__(self, *args: Any) -> Any:
        """Run the program."""
        if _folder is None:
            return self.jitted(*args)
        static, dynamic = self._divide(args)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(dynamic)):
            return self.jitted(*args)
        key = static, signature(dynamic)
        if key not in self._programs:
            while len(self._programs) >= _MAX_LOADED:
                del self._programs[next(iter(self._programs))]
            self._programs[key] = self._compiled(static, dynamic, args)
        program = self._programs[key]
        return self.jitted(*args) if program is None else program(*dynamic)

    def lower(self, *args: Any) -> Any:
        """Return the lowered program, as `jax.jit(...).lower` does."""
        return self.jitted.lower(*args)

    def clear_cache(self) -> None:
        """Forget all compiled programs in memory."""
        self._programs.clear()
        self.jitted.clear_cache()

    def num_compilations(self) -> int:
        """Return for how many argument shapes the function is compiled."""
        return len([program for program in self._programs.values() if program]) + int(self.jitted._cache_size())

    def _compiled(self, static: tuple[Any, ...], dynamic: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
        name = describe(self._kind, self._parts, dynamic, (static, self._options))
        if name is None:
            return None
        return compile_kept(name, lambda: self.jitted.trace(*args))

    def _divide(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the static arguments and the others."""
        if not self._is_static:
            return (), args
        divided = list(zip(self._is_static, args, strict=False))
        return tuple(arg for is_static, arg in divided if is_static), tuple(
            arg for is_static, arg in divided if not is_static
        )


def entries() -> list[pathlib.Path]:
    """Return the files of all entries, those first that were used last."""
    if _folder is None:
        return []
    found = []
    for path in _folder.glob(f"*{SUFFIX}"):
        with contextlib.suppress(OSError):  # Another process has deleted it.
            found.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(found, reverse=True)]


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


class _Describer(pickle.Pickler):
    """A pickler for descriptions, which are compared and never read: it names code, or refuses to."""

    def reducer_override(self, value: Any) -> Any:
        """Return how a value is pickled, `NotImplemented` for the usual way."""
        if isinstance(value, types.ModuleType):
            _require_named(value.__name__)
            return importlib.import_module, (value.__name__,)
        if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
            _require_named(value.__module__)
        if isinstance(value, types.FunctionType) and "<" in value.__qualname__:  # a lambda, or made by a function
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            parts = value.__module__, value.__qualname__, marshal.dumps(value.__code__), cells, value.__defaults__
            return tuple, (parts,)
        if any(base.__module__ == "flax.linen.module" for base in type(value).__mro__):  # has a number of its own, too
            return tuple, ((type(value), {name: getattr(value, name) for name in type(value).__dataclass_fields__}),)
        return NotImplemented


def _require_named(module: str | None) -> None:
    root = str(module).partition(".")[0]
    if root not in _NAMED_PACKAGES and root not in sys.stdlib_module_names and root not in sys.builtin_module_names:
        raise pickle.PicklingError(f"code of {module!r} has no name here")


def _digest(value: Any) -> str:
    described = io.BytesIO()
    _Describer(described).dump(value)
    return hashlib.sha256(described.getvalue()).hexdigest()[:_DIGEST_CHARACTERS]


def _kind_of(leaf: Any) -> tuple[Any, ...]:
    kind = jax.typeof(leaf)
    return kind.shape, str(kind.dtype), getattr(kind, "weak_type", False)


def _is_usual() -> bool:
    """Return whether this process computes on one CPU, for which programs are kept."""
    return jax.default_backend() == "cpu" and len(jax.devices()) == 1


@contextlib.contextmanager
def _without_jax_cache() -> Iterator[None]:
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


def _surroundings() -> tuple[Any, ...]:
    """Return what programs depend on besides their own parts."""
    settings = [
        (name, str(getattr(config, name, None)))
        for name in sorted(config.values)
        if not any(word in name for word in _IRRELEVANT_SETTINGS)
    ]
    variables = sorted((name, value) for name, value in os.environ.items() if name.startswith(_RELEVANT_VARIABLES))
    return settings, variables, is_plain(), _versions()


@functools.cache
def _versions() -> tuple[Any, ...]:
    """Return the version of Python and of each named package, and a digest of this one's source."""
    versions = []
    for name in _NAMED_PACKAGES[1:]:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions.append((name, importlib.metadata.version(name)))
    return sys.version, versions, processor(), _source_digest(pathlib.Path(__file__).parent.parent)


def _source_digest(package: pathlib.Path) -> str:
    """Return a digest of all modules of a package; `adapters` and `envs` may be links."""
    digest = hashlib.sha256()
    for parent, folders, files in os.walk(package, followlinks=True):
        folders.sort()
        for name in sorted(name for name in files if name.endswith(".py")):
            path = pathlib.Path(parent, name)
            digest.update(f"{path.relative_to(package)}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()


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
