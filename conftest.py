"""Strict JAX for every test and docstring, compiled quickly and once.

The fast paths (`funcenv._compile`) compile each program twice, to compare the results. So tests run with
`FUNCENV_NO_FAST_PATH=1`, except those with the mark `fast_path`.
"""

import ctypes
import functools
import gc
import os
import pathlib

import pytest

for folder in "envs", "adapters":  # a source distribution cannot hold the links that the repository has
    if not (link := pathlib.Path(__file__).parent / "funcenv" / folder).exists():
        link.symlink_to(pathlib.Path("..") / folder)

# Scripts that need packages of their own, and a module that imports torchrl; benchmarks/studies/trainers.py tests it.
collect_ignore_glob = ["tests/reference/*", "funcenv/interop/torchrl/env.py"]

pytest.register_assert_rewrite("tests.support")

from tests.support import compiling  # noqa: E402

compiling.configure()

import jax  # noqa: E402  (it reads the variables that are set above)

pytest_plugins = ["tests.support.browser", "tests.support.guard", "tests.support.rotation"]

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

MAX_MEMORY_BYTES = 2**30  # of a test process between two files; a file adds up to a gigabyte of programs
STATM = pathlib.Path("/proc/self/statm")


@pytest.fixture(scope="session", autouse=True)
def data_folder(tmp_path_factory):
    """Keep the key that signs runs out of the user's data folder."""
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def fast_path(request, monkeypatch):
    """Switch the fast paths on for tests with the mark of this name, and off for all others."""
    if request.node.get_closest_marker("fast_path"):
        monkeypatch.delenv("FUNCENV_NO_FAST_PATH", raising=False)
    else:
        monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")


@pytest.fixture(autouse=True)
def nothing_kept():
    """Keep no programs for the tests after one that runs a command, which keeps them."""
    yield
    from funcenv._compile import store

    store.use_folder(None)


@pytest.fixture(scope="module", autouse=True)
def own_registry():
    """Forget what the tests of a file register, which those of another would count among all ids."""
    from tests.support import registries

    with registries.ours_restored():
        yield


@pytest.fixture(scope="module", autouse=True)
def bounded_memory():
    """Drop compiled programs between files when they take too much memory; the cache on disk still has them."""
    yield
    if STATM.exists() and int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") > MAX_MEMORY_BYTES:
        for cache in gc.get_objects():
            if type(cache) is functools._lru_cache_wrapper and cache.__module__.startswith(("funcenv.", "tests.")):
                cache.cache_clear()
        jax.clear_caches()
        gc.collect()
        if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):  # glibc keeps freed memory until it is asked
            libc.malloc_trim(0)
