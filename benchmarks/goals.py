"""The goals of the suite, and whether the results meet them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

Results = dict[str, Any]

GYMNAX = {"CartPole-v1": 10, "Pendulum-v1": 7, "Acrobot-v1": 10, "MountainCar-v0": 30}
"""Smallest ratio of speeds to gymnax, by environment, at 1 to 4096 environments without a trajectory."""
AT_65536 = 5
KEPT = 8
OF_C = 0.4
IN_JIT = 0.9
LOOP = 2
VECTOR_ENV = 10
ENVPOOL = 100
COLD_SECONDS = 1.2
CACHED_SECONDS = 0.3
GROWTH_MB = 1.0
SAME_WORK = 5
"""Percent; with a larger difference the two environments are not the same."""


def judge(results: Results) -> list[dict[str, str]]:
    """Return every goal with its results and a verdict: met, missed, or not run."""
    return [_verdict(what, goal, figures, is_met) for what, goal, figures, is_met in _goals(results)]


def speed_row(results: Results, env: str, num_envs: int, keep: bool = False) -> dict[str, Any]:
    """Return a row of the speed section, or an empty one."""
    for row in results.get("speed", []):
        if (row["env"], row["num_envs"], row["keep"]) == (env, num_envs, keep):
            return row["peers"]
    return {}


Figures = Iterable[tuple[str, float]]


def _goals(results: Results) -> Iterable[tuple[str, str, Figures, Callable[[float], bool]]]:
    for env, factor in GYMNAX.items():
        figures = _ratios(results, "gymnax", [(env, n, False) for n in (1, 16, 256, 4096)])
        yield f"{env}, random policy, against gymnax", f">= {factor}x at 1, 16, 256, 4096", figures, _at_least(factor)
    figures = _ratios(results, "gymnax", [(env, 65536, False) for env in GYMNAX], by_env=True)
    yield "random policy, 65,536 environments, against gymnax", f">= {AT_65536}x", figures, _at_least(AT_65536)
    figures = _ratios(results, "gymnax", [(env, n, True) for env in GYMNAX for n in (256, 4096)], by_env=True)
    yield "trajectories kept, 256 and 4096, against gymnax", f">= {KEPT}x", figures, _at_least(KEPT)
    cases = [(env, n, False) for env in GYMNAX for n in (1, 16, 256, 4096)]
    figures = [(name, 1 / ratio) for name, ratio in _ratios(results, "funcenv in jit", cases, by_env=True)]
    yield "a rollout inside the caller's jit, against one from Python", f">= {IN_JIT}x", figures, _at_least(IN_JIT)
    for policy in ("network", "random"):
        figures = [
            (f"{row['env'].rpartition('-')[0]} at {row['num_envs']}", row["peers"]["gymnax"]["ratio_of_first"])
            for row in results.get("loop", [])
            if row["policy"] == policy and "ratio_of_first" in row["peers"].get("gymnax", {})
        ]
        yield f"the users' loop, {policy} policy, against gymnax", f">= {LOOP}x", figures, _at_least(LOOP)
    both = [("CartPole-v1", n, False) for n in (256, 4096)]
    figures = [(name, 100 * ratio) for name, ratio in _ratios(results, "C", both)]
    yield "CartPole, of the speed of C", f">= {OF_C:.0%} at 256, 4096", figures, _at_least(100 * OF_C)
    figures = _ratios(results, "CartPoleVectorEnv", both)
    yield (
        "CartPole, against Gymnasium's CartPoleVectorEnv",
        f">= {VECTOR_ENV}x at 256, 4096",
        figures,
        _at_least(VECTOR_ENV),
    )
    figures = _ratios(results, "envpool", both)
    yield "CartPole, against envpool", f">= {ENVPOOL}x at 256, 4096", figures, _at_least(ENVPOOL)
    for what, program, seconds in (
        ("compile a rollout", "empty cache", COLD_SECONDS),
        ("compile from JAX's persistent cache", "filled cache", CACHED_SECONDS),
    ):
        rows = [(row["env"], row["peers"].get(program, {})) for row in results.get("compile", [])]
        figures = [(env, figures["compile_cpu"]) for env, figures in rows if "compile_cpu" in figures]
        yield f"{what} [CPU-s]", f"<= {seconds:g}", figures, _at_most(seconds)
    figures = _disagreements(results)
    yield (
        "rewards and episodes under the random policy, apart from gymnax's [%]",
        f"< {SAME_WORK:g} %",
        figures,
        _at_most(SAME_WORK),
    )
    soaks = [row["peers"]["funcenv"] for row in results.get("soak", []) if "rss_mb" in row["peers"]["funcenv"]]
    figures = [(f"{10 * soak['steps']:.1e} steps", soak["rss_mb"][-1] - soak["rss_mb"][0]) for soak in soaks]
    yield "growth of resident memory [MB]", f"none (< {GROWTH_MB:g})", figures, _at_most(GROWTH_MB)


def _ratios(results: Results, peer: str, rows: list[tuple[str, int, bool]], by_env: bool = False) -> Figures:
    for env, num_envs, keep in rows:
        figures = speed_row(results, env, num_envs, keep).get(peer, {})
        if "ratio_of_first" in figures:
            label = f"{env.rpartition('-')[0]} at {num_envs}" if by_env else str(num_envs)
            yield label, figures["ratio_of_first"]


def _disagreements(results: Results) -> Figures:
    """Yield the difference between funcenv's and gymnax's rewards or episodes at 16 environments, in percent."""
    for env in GYMNAX:
        both = [speed_row(results, env, 16).get(name, {}).get("result") for name in ("funcenv", "gymnax")]
        if all(both):
            ours, theirs = both
            apart = max(abs(ours[name] / theirs[name] - 1) for name in ("reward", "episodes"))
            yield env.rpartition("-")[0], apart * 100


def _at_least(bound: float) -> Callable[[float], bool]:
    return lambda figure: figure >= bound


def _at_most(bound: float) -> Callable[[float], bool]:
    return lambda figure: figure <= bound


def _verdict(what: str, goal: str, figures: Figures, is_met: Callable[[float], bool]) -> dict[str, str]:
    figures = list(figures)
    if not figures:
        return {"what": what, "goal": goal, "measured": "-", "verdict": "not run"}
    missed = [name for name, figure in figures if not is_met(figure)]
    unit = "x" if "x" in goal else "%" if "%" in goal else ""
    measured = ", ".join(f"{name}: {digits(figure)}{unit}" for name, figure in figures)
    return {"what": what, "goal": goal, "measured": measured, "verdict": "missed" if missed else "met"}


def digits(number: float, count: int = 3) -> str:
    """Format a number with `count` significant digits and no exponent."""
    if not number or not math.isfinite(number):
        return f"{number:g}"
    places = max(0, count - 1 - math.floor(math.log10(abs(number))))
    return f"{number:,.{places}f}"
