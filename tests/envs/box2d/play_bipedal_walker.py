"""Play the recorded episodes of BipedalWalker, and print which of them agree: run by test_bipedal_walker.py.

As play_lunar_lander.py, it is a process of its own: without fused multiply-add and with 64 bits. Another file that
`make_bipedal_walker.py` has written may be given.
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.envs.box2d.bipedal_walker import BipedalWalker
from funcenv.envs.box2d.walker_terrain import TerrainDraws

RECORD = pathlib.Path(__file__).parents[2] / "reference" / "bipedal_walker.npz"


def main(kind, file=RECORD):
    """Play the episodes of a kind, grass or hardcore."""
    data = np.load(file)
    record = {name.split("/")[1]: data[name] for name in data.files if name.startswith(kind)}
    draws = TerrainDraws(**{name: record[name] for name in TerrainDraws.__dataclass_fields__})
    env = BipedalWalker(hardcore=kind == "hardcore")

    def read(state):
        world = state.world
        columns = world.x, world.y, world.angle, world.velocity_x, world.velocity_y, world.angular_velocity
        return jnp.stack(columns, -1), env.observation(state, None)

    def play(draws, force, actions):
        first = env.start(draws, force)

        def advance(state, action):
            following = env.transition(state, action, None)
            reward = env.reward(state, action, following)
            touching = (following.world.contacts.is_touching & (following.world.contacts.pair >= 0)).sum()
            close = (following.world.contacts.pair >= 0).sum()
            world = following.world
            return following, (*read(following), reward, env.terminal(following), world.dropped, close, touching)

        return read(first), jax.lax.scan(advance, first, actions)[1]

    first, steps = jax.jit(jax.vmap(play))(draws, record["force"], record["action"])
    space = env.observation_space
    expected, begin = (np.clip(record[name], space.low, space.high) for name in ("observation", "first_observation"))
    for i, length in enumerate(record["length"]):
        bodies, observation, reward, terminal, dropped, *counts = (np.asarray(column[i, :length]) for column in steps)
        checks = {
            "first bodies": np.array_equal(first[0][i], record["first_bodies"][i]),
            "first observation": np.array_equal(first[1][i], begin[i]),
            "bodies": np.array_equal(bodies, record["bodies"][i, :length]),
            "observation": np.array_equal(observation, expected[i, :length]),
            "reward": np.allclose(reward, record["reward"][i, :length], rtol=0, atol=1e-9),
            "terminal": np.array_equal(terminal, record["terminated"][i, :length]),
            "dropped": not dropped.any(),
        }
        differs = (bodies != record["bodies"][i, :length]).any((1, 2))
        step = int(differs.argmax()) if differs.any() else None
        most = " ".join(str(int(count.max())) for count in counts)
        print(kind, i, most, "equal" if all(checks.values()) else f"{checks}, first step {step} of {length}")
        if "-v" in sys.argv:
            for name, mine, theirs in (("observation", observation, expected[i, :length]),):
                bad = np.argwhere(mine != theirs)
                print(name, bad[:5], [(mine[tuple(b)], theirs[tuple(b)]) for b in bad[:5]])


if __name__ == "__main__":
    main(*sys.argv[1:3])
