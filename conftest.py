"""Strict JAX for every test and docstring, and compiled programs kept between runs."""

import os
import pathlib

CACHE = pathlib.Path(__file__).parent / ".cache" / "jax"

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))  # an environment variable, so that subprocesses use it
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
os.environ.setdefault("PJRT_NPROC", "1")  # pytest-xdist uses the other cores

import jax  # noqa: E402  (it reads the variables above)

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
