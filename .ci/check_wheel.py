"""Builds the wheel, compares its files with the tree, and imports it in a clean environment away from the checkout."""

from __future__ import annotations

import pathlib
import subprocess
import sys
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
assert "<canvas" in funcenv.record(env, funcenv.random_policy(env), funcenv.key(0)).to_html()
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", scratch, str(ROOT)], check=True)
        (wheel,) = pathlib.Path(scratch).glob("*.whl")
        compare(wheel)
        home = pathlib.Path(scratch) / "venv"
        venv.create(home, with_pip=True)
        python = str(home / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
        subprocess.run([python, "-W", "error", "-c", TRY], check=True, cwd=scratch)
        subprocess.run([str(home / "bin" / "funcenv"), "list"], check=True, cwd=scratch)
    print("the wheel holds the tree and imports away from it")


def compare(wheel: pathlib.Path) -> None:
    """Raise unless the wheel holds exactly the tracked Python files of the three folders, and the page of replays."""
    tracked = subprocess.run(["git", "ls-files", *FOLDERS], cwd=ROOT, check=True, capture_output=True, text=True)
    expected = set()
    for name in tracked.stdout.splitlines():
        folder, _, rest = name.partition("/")
        if name.endswith((".py", "py.typed")) or name.startswith("funcenv/replay/player/"):
            expected.add(f"{FOLDERS[folder]}/{rest}")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    if packed != expected:
        sys.exit(f"only in the wheel: {sorted(packed - expected)}; missing from it: {sorted(expected - packed)}")


if __name__ == "__main__":
    main()
