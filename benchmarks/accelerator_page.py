"""Writes docs/accelerators.md from the results of `benchmarks/accelerator_programs.py`."""

from __future__ import annotations

import pathlib
from typing import Any

BEGIN, END = "<!-- compiled -->\n", "<!-- /compiled -->\n"


def write_page(results: dict[str, Any], path: pathlib.Path) -> pathlib.Path:
    """Replace what the page says of compiled programs, and return its path."""
    page = path.read_text()
    head, tail = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    path.write_text(head + "\n" + _envs(results) + "\n" + _refusals(results) + "\n" + _training(results) + "\n" + tail)
    return path


def _envs(results: dict[str, Any]) -> str:
    lines = [
        "## Steps of environments",
        "",
        f"The loop over steps of a rollout with a random policy, for {results['num_envs']:,} environments, compiled by "
        f"jax {results['jax']}. *Bytes* are what the kernels of a step read and write for an environment; on a TPU, "
        "most of that stays in its vector memory. *Memory* is what an environment takes in arguments and temporary "
        "arrays, and *FLOPs* are XLA's count for an environment and a step, which counts an inner loop's body once. "
        "*Collectives* are those in the loop over steps on 16 chips.",
        "",
        "| id | TPU v5e: kernels | inner loops | bytes | memory [B] | FLOPs | collectives | H200: kernels "
        "| inner loops | bytes | memory [B] |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for env_id, targets in results["envs"].items():
        tpu, pod, gpu = (targets.get(name, {}) for name in ("v5e:1x1", "v5e:4x4", "h200"))
        if "kernels" not in tpu and "kernels" not in gpu:
            continue
        cells = [*_cells(tpu, "kernels", "loops", "bytes", "memory", "flops"), *_cells(pod, "collectives")]
        cells += _cells(gpu, "kernels", "loops", "bytes", "memory")
        lines.append(f"| {env_id} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cells(row: dict[str, Any], *names: str) -> list[str]:
    return [f"{row[name]:,}" if row.get(name) is not None else "" for name in names]


def _refusals(results: dict[str, Any]) -> str:
    lines = ["## What does not compile", "", "| id | reason and remedy |", "|---|---|"]
    for env_id, targets in results["envs"].items():
        reasons = sorted({row["refusal"] for row in targets.values() if "refusal" in row})
        lines += [f"| {env_id} | {reason} |" for reason in reasons]
    return "\n".join(lines) + "\n"


def _training(results: dict[str, Any]) -> str:
    lines = [
        "## Training on many chips",
        "",
        "An update of 2,048 environments in 256 blocks, compiled for slices of a TPU v5e: the bytes that collectives "
        "reduce in each gradient step, elsewhere in an update, and in a whole update. All of them are all-reduces. "
        "*Memory* is what a chip holds in arguments and temporary arrays.",
        "",
        "| algorithm | chips | bytes a gradient step | bytes beside | bytes an update | memory of a chip [KB] |",
        "|---|---|---|---|---|---|",
    ]
    chips = {"v5e:1x1": 1, "v5e:4x4": 16, "v5e:8x8": 64, "v5e:16x16": 256}
    for name, rows in results["algorithms"].items():
        for topology, row in rows.items():
            figures = [f"{row[key]:,}" for key in ("gradient_bytes", "update_bytes", "total_bytes")]
            lines.append(f"| {name} | {chips[topology]} | {' | '.join(figures)} | {row['memory'] / 1e3:,.0f} |")
    return "\n".join(lines) + "\n"
