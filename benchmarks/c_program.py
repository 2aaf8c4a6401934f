"""Compilation and start of the C program, which measures what the hardware can do."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import time

from harness import HERE, Worker
from libraries import CACHE, LibraryError

SOURCE = HERE / "c" / "cartpole.c"
FLAGS = ["-std=c11", "-O3", "-march=native", "-ffast-math"]
WIDE = "-mprefer-vector-width=512"
"""An additional flag. The program is compiled with and without it, and the faster one is used."""
GENERATORS = {"C": 1, "C, cheap hash": 2}
"""Threefry, as in funcenv, and a hash of little cost, which shows the limit of the physics."""


def compile_program(generator: int, folder: pathlib.Path = CACHE / "c") -> tuple[pathlib.Path, list[str]]:
    """Compile the program for this machine, and return it with its compiler flags.

    Raises:
        LibraryError: There is no C compiler, or it fails.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise LibraryError("there is no C compiler (cc) on the path")
    folder.mkdir(parents=True, exist_ok=True)
    best: tuple[float, pathlib.Path, list[str]] | None = None
    refused = ""
    for number, flags in enumerate(([*FLAGS, WIDE], FLAGS)):
        program = folder / f"cartpole-{generator}-{number}"
        command = [compiler, *flags, f"-DGENERATOR={generator}", "-o", str(program), str(SOURCE)]
        outcome = subprocess.run(command, capture_output=True, text=True)
        if outcome.returncode:
            refused = outcome.stderr.strip().splitlines()[0] if outcome.stderr.strip() else "cc failed"
            continue
        seconds = _seconds(program)
        if best is None or seconds < best[0]:
            best = seconds, program, flags
    if best is None:
        raise LibraryError(refused)
    return best[1], best[2]


def start(name: str, num_envs: int, num_steps: int, seconds: float) -> Worker:
    """Start a worker that runs the program; `num_envs` must be a multiple of its chunk, 256."""
    program, flags = compile_program(GENERATORS[name])
    worker = Worker(name, [str(program), str(num_envs), str(num_steps), str(seconds)])
    worker.facts["version"] = f"cc {worker.facts['compiler']} {' '.join(flags)}"
    return worker


def _seconds(program: pathlib.Path) -> float:
    """Return the wall time of a short run, the best of three."""
    times = []
    for _ in range(3):
        before = time.perf_counter()
        subprocess.run([str(program), "1024", "2000"], input="", capture_output=True, text=True, check=True)
        times.append(time.perf_counter() - before)
    return min(times)
