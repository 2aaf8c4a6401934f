"""Compiled programs are kept in a bounded folder of the user's: by commands, which say so once, and on request."""

import os
import subprocess
import sys

import jax
import pytest

from funcenv import programs
from funcenv._compile import cache_folder, disk_cache, store


@pytest.fixture
def settings(monkeypatch):
    """Record what is set in `jax.config`, and set nothing."""
    changed = {}
    monkeypatch.setattr(jax.config, "update", changed.__setitem__)
    return changed


@pytest.fixture
def user_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return cache_folder.cache_folder()


def test_a_folder_that_jax_has_already_is_kept(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(disk_cache, "config", type("Config", (), {"jax_compilation_cache_dir": str(tmp_path)}))
    assert disk_cache.enable_disk_cache() == tmp_path
    assert store.folder() == tmp_path / "programs"
    assert settings == {}


def test_the_folder_is_named_by_jaxlib_and_processor(tmp_path, user_folder, monkeypatch):
    assert user_folder.parent == tmp_path / "funcenv"
    monkeypatch.setattr(cache_folder, "processor", lambda: "another")
    assert cache_folder.cache_folder() != user_folder


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_folder_that_others_may_write_to_is_not_used(settings, tmp_path, mode):
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs").chmod(mode)
    assert disk_cache.enable_disk_cache(tmp_path) is None and store.folder() is None


def test_what_is_kept_is_counted_and_deleted(user_folder):
    (user_folder / "programs").mkdir(parents=True)
    (user_folder / "programs" / f"kernel.0{store.SUFFIX}").write_bytes(bytes(100))
    (user_folder / "jit_f-0-cache").write_bytes(bytes(20))
    other = user_folder.with_name("jaxlib-0.0.0-00000000")
    other.mkdir()
    assert programs.cache_info() == (user_folder, 1, 1, 120)
    assert [info.folder for info in programs.clear_cache()] == sorted([other, user_folder])
    assert programs.cache_info() == (user_folder, 0, 0, 0)


def run(*arguments, cache):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_COMPILATION", "JAX_PERSIST"))}
    env["XDG_CACHE_HOME"] = str(cache)
    return subprocess.run([sys.executable, "-m", "funcenv", *arguments], env=env, capture_output=True, text=True)


def check(*arguments, cache):
    return run("check", "Blackjack-v1", *arguments, cache=cache)


@pytest.mark.dear
def test_the_command_line_says_once_where_it_keeps_programs(tmp_path):
    assert check("--no-compile-cache", cache=tmp_path).stderr == ""
    assert list(tmp_path.iterdir()) == []
    first = check(cache=tmp_path)
    (folder,) = (tmp_path / "funcenv").iterdir()
    assert f"kept in {folder}" in first.stderr
    kept = sorted(folder.iterdir())
    assert kept
    second = check(cache=tmp_path)
    assert (second.stdout, second.stderr) == (first.stdout, "")
    assert {path.name for path in kept} <= {path.name for path in folder.iterdir()}


@pytest.mark.dear
def test_commands_compile_for_later_and_show_and_delete_what_they_keep(tmp_path):
    first = run("compile", "FrozenLake-v1", "--num-envs", "2", cache=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "one environment: reset and step:" in first.stdout and " new programs, " in first.stdout
    assert "2 environments: reset, step and rollout:" in first.stdout
    again = run("compile", "FrozenLake-v1", "--num-envs", "2", cache=tmp_path)
    assert "\n0 new programs" in again.stdout
    shown = run("cache", cache=tmp_path).stdout
    assert str(tmp_path) in shown and " 0 programs" not in shown
    assert run("cache", "--clear", cache=tmp_path).stdout.startswith("deleted ")
    assert " 0 programs" in run("cache", cache=tmp_path).stdout
    both = run("compile", "FrozenLake-v1", "--num-envs", "2", "--algo", "ppo", cache=tmp_path)
    assert both.returncode == 2 and "leave one of them out" in both.stderr
    refused = run("compile", "FrozenLake-v1", "--num-envs", "0", cache=tmp_path)
    assert refused.returncode == 2 and refused.stderr.endswith("--num-envs must be at least 1, got 0\n")


@pytest.mark.dear
def test_a_place_that_cannot_be_written_is_left_out(tmp_path):
    (tmp_path / "funcenv").write_text("a file where the folder should be")
    assert "no findings" in check(cache=tmp_path).stdout
