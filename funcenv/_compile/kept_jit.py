"""Jitted functions whose compiled programs are kept."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax

from funcenv._compile import store
from funcenv._compile.signature import signature

_MAX_LOADED = 64  # programs of one function that stay in memory


class KeptJit:
    """A jitted function whose compiled programs are kept, if programs are.

    Args:
        function: a pure function.
        kind: what it is; by default its name, which must then be that of one function of the package.
        parts: all that it is made of, as `store.describe` takes them; by default nothing but its source.
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
        if store.folder() is None and not self._programs:
            return self.jitted(*args)
        static, dynamic = self._divide(args)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(dynamic)):
            return self.jitted(*args)
        key = static, signature(dynamic)
        if key not in self._programs:
            self._add(key, self._compiled(static, dynamic, args))
        program = self._programs[key]
        return self.jitted(*args) if program is None else program(*dynamic)

    def compile(self, *args: Any, meanwhile: Callable[[Any], object]) -> None:
        """Compile the program for such arguments, and do something else in this thread meanwhile.

        Args:
            *args: arguments, or their shapes; none is traced.
            meanwhile: takes the shapes of the result. It is not called if the program was compiled or kept before.
        """
        static, dynamic = self._divide(args)
        key = static, signature(dynamic)
        if self._programs.get(key) is None:
            self._add(key, self._compiled(static, dynamic, args, meanwhile))

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

    def _compiled(
        self,
        static: tuple[Any, ...],
        dynamic: tuple[Any, ...],
        args: tuple[Any, ...],
        meanwhile: Callable[[Any], object] | None = None,
    ) -> Any:
        name = store.describe(self._kind, self._parts, dynamic, (static, self._options))
        if meanwhile is not None:
            trace = functools.cache(lambda: self.jitted.trace(*args))
            return store.compile_kept(name, trace, meanwhile=lambda: meanwhile(trace().out_info))
        return None if name is None else store.compile_kept(name, lambda: self.jitted.trace(*args))

    def _add(self, key: Any, program: Any) -> None:
        while len(self._programs) >= _MAX_LOADED:
            del self._programs[next(iter(self._programs))]
        self._programs[key] = program

    def _divide(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the static arguments and the others."""
        if not self._is_static:
            return (), args
        divided: tuple[list[Any], list[Any]] = [], []
        for is_static, arg in zip(self._is_static, args, strict=False):
            divided[not is_static].append(arg)
        return tuple(divided[0]), tuple(divided[1])
