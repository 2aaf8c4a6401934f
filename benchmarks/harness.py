"""Comparison of worker processes by their CPU seconds.

Results are CPU seconds of a process, because wall time on a shared machine depends on the other processes. Every worker
runs once in each round. A ratio is taken within a round, and the median over rounds is reported.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from libraries import LibraryError

HERE = pathlib.Path(__file__).parent
ONE_CORE = {name: "1" for name in ("PJRT_NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
"""Environment variables for one thread each, because several threads on one core would only wait for each other."""


class Worker:
    """A process that follows `protocol`, has prepared its work and waits for turns."""

    def __init__(self, name: str, command: Sequence[str], variables: Mapping[str, str] | None = None) -> None:
        self.name = name
        paths = os.pathsep.join(map(str, (HERE.parent, HERE)))
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed with the worker)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, "PYTHONPATH": paths, **(variables or {})},
            cwd=HERE,
        )
        self.facts = self._read()

    def run(self) -> dict[str, Any]:
        """Run the work once and return its CPU seconds, wall seconds and result."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the process has ended, and its output says why
        return self._read()

    def close(self) -> None:
        """Stop the process."""
        self._process.communicate()
        self._errors.close()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith("{"):  # libraries may print other lines
                return json.loads(line)
        status = self._process.wait()
        self._errors.seek(0)
        said = [text.strip() for text in self._errors if text.strip()]
        said = [text for text in said if "Check failed" in text] or said or ["no message"]  # how XLA aborts
        self.close()
        raise LibraryError(f"{self.name} ended with exit status {status}: {said[-1][:300]}")


def compare(workers: list[Worker], rounds: int) -> dict[str, Any]:
    """Let all workers take turns, stop them, and return their speeds and the ratios of the first one's speed to theirs.

    Args:
        workers: Prepared workers. The first one is compared with all others.
        rounds: Number of turns of each worker.

    Returns:
        The figures of each worker, or `{"error": ...}` if it failed.

    Raises:
        LibraryError: The first worker failed.
    """
    turns: dict[str, list[dict[str, Any]]] = {worker.name: [] for worker in workers}
    failed: dict[str, dict[str, Any]] = {}
    try:
        for _ in range(rounds):
            for worker in workers:
                if worker.name in failed:
                    continue
                try:
                    turns[worker.name].append(worker.run())
                except LibraryError as error:
                    if worker is workers[0]:
                        raise
                    failed[worker.name] = {"error": str(error)}
    finally:
        for worker in workers:
            worker.close()
    working = [worker for worker in workers if worker.name not in failed]
    speeds = {worker.name: [worker.facts["steps"] / turn["cpu"] for turn in turns[worker.name]] for worker in working}
    first = speeds[workers[0].name]
    return {
        worker.name: _figures(worker, turns[worker.name], speeds[worker.name], first) for worker in working
    } | failed


def _figures(worker: Worker, turns: list[dict[str, Any]], speeds: list[float], firsts: list[float]) -> dict[str, Any]:
    ratios = [ours / theirs for ours, theirs in zip(firsts, speeds, strict=True)]
    facts, last = worker.facts, turns[-1]
    figures = {
        "steps": facts["steps"],
        "steps_per_cpu_second": statistics.median(speeds),
        "speed_range": [min(speeds), max(speeds)],
        "ratio_of_first": statistics.median(ratios),
        "ratio_range": [min(ratios), max(ratios)],
        "wall": statistics.median(turn["wall"] for turn in turns),
        **start_seconds(facts),
        "version": facts.get("version"),
        "jax": facts.get("jax"),
        "result": last["result"],
    }
    if "peak_mb" in last:
        figures["peak_mb"], figures["imported_mb"] = last["peak_mb"], facts["base_mb"]
        figures["rss_mb"] = [turns[0]["rss_mb"], last["rss_mb"]]
    return figures


def start_seconds(facts: dict[str, Any]) -> dict[str, float]:
    """Return the CPU seconds until a worker's first result, and those of compiling, if the work ran again."""
    prepare, first = facts["prepare_cpu"], facts["first_cpu"]
    seconds = {"prepare_cpu": prepare, "first_cpu": first}
    return seconds | ({"compile_cpu": max(prepare + first - facts["once_cpu"], 0.0)} if "once_cpu" in facts else {})


def microseconds(figures: dict[str, Any]) -> float:
    """Return the CPU time of one step."""
    return 1e6 / figures["steps_per_cpu_second"]


def place_on(core: int | None) -> int | None:
    """Pin this process and its children to a core, by default the last, and return it; None where there is no way to.

    Raises:
        SystemExit: There is no such core.
    """
    if not hasattr(os, "sched_setaffinity"):
        return None
    cores = os.sched_getaffinity(0)
    if core is not None and core not in cores:
        raise SystemExit(f"--core must be one of {sorted(cores)}, got {core}")
    os.sched_setaffinity(0, {max(cores) if core is None else core})
    return max(cores) if core is None else core


def write_json(path: pathlib.Path | None, results: Any) -> None:
    """Write results to the file of `--json`, if there is one."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results, indent=2) + "\n")
