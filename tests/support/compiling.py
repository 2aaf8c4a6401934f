"""How the tests compile: quickly, and into a cache that outlives the checkout.

This runs before JAX is imported, and sets environment variables, so that xdist's workers and subprocesses inherit it.
A variable that the user has set is kept.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

# Loaded by its path, because importing the package imports JAX.
_PATH = pathlib.Path(__file__).parents[2] / "funcenv" / "_compile" / "cache_folder.py"
_SPEC = importlib.util.spec_from_file_location("cache_folder", _PATH)
user_folder = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(user_folder)

# Programs compile in a third of the time and run little slower. Options given to one program still override these.
QUICK_FLAGS = ("--xla_backend_optimization_level=0", "--xla_cpu_use_fusion_emitters=false")


def configure():
    """Set the variables that JAX, XLA and SDL read."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache_folder()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # no windows
    os.environ.setdefault("MPLBACKEND", "agg")  # no windows, also while a test sets DISPLAY
    os.environ.setdefault("PJRT_NPROC", "1")  # xdist uses the other cores
    if (compiler := pathlib.Path(sys.prefix) / "accelerators/libtpu/libtpu.so").exists():
        os.environ.setdefault("TPU_LIBRARY_PATH", str(compiler))
    os.environ["XLA_FLAGS"] = xla_flags(os.environ.get("XLA_FLAGS", ""))


def cache_folder():
    """Return the folder of the tests beside the one of the command line."""
    folder = user_folder.cache_folder()
    return folder.with_name(f"tests-{folder.name}")


def xla_flags(given=""):
    """Return the user's flags after the quick ones that this XLA knows and the user did not set."""
    missing = [flag for flag in QUICK_FLAGS if flag.partition("=")[0] not in given]
    return " ".join([*(flag for flag in missing if _is_known(flag)), given]).strip()


def users_options():
    """Return options of one program, with which this XLA compiles it as it does for users."""
    emitters = {"xla_cpu_use_fusion_emitters": True} if "xla_cpu_use_fusion_emitters" in os.environ["XLA_FLAGS"] else {}
    return {"xla_backend_optimization_level": 3, **emitters}


def _is_known(flag):
    """Return whether XLA knows a flag: it aborts the process where it does not, so a subprocess tries it once."""
    marker = cache_folder() / f"knows{flag.replace('=', '-')}"
    if not marker.exists():
        environment = {**os.environ, "XLA_FLAGS": flag, "JAX_PLATFORMS": "cpu"}
        trial = subprocess.run(
            [sys.executable, "-c", "import jax; jax.devices()"], env=environment, capture_output=True
        )
        if trial.returncode != 0:
            return False
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
    return True
