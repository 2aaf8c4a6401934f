"""The virtual environments of other libraries, in `.cache/libraries`."""

from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys
import venv

CACHE = pathlib.Path(__file__).parents[1] / ".cache"
_JAX = ["jax==0.10.2", "jaxlib==0.10.2"]
_OURS = [
    "chex==0.1.92",
    "filelock",
    "flax==0.12.8",
    "jaxtyping==0.3.11",
    *_JAX,
]  # funcenv's own, which is not installed
_GYMNAX = "gymnax==0.0.9"  # Its steps return what these trainers expect.
REQUIREMENTS = {
    "gymnax": ["gymnax==1.0.1", "six", *_OURS],
    "gymnasium": ["gymnasium==1.4.0", *_OURS],
    "gymnasium-box2d": ["gymnasium[box2d]==1.4.0"],
    "gymnasium-pixels": ["gymnasium[classic-control,toy-text]==1.4.0", "pillow"],
    "envpool": ["envpool==1.2.5"],
    "brax": ["brax==0.14.2", *_OURS],
    "jumanji": ["jumanji==1.1.2", *_OURS],
    "pgx": ["pgx==2.6.0", *_OURS],
    "craftax": ["craftax==1.6.1", *_OURS],
    "envelope": ["jax-envelope==0.6.1", "gymnax==1.0.1", "six", *_OURS],  # needs Python 3.12
    "jaxmarl": ["jaxmarl==0.2.0", *_OURS],
    "navix": ["navix==0.7.4", *_OURS],
    "playground": ["playground==0.2.0", *_OURS],
    "xminigrid": ["xminigrid==0.9.3", *_OURS],
    "purejaxrl": [_GYMNAX, "distrax==0.1.9", "flashbax==0.1.3", "brax==0.14.2", "navix==0.7.4", *_JAX],
    "rejax": ["rejax==0.1.3", _GYMNAX, *_JAX],
    "sbx": ["sbx-rl==0.28.0", "torch==2.13.0", "gymnasium==1.4.0", *_JAX],
    "stable-baselines3": ["stable-baselines3==2.9.2", "torch==2.13.0", "gymnasium==1.4.0", *_OURS],
    "trainer purejaxrl": ["gymnax==1.0.1", "distrax==0.1.9", "brax==0.14.2", "navix==0.7.4", "six", *_OURS],
    "trainer cleanrl": ["torch==2.13.0", "stable-baselines3==2.9.2", "tyro==1.0.17", "tensorboard==2.21.0", *_OURS],
    "trainer rejax": ["rejax==0.1.3", "gymnax==1.0.1", "six", *_OURS],
    "trainer brax": ["brax==0.14.2", *_OURS],
    "trainer torchrl": ["torch==2.13.0", "torchrl==0.14.1", "tensordict==0.14.3", *_OURS],
    "trainer bsuite": ["bsuite==0.3.6", "dm-haiku==0.0.17", "optax==0.2.8", "rlax==0.1.9", "dm-env==1.6", *_OURS],
    "trainer tianshou": ["torch==2.13.0", "tianshou==2.0.1", "gymnasium==1.2.2", *_OURS],
    "trainer rllib": ["torch==2.13.0", "ray[rllib]==2.60.0", "gymnasium==1.2.2", *_OURS],
}
"""The packages of each virtual environment: first the library, and with it the JAX that funcenv was measured with."""


class LibraryError(RuntimeError):
    """A library cannot be installed or run here. The message appears in its place in the results."""


def python_of(library: str, given: dict[str, str] | None = None) -> str:
    """Return the interpreter of a library's virtual environment; create it if it is missing or has other versions.

    Args:
        library: a key of `REQUIREMENTS`; if empty, this interpreter.
        given: interpreters to use instead, by library.

    Raises:
        LibraryError: The library cannot be installed for this Python.
    """
    if not library or library in (given or {}):
        return (given or {}).get(library, sys.executable)
    home, packages = CACHE / "libraries" / library.replace(" ", "-"), REQUIREMENTS[library]
    python, ready = home / "bin" / "python", home / "ready"
    if not ready.exists() or ready.read_text() != "\n".join(packages):
        venv.create(home, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", *packages]
        outcome = subprocess.run(command, capture_output=True, text=True)
        if outcome.returncode:
            reasons = [line for line in outcome.stderr.splitlines() if line.startswith("ERROR:")]
            reason = re.sub(r"\S+://\S+", "...", reasons[-1] if reasons else "pip failed")
            raise LibraryError(f"{packages[0]} cannot be installed on Python {sys.version.split()[0]}: {reason}")
        ready.write_text("\n".join(packages))
    return str(python)


def add_pythons(parser: argparse.ArgumentParser) -> None:
    """Add the flag `--python LIBRARY=PATH`; its value is a dictionary."""
    parser.add_argument(
        "--python",
        type=lambda given: tuple(given.split("=", 1)),
        action="append",
        default=[],
        metavar="LIBRARY=PATH",
        help="an interpreter that has the packages of LIBRARY already, in place of a new virtual environment",
    )
