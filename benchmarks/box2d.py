"""Environments with Box2D against Gymnasium's: speed in turns with its C code, and statistics of the heuristic policy.

python benchmarks/box2d.py --gymnasium PYTHON      speed; PYTHON is an interpreter with gymnasium[box2d]
python benchmarks/box2d.py --statistics 200        statistics of so many episodes
python benchmarks/box2d.py --compile               CPU seconds of the first rollout, and of a second process's

`--env` chooses LunarLander-v3 (the default), BipedalWalker-v3, BipedalWalkerHardcore-v3 or CarRacing-v3. LunarLander
and CarRacing are measured in both fidelities, and CarRacing with and without its pictures. Speeds are steps in a
CPU-second under random actions. The statistics compare returns and lengths with those that
tests/reference/make_box2d_returns.py has recorded, by the test of Kolmogorov and Smirnov. CarRacing has a simple
driver, on the 100 tracks of tests/reference/make_car_racing_returns.py.
"""

from __future__ import annotations

import itertools
import pathlib
import tempfile
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from harness import ONE_CORE, Worker, compare, parser, write_json

import funcenv
from funcenv.envs import CarRacing, CarRacingState
from funcenv.envs.box2d.car_picture import DEFAULT_COLORS
from funcenv.envs.box2d.car_track import MAX_TILES, lay_track
from funcenv.wrappers import PolicyMemory

REFERENCE = pathlib.Path(__file__).parents[1] / "tests" / "reference" / "box2d_returns.npz"
CAR_REFERENCE = REFERENCE.with_name("car_racing_returns.npz")
NUM_STEPS = {
    "LunarLander-v3": 400,
    "CarRacing-v3": 50,
}  # A rollout has several episodes, so that their ends count as in a long one.
FIDELITIES = {"exact": {"fidelity": "exact"}, "fast": {"fidelity": "fast"}}
VERSIONS = {"LunarLander-v3": FIDELITIES, "CarRacing-v3": FIDELITIES}  # parameters by name
NUM_ENVS = {"LunarLander-v3": 1024, "CarRacing-v3": 64}
READ = {"CarRacing-v3": {", with pictures": True, ", without": False}}  # whether observations are added up
DEFAULT_NUM_ENVS, DEFAULT_NUM_STEPS = 256, 200  # The walkers have these.


def versions(env_id: str) -> dict[str, dict[str, Any]]:
    """Return the parameters of all versions of an environment that are measured, by their names."""
    return VERSIONS.get(env_id, {"funcenv": {}})


def measure_speed(env_id: str, python: str, num_envs: int, rounds: int, only: str = "") -> dict[str, Any]:
    """Return the rows of `harness.compare` for all versions, in a rollout and within a program of the user's.

    Those whose names do not contain `only` are left out.
    """
    loop = {"kind": "single", "env": env_id, "num_steps": 200, "seconds": 1.0}
    num_steps = NUM_STEPS.get(env_id, DEFAULT_NUM_STEPS)
    workers = []
    cases = itertools.product(versions(env_id).items(), READ.get(env_id, {"": False}).items(), (False, True))
    for (version, parameters), (reading, read), in_jit in cases:
        name = f"{version}{reading}, {'jit' if in_jit else 'rollout'}"
        if only in name:
            options = {"env": env_id, "parameters": parameters, "num_envs": num_envs, "read": read}
            options |= {"num_steps": num_steps, "in_jit": in_jit, "seconds": 1.0}
            workers.append(Worker(name, "rollout_funcenv.py", options, environment=ONE_CORE))
    workers.append(Worker("gymnasium", "step_gymnasium.py", loop, python, ONE_CORE))
    return compare(workers, rounds)


