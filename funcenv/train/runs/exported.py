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
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._jax import Shape
from funcenv.files import write_bytes
from funcenv.func_env import AnyEnv
from funcenv.names import require_trust
from funcenv.random import key as new_key
from funcenv.signatures import FIELD as SIGNATURE
from funcenv.signatures import is_signed, sign
from funcenv.struct import NDArray
from funcenv.train.agents.observations import acting_space
from funcenv.train.algorithm import find_algorithm
from funcenv.train.runs.versions import warn_of_other_version
from funcenv.train.stored_names import stored_code

FORMAT = "funcenv policy 2"
"""The version of the specification, under "format"."""

SIGNED_AS = "policy"
"""The kind under which specifications are signed."""

DIGEST = "sha256"
"""The field of the digest of everything else in a file."""

_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def policy_spec(algorithm: str, config: Any, env: AnyEnv, agent: Any, is_own: bool = False) -> dict[str, Any]:
    """Return the specification of a policy: what it takes and returns, its parameters, and how it was trained.

    It has a digest of itself and the parameters. It is signed by this user if `is_own` is true, which says that the
    user made the run on this machine.
    """
    leaves = named_leaves(agent)
    parameters = {name: {"shape": list(leaf.shape), "dtype": str(leaf.dtype)} for name, leaf in leaves.items()}
    spec = {
        "format": FORMAT,
        "versions": {"funcenv": importlib.metadata.version("funcenv")},
        "algorithm": algorithm,
        "config": config.to_json(),
        "observation_space": str(acting_space(env.observation_space)),
        "action_space": str(env.action_space),
        "action_names": list(env.action_names),
        "parameters": parameters,
    }
    spec[DIGEST] = _digest(leaves, spec)
    return sign(SIGNED_AS, spec) if is_own else spec


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

    write_bytes(path, save(named_leaves(agent), metadata={"spec": json.dumps(spec)}))


def load_exported(
    path: pathlib.Path, explore: bool = False, trust_code: bool = False, *, of_this_version: bool = False
) -> tuple[AnyEnv, Any]:
    """Return the environment of a policy that `save_safetensors` wrote, and the policy.

    Args:
        path: The file.
        explore: Sample actions.
        trust_code: As for `load_policy`.
        of_this_version: Whether the file is known to work with this version, whichever wrote it.

    Raises:
        ImportError: The package safetensors is missing.
        ValueError: The file holds no policy of funcenv, is damaged, or holds other parameters than its specification
            asks for.
        funcenv.names.UntrustedCodeError: The file names code, and somebody else made it.
    """
    _require_safetensors()
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            spec = json.loads((file.metadata() or {}).get("spec", "{}"))
            leaves = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # it is no dictionary
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}; export the policy again") from error
    if not isinstance(spec, dict) or spec.get("format") != FORMAT:
        raise ValueError(
            f"{path} holds no policy in the format {FORMAT!r}; name a file that funcenv export wrote, or export the "
            "policy again with this version"
        )
    if spec.get(DIGEST) != _digest(leaves, spec):
        raise ValueError(f"{path} is damaged: it has another digest than it says; export the policy again")
    if not is_signed(SIGNED_AS, spec):
        require_trust(str(path), stored_code(spec["algorithm"], spec["config"]), trust_code)
    if not of_this_version:
        warn_of_other_version(path, spec.get("versions"))
    algorithm = find_algorithm(spec["algorithm"])
    config = algorithm.Config.from_json(spec["config"], trust_code=True)
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
    return env, jax.tree.unflatten(structure, [jnp.asarray(leaves[name]) for name in names])


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
        acting_space(env.observation_space).abstract_member(),
    )
    act = jax.jit(jax.vmap(lambda observation: agent(observation, new_key(0))))
    return export.export(act, platforms=_PLATFORMS)(observations)


def _digest(leaves: dict[str, NDArray], spec: dict[str, Any]) -> str:
    """Return the SHA-256 digest of parameters and their specification, as far as it is neither digest nor signature."""
    plain = {name: value for name, value in spec.items() if name not in (DIGEST, SIGNATURE)}
    digest = hashlib.sha256(json.dumps(json.loads(json.dumps(plain)), sort_keys=True).encode())
    for name in sorted(leaves):
        leaf = np.ascontiguousarray(leaves[name])
        digest.update(json.dumps([name, str(leaf.dtype), list(leaves[name].shape)]).encode())
        digest.update(leaf.tobytes())
    return digest.hexdigest()


def _require_safetensors() -> None:
    if importlib.util.find_spec("safetensors") is None:
        raise ImportError('files ending with .safetensors need safetensors: pip install "funcenv[export]"')
