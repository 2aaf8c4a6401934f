"""Write lunar_lander.npz: whole episodes of Gymnasium's LunarLander, with every float of every body after each step.

Run it in an environment of its own, after pip install "gymnasium[box2d]==1.4.0" "box2d==2.3.10".
"""

import pathlib

import gymnasium
import numpy as np
from gymnasium.envs.box2d.lunar_lander import INITIAL_RANDOM, SCALE, VIEWPORT_H, heuristic

STEPS = 320  # of an episode at most
EPISODES = {  # seeds and how to choose actions
    "discrete": [(0, "heuristic"), (2, "heuristic"), (5, "heuristic"), (4, "random"), (9, "none"), (17, "none")],
    "continuous": [(1, "heuristic"), (3, "random"), (6, "none")],  # with wind
}


def bodies(env):
    """Return centre, angle and velocities of hull and legs."""
    return [
        [*body.worldCenter, body.angle, *body.linearVelocity, body.angularVelocity] for body in (env.lander, *env.legs)
    ]


def choose(env, policy, observation, rng):
    """Return the action of a policy."""
    if policy == "heuristic":
        return heuristic(env, observation)
    if policy == "none":
        return np.zeros(2, np.float32) if env.continuous else 0
    return rng.uniform(-1, 1, 2).astype(np.float32) if env.continuous else int(rng.integers(4))


def record(seed, policy, continuous):
    """Play an episode, and draw again what Gymnasium draws: its generator has the seed of the episode."""
    env = gymnasium.make("LunarLander-v3", continuous=continuous, enable_wind=continuous).unwrapped
    observation, _ = env.reset(seed=seed)
    draws = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    episode = {
        "heights": draws.uniform(0, VIEWPORT_H / SCALE / 2, size=12),
        "force": [draws.uniform(-INITIAL_RANDOM, INITIAL_RANDOM) for _ in range(2)],
        "wind": [draws.integers(-9999, 9999) for _ in range(2)] if continuous else [0, 0],
        "first_bodies": bodies(env),
        "first_observation": observation,
    }
    [draws.uniform(-1, 1) for _ in range(2)]  # of the step inside reset
    rng, rows = np.random.default_rng(seed), []
    for _ in range(STEPS):
        action = choose(env, policy, observation, rng)
        dispersion = [draws.uniform(-1.0, 1.0) / SCALE for _ in range(2)]
        observation, reward, terminated, _, _ = env.step(action)
        rows.append((action, dispersion, bodies(env), observation, reward, terminated))
        if terminated:
            break
    names = "action", "dispersion", "bodies", "observation", "reward", "terminated"
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        episode[name] = [*column, *[column[-1]] * (STEPS - len(rows))]
    return {**episode, "length": len(rows)}


if __name__ == "__main__":
    arrays = {}
    for kind, episodes in EPISODES.items():
        records = [record(seed, policy, kind == "continuous") for seed, policy in episodes]
        for name in records[0]:
            values = np.array([episode[name] for episode in records])
            is_single = name in ("bodies", "first_bodies", "observation", "first_observation")
            arrays[f"{kind}/{name}"] = values.astype(np.float32) if is_single else values
    np.savez_compressed(pathlib.Path(__file__).with_name("lunar_lander.npz"), **arrays)