def measure_compilation(env_id: str, num_envs: int) -> dict[str, dict[str, float]]:
    """Return the CPU seconds of a first rollout: with an empty persistent cache, and with what that run left there."""
    options = {"env": env_id, "num_envs": num_envs, "num_steps": NUM_STEPS.get(env_id, DEFAULT_NUM_STEPS)}
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        cache = {"JAX_COMPILATION_CACHE_DIR": folder, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        for name in ("empty cache", "filled cache"):
            worker = Worker(name, "rollout_funcenv.py", options, environment={**ONE_CORE, **cache})
            rows[name] = {"seconds": worker.facts["prepare_cpu"] + worker.facts["first_cpu"]}
            worker.close()
    return rows


def play(env_id: str, parameters: dict[str, Any], num_episodes: int) -> dict[str, np.ndarray]:
    """Return returns, lengths and last rewards of episodes of the heuristic."""
    env, limit = funcenv.make(env_id, **parameters).unwrapped, funcenv.spec(env_id).max_episode_steps
    act = env.heuristic
    if hasattr(env, "heuristic_memory"):
        env = PolicyMemory(env, env.heuristic_memory)

    def episode(key: jax.Array) -> Any:
        state, timestep = env.reset(key)
        start = state, timestep.observation, 0.0, 0, 0.0

        def advance(step: jax.Array, carry: Any) -> Any:
            state, observation, total, length, _ = carry
            is_over = env.terminal(state)
            following, timestep = env.step(state, act(observation), jax.random.fold_in(key, step))
            new = following, timestep.observation, total + timestep.reward, length + 1, timestep.reward
            return jax.tree.map(lambda old, new: jnp.where(is_over, old, new), carry, new)

        return jax.lax.fori_loop(0, limit, advance, start)[2:]

    keys = jax.random.split(funcenv.key(0), num_episodes)
    returns, lengths, last = jax.tree.map(np.asarray, jax.jit(jax.vmap(episode))(keys))
    return {"returns": returns, "lengths": lengths, "last": last}


def drive(state: CarRacingState) -> jax.Array:
    """Return steering, gas and brake towards a point five tiles ahead."""
    track, world = state.track, state.world
    is_there = np.arange(MAX_TILES) < track.count
    x, y = world.x[0], world.y[0]
    nearest = jnp.argmin(jnp.where(is_there, (track.x - x) ** 2 + (track.y - y) ** 2, jnp.inf))
    ahead = (nearest + 5) % track.count
    turn = 1.5 * jnp.sin(jnp.arctan2(track.y[ahead] - y, track.x[ahead] - x) - jnp.pi / 2 - world.angle[0])
    speed = jnp.hypot(world.velocity_x[0], world.velocity_y[0])
    return jnp.stack([-turn, 0.6 * (speed < 70 - 30 * jnp.abs(turn)), 0.4 * (speed > 70)])


def play_car_racing(parameters: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return returns, lengths, tiles and visited tiles of episodes of the driver on the recorded tracks."""
    env, limit = CarRacing(**parameters), funcenv.spec("CarRacing-v3").max_episode_steps

    def episode(checkpoints: jax.Array) -> Any:
        start = env.start(lay_track(checkpoints)[0], jnp.array(DEFAULT_COLORS, float))

        def advance(_: jax.Array, carry: Any) -> Any:
            state, total, length = carry
            action, is_over = drive(state), env.terminal(state)
            following = env.transition(state, action, None)
            new = following, total + env.reward(state, action, following), length + 1
            return jax.tree.map(lambda old, new: jnp.where(is_over, old, new), carry, new)

        state, total, length = jax.lax.fori_loop(0, limit, advance, (start, 0.0, 0))
        return total, length, state.track.count, state.num_visited

    played = jax.jit(jax.vmap(episode))(np.load(CAR_REFERENCE)["exact/checkpoints"].astype(np.float32))
    return dict(zip(("returns", "lengths", "tiles", "visited"), map(np.asarray, played), strict=True))


def describe_car_racing(played: Any, reference: Any) -> dict[str, float]:
    """Return means and shares, and the p-values of the test against the reference."""
    from scipy.stats import ks_2samp

    returns, visited = played["returns"], played["visited"] / played["tiles"]
    return {
        "mean": float(returns.mean()),
        "standard error": float(returns.std() / np.sqrt(len(returns))),
        "visited": float(visited.mean()),
        "finished": float((visited == 1).mean()),
        "length": float(played["lengths"].mean()),
        "standard error of length": float(played["lengths"].std() / np.sqrt(len(returns))),
        "mean difference on a track": float((returns - reference["returns"]).mean()),
        "same tiles": float((played["visited"] == reference["visited"]).mean()),
        "p of returns": float(ks_2samp(returns, reference["returns"]).pvalue),
        "p of lengths": float(ks_2samp(played["lengths"], reference["lengths"]).pvalue),
        "p of tiles": float(ks_2samp(visited, reference["visited"] / reference["tiles"]).pvalue),
    }


def compare_car_racing() -> dict[str, dict[str, float]]:
    """Return what `describe_car_racing` says of both fidelities, and of Box2D with both numbers of iterations."""
    data = np.load(CAR_REFERENCE)
    names = "returns", "lengths", "tiles", "visited"
    exact, fast = ({name: data[f"{fidelity}/{name}"] for name in names} for fidelity in FIDELITIES)
    results = {"gymnasium": describe_car_racing(exact, exact), "gymnasium, fast": describe_car_racing(fast, exact)}
    for fidelity, parameters in FIDELITIES.items():
        played = play_car_racing(parameters)
        results[fidelity] = describe_car_racing(played, exact)
        if fidelity == "fast":
            results["fast, against gymnasium, fast"] = describe_car_racing(played, fast)
    return results


def recorded(name: str) -> dict[str, np.ndarray]:
    """Return what `play` returns, of Gymnasium's episodes."""
    data = np.load(REFERENCE)
    return {column: data[f"{name}/{column}"] for column in ("returns", "lengths", "last")}


def describe(env_id: str, played: Any, reference: Any) -> dict[str, float]:
    """Return means and shares, and the p-values of the test against the reference."""
    from scipy.stats import ks_2samp

    spec, returns, lengths, last = funcenv.spec(env_id), played["returns"], played["lengths"], played["last"]
    has_failed, has_ended = last == -100, lengths < spec.max_episode_steps
    return {
        "mean": float(returns.mean()),
        "std": float(returns.std()),
        "standard error": float(returns.std() / np.sqrt(len(returns))),
        "above the threshold": float((returns > spec.reward_threshold).mean()),
        "landed or arrived": float((has_ended & ~has_failed).mean()),
        "crashed or fell": float(has_failed.mean()),
        "length": float(lengths.mean()),
        "standard error of length": float(lengths.std() / np.sqrt(len(lengths))),
        "p of returns": float(ks_2samp(returns, reference["returns"]).pvalue),
        "p of lengths": float(ks_2samp(lengths, reference["lengths"]).pvalue),
    }


def main() -> None:
    """Measure what the flags ask for, and print it."""
    flags = parser(__doc__, rounds=5)
    flags.add_argument("--env", default="LunarLander-v3", help="the id of an environment")
    flags.add_argument("--gymnasium", help="a Python with gymnasium[box2d]")
    flags.add_argument("--only", default="", help="measure the speed of versions whose names contain this")
    flags.add_argument(
        "--num-envs", type=int, help="1024 of LunarLander-v3, 64 of CarRacing-v3, 256 of others, if left out"
    )
    flags.add_argument("--statistics", type=int, default=0, help="episodes to play; CarRacing has as many as tracks")
    flags.add_argument("--compile", action="store_true", help="measure the first rollout")
    arguments = flags.parse_args()
    env_id, results = arguments.env, {}
    num_envs = arguments.num_envs or NUM_ENVS.get(env_id, DEFAULT_NUM_ENVS)
    if arguments.compile:
        results |= measure_compilation(env_id, num_envs)
    if arguments.statistics and env_id == "CarRacing-v3":
        results |= compare_car_racing()
    elif arguments.statistics:
        reference = recorded(env_id)
        results["gymnasium"] = describe(env_id, reference, reference)
        for name, parameters in versions(env_id).items():
            played = play(env_id, parameters, arguments.statistics)
            results[name] = describe(env_id, played, reference)
            if name == "fast":
                same = recorded(f"{env_id}, fast")
                results["gymnasium, fast"] = describe(env_id, same, reference)
                results["fast, against gymnasium, fast"] = describe(env_id, played, same)
    if arguments.gymnasium:
        results["speed"] = measure_speed(env_id, arguments.gymnasium, num_envs, arguments.rounds, arguments.only)
        base = results["speed"]["gymnasium"]["steps_per_cpu_second"]
        for row in results["speed"].values():
            row["times_gymnasium"] = row["steps_per_cpu_second"] / base
    speed = results.get("speed", {})
    for name, row in {**speed, **{name: row for name, row in results.items() if name != "speed"}}.items():
        print(name, {key: round(value, 3) for key, value in row.items() if isinstance(value, float)}, flush=True)
    write_json(arguments.json, results)


if __name__ == "__main__":
    main()
