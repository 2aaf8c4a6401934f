"""Writes docs/accelerators.md from the results of `benchmarks/accelerator_programs.py` and `benchmarks/hardware.py`."""

from __future__ import annotations

import pathlib
from typing import Any

from goals import digits


def write_page(results: dict[str, Any], path: pathlib.Path) -> pathlib.Path:
    """Replace what the page says of compiled programs, and return its path."""
    return _replace("compiled", [_envs(results), _refusals(results), _training(results)], path)


def write_measured(results: dict[str, Any], path: pathlib.Path) -> pathlib.Path:
    """Replace what the page says of speeds on a device, and return its path."""
    return _replace("measured", [_speeds(results), _iterations(results), _verified(results)], path)


def _replace(name: str, sections: list[str], path: pathlib.Path) -> pathlib.Path:
    page, begin, end = path.read_text(), f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    head, tail = page[: page.index(begin) + len(begin)], page[page.index(end) :]
    path.write_text(head + "\n" + "\n".join(sections) + "\n" + tail)
    return path


def _speeds(results: dict[str, Any]) -> str:
    lines = [
        '??? note "The figures: millions of steps a second"',
        "",
        "| id | environments | `rollout` | `rollout` in a `jit` | others | ratio to the fastest of them |",
        "|---|---|---|---|---|---|",
    ]
    for env_id, sizes in results["tasks"].items():
        for size, programs in sizes.items():
            speeds = {name: one["steps_per_second"] / 1e6 for name, one in programs.items() if "error" not in one}
            ours = [speeds.pop(name, None) for name in ("funcenv", "funcenv in jit")]
            others = ", ".join(f"{name} {digits(speed)}" for name, speed in speeds.items())
            ratio = f"{max(filter(None, ours)) / max(speeds.values()):.2f}" if speeds else ""
            cells = [digits(speed) if speed else "" for speed in ours]
            lines.append(f"| {env_id} | {int(size):,} | {cells[0]} | {cells[1]} | {others} | {ratio} |")
    return "\n".join([*lines[:2], *(f"    {line}" for line in lines[2:])]) + "\n"


def _iterations(results: dict[str, Any]) -> str:
    lines = [
        "Since then, an iteration of a rollout's loop takes four steps on a GPU, if the steps are small. "
        "Microseconds of a step of all environments in one run, in which the steps of an iteration were set by hand:",
        "",
        "| id | environments | program | 1 step | 2 steps | 4 steps (now) |",
        "|---|---|---|---|---|---|",
    ]
    found: dict[tuple[Any, ...], dict[int | None, float]] = {}
    for row in results["unrolled"]:
        case = row["id"], row["num_envs"], row["program"]
        found.setdefault(case, {})[row["steps_an_iteration"]] = row["microseconds"]
    names = {"funcenv": "`rollout`", "funcenv in jit": "`rollout` in a `jit`", "user": "a `scan` over `venv.step`"}
    for (env_id, num_envs, program), times in found.items():
        cells = [f"{times[None]:.1f}", "", ""] if None in times else [f"{times[count]:.1f}" for count in (1, 2, 4)]
        lines.append(f"| {env_id} | {num_envs:,} | {names.get(program, program)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _verified(results: dict[str, Any]) -> str:
    lines = [
        "`funcenv verify` on this device compared with the records, which were made on a CPU:",
        "",
        "| outcome | ids |",
        "|---|---|",
    ]
    outcomes: dict[str, list[str]] = {}
    for env_id, outcome in results["verified"].items():
        outcomes.setdefault(outcome, []).append(env_id)
    lines += [f"| {outcome} | {', '.join(ids)} |" for outcome, ids in outcomes.items()]
    return "\n".join(lines) + "\n"


def _envs(results: dict[str, Any]) -> str:
    lines = [
        "## Steps of environments",
        "",
        f"The loop over steps of a rollout with a random policy, for {results['num_envs']:,} environments, compiled by "
        f"jax {results['jax']}. *Bytes* are what the kernels of a step read and write for an environment; on a TPU, "
        "most of that stays in its vector memory. *Memory* is what an environment takes in arguments and temporary "
        "arrays, and *FLOPs* are XLA's count for an environment and a step, which counts an inner loop's body once. "
        "*Collectives* are those in the loop over steps on 16 chips. On a GPU, an iteration of that loop takes four "
        "steps of a small environment, and a kernel may compute several of them.",
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
    return [f"{row[name]:,.2f}".removesuffix(".00") if row.get(name) is not None else "" for name in names]


def _refusals(results: dict[str, Any]) -> str:
    lines = [
        "## What does not compile",
        "",
        "Of dm_control, Gymnasium-Robotics and ALE, the ids of this table and of the one above were tried.",
        "",
        "| id | reason and remedy |",
        "|---|---|",
    ]
    for env_id, targets in results["envs"].items():
        reasons = sorted({row["refusal"] for row in targets.values() if "refusal" in row})
        lines += [f"| {env_id} | {reason} |" for reason in reasons]
    return "\n".join(lines) + "\n"


def _training(results: dict[str, Any]) -> str:
    lines = [
        "## Training on many chips",
        "",
        "An update of 2,048 environments in 256 blocks, compiled for slices of a TPU v5e: the bytes that collectives "
        "move in each gradient step, elsewhere in an update, and in a whole update. They are sums of gradients, of "
        "statistics, and of the scores of ARS. PLR also moves the levels of an update to the buffer that every chip "
        "keeps; the table counts them in each gradient step, though they move once. *Memory* is what a chip holds in "
        "arguments and temporary arrays.",
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
