"""Comparison of worker processes by their CPU seconds.

Results are CPU seconds of a process, because wall time on a shared machine depends on the other processes. Every worker
runs once in each round. A ratio is taken within a round, and the median over rounds is reported.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from typing import Any

HERE = pathlib.Path(__file__).parent
CACHE = HERE.parent / ".cache" / "peers"
JAX = ["jax==0.10.2", "jaxlib==0.10.2"]
PEERS = {
    "gymnax": ["gymnax==1.0.1", "six", *JAX],
    "gymnasium": ["gymnasium==1.4.0", "flax==0.12.8", *JAX],
    "envpool": ["envpool==1.2.5"],
    "brax": ["brax==0.14.2", *JAX],
    "jumanji": ["jumanji==1.1.2", *JAX],
}
_OURS = ["chex==0.1.92", "filelock", "flax==0.12.8", "jaxtyping==0.3.11", *JAX]  # funcenv's own, which is not installed
PEERS |= {
    "interop gymnax": ["gymnax==1.0.1", "six", *_OURS],
    "interop brax": ["brax==0.14.2", *_OURS],
    "interop craftax": ["craftax==1.6.1", *_OURS],
    "interop envelope": ["jax-envelope==0.6.1", "gymnax==1.0.1", "six", *_OURS],  # needs Python 3.12
    "interop functional": ["gymnasium==1.4.0", *_OURS],
    "interop jaxmarl": ["jaxmarl==0.2.0", *_OURS],
    "interop jumanji": ["jumanji==1.1.2", *_OURS],
    "interop navix": ["navix==0.7.4", *_OURS],
    "interop pgx": ["pgx==2.6.0", *_OURS],
    "interop playground": ["playground==0.2.0", *_OURS],
    "interop xminigrid": ["xminigrid==0.9.3", *_OURS],
    "trainer purejaxrl": ["gymnax==1.0.1", "distrax==0.1.9", "brax==0.14.2", "navix==0.7.4", "six", *_OURS],
    "trainer cleanrl": ["torch==2.13.0", "stable-baselines3==2.9.2", "tyro==1.0.17", "tensorboard==2.21.0", *_OURS],
    "trainer rejax": ["rejax==0.1.3", "gymnax==1.0.1", "six", *_OURS],
    "trainer brax": ["brax==0.14.2", *_OURS],
    "trainer torchrl": ["torch==2.13.0", "torchrl==0.14.1", "tensordict==0.14.3", *_OURS],
    "trainer bsuite": ["bsuite==0.3.6", "dm-haiku==0.0.17", "optax==0.2.8", "rlax==0.1.9", "dm-env==1.6", *_OURS],
    "trainer tianshou": ["torch==2.13.0", "tianshou==2.0.1", "gymnasium==1.2.2", *_OURS],
    "trainer rllib": ["torch==2.13.0", "ray[rllib]==2.60.0", "gymnasium==1.2.2", *_OURS],
}
_GYMNAX = "gymnax==0.0.9"  # Its steps return what these trainers expect.
PEERS |= {
    "speed purejaxrl": [_GYMNAX, "distrax==0.1.9", "flashbax==0.1.3", "brax==0.14.2", "navix==0.7.4", *JAX],
    "speed rejax": ["rejax==0.1.3", _GYMNAX, *JAX],
    "speed sbx": ["sbx-rl==0.28.0", "torch==2.13.0", "gymnasium==1.4.0", *JAX],
    "speed stable-baselines3": ["stable-baselines3==2.9.2", "torch==2.13.0", "gymnasium==1.4.0"],
}
"""Requirements of each peer's virtual environment: the peer, and the JAX that funcenv was measured with."""

