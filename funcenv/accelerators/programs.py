"""Programs of environments, algorithms and policies for described accelerators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding

from funcenv._compile.store import without_jax_cache
from funcenv._jax import PartitionSpec, Shape
from funcenv.accelerators.topologies import mesh_of, require_compilable, without_flags
from funcenv.func_env import AnyEnv
from funcenv.random import key as new_key
from funcenv.rollout import random_policy, rollout
from funcenv.sharding import ENV_AXIS, target_platform
from funcenv.vector import FuncVectorEnv

NUM_STEPS = 128
"""The length of a rollout, by which its loop is known in a compiled program."""

ENV_PROGRAMS = ("reset", "step", "rollout")
"""The programs of an environment."""


def compile_env(
    env: AnyEnv, num_envs: int, devices: tuple[jax.Device, ...], program: str, num_steps: int = NUM_STEPS
) -> Any:
    """Return a compiled program of a vector environment, which is spread over the devices.

    Args:
        env: one environment.
        num_envs: the size of the batch, a multiple of the number of devices.
        devices: from `funcenv.accelerators.describe`.
        program: "reset", from keys to state and time step; "step", from state and actions to the same; or "rollout",
            from a key and a state to state and statistics, with a random policy.
        num_steps: the length of the rollout.

    Raises:
        ValueError: There is no such program, no accelerator can run the environment, or the devices do not divide the
            batch.
    """
    if program not in ENV_PROGRAMS:
        raise ValueError(f"program must be one of {', '.join(ENV_PROGRAMS)}, got {program!r}")
    if num_envs % len(devices):
        raise ValueError(f"num_envs must be a multiple of the {len(devices)} devices, got {num_envs}")
    mesh = mesh_of(devices)
    with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
        require_compilable(env)
        venv = FuncVectorEnv(env, num_envs)
        keys = _spread(mesh, jax.eval_shape(lambda: jax.random.split(new_key(0), num_envs)), num_envs)
        if program == "reset":
            return compile_for(mesh, lambda keys: venv.reset(keys), keys)
        vstate = _spread(mesh, jax.eval_shape(lambda keys: venv.reset(keys)[0], keys), num_envs)
        if program == "step":
            actions = jax.eval_shape(lambda: jax.vmap(env.action_space.sample)(jax.random.split(new_key(0), num_envs)))
            return compile_for(
                mesh, lambda vstate, actions: venv.step(vstate, actions), vstate, _spread(mesh, actions, num_envs)
            )
        policy = random_policy(venv)

        def play(key: jax.Array, vstate: Any) -> Any:
            vstate, _, statistics = rollout(venv, policy, key, num_steps, collect=None, vstate=vstate)
            return vstate, statistics

        return compile_for(mesh, play, _everywhere(mesh, jax.eval_shape(lambda: new_key(0))), vstate)


def compile_update(algorithm: Any, config: Any, devices: tuple[jax.Device, ...]) -> Any:
    """Return the compiled program of an algorithm's updates, whose environments are spread over the devices.

    It takes a train state and a number of updates, as that of `Learner.lower` does.

    Args:
        algorithm: an algorithm or its name.
        config: a configuration of it, whose `num_envs` the devices divide.
        devices: from `funcenv.accelerators.describe`.

    Raises:
        ValueError: No accelerator can run the environment.
    """
    from funcenv.train.loop import Learner

    mesh = mesh_of(devices)
    with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
        require_compilable(config.make_env())
    learner = Learner(algorithm, config, devices=devices)
    return compiled(learner.lower(learner.template(new_key(0))))


def compile_policy(agent: Any, env: AnyEnv, batch_size: int, devices: tuple[jax.Device, ...]) -> Any:
    """Return the compiled program of a policy, parameters included: observations `[batch_size, ...]` to actions."""
    mesh = mesh_of(devices)
    observations = jax.tree.map(
        lambda leaf: Shape((batch_size, *leaf.shape), leaf.dtype), env.observation_space.abstract_member()
    )
    with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
        act = jax.vmap(lambda observation: agent(observation, new_key(0)))
        return compile_for(mesh, act, _spread(mesh, observations, batch_size))


def compile_for(mesh: Mesh, function: Callable[..., Any], *shapes: Any) -> Any:
    """Trace, lower and compile a function for the devices of a mesh, in whose context the caller is.

    Args:
        mesh: from `funcenv.accelerators.mesh_of`.
        function: a pure function that has not been traced before.
        *shapes: those of its arguments, with their shardings.
    """
    del mesh
    return compiled(jax.jit(function).trace(*shapes).lower(lowering_platforms=(lowering_platform(),)))


def compiled(lowered: Any) -> Any:
    """Compile a lowered program for described devices, without JAX's cache, which cannot load it again."""
    with without_flags(), without_jax_cache():
        return lowered.compile()


def lowering_platform() -> str:
    """Return the name of the target platform as JAX's lowering takes it."""
    return {"gpu": "cuda"}.get(target_platform(), target_platform())


def _spread(mesh: Mesh, tree: Any, num_envs: int) -> Any:
    """Return shapes, of which those with a leading axis of environments are spread over the mesh."""

    def place(leaf: Any) -> Any:
        is_row = leaf.ndim > 0 and leaf.shape[0] == num_envs
        spec = PartitionSpec(ENV_AXIS) if is_row else PartitionSpec()
        return Shape(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, spec))

    return jax.tree.map(place, tree)


def _everywhere(mesh: Mesh, tree: Any) -> Any:
    return jax.tree.map(lambda leaf: Shape(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, PartitionSpec())), tree)
