"""Kernels within a program that is being traced: where they are possible, and what stands for traced values.

A step or a rollout that is called under `jax.jit` becomes a call within the program that is being traced. The call is
marked as a single kernel (`funcenv._compile.single_kernel`) and compiled with the options of the program around it, so
that it may hold neither matrix products nor scatters. The program around it is compiled by JAX, long after the call was
traced and where nothing could fall back; each kind of call is therefore compiled once by itself, without optimization,
and verified, before it is used.

`jax.vmap` over calls, as over seeds, makes one batch of all their environments: each environment has its own stream of
keys, so it lives the same life in any batch. Derivatives are those of the plain program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile import store
from funcenv._compile.options import require_backend, require_no_debugging
from funcenv._compile.signature import signature
from funcenv._compile.verified import Refusal, VerifiedProgram
from funcenv.func_env import AnyEnv
from funcenv.parameters import parameter_axes
from funcenv.sharding import axis_of_rows, varying_axes
from funcenv.struct import parameter_default

Result = TypeVar("Result")


def require_kernels(env: AnyEnv, *args: Any) -> None:
    """Raise `Refusal` unless a program that is being traced may contain kernels of an environment.

    It may on a single CPU, outside `jax.shard_map`, and if the environment does not call the host.

    Args:
        env: the environment, or a batch.
        *args: the arguments of the kernel.
    """
    if env.calls_host:
        raise Refusal("the environment calls the host")
    require_backend("cpu")
    require_no_debugging()
    if len(jax.devices()) > 1:
        raise Refusal("there are several devices")
    leaves = jax.tree.leaves((env, args))
    if varying_axes(leaves) or axis_of_rows(leaves) is not None:
        raise Refusal("the environments are spread over a mesh")


def require_verified(spec: Hashable, matches: Callable[[Any, Any], bool], env: AnyEnv, rest: Any) -> None:
    """Raise `Refusal` unless a kernel of this kind compiles and equals the plain program; each kind is tried once.

    Args:
        spec: what the kernel is compiled for, besides the shapes of its arguments.
        matches: compiles a kernel and compares it, given stand-ins for the environment and the other arguments.
        env: the environment, or a batch.
        rest: the other arguments.
    """
    kind = spec, signature((env, rest))
    if kind not in _kernels:
        name = store.describe("trial of a kernel in a program", spec, (env, rest))
        _kernels[kind] = VerifiedProgram(lambda *_: matches, _on_stand_ins, lambda *_: name)
    _kernels[kind].get(env, rest)


_kernels: dict[Hashable, VerifiedProgram[Callable[[Any, Any], bool]]] = {}


def _on_stand_ins(matches: Callable[[Any, Any], bool], reference: None, env: AnyEnv, rest: Any) -> bool:
    del reference  # `matches` compiles its own.
    with jax.core.eval_context():
        concrete = jax.tree_util.tree_map_with_path(functools.partial(_parameter, env), env)
        return matches(*jax.tree.map(_stand_in, (concrete, rest)))


def kernel_in_trace(
    kernel: Callable[..., Result], plain: Callable[..., Result], batch: Callable[..., Result | None], *args: Any
) -> Result:
    """Call a kernel within the program that is being traced.

    Args:
        kernel: calls the kernel.
        plain: computes the same without a kernel; derivatives are its derivatives.
        batch: `batch(size, is_batched, *args)` computes `size` mapped calls at once, whose results have a leading axis
            `[size]`. It returns None where it cannot; the plain program is then mapped.
        *args: what all of them take, without keys: JAX's key-reuse check counts a key that enters a custom rule as
            consumed.
    """

    @jax.custom_batching.custom_vmap
    def mapped(*args: Any) -> Any:
        return kernel(*args)

    @mapped.def_vmap
    def _(size: int, is_batched: Any, *rows: Any) -> Any:
        result = batch(size, is_batched, *rows)
        if result is None:
            axes = tuple(jax.tree.map(lambda batched: 0 if batched else None, is_batched))
            result = jax.vmap(plain, in_axes=axes, axis_size=size)(*rows)
        return result, jax.tree.map(lambda _: True, result)

    differentiable = jax.custom_jvp(lambda *args: mapped(*args))
    differentiable.defjvp(lambda primals, tangents: jax.jvp(plain, primals, tangents))
    result: Result = differentiable(*args)
    return result


def _parameter(env: AnyEnv, path: Any, leaf: Any) -> Any:
    """Return the default of a traced parameter, which makes more sense than ones; other leaves as they are."""
    default = parameter_default(env, path)
    if default is None or not isinstance(leaf, jax.core.Tracer):
        return leaf
    kind = jax.typeof(leaf)
    return np.full(kind.shape, default, kind.dtype)


def _stand_in(leaf: Any) -> Any:
    """Return a value for a traced leaf: random keys, or ones."""
    if not isinstance(leaf, jax.core.Tracer):
        return leaf
    kind = jax.typeof(leaf)
    if jnp.issubdtype(kind.dtype, jax.dtypes.prng_key):
        return random_keys(kind.shape, jax.random.key_impl(leaf))
    return np.ones(kind.shape, kind.dtype)


def random_keys(shape: tuple[int, ...], impl: Any) -> jax.Array:
    """Return keys of random words, for which nothing is compiled."""
    num_words: int = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0, impl=impl))).size
    words = np.random.default_rng(0).integers(2**32, size=(*shape, num_words), dtype=np.uint32)
    return jax.random.wrap_key_data(jnp.asarray(words), impl=impl)


def merge_rows(size: int, is_batched: Any, tree: Any) -> Any:
    """Merge `size` mapped trees of rows into one; leaves that are not mapped are the same in all of them."""

    def merge(batched: bool, leaf: Any) -> jax.Array:
        leaf = jnp.asarray(leaf)
        every = leaf if batched else jnp.broadcast_to(leaf, (size, *leaf.shape))
        return every.reshape(-1, *every.shape[2:])

    return jax.tree.map(merge, is_batched, tree)


def merge_envs(size: int, is_batched: Any, env: AnyEnv, num_envs: int) -> Any:
    """Return one batch of `size * num_envs` environments in place of `size` mapped batches, or mapped environments."""

    def merge(batched: bool, axis: int | None, leaf: Any) -> Any:
        if axis == 0:
            return merge_rows(size, batched, leaf)
        return jnp.repeat(leaf, num_envs, axis=0) if batched else leaf

    first = jax.tree.map(lambda batched, leaf: leaf[0] if batched else leaf, is_batched, env)
    axes = parameter_axes(first, num_envs)
    leaves = zip(*(jax.tree.leaves(tree, is_leaf=_is_none) for tree in (is_batched, axes)), strict=True)
    merged = [merge(batched, axis, leaf) for (batched, axis), leaf in zip(leaves, jax.tree.leaves(env), strict=True)]
    return jax.tree.unflatten(jax.tree.structure(env), merged)


def _is_none(leaf: Any) -> bool:
    return leaf is None
