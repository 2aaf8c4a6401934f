"""The command line keeps compiled programs in a bounded folder of the user's, and says so once."""

import os
import subprocess
import sys

import jax
import pytest

from funcenv._compile import disk_cache


@pytest.fixture
def settings(monkeypatch):
    """Record what is set in `jax.config`, and set nothing."""
    changed = {}
    monkeypatch.setattr(jax.config, "update", changed.__setitem__)
    return changed


def test_a_folder_that_is_set_already_is_kept(settings):
    assert jax.config.jax_compilation_cache_dir is not None  # the tests have one
    assert disk_cache.enable_disk_cache() is None
    assert settings == {}


def test_the_folder_is_named_by_jaxlib_and_processor(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = disk_cache.cache_folder()
    assert folder.parent == tmp_path / "funcenv"
    monkeypatch.setattr(disk_cache, "_processor", lambda: "another")
    assert disk_cache.cache_folder() != folder


def run(*arguments, cache):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_COMPILATION", "JAX_PERSIST"))}
    env["XDG_CACHE_HOME"] = str(cache)
    command = [sys.executable, "-m", "funcenv", "check", "Blackjack-v1", *arguments]
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True)


@pytest.mark.dear
def test_the_command_line_says_once_where_it_keeps_programs(tmp_path):
    assert run("--no-compile-cache", cache=tmp_path).stderr == ""
    assert list(tmp_path.iterdir()) == []
    first = run(cache=tmp_path)
    (folder,) = (tmp_path / "funcenv").iterdir()
    assert f"kept in {folder}" in first.stderr
    kept = sorted(folder.iterdir())
    assert kept
    second = run(cache=tmp_path)
    assert (second.stdout, second.stderr) == (first.stdout, "")
    assert {path.name for path in kept} <= {path.name for path in folder.iterdir()}


def test_a_place_that_cannot_be_written_is_left_out(tmp_path):
    (tmp_path / "funcenv").write_text("a file where the folder should be")
    assert "no findings" in run(cache=tmp_path).stdout