ONE_CORE = {name: "1" for name in ("PJRT_NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
"""Environment variables for one thread each, because several threads on one core would only wait for each other."""


class PeerError(RuntimeError):
    """A peer cannot be installed or run here. The message appears in its table row."""


class Worker:
    """A benchmark process that has prepared its work and waits for turns."""

    def __init__(
        self,
        name: str,
        script: str,
        options: dict[str, Any],
        python: str = sys.executable,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._start(name, [python, str(HERE / "workers" / script), json.dumps(options)], environment or {})

    @classmethod
    def program(cls, name: str, command: Sequence[str]) -> Worker:
        """Start any program that follows `protocol`."""
        worker = cls.__new__(cls)
        worker._start(name, list(command), {})
        return worker

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

    def _start(self, name: str, command: list[str], environment: Mapping[str, str]) -> None:
        self.name = name
        variables = {**os.environ, "PYTHONPATH": str(HERE), **environment}
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed with the worker)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=variables,
            cwd=HERE,
        )
        self.facts = self._read()

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
        raise PeerError(f"{self.name} ended with exit status {status}: {said[-1][:300]}")


def peer_python(peer: str) -> str:
    """Return the interpreter of a peer's virtual environment; create it if it is missing or has other versions.

    Raises:
        PeerError: The peer cannot be installed for this Python.
    """
    home, requirements = CACHE / peer, "\n".join(PEERS[peer])
    python, ready = home / "bin" / "python", home / "ready"
    if not ready.exists() or ready.read_text() != requirements:
        venv.create(home, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", *PEERS[peer]]
        outcome = subprocess.run(command, capture_output=True, text=True)
        if outcome.returncode:
            reasons = [line for line in outcome.stderr.splitlines() if line.startswith("ERROR:")]
            reason = re.sub(r"\S+://\S+", "...", reasons[-1] if reasons else "pip failed")
            raise PeerError(f"{PEERS[peer][0]} cannot be installed on Python {sys.version.split()[0]}: {reason}")
        ready.write_text(requirements)
    return str(python)


def add_pythons(parser: argparse.ArgumentParser) -> None:
    """Add the flag `--python NAME=PATH`, which `pythons` reads."""
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="an interpreter that has the packages of NAME already, in place of a new virtual environment",
    )


def pythons(options: argparse.Namespace) -> dict[str, str]:
    """Return the interpreters of the flags `--python`, by name."""
    return dict(given.split("=", 1) for given in options.python)


def run_peer(
    peer: str, script: str, *args: str, variables: Mapping[str, str] | None = None, python: str | None = None
) -> dict[str, Any]:
    """Run a worker to its end in a peer's virtual environment, with this package on its path.

    Args:
        peer: a key of `PEERS`.
        script: the worker.
        *args: its arguments.
        variables: environment variables to add.
        python: an interpreter that has the packages already; by default that of a virtual environment of the peer.

    Returns:
        The object that it printed as a line of JSON, or `{"error": ...}`.
    """
    try:
        python = python or peer_python(peer)
    except PeerError as error:
        return {"error": str(error)}
    paths = os.pathsep.join(map(str, (HERE.parent, HERE)))
    environment = {**os.environ, **(variables or {}), "PYTHONPATH": paths, "JAX_PLATFORMS": "cpu"}
    command = [python, str(HERE / "workers" / script), *args]
    outcome = subprocess.run(command, env=environment, capture_output=True, text=True)
    lines = [line for line in outcome.stdout.splitlines() if line.startswith("{")]
    said = [line for line in outcome.stderr.splitlines() if line.strip()] or ["no message"]
    found: dict[str, Any] = json.loads(lines[-1]) if lines else {"error": said[-1]}
    return found


def write_table(page: pathlib.Path, begin: str, end: str, text: str) -> None:
    """Replace what stands between two markers of a page."""
    before, rest = page.read_text().split(begin)
    page.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}")


def pin(core: int | None = None) -> int | None:
    """Pin this process and its children to one core and return it; return None if the system cannot do this."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    cores = os.sched_getaffinity(0)
    if core is not None and core not in cores:
        raise SystemExit(f"--core must be one of {sorted(cores)}, got {core}")
    chosen = max(cores) if core is None else core
    os.sched_setaffinity(0, {chosen})
    return chosen


def compare(workers: list[Worker], rounds: int) -> dict[str, Any]:
    """Let all workers take turns, stop them, and return their speeds and the ratios of the first one's speed to theirs.

    Args:
        workers: Prepared workers. The first one is compared with all others.
        rounds: Number of turns of each worker.

    Returns:
        A row for each worker, or `{"error": ...}` if it failed.

    Raises:
        PeerError: The first worker failed.
    """
    try:
        return _compare(workers, rounds)
    finally:
        for worker in workers:
            worker.close()


def _compare(workers: list[Worker], rounds: int) -> dict[str, Any]:
    turns: dict[str, list[dict[str, Any]]] = {worker.name: [] for worker in workers}
    failed: dict[str, dict[str, Any]] = {}
    for _ in range(rounds):
        for worker in workers:
            if worker.name in failed:
                continue
            try:
                turns[worker.name].append(worker.run())
            except PeerError as error:
                if worker is workers[0]:
                    raise
                failed[worker.name] = {"error": str(error)}
    working = [worker for worker in workers if worker.name not in failed]
    speeds = {worker.name: [worker.facts["steps"] / turn["cpu"] for turn in turns[worker.name]] for worker in working}
    first = speeds[workers[0].name]
    rows = {worker.name: _row(worker, turns[worker.name], speeds[worker.name], first) for worker in working}
    return {**rows, **failed}


def parser(description: str | None, rounds: int) -> argparse.ArgumentParser:
    """Return a parser with the flags that most scripts have."""
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=rounds, help="turns of each worker")
    arguments.add_argument("--json", type=pathlib.Path, help="write the results to this file")
    return arguments


def write_json(path: pathlib.Path | None, results: Any) -> None:
    """Write results to the file of `--json`, if there is one."""
    if path is not None:
        path.write_text(json.dumps(results, indent=2) + "\n")


def microseconds(row: dict[str, Any]) -> float:
    """Return the CPU time of one step from a row of `compare`."""
    return 1e6 / row["steps_per_cpu_second"]


def _row(worker: Worker, turns: list[dict[str, Any]], speeds: list[float], firsts: list[float]) -> dict[str, Any]:
    ratios = [ours / theirs for ours, theirs in zip(firsts, speeds, strict=True)]
    facts, last = worker.facts, turns[-1]
    started = facts["prepare_cpu"] + facts["first_cpu"]
    row = {
        "steps_per_cpu_second": statistics.median(speeds),
        "speed_range": [min(speeds), max(speeds)],
        "ratio_of_first": statistics.median(ratios),
        "ratio_range": [min(ratios), max(ratios)],
        "prepare_and_first_cpu": started,
        "version": facts.get("version"),
        "jax": facts.get("jax"),
        "result": last["result"],
    }
    if "once_cpu" in facts:
        row["compile_cpu"] = max(started - facts["once_cpu"], 0.0)
    if "peak_mb" in last:
        row["peak_mb"], row["imported_mb"] = last["peak_mb"], facts["base_mb"]
    return row
