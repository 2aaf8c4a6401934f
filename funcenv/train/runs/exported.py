"""Policies as files of their own: parameters as safetensors, and programs as StableHLO. Nothing of them is pickled.

A safetensors file holds the parameters by their names and, as metadata, the specification from which `load_policy`
builds the policy again. The same specification is written beside every file as JSON, for readers without funcenv.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import pathlib
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._jax import Shape
from funcenv.files import write_bytes
from funcenv.func_env import AnyEnv
from funcenv.random import key as new_key
from funcenv.struct import NDArray
from funcenv.train.algorithm import find_algorithm
from funcenv.train.runs.trust import is_own, require_trusted_settings, signed

FORMAT = "funcenv policy 1"
"""The version of the specification, under "format"."""

_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def policy_spec(algorithm: str, config: Any, env: AnyEnv, agent: Any) -> dict[str, Any]:
    """Return the specification of a policy: what it takes and returns, its parameters, and how it was trained."""
    parameters = {
        name: {"shape": list(leaf.shape), "dtype": str(leaf.dtype)} for name, leaf in named_leaves(agent).items()
    }
    return {
        "format": FORMAT,
        "algorithm": algorithm,
        "config": config.to_json(),
        "observation_space": str(env.observation_space),
        "action_space": str(env.action_space),
        "action_names": list(env.action_names),
        "parameters": parameters,
        "sha256": _digest(named_leaves(agent)),
        "versions": {package: importlib.metadata.version(package) for package in ("funcenv", "jax")},
    }


def _digest(leaves: dict[str, NDArray]) -> str:
    """Return a digest of all parameters with their names."""
    digest = hashlib.sha256()
    for name, leaf in sorted(leaves.items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(leaf).tobytes())
    return digest.hexdigest()


def named_leaves(agent: Any) -> dict[str, NDArray]:
    """Return the parameters of an agent by their paths, such as "params.policy.Dense_0.kernel"."""
    paths, _ = jax.tree_util.tree_flatten_with_path(agent)
    return {jax.tree_util.keystr(path, simple=True, separator="."): np.asarray(leaf) for path, leaf in paths}


def save_safetensors(path: pathlib.Path, agent: Any, spec: dict[str, Any]) -> None:
    """Write the parameters of an agent, with the specification as metadata.

    Raises:
        ImportError: The package safetensors is missing.
    """
    _require_safetensors()
    from safetensors.numpy import save

    write_bytes(path, save(named_leaves(agent), metadata={"spec": json.dumps(signed(spec))}))


def load_safetensors(path: pathlib.Path, explore: bool = False) -> Any:
    """Return the policy that `save_safetensors` wrote.

    Raises:
        ImportError: The package safetensors is missing.
        ValueError: The file holds no policy of funcenv, or other parameters than its specification asks for.
    """
    _require_safetensors()
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            spec = json.loads((file.metadata() or {}).get("spec", "{}"))
            leaves = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # it is no dictionary
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}; export the policy again") from error
    if spec.get("format") != FORMAT:
        raise ValueError(f"{path} holds no policy of funcenv; name a file that funcenv export wrote")
    try:
        require_trusted_settings(str(path), spec["algorithm"], spec["config"], is_own(spec))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} cannot be read: {error}; export the policy again") from error
    _warn_of_another_version(path, spec)
    algorithm = find_algorithm(spec["algorithm"])
    config = algorithm.Config.from_json(spec["config"])
    env = config.make_env()

    def make(key: jax.Array) -> Any:
        return algorithm.make_agent(config, env, algorithm.init(config, env, key), explore)

    template = jax.eval_shape(make, new_key(0))
    paths, structure = jax.tree_util.tree_flatten_with_path(template)
    names = {jax.tree_util.keystr(place, simple=True, separator="."): leaf for place, leaf in paths}
    for name in sorted(names.keys() | leaves.keys()):
        wanted, found = (
            f"{one[name].dtype}{list(one[name].shape)}" if name in one else "nothing" for one in (names, leaves)
        )
        if wanted != found:
            raise ValueError(f"{path} has {found} as {name} where {wanted} is needed; export the policy again")
    if spec.get("sha256") != _digest(leaves):
        raise ValueError(f"{path} is damaged: its parameters have another digest than it says; export the policy again")
    return jax.tree.unflatten(structure, [jnp.asarray(leaves[name]) for name in names])


def save_stablehlo(path: pathlib.Path, agent: Any, env: AnyEnv) -> None:
    """Write the program of `export_program` as MLIR bytecode in StableHLO, which compilers other than JAX's read."""
    write_bytes(path, export_program(agent, env).mlir_module_serialized)


def export_program(agent: Any, env: AnyEnv) -> Any:
    """Return the policy as a `jax.export.Exported`, parameters included: observations `[batch, ...]` to actions.

    It chooses the most likely actions. The size of the batch stays open, and the program runs on CPU, GPU and TPU.
    """
    from jax import export

    (batch,) = export.symbolic_shape("batch")
    observations = jax.tree.map(
        lambda leaf: Shape((batch, *leaf.shape), leaf.dtype),
        env.observation_space.abstract_member(),
    )
    act = jax.jit(jax.vmap(lambda observation: agent(observation, new_key(0))))
    return export.export(act, platforms=_PLATFORMS)(observations)


def _warn_of_another_version(path: pathlib.Path, spec: dict[str, Any]) -> None:
    written, present = spec.get("versions", {}).get("funcenv"), importlib.metadata.version("funcenv")
    if written != present:
        warnings.warn(f"{path} was written by funcenv {written}, and this is {present}", UserWarning, stacklevel=3)


def _require_safetensors() -> None:
    if importlib.util.find_spec("safetensors") is None:
        raise ImportError('files ending with .safetensors need safetensors: pip install "funcenv[export]"')
