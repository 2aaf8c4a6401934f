"""Tries the package with other versions of its dependencies, and writes the table of docs/versions.md.

    python .ci/versions.py                       every set, in environments below .cache/versions
    python .ci/versions.py --sets jax-0.8.3      one of them
    python .ci/versions.py --rotate              the oldest set; or nothing, in three of four commits
    python .ci/versions.py --nightly             the newest JAX, released or not, from the index of --extra-index-url

Each set is an environment of its own. A wheel of the checkout is installed into it without its dependencies, whose
versions the set gives. Results are kept in docs/versions.json, set by set.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "versions.json"
PAGE = ROOT / "docs" / "versions.md"
BEGIN, END = "<!-- versions: begin -->", "<!-- versions: end -->"
COMMON = ("chex", "filelock", "hypothesis", "jaxtyping", "matplotlib", "optax", "orbax-checkpoint", "pytest", "rich")
VERIFIED = ("CartPole-v1", "Acrobot-v1", "Pendulum-v1", "FrozenLake-v1", "Blackjack-v1", "Taxi-v4")
REFERENCED = ("CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Taxi-v4")
FAST_TESTS = ("tests/test_func_env.py", "tests/test_vector.py", "tests/random", "tests/spaces/test_box.py")
TIMEOUT_SECONDS = 1800
ROTATION = 4  # one of so many commits tries the oldest set

SPEED = """
import json, time, funcenv
env = funcenv.make("CartPole-v1")
venv = funcenv.FuncVectorEnv(env, num_envs=256)
def play():
    start = time.process_time()
    policy, key = funcenv.random_policy(env), funcenv.key(0)
    funcenv.rollout(venv, policy, key, num_steps=4000, collect=None)[2].count.block_until_ready()
    return 256 * 4000 / (time.process_time() - start)
play()
print(json.dumps(max(play() for _ in range(5))))
"""


class Set(NamedTuple):
    """A Python, and the versions of packages that are pinned; the others are the newest that fit."""

    name: str
    python: str
    pins: tuple[str, ...]


SETS = (
    Set("jax-0.8.3", "3.11", ("jax==0.8.3", "jaxlib==0.8.3", "flax", "gymnasium==1.3.0")),
    Set("jax-0.9.2", "3.12", ("jax==0.9.2", "jaxlib==0.9.2", "flax", "gymnasium==1.4.0")),
    Set("jax-0.10.0", "3.13", ("jax==0.10.0", "jaxlib==0.10.0", "flax", "gymnasium==1.4.0")),
    Set("jax-0.10.2", "3.11", ("jax==0.10.2", "jaxlib==0.10.2", "flax", "gymnasium==1.4.0")),
    Set("jax-0.11.2", "3.12", ("jax==0.11.2", "jaxlib==0.11.2", "flax", "gymnasium==1.2.2")),
    Set("jax-0.12.0.1", "3.13", ("jax==0.12.0.1", "jaxlib==0.12.0.1", "flax", "gymnasium==1.4.0")),
)
SHOWN = ("python", "jax", "gymnasium", "numpy", "flax")


def main() -> int:
    """Try the sets that were asked for, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=[one.name for one in SETS], choices=[one.name for one in SETS])
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / ".cache" / "versions", help="of environments")
    parser.add_argument("--rotate", action="store_true", help="the oldest set, in one of four commits")
    parser.add_argument("--nightly", action="store_true", help="the newest pre-release of JAX")
    parser.add_argument("--extra-index-url", help="an index of pre-releases")
    parser.add_argument("--table", action="store_true", help="only write the page again")
    options = parser.parse_args()
    chosen = [one for one in SETS if one.name in options.sets]
    if options.nightly:
        chosen = [Set("nightly", f"{sys.version_info[0]}.{sys.version_info[1]}", ("--pre", "jax", "jaxlib", "flax"))]
    if options.rotate:
        chosen = [SETS[0]] if _is_turn() else []
    failed = False
    for one in [] if options.table else chosen:
        tried = try_set(one, options.folder, options.extra_index_url)
        print(json.dumps(tried, indent=1), flush=True)
        failed |= not tried["import"]["passed"] or not tried["tests"]["passed"]
        if not options.nightly and not options.rotate:
            kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
            RESULTS.write_text(json.dumps({**kept, one.name: tried}, indent=1) + "\n")
    if RESULTS.exists():
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{table(json.loads(RESULTS.read_text()))}\n{END}{rest.partition(END)[2]}")
    return int(failed)


