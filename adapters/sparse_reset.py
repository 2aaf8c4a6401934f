"""A vector step that computes a reset only for the environments that begin anew.

`FuncVectorEnv.step` computes a fresh episode for every environment at every step and keeps the few that are needed,
because under `jax.vmap` a choice is a selection. Where a loop inside of a program costs nothing, as in one fused CPU
function, it is cheaper to gather the environments that begin anew and to reset these, a block at a time. The results
are those of `FuncVectorEnv.step`: the same keys, the same law.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from funcenv.func_env import FuncEnv
from funcenv.vector import AutoresetMode, FuncVectorEnv, VectorState, VectorTimestep, parameter_axes


def sparse_step(
    venv: FuncVectorEnv[Any, Any, Any], vstate: VectorState[Any], actions: Any, block: int = 16
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """What `venv.step(vstate, actions)` gives.

    Args:
        venv: the environments.
        vstate: their states.
        actions: with a leading axis `[num_envs]`.
        block: how many environments are reset together; by default as many as a 512-bit register has lanes.

    >>> import funcenv
    >>> venv = FuncVectorEnv(funcenv.make("CartPole-v1"), 3)
    >>> vstate, _ = venv.reset(funcenv.key(0))
    >>> _, timestep = jax.jit(sparse_step)(venv, vstate, jnp.array([0, 1, 1]))
    >>> timestep.reward
    Array([1., 1., 1.], dtype=float32)
    """
    num_envs, mode = venv.num_envs, venv.autoreset_mode
    advanced, timestep = FuncVectorEnv(venv.env, num_envs, AutoresetMode.DISABLED).step(vstate, actions)
    if mode is AutoresetMode.DISABLED:
        return advanced, timestep
    at_once = mode is AutoresetMode.SAME_STEP
    anew, before = (timestep.done, advanced) if at_once else (vstate.done, vstate)
    block = min(block, num_envs)
    order, count = _positions(anew, block)

    def reset_block(carry: tuple[jax.Array, Any]) -> tuple[jax.Array, Any]:
        start, kept = carry
        rows = jax.lax.dynamic_slice_in_dim(order, start, block)
        some = FuncVectorEnv(_environments(venv.env, num_envs, rows), block, AutoresetMode.DISABLED)
        fresh = _overwritten(at_once, *some.reset(vstate=_take(before, rows)))

        def put(row: jax.Array, kept: Any) -> Any:
            return jax.tree.map(
                lambda all, new: jax.lax.dynamic_update_index_in_dim(all, new[row], rows[row], axis=0), kept, fresh
            )

        return start + block, jax.lax.fori_loop(0, jnp.minimum(block, count - start), put, kept)

    kept = _overwritten(at_once, advanced, timestep)
    _, (next_vstate, shown) = jax.lax.while_loop(
        lambda carry: carry[0] < count, reset_block, (jnp.zeros((), jnp.int32), kept)
    )
    return next_vstate.replace(key=advanced.key), timestep.replace(**shown)


def _overwritten(at_once: bool, vstate: VectorState[Any], timestep: VectorTimestep[Any]) -> tuple[Any, dict[str, Any]]:
    """What a reset overwrites: everything at a step of its own; the beginning alone within the step that ended."""
    shown = {"observation": timestep.observation, "info": timestep.info}
    if not at_once:
        names = [name for name in timestep.__dataclass_fields__ if name not in shown]
        shown |= {name: getattr(timestep, name) for name in names}
    return vstate.replace(key=None), shown  # a key never changes


def _positions(flags: jax.Array, padding: int) -> tuple[jax.Array, jax.Array]:
    """Where flags are set, in order, and how many are; what follows in the padded array is in range, but no more."""

    def note(i: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        order, count = carry
        order = jax.lax.dynamic_update_index_in_dim(order, i.astype(jnp.int32), count, axis=0)
        return order, count + flags[i].astype(jnp.int32)

    nothing = jnp.zeros(flags.size + padding, jnp.int32), jnp.zeros((), jnp.int32)
    return jax.lax.fori_loop(0, flags.size, note, nothing)


def _take(tree: Any, rows: jax.Array) -> Any:
    return jax.tree.map(lambda leaf: leaf.at[rows].get(mode="promise_in_bounds"), tree)


def _environments(env: FuncEnv[Any, Any, Any], num_envs: int, rows: jax.Array) -> FuncEnv[Any, Any, Any]:
    """Some of a batch of environments; the environment itself if its parameters are not batched."""
    return jax.tree.map(
        lambda axis, leaf: leaf if axis is None else _take(leaf, rows),
        parameter_axes(env, num_envs),
        env,
        is_leaf=lambda axis: axis is None,
    )
