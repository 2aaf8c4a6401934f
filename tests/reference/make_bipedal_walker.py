"""Write bipedal_walker.npz: episodes of Gymnasium's BipedalWalker, with every float of every body after each step.

Run it in an environment of its own, after pip install "gymnasium[box2d]==1.4.0" "box2d==2.3.10". Without arguments it
writes the episodes of the tests; `make_bipedal_walker.py FILE HARDCORE STEPS POLICY SEED...` records others.
"""

import pathlib
import sys

import gymnasium
import numpy as np
from gymnasium.envs.box2d.bipedal_walker import TERRAIN_LENGTH, BipedalWalkerHeuristics

EPISODES = {  # steps at most, and seeds with how to choose actions
    "grass": (350, [(0, "heuristic"), (2, "heuristic"), (1, "random"), (3, "none")]),
    "hardcore": (350, [(0, "heuristic"), (5, "heuristic"), (1, "random")]),
}
DRAWS = {  # what the arguments of a draw say about its use
    ("uniform", -1, 1): "bump",
    ("integers", 5, 10): "wait",
    ("integers", 1, 4): "obstacle",
    ("integers", 1, 3): "stump",
    ("random",): "stair_rises",
}


class RecordingGenerator:
    """A generator that keeps what it draws for the terrain, by the column of the terrain."""

    def __init__(self, generator, env):
        self.generator, self.env = generator, env
        self.columns = {
            "bump": np.zeros(TERRAIN_LENGTH),
            "wait": np.full(TERRAIN_LENGTH, 5, np.int32),
            "obstacle": np.ones(TERRAIN_LENGTH, np.int32),
            "stump": np.ones(TERRAIN_LENGTH, np.int32),
            "pit": np.full(TERRAIN_LENGTH, 3, np.int32),
            "stairs": np.full(TERRAIN_LENGTH, 3, np.int32),
            "stair_rises": np.zeros(TERRAIN_LENGTH, bool),
        }
        self.force, self.last_obstacle = 0.0, None

    def __getattr__(self, name):
        def draw(*arguments):
            value = getattr(self.generator, name)(*arguments)
            column = len(self.env.terrain_x) - 1
            use = DRAWS.get((name, *arguments))
            if (name, *arguments) == ("integers", 3, 5):
                use = {2: "stairs", 3: "pit"}[self.last_obstacle]
            if use == "obstacle":
                self.last_obstacle = int(value)
            if use:
                self.columns[use][column] = value > 0.5 if use == "stair_rises" else value
            elif (name, *arguments) == ("uniform", -5, 5):
                self.force = value
            return value

        return draw


def bodies(env):
    """Return centre, angle and velocities of hull and legs."""
    return [
        [*body.worldCenter, body.angle, *body.linearVelocity, body.angularVelocity] for body in (env.hull, *env.legs)
    ]


def record(seed, policy, hardcore, steps):
    """Play an episode in a new world."""
    env = gymnasium.make("BipedalWalker-v3", hardcore=hardcore).unwrapped
    generator = RecordingGenerator(np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed))), env)
    gymnasium.Env.reset = lambda self, seed=None, options=None: None  # keeps the generator
    env.np_random = generator
    observation, _ = env.reset()
    episode = {**generator.columns, "force": generator.force}
    episode |= {"first_bodies": bodies(env), "first_observation": observation}
    heuristic, rng, rows = BipedalWalkerHeuristics(), np.random.default_rng(seed), []
    for _ in range(steps):
        action = np.zeros(4)
        if policy == "heuristic":
            action = np.array(heuristic.step_heuristic(observation))
        elif policy == "random":
            action = rng.uniform(-1, 1, 4)
        observation, reward, terminated, _, _ = env.step(action)
        rows.append((action, bodies(env), observation, reward, terminated))
        if terminated:
            break
    names = "action", "bodies", "observation", "reward", "terminated"
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        episode[name] = [*column, *[column[-1]] * (steps - len(rows))]
    return {**episode, "length": len(rows)}


def columns(prefix, records):
    """Return the columns of episodes, stacked."""
    single = "bodies", "first_bodies", "observation", "first_observation"
    arrays = {name: np.array([episode[name] for episode in records]) for name in records[0]}
    return {f"{prefix}/{name}": v.astype(np.float32) if name in single else v for name, v in arrays.items()}


if __name__ == "__main__":
    arrays = {}
    file = pathlib.Path(__file__).with_name("bipedal_walker.npz")
    if sys.argv[1:]:
        file, hardcore, steps, policy, *seeds = sys.argv[1:]
        kind = "hardcore" if int(hardcore) else "grass"
        EPISODES = {kind: (int(steps), [(int(seed), policy) for seed in seeds])}
    for kind, (steps, episodes) in EPISODES.items():
        arrays |= columns(kind, [record(seed, policy, kind == "hardcore", steps) for seed, policy in episodes])
    np.savez_compressed(file, **arrays)
