"""The programs that XLA compiles for rollouts on a GPU, without a GPU: `python benchmarks/studies/gpu_program.py`.

This needs JAX with its CUDA plugin (`pip install "jax[cuda12]"`), but no GPU: programs are compiled for the description
of an H200. For a random-policy rollout without a trajectory of each environment, the script reports the kernels of a
step, the blocks of Threefry that they compute for an environment, the bytes that they read and write for it, and
whether the loop over the steps is part of a CUDA graph. A step of rigid bodies holds loops itself, as those over the
solver's iterations: of each the script reports how often it runs, where XLA knows, and the kernels of an iteration.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import os
import pathlib
import re
import shutil
import tempfile
from typing import Any, NamedTuple

DUMP = tempfile.mkdtemp(prefix="gpu_program")
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={DUMP} --xla_dump_hlo_as_text"

import jax  # noqa: E402  (it reads the variables above when it is imported)
from jax.experimental import topologies  # noqa: E402

import funcenv  # noqa: E402
from funcenv._compile.options import graph_options  # noqa: E402
from funcenv.random._counter_based import Style  # noqa: E402
from funcenv.random.generators import with_style  # noqa: E402

rollout = importlib.import_module("funcenv.rollout")

IDS = ("CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0")
IDS += ("FrozenLake-v1", "CliffWalking-v1", "Taxi-v4", "Blackjack-v1")
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
"""The description of the device for XLA: limits of compute capability 9.0, sizes from NVIDIA's data sheet."""

NO_KERNELS = {"get-tuple-element", "tuple", "parameter", "constant", "bitcast", "while", "conditional", "call"}
NUM_STEPS = 128  # The loop of the rollout is known by this number.
BYTES = {"pred": 1, "f32": 4, "s32": 4, "u32": 4}


def compiled_for(device: Any, env_id: str, num_envs: int, num_steps: int) -> str:
    """Return the optimized program of a rollout. XLA writes its execution plan to the folder `DUMP`."""
    env = funcenv.make(env_id)
    venv, policy, key = funcenv.FuncVectorEnv(env, num_envs), funcenv.random_policy(env), funcenv.key(0)
    impl = jax.random.key_impl(key)

    def play(words: jax.Array) -> Any:
        root = with_style(jax.random.wrap_key_data(words, impl=impl), Style.GPU)
        _, _, statistics = rollout._rollout.__wrapped__(venv, policy, root, None, num_steps, None)
        return statistics

    there = jax.sharding.SingleDeviceSharding(device)
    program = jax.jit(play, in_shardings=there, out_shardings=there)
    lowered = program.lower(jax.eval_shape(jax.random.key_data, key))
    return lowered.compile(compiler_options=graph_options()).as_text()


