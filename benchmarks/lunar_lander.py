"""LunarLander against Gymnasium's: speed in turns with its C code, and statistics of the heuristic policy.

python benchmarks/lunar_lander.py --gymnasium PYTHON      speed; PYTHON is an interpreter with gymnasium[box2d]
python benchmarks/lunar_lander.py --statistics 200        statistics of so many episodes, for both fidelities

Speeds are steps in a CPU-second under random actions. The statistics compare returns and lengths with those that
tests/reference/make_lunar_lander_returns.py has recorded, by the test of Kolmogorov and Smirnov.
"""

from __future__ import annotations

import pathlib
from typing import Any

import jax
import numpy as np
from harness import ONE_CORE, Worker, compare, parser, write_json

import funcenv
from funcenv.envs import LunarLander

REFERENCE = pathlib.Path(__file__).parents[1] / "tests" / "reference" / "lunar_lander_returns.npz"
NUM_STEPS = 400  # length of a rollout: several episodes, so that landing and crashing count as in a long one
MAX_STEPS = 1000  # length of an episode at most


def measure_speed(python: str, num_envs: int, rounds: int) -> dict[str, Any]:
    """Return the rows of `harness.compare` for both fidelities, in a rollout and within a program of the user's."""
    loop = {"kind": "single", "env": "LunarLander-v3", "num_steps": 1000, "seconds": 1.0}
    workers = []
    for fidelity in ("exact", "fast"):
        for in_jit in (False, True):
            name = f"{fidelity}, {'jit' if in_jit else 'rollout'}"
            options = {"env": "LunarLander-v3", "parameters": {"fidelity": fidelity}, "num_envs": num_envs}
            options |= {"num_steps": NUM_STEPS, "in_jit": in_jit, "seconds": 1.0}
            workers.append(Worker(name, "rollout_funcenv.py", options, environment=ONE_CORE))
    workers.append(Worker("gymnasium", "step_gymnasium.py", loop, python, ONE_CORE))
    return compare(workers, rounds)


def play(fidelity: str, num_episodes: int) -> dict[str, np.ndarray]:
    """Return returns, lengths and last rewards of episodes of the heuristic."""
    env = LunarLander(fidelity=fidelity)

    def episode(key: jax.Array) -> Any:
        state, timestep = env.reset(key)
        start = state, timestep.observation, 0.0, 0, 0.0

        def advance(step: jax.Array, carry: Any) -> Any:
            state, observation, total, length, last = carry
            is_over = env.terminal(state)
            following, timestep = env.step(state, env.heuristic(observation), jax.random.fold_in(key, step))
            new = following, timestep.observation, total + timestep.reward, length + 1, timestep.reward
            return jax.tree.map(lambda old, new: jax.numpy.where(is_over, old, new), carry, new)

        return jax.lax.fori_loop(0, MAX_STEPS, advance, start)[2:]

    keys = jax.random.split(funcenv.key(0), num_episodes)
    returns, lengths, last = jax.tree.map(np.asarray, jax.jit(jax.vmap(episode))(keys))
    return {"returns": returns, "lengths": lengths, "last": last}


def describe(played: Any, reference: Any) -> dict[str, float]:
    """Return means and shares, and the p-values of the test against the reference."""
    from scipy.stats import ks_2samp

    returns, lengths, last = played["returns"], played["lengths"], played["last"]
    return {
        "mean": float(returns.mean()),
        "std": float(returns.std()),
        "above 200": float((returns > 200).mean()),
        "landed": float((last == 100).mean()),
        "crashed": float((last == -100).mean()),
        "length": float(lengths.mean()),
        "p of returns": float(ks_2samp(returns, reference["returns"]).pvalue),
        "p of lengths": float(ks_2samp(lengths, reference["lengths"]).pvalue),
    }


def main() -> None:
    """Measure what the flags ask for, and print it."""
    flags = parser(__doc__, rounds=5)
    flags.add_argument("--gymnasium", help="a Python with gymnasium[box2d]")
    flags.add_argument("--num-envs", type=int, default=1024)
    flags.add_argument("--statistics", type=int, default=0, help="episodes to play")
    arguments = flags.parse_args()
    results: dict[str, Any] = {}
    if arguments.statistics:
        reference = np.load(REFERENCE)
        results["gymnasium"] = describe(reference, reference)
        for fidelity in ("exact", "fast"):
            results[fidelity] = describe(play(fidelity, arguments.statistics), reference)
    if arguments.gymnasium:
        results["speed"] = measure_speed(arguments.gymnasium, arguments.num_envs, arguments.rounds)
        base = results["speed"]["gymnasium"]["steps_per_cpu_second"]
        for row in results["speed"].values():
            row["times_gymnasium"] = row["steps_per_cpu_second"] / base
    speed = results.get("speed", {})
    for name, row in {**speed, **{name: row for name, row in results.items() if name != "speed"}}.items():
        print(name, {key: round(value, 3) for key, value in row.items() if isinstance(value, float)}, flush=True)
    write_json(arguments.json, results)


if __name__ == "__main__":
    main()
