"""Descriptions of accelerators that are not there, and meshes of them, for which XLA compiles all the same.

XLA's compiler for TPUs is in the package libtpu, and the one for NVIDIA GPUs in JAX's CUDA plugin. Both compile on any
x86-64 machine with Linux, for devices that are only described.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import re
from collections.abc import Iterator

import jax
from jax.experimental import topologies
from jax.sharding import AxisType, Mesh

from funcenv._jax import uses_64_bits
from funcenv.func_env import AnyEnv
from funcenv.sharding import ENV_AXIS

H200 = """
gpu_device_info {
  name: "NVIDIA H200" device_vendor: "NVIDIA Corporation" cuda_compute_capability { major: 9 }
  core_count: 132 fpus_per_core: 128 clock_rate_ghz: 1.98 threads_per_warp: 32
  threads_per_block_limit: 1024 threads_per_core_limit: 2048
  thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
  shared_memory_per_block: 49152 shared_memory_per_block_optin: 232448 shared_memory_per_core: 233472
  l2_cache_size: 52428800 device_memory_size: 151397597184 memory_bandwidth: 4800000000000 device_address_bits: 64
  driver_version: "12.9.0" runtime_version: "12.9.0" compile_time_toolkit_version: "12.9.0" dnn_version: "9.10.0"
}
platform_name: "CUDA" device_description_str: "NVIDIA H200" dnn_version_info { major: 9 minor: 10 }
"""
"""The description of the GPU for XLA: limits of compute capability 9.0, sizes from NVIDIA's data sheet."""

_TPU = re.compile(r"v\d+[a-z]*:\d+x\d+(x\d+)?")
_GPU = re.compile(r"h200(:\d+)?")


def describe(topology: str) -> tuple[jax.Device, ...]:
    """Return devices that programs can be compiled for, and not run on.

    Args:
        topology: "v5e:1x1" for one chip of a TPU v5e, "v5e:4x4" for a slice of 16, and so on as libtpu names them;
            "h200" for one NVIDIA H200.

    Raises:
        ModuleNotFoundError: The compiler for these devices is not installed.
        ValueError: No devices have this name.

    >>> describe("abacus")
    Traceback (most recent call last):
        ...
    ValueError: a topology is a TPU such as "v5e:1x1" or "v5e:4x4", or "h200", got 'abacus'
    """
    if _GPU.fullmatch(topology):
        return _describe_gpus(int(topology.partition(":")[2] or 1))
    if not _TPU.fullmatch(topology):
        raise ValueError(f'a topology is a TPU such as "v5e:1x1" or "v5e:4x4", or "h200", got {topology!r}')
    return _describe_tpus(topology)


def mesh_of(devices: tuple[jax.Device, ...]) -> Mesh:
    """Return a mesh of described devices with one axis, `ENV_AXIS`.

    Trace and lower within `jax.sharding.use_abstract_mesh(mesh.abstract_mesh)`: programs then suit the platform of the
    devices, and not that of this machine (`funcenv.sharding.target_platform`).
    """
    return jax.make_mesh((len(devices),), (ENV_AXIS,), axis_types=(AxisType.Auto,), devices=devices)


def require_compilable(env: AnyEnv) -> None:
    """Raise `ValueError` if no accelerator can run an environment, and say what to do.

    Args:
        env: an environment, within the context of a mesh of the accelerator.

    >>> import funcenv
    >>> require_compilable(funcenv.make("CartPole-v1"))
    """
    name = type(env.unwrapped).__name__
    if uses_64_bits():
        raise ValueError(
            f"an accelerator computes {name} with 32 bits, got jax_enable_x64=True; leave it out, or run on the CPU"
        )
    if env.calls_host:
        raise ValueError(
            f"{name} calls a simulator on the host, which an accelerator cannot run; choose "
            'backend="mjx" for MuJoCo, a native environment such as Pong-v0 in place of ALE\'s, or run on the CPU'
        )


@contextlib.contextmanager
def without_flags() -> Iterator[None]:
    """Hide `XLA_FLAGS` in this block, because libtpu ends the process if it does not know one of them."""
    flags = os.environ.pop("XLA_FLAGS", None)
    try:
        yield
    finally:
        if flags is not None:
            os.environ["XLA_FLAGS"] = flags


def _describe_tpus(topology: str) -> tuple[jax.Device, ...]:
    if "TPU_LIBRARY_PATH" not in os.environ:
        try:
            importlib.import_module("libtpu")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError('programs for TPUs need libtpu: pip install "funcenv[accelerators]"') from error
    for name, value in _NO_TPU_HERE.items():
        os.environ.setdefault(name, value)
    try:
        with without_flags():
            return tuple(topologies.get_topology_desc(platform="tpu", topology_name=topology).devices)
    except Exception as error:  # libtpu has no kind of its own for a name that it does not know
        if not isinstance(error, (ValueError, RuntimeError, NotImplementedError)):
            raise
        raise ValueError(f"libtpu cannot describe {topology!r}: {str(error).splitlines()[0]}") from error


_NO_TPU_HERE = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}
"""The variables by which libtpu does not look for a TPU, nor for other processes that use one."""


def _describe_gpus(count: int) -> tuple[jax.Device, ...]:
    if importlib.util.find_spec("jax_plugins.xla_cuda12") is None:
        raise ModuleNotFoundError(
            'programs for NVIDIA GPUs need JAX\'s CUDA plugin, but no GPU: pip install "jax[cuda12]"'
        )
    return tuple(
        topologies.get_topology_desc(
            platform="cuda", topology_name="", topology=f"1x1x{count}", target_config=H200
        ).devices
    )