def computations(text: str) -> dict[str, list[str]]:
    """Return the lines of each computation in an HLO module."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        start = re.match(r"(?:ENTRY )?%?([\w.\-]+) \(.*\{$", line)
        if start:
            lines = found[start.group(1)] = []
        else:
            lines.append(line)
    return found


def operation(line: str) -> tuple[str, str] | None:
    """Return the result type and the name of the operation in a line."""
    match = re.search(r" = (\(.*?\)|\S+) ([\w\-]+)\(", line)
    return (match.group(1), match.group(2)) if match else None


class Loop(NamedTuple):
    """A loop of a program."""

    body: str  # the name of its computation
    times: str  # how often it runs, "?" if XLA does not know


def loops(lines: list[str]) -> list[Loop]:
    """Return the loops that start in these lines."""
    matches = [(re.search(r" while\(.*body=%?([\w.\-]+)", line), line) for line in lines]
    times = r'known_trip_count":\{"n":"(\d+)"'
    return [Loop(match.group(1), (re.findall(times, line) or ["?"])[0]) for match, line in matches if match]


def body_of_steps(found: dict[str, list[str]]) -> str:
    """Return the name of the body of the loop over steps."""
    (body,) = {loop.body for lines in found.values() for loop in loops(lines) if loop.times == str(NUM_STEPS)}
    return body


def lines_of(found: dict[str, list[str]], body: str) -> list[str]:
    """Return the lines of a computation with those of its branches and calls, but not of its loops."""
    lines = list(found[body])
    for line in found[body]:
        what = operation(line)
        if what and what[1] in ("conditional", "call"):
            branches = re.search(r"branch_computations=\{([^}]*)\}", line)
            names = branches.group(1).split(", ") if branches else re.findall(r"_computation=%?([\w.\-]+)", line)
            called = names or re.findall(r"to_apply=%?([\w.\-]+)", line)
            lines += [more for name in called for more in lines_of(found, name.lstrip("%"))]
    return lines


def kernels(lines: list[str]) -> list[str]:
    """Return the lines that become kernels."""
    named = [(line, operation(line)) for line in lines]
    return [line for line, what in named if what and what[1] not in NO_KERNELS]


def describe_loops(found: dict[str, list[str]], body: str) -> str:
    """Return the loops within a computation: how often each runs, with how many kernels, and the loops within it."""
    told = []
    for loop in loops(lines_of(found, body)):
        inner = describe_loops(found, loop.body)
        count = len(kernels(lines_of(found, loop.body)))
        told.append(f"{loop.times} x {count}" + (f" [{inner}]" if inner else ""))
    return ", ".join(told)


def blocks(found: dict[str, list[str]], lines: list[str]) -> float:
    """Count blocks of Threefry for an environment by their twenty rotations."""
    called = [name for line in lines for name in re.findall(r"calls=%?([\w.\-]+)", line)]
    return sum(line.count(" shift-left(") for name in called for line in found[name]) / 20


def traffic(found: dict[str, list[str]], lines: list[str], body: str, num_envs: int) -> float:
    """Return the bytes that kernels read and write for each environment; each operand and result counts once."""
    types = {}
    for line in lines_of(found, body):
        what = operation(line)
        if what:
            types[line.split(" = ")[0].split()[-1].lstrip("%")] = what[0]
    total = 0
    for line in lines:
        operands = re.search(r" [\w\-]+\((.*?)\)(?:,|$)", line.split(" = ", 1)[1])
        names = re.findall(r"%([\w.\-]+)", operands.group(1)) if operands else []
        total += sum(map(size, [types[name] for name in names] + [operation(line)[0]]))  # type: ignore[index]
    return total / num_envs


def size(shapes: str) -> int:
    """Return the bytes of all arrays in a type."""
    total = 0
    for kind, dims in re.findall(r"(pred|f32|s32|u32)\[([\d,]*)\]", shapes):
        count = 1
        for dim in filter(None, dims.split(",")):
            count *= int(dim)
        total += BYTES[kind] * count
    return total


def is_in_graph() -> bool:
    """Check whether the loop is part of a CUDA graph, according to the execution plan that XLA wrote."""
    (path,) = pathlib.Path(DUMP).glob("*thunk_sequence_after_thunk_passes*")
    loops = [line for line in path.read_text().splitlines() if "kWhile" in line]
    return all(line.startswith(" ") for line in loops) and bool(loops)  # the contents of a graph are indented


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", nargs="+", default=list(IDS))
    parser.add_argument("--num-envs", type=int, default=4096)
    arguments = parser.parse_args()
    topology = topologies.get_topology_desc(platform="cuda", topology_name="", topology="1x1x1", target_config=H200)
    print(f"jax {jax.__version__}, {arguments.num_envs} environments, for {topology.devices[0].device_kind}")
    for env_id in arguments.envs:
        shutil.rmtree(DUMP, ignore_errors=True)
        found = computations(compiled_for(topology.devices[0], env_id, arguments.num_envs, NUM_STEPS))
        body = body_of_steps(found)
        lines = kernels(lines_of(found, body))
        kinds = collections.Counter(operation(line)[1] for line in lines)  # type: ignore[index]
        print(
            f"{env_id:<26} {len(lines):2} kernels a step ({', '.join(f'{n} {kind}' for kind, n in kinds.items())}), "
            f"{blocks(found, lines):.0f} blocks, {traffic(found, lines, body, arguments.num_envs):.0f} bytes, "
            f"{'in one graph' if is_in_graph() else 'loop run by the host'}",
            flush=True,
        )
        if loops(found[body]):
            print(f"{'':<26} loops within a step, iterations x kernels: {describe_loops(found, body)}", flush=True)
    shutil.rmtree(DUMP, ignore_errors=True)


if __name__ == "__main__":
    main()
