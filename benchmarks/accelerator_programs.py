"""The programs that XLA compiles for accelerators that are not here: `python benchmarks/accelerator_programs.py`.

This needs libtpu (`pip install "funcenv[accelerators]"`) for TPUs, and JAX's CUDA plugin (`pip install "jax[cuda12]"`)
for NVIDIA GPUs, but neither a TPU nor a GPU. For a rollout with a random policy the script reports the kernels of a
step, the bytes that they read and write for an environment, the memory of an environment, XLA's own estimate of the
cost, and the collectives in the loop over steps. For an update of each algorithm it reports the bytes of collectives.

`--write-docs` writes docs/accelerators.md from all results so far, which `--results` keeps.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
import time
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

import funcenv
from funcenv.accelerators import compile_env, compile_update, describe
from funcenv.accelerators.programs import NUM_STEPS
from funcenv.accelerators.report import Program
from funcenv.registry import registry
from funcenv.train.algorithm import find_algorithm

ROOT = pathlib.Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/studies/results/accelerators.json"
TARGETS = ("v5e:1x1", "v5e:4x4", "h200")
CHIPS = {"v5e:1x1": 1, "v5e:4x4": 16, "v5e:8x8": 64, "v5e:16x16": 256}
CONTINUOUS = ("sac", "simba", "td3", "tqc")
OFF_POLICY = ("dqn", *CONTINUOUS)
ALGORITHMS = ("ppo", "plr", "pqn", "recurrent_ppo", "reinforce", "ars", "alphazero", *OFF_POLICY)
NUM_TRAIN_ENVS = 2048


def env_row(env_id: str, target: str, num_envs: int) -> dict[str, Any]:
    """Return what the program of a rollout holds, or why there is none."""
    start, env = time.process_time(), funcenv.make(env_id)
    try:
        compiled = compile_env(env, num_envs, describe(target), "rollout")
    except ValueError as error:
        return {"refusal": str(error)}
    program, memory = Program(compiled), compiled.memory_analysis()
    body, trips = program.main_loop()
    steps = NUM_STEPS / (trips or NUM_STEPS)  # an iteration takes so many
    chips = CHIPS.get(target, 1)
    held = memory.argument_size_in_bytes + memory.temp_size_in_bytes
    cost = compiled.cost_analysis() or {}
    return {
        "kernels": round(len(program.kernels(body)) / steps, 2),
        "loops": round(len(program.loops(body)) / steps, 2),
        "bytes": round(program.traffic(body) * chips / num_envs / steps),
        "memory": round(held * chips / num_envs),
        "flops": round(cost["flops"] * chips / num_envs) if cost.get("flops") else None,
        "nanoseconds": cost["optimal_seconds"] * 1e9 if cost.get("optimal_seconds") else None,
        "collectives": sum(one.computation in program.computations_of(body) for one in program.collectives()),
        "seconds": round(time.process_time() - start, 1),
    }


def train_config(name: str) -> Any:
    """Return the configuration whose updates are compiled: 2,048 environments in 256 blocks."""
    sizes = {"num_envs": NUM_TRAIN_ENVS, "env_id": "Pendulum-v1" if name in CONTINUOUS else "CartPole-v1"}
    if name in OFF_POLICY:
        sizes |= {
            "minibatch_size": 2048,
            "buffer_size": 2048 * 64,
            "learning_starts": 2048 * 8,
            "num_steps": 1,
            "num_gradient_steps": 4,
        }
    else:
        sizes |= {"num_steps": 32}
    config = find_algorithm(name).Config
    if hasattr(config, "num_blocks"):
        sizes |= {"num_blocks": 256}
    return config(**sizes, total_timesteps=2048 * 320)


def train_row(name: str, topology: str) -> dict[str, Any]:
    """Return the bytes of the collectives of an update, by the loop that holds them."""
    start = time.process_time()
    config = train_config(name)
    compiled = compile_update(name, config, describe(topology))
    program = Program(compiled)
    outer = program.main_loop().body
    inner = {loop.body for loop in program.loops(outer)}
    within = {one for body in inner for one in program.computations_of(body)}
    found = program.collectives()
    gradient = sum(one.num_bytes for one in found if one.computation in within)
    update = sum(one.num_bytes for one in found if one.computation not in within)
    steps = getattr(config, "optimizer_steps_per_update", getattr(config, "num_gradient_steps", 1))
    return {
        "kinds": sorted({one.kind for one in found}),
        "gradient_bytes": gradient,
        "update_bytes": update,
        "total_bytes": update + gradient * steps,
        "memory": compiled.memory_analysis().argument_size_in_bytes + compiled.memory_analysis().temp_size_in_bytes,
        "seconds": round(time.process_time() - start, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", nargs="*", default=None, help="ids; by default all")
    parser.add_argument("--targets", nargs="+", default=list(TARGETS))
    parser.add_argument("--num-envs", type=int, default=1024)
    parser.add_argument("--algorithms", nargs="*", default=list(ALGORITHMS))
    parser.add_argument("--topologies", nargs="+", default=list(CHIPS), help="for the algorithms")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, help="JSON file that keeps what was compiled")
    parser.add_argument("--again", action="store_true", help="compile also what the file has")
    parser.add_argument("--write-docs", action="store_true", help="write docs/accelerators.md")
    options = parser.parse_args()
    kept = json.loads(options.results.read_text()) if options.results.exists() else {"envs": {}, "algorithms": {}}
    kept |= {"jax": jax.__version__, "num_envs": options.num_envs, "num_steps": NUM_STEPS}
    funcenv.make("CartPole-v1")  # loads the registry
    if options.envs is None:
        options.envs = list(registry)
    for env_id in options.envs:
        for target in options.targets:
            _measure(kept["envs"].setdefault(env_id, {}), target, options, env_row, env_id, target, options.num_envs)
            options.results.write_text(json.dumps(kept, indent=1) + "\n")
    for name in options.algorithms:
        for topology in options.topologies:
            _measure(kept["algorithms"].setdefault(name, {}), topology, options, train_row, name, topology)
            options.results.write_text(json.dumps(kept, indent=1) + "\n")
    if options.write_docs:
        from accelerator_page import write_page

        kept["envs"] = {env_id: kept["envs"][env_id] for env_id in registry if env_id in kept["envs"]}
        print(write_page(kept, ROOT / "docs/accelerators.md"))


def _measure(rows: dict[str, Any], name: str, options: argparse.Namespace, measure: Any, *args: Any) -> None:
    if name not in rows or options.again:
        rows[name] = measure(*args)
    figures = ", ".join(f"{value} {key}" for key, value in rows[name].items())
    print(f"{args[0]:<30} {name:<9} {figures}", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "benchmarks"))
    main()
