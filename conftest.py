"""Strict JAX for every test and docstring, and compiled programs kept between runs.

Compilation is most of what the tests cost. So programs are compiled in the ordinary way (`FUNCENV_NO_FAST_PATH=1`), but for
tests with the mark `fused`: a program that is compiled as one function is compiled twice, to be compared.
"""

import gc
import os
import pathlib

CACHE = pathlib.Path(__file__).parent / ".cache" / "jax"

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))  # an environment variable, so that subprocesses use it
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # windows that nobody sees
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
)  # compile in a third of the time
os.environ.setdefault("PJRT_NPROC", "1")  # pytest-xdist uses the other cores

import jax  # noqa: E402  (it reads the variables above)
import pytest  # noqa: E402

pytest_plugins = ["tests.support.guard"]

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

MOST_MEMORY = 4 * 2**30  # of a test process, after which its compiled programs go; thousands of them take gigabytes
STATM = pathlib.Path("/proc/self/statm")  # where the system says how much there is


@pytest.fixture(autouse=True)
def plain(request, monkeypatch):
    """Compile in the ordinary way, unless a test is about the other one."""
    if request.node.get_closest_marker("fused"):
        monkeypatch.delenv("FUNCENV_NO_FAST_PATH", raising=False)
    else:
        monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")


@pytest.fixture(scope="module", autouse=True)
def bounded_memory():
    """Between files, drop compiled programs that are held for later calls; the disk has them still."""
    yield
    if STATM.exists() and int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") > MOST_MEMORY:
        from funcenv._compile.rollout import dispatch as launch
        from funcenv.adapters.single import programs
        from funcenv.adapters.vector import programs as vector_programs

        for cache in (programs._shared, vector_programs._shared_programs, launch._programs):
            cache.cache_clear()
        jax.clear_caches()
        gc.collect()
