"""Builds the wheel and the source distribution, and tries them away from the checkout.

The wheel's files are compared with the tree, it is imported in a clean environment, and mypy sees its types there. The
source distribution must hold every tracked file, and some of its tests run from it.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = {"envs": "funcenv/envs", "adapters": "funcenv/adapters", "funcenv": "funcenv"}
TRY = """
import funcenv, funcenv.envs, funcenv.adapters, pathlib, sys
assert pathlib.Path(sys.prefix) in pathlib.Path(funcenv.__file__).parents, funcenv.__file__
env = funcenv.make("CartPole-v1")
state, timestep = env.reset(funcenv.key(0))
assert env.observation_space.contains(timestep.observation)
from funcenv.train.runs.zoo import zoo_file
from funcenv.train.suites import references
assert zoo_file("zoo/CartPole").exists() and references()
assert "<canvas" in funcenv.record(env, funcenv.random_policy(env), funcenv.key(0)).to_html()
"""
TESTS = ["tests/static", "tests/docs/test_gallery.py", "tests/docs/test_notebooks.py", "tests/spaces/test_box.py"]
LINKS = {"funcenv/envs", "funcenv/adapters"}  # which a source distribution cannot hold
WARNING = (
    "absent from the `packages` configuration"  # of setuptools, about a folder that it would guess to be a package
)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "build", "--wheel", "--sdist", "--outdir", scratch, str(ROOT)]
        built = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if built.returncode or WARNING in built.stdout:
            sys.exit(built.stdout)
        (wheel,) = pathlib.Path(scratch).glob("*.whl")
        (sdist,) = pathlib.Path(scratch).glob("*.tar.gz")
        compare(wheel)
        try_sdist(sdist, pathlib.Path(scratch))
        home = pathlib.Path(scratch) / "venv"
        venv.create(home, with_pip=True)
        python = str(home / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
        away = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([python, "-W", "error", "-c", TRY], check=True, cwd=scratch, env=away)
        subprocess.run([str(home / "bin" / "funcenv"), "list"], check=True, cwd=scratch, env=away)
        check_types(python, pathlib.Path(scratch), away)
    print("the wheel holds the tree and imports away from it, and the source distribution runs its tests")


def compare(wheel: pathlib.Path) -> None:
    """Raise unless the wheel holds exactly the tracked Python files of the three folders, and the data beside them."""
    tracked = subprocess.run(["git", "ls-files", *FOLDERS], cwd=ROOT, check=True, capture_output=True, text=True)
    expected = set()
    for name in tracked.stdout.splitlines():
        folder, _, rest = name.partition("/")
        if name.endswith((".css", ".py", "py.typed")) or name.startswith(
            (
                "funcenv/replay/player/",
                "envs/mujoco/assets/",
                "funcenv/verify/",
                "funcenv/zoo/",
                "funcenv/train/references",
            )
        ):
            expected.add(f"{FOLDERS[folder]}/{rest}")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    if packed != expected:
        sys.exit(f"only in the wheel: {sorted(packed - expected)}; missing from it: {sorted(expected - packed)}")


def check_types(python: str, scratch: pathlib.Path, environment: dict[str, str]) -> None:
    """Raise unless mypy and pyright see the types of an installed wheel, and find planted mistakes."""
    folder = scratch / "types"
    folder.mkdir()
    program = shutil.copy(ROOT / "tests" / "static" / "typed_user.py", folder)
    flags = ["--strict", "--python-executable", python, "--cache-dir", os.devnull]
    subprocess.run([sys.executable, "-m", "mypy", *flags, program], check=True, cwd=folder, env=environment)
    subprocess.run([sys.executable, "-m", "tests.support.pyright", program, python], check=True, cwd=ROOT)


def try_sdist(sdist: pathlib.Path, scratch: pathlib.Path) -> None:
    """Raise unless a source distribution holds every tracked file but those for git, and passes some tests."""
    with tarfile.open(sdist) as archive:
        archive.extractall(scratch, filter="data")
    home = scratch / sdist.name.removesuffix(".tar.gz")
    packed = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    expected = {name for name in tracked.stdout.splitlines() if not name.startswith((".git", ".pre-commit"))} - LINKS
    if expected - packed:
        sys.exit(f"missing from the source distribution: {sorted(expected - packed)}")
    where = "import funcenv.envs; print(funcenv.__file__, funcenv.envs.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    subprocess.run(command, check=True, cwd=home, env=environment)
    found = subprocess.run(
        [sys.executable, "-c", where], check=True, cwd=home, env=environment, capture_output=True, text=True
    )
    for path in found.stdout.split():
        assert home in pathlib.Path(path).parents, f"{path} is not from the source distribution in {home}"


if __name__ == "__main__":
    main()
