"""Runs workers in turn and compares their CPU seconds.

Figures are process CPU seconds, because the machines are shared: wall time measures the neighbours. A ratio is taken
within each round, in which every worker ran once, and the median over rounds is reported.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import sys
import venv
from typing import Any

HERE = pathlib.Path(__file__).parent
CACHE = HERE.parent / ".cache" / "peers"
PEERS = {"gymnax": ["gymnax==1.0.1", "six"]}
"""What each peer's virtual environment holds."""


class Worker:
    """A benchmark process, prepared and waiting."""

    def __init__(self, name: str, script: str, options: dict[str, Any], python: str = sys.executable) -> None:
        self.name = name
        environment = {**os.environ, "PYTHONPATH": str(HERE)}
        command = [python, str(HERE / "workers" / script), json.dumps(options)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=HERE
        )
        self.facts = self._read()

    def run(self) -> dict[str, Any]:
        """The work once; its CPU and wall seconds and its result."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._read()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"benchmark worker {self.name} ended with exit status {self._process.wait()}")
        return json.loads(line)


def peer_python(peer: str) -> str:
    """The interpreter of a peer's virtual environment, which is made if it does not exist."""
    home = CACHE / peer
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PEERS[peer]], check=True)
        (home / "ready").touch()
    return str(python)


def compare(workers: list[Worker], rounds: int) -> dict[str, Any]:
    """Let all workers take turns; steps per CPU second of each, and the ratio of the first to each other one."""
    speeds: dict[str, list[float]] = {worker.name: [] for worker in workers}
    results: dict[str, Any] = {}
    for _ in range(rounds):
        for worker in workers:
            outcome = worker.run()
            speeds[worker.name].append(worker.facts["steps"] / outcome["cpu"])
            results[worker.name] = outcome["result"]
    first = workers[0].name
    rows = {}
    for worker in workers:
        ratios = [ours / theirs for ours, theirs in zip(speeds[first], speeds[worker.name], strict=True)]
        rows[worker.name] = {
            "steps_per_cpu_second": statistics.median(speeds[worker.name]),
            "ratio_of_first": statistics.median(ratios),
            "ratio_range": [min(ratios), max(ratios)],
            "prepare_and_first_cpu": worker.facts["prepare_cpu"] + worker.facts["first_cpu"],
            "version": worker.facts.get("version"),
            "jax": worker.facts.get("jax"),
            "result": results[worker.name],
        }
    return rows