def try_set(one: Set, folder: pathlib.Path, index: str | None) -> dict[str, Any]:
    """Return what works with a set, and how fast."""
    home = folder / one.name
    python = home / "bin" / "python"
    if not (home / "ok").exists():
        shutil.rmtree(home, ignore_errors=True)
        interpreter = shutil.which(f"python{one.python}") or sys.executable
        subprocess.run([interpreter, "-m", "venv", str(home)], check=True)
        indices = ["--extra-index-url", index] if index else []
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *indices, *one.pins, *COMMON], check=True)
        (home / "ok").touch()
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", str(ROOT)]
    subprocess.run(install, check=True)
    tried: dict[str, Any] = {"versions": _versions(python), "import": _run(python, "-c", "import funcenv")}
    for mode, flags in (("verify", []), ("exact", ["--exact"])):
        tried[mode] = _verified(_run(python, "-m", "funcenv", "verify", *VERIFIED, "--json", "-", *flags))
    against = _run(python, "-m", "funcenv", "verify", *REFERENCED, "--json", "-", "--against", "gymnasium")
    tried["gymnasium"] = _verified(against)
    tried["tests"] = _run(python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *FAST_TESTS, folder=ROOT)
    runs = home / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    arguments = ["CartPole-v1", "--total-timesteps", "20000", "--run-dir", str(runs), "--replay-episodes", "0"]
    tried["training"] = _run(python, "-m", "funcenv", "train", *arguments)
    speed = _run(python, "-c", SPEED)
    tried["steps_per_cpu_second"] = json.loads(speed["last"]) if speed["passed"] else None
    for done in tried.values():
        if isinstance(done, dict):
            done.pop("out", None)
    return tried


def table(results: dict[str, Any]) -> str:
    """Return the table in Markdown: a row for each set."""
    newest = list(results.values())[-1]["steps_per_cpu_second"]
    lines = [
        f"| {' | '.join(SHOWN)} | import | `verify` | `verify --exact` | Gymnasium | tests | training | speed |",
        f"|{'---|' * (len(SHOWN) + 7)}",
    ]
    for one in results.values():
        words = [one["versions"].get(name, "") for name in SHOWN]
        words.append(_yes(one["import"]["passed"]))
        words += [_counts(one[mode]) for mode in ("verify", "exact", "gymnasium")]
        words += [_yes(one[name]["passed"]) for name in ("tests", "training")]
        speed = one["steps_per_cpu_second"]
        words.append("" if speed is None or newest is None else f"{speed / newest:.2f}")
        lines.append(f"| {' | '.join(words)} |")
    return "\n".join([*lines, ""])


def _is_turn() -> bool:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return int(commit or "0", 16) % ROTATION == 0


def _versions(python: pathlib.Path) -> dict[str, str]:
    names = [name for name in SHOWN if name != "python"]
    code = f"""
import importlib.metadata, json, platform
versions = {{name: importlib.metadata.version(name) for name in {names}}}
print(json.dumps({{"python": platform.python_version(), **versions}}))
"""
    found = subprocess.run([str(python), "-c", code], check=True, capture_output=True, text=True)
    return dict(json.loads(found.stdout))


def _run(python: pathlib.Path, *arguments: str, folder: pathlib.Path | None = None) -> dict[str, Any]:
    """Return whether a command succeeds, its output, and its last line."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "XLA_FLAGS")}
    environment |= {"JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
    where = python.parent.parent if folder is None else folder
    done = subprocess.run(
        [str(python), *arguments], cwd=where, env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )
    lines = (done.stdout if done.returncode == 0 else done.stdout + done.stderr).strip().splitlines()
    return {"passed": done.returncode == 0, "last": lines[-1] if lines else "", "out": done.stdout}


def _verified(done: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of each id, or the last line of a command that failed otherwise."""
    try:
        results = json.loads(done.pop("out"))["results"]
    except (ValueError, KeyError):
        return done
    return {"passed": done["passed"], "results": results}


def _counts(done: dict[str, Any]) -> str:
    if "results" not in done:
        return "fails"
    outcomes = [one["outcome"] for one in done["results"]]
    words = {"equal bit for bit": "equal", "equal to rounding": "rounding", "different": "different"}
    words |= {"not tried": "not there"}  # an id that the Gymnasium of the row lacks
    return ", ".join(f"{outcomes.count(one)} {word}" for one, word in words.items() if one in outcomes)


def _yes(passed: bool) -> str:
    return "yes" if passed else "no"


if __name__ == "__main__":
    sys.exit(main())
