"""Statistics of environments with Box2D against Gymnasium's: `python benchmarks/studies/box2d.py --env ID`.

`--env` chooses LunarLander-v3 (the default), BipedalWalker-v3, BipedalWalkerHardcore-v3 or CarRacing-v3; LunarLander
and CarRacing are played in both fidelities. Returns and lengths of the heuristic policy's episodes are compared with
those that tests/reference/make_box2d_returns.py has recorded, by the test of Kolmogorov and Smirnov. CarRacing has a
simple driver, on the 100 tracks of tests/reference/make_car_racing_returns.py.
"""

from __future__ import annotations

import argparse
import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.envs import CarRacing, CarRacingState
from funcenv.envs.box2d.car_picture import DEFAULT_COLORS
from funcenv.envs.box2d.car_track import MAX_TILES, lay_track
from funcenv.wrappers import PolicyMemory

REFERENCE = pathlib.Path(__file__).parents[2] / "tests" / "reference" / "box2d_returns.npz"
CAR_REFERENCE = REFERENCE.with_name("car_racing_returns.npz")
FIDELITIES = {"exact": {"fidelity": "exact"}, "fast": {"fidelity": "fast"}}
VERSIONS = {"LunarLander-v3": FIDELITIES}  # parameters by name


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


def compare(env_id: str, num_episodes: int) -> dict[str, dict[str, float]]:
    """Return what `describe` says of Gymnasium's episodes and of all versions."""
    reference = recorded(env_id)
    results = {"gymnasium": describe(env_id, reference, reference)}
    for name, parameters in VERSIONS.get(env_id, {"funcenv": {}}).items():
        played = play(env_id, parameters, num_episodes)
        results[name] = describe(env_id, played, reference)
        if name == "fast":
            same = recorded(f"{env_id}, fast")
            results["gymnasium, fast"] = describe(env_id, same, reference)
            results["fast, against gymnasium, fast"] = describe(env_id, played, same)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="LunarLander-v3", help="the id of an environment")
    parser.add_argument("--episodes", type=int, default=200, help="episodes to play; CarRacing has one for each track")
    arguments = parser.parse_args()
    results = compare_car_racing() if arguments.env == "CarRacing-v3" else compare(arguments.env, arguments.episodes)
    for name, row in results.items():
        print(name, {key: round(value, 3) for key, value in row.items()}, flush=True)


if __name__ == "__main__":
    main()
