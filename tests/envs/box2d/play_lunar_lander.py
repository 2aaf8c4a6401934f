"""Play the recorded episodes of LunarLander, and print which of them agree: run by test_lunar_lander.py.

Without fused multiply-add, the arithmetic here is that of the wheel of Box2D. XLA reads the flag that turns it off when
it starts, so this is a process of its own. With 64 bits, the rules around the bodies are computed as in Python.
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.envs.box2d.lunar_lander import LunarLander

RECORD = pathlib.Path(__file__).parents[2] / "reference" / "lunar_lander.npz"
DRAWN = "heights", "force", "wind", "action", "dispersion"


def main(kind):
    """Play the episodes of a kind, discrete or continuous; the latter have wind."""
    data = np.load(RECORD)
    record = {name.split("/")[1]: data[name] for name in data.files if name.startswith(kind)}
    env = LunarLander(continuous=kind == "continuous", enable_wind=kind == "continuous")

    def read(state):
        world = state.world
        columns = world.x, world.y, world.angle, world.velocity_x, world.velocity_y, world.angular_velocity
        return jnp.stack(columns, -1), env.observation(state, None)

    def play(heights, force, wind, actions, dispersions):
        first = env.start(heights, force, wind[0].astype(jnp.int32), wind[1].astype(jnp.int32))

        def advance(state, inputs):
            following = env.advance(state, *inputs)
            reward = env.reward(state, inputs[0], following)
            return following, (*read(following), reward, env.terminal(following), following.world.dropped)

        return read(first), jax.lax.scan(advance, first, (actions, dispersions))[1]

    first, steps = jax.jit(jax.vmap(play))(*(record[name] for name in DRAWN))
    for i, length in enumerate(record["length"]):
        bodies, observation, reward, terminal, dropped = (np.asarray(column[i, :length]) for column in steps)
        checks = {
            "first bodies": np.array_equal(first[0][i], record["first_bodies"][i]),
            "first observation": np.array_equal(first[1][i], record["first_observation"][i]),
            "bodies": np.array_equal(bodies, record["bodies"][i, :length]),
            "observation": np.array_equal(observation, record["observation"][i, :length]),
            "reward": np.allclose(reward, record["reward"][i, :length], rtol=0, atol=1e-9),
            "terminal": np.array_equal(terminal, record["terminated"][i, :length]),
            "dropped": not dropped.any(),
        }
        differs = (bodies != record["bodies"][i, :length]).any((1, 2))
        step = int(differs.argmax()) if differs.any() else None
        print(kind, i, "equal" if all(checks.values()) else f"{checks}, first step {step} of {length}")


if __name__ == "__main__":
    main(sys.argv[1])
