"""Play the recorded episodes of CarRacing, and print what agrees: run by test_car_racing.py.

Without fused multiply-add, the arithmetic of the bodies is that of the wheel of Box2D. XLA reads the flag that turns it
off when it starts, so this is a process of its own. With 64 bits, the tyres are computed as in Python.
"""

import pathlib
import sys
import zlib

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.envs.box2d.car_picture import DEFAULT_COLORS, Drive, draw_picture
from funcenv.envs.box2d.car_racing import CarRacing
from funcenv.envs.box2d.car_track import MAX_TILES, lay_track

RECORD = pathlib.Path(__file__).parents[2] / "reference" / "car_racing.npz"


def record(kind):
    """Return the arrays of a kind."""
    data = np.load(RECORD)
    return {name.split("/")[1]: data[name] for name in data.files if name.startswith(kind)}


def compare_tracks():
    """Lay the tracks of 50 seeds, and the one that Gymnasium rejected."""
    expected = record("tracks")
    track, is_usable = jax.jit(jax.vmap(lay_track))(np.concatenate([expected["checkpoints"], expected["rejected"]]))
    count = np.asarray(track.count)[:50]
    rows = np.stack([track.angle, track.x, track.y], axis=-1)[:50]
    sample = np.concatenate([row[:n:10] for row, n in zip(rows, count, strict=True)])
    kerbs = np.concatenate([row[:n] for row, n in zip(np.asarray(track.kerb), count, strict=False)])
    sums = np.array([row[:n].sum(0) for row, n in zip(rows, count, strict=True)])
    yield "usable", is_usable[:50].all() and not is_usable[50:].any()
    yield "count", np.array_equal(count, expected["count"])
    yield "points", np.allclose(sample, expected["sample"], rtol=0, atol=1e-11)
    yield "all points", np.allclose(sums, expected["sum"], rtol=0, atol=1e-8)
    yield "kerbs", np.array_equal(kerbs, expected["kerbs"])


def play(kind):
    """Return every state of the recorded episodes, without those arrays that do not change."""
    expected = record(kind)
    env = CarRacing(continuous=kind != "discrete")

    def episode(checkpoints, actions):
        first = env.start(lay_track(checkpoints)[0], jnp.array(DEFAULT_COLORS, float))

        def advance(state, action):
            action = action.astype(jnp.float32) / 64 if env.continuous else action
            following = env.transition(state, action, None)
            return following, (
                following.replace(track=None),
                env.reward(state, action, following),
                env.terminal(following),
            )

        _, steps = jax.lax.scan(advance, first, actions)
        return first, steps

    return env, expected, jax.jit(jax.vmap(episode))(expected["checkpoints"], expected["actions"])


def bodies(state):
    """Return centres, angles and velocities."""
    world = state.world
    columns = world.x, world.y, world.angle, world.velocity_x, world.velocity_y, world.angular_velocity
    return np.stack(columns, axis=-1)


def compare_episodes(kind):
    """Play the episodes of a kind, continuous or discrete."""
    _, expected, (first, (states, rewards, terminals)) = play(kind)
    every = expected["checksums"].shape[1] // expected["car"].shape[1]
    rows = bodies(states)
    sums = [[zlib.crc32(row.tobytes()) for row in episode] for episode in rows]
    differs = sums != expected["checksums"]
    for i in np.flatnonzero(differs.any(1)):
        yield f"episode {i}, first step {differs[i].argmax()}", False
    pattern = np.arange(MAX_TILES) % 3 == 0
    is_tile = np.arange(MAX_TILES) < np.asarray(first.track.count)[:, None, None]
    plain = ((np.asarray(states.is_plain) | pattern) & is_tile).sum(-1)
    yield "first bodies", np.array_equal(bodies(first), expected["first"])
    yield "bodies", np.array_equal(rows[:, every - 1 :: every], expected["car"])
    yield "first tiles", np.array_equal(first.num_visited, expected["first_count"])
    yield "tiles", np.array_equal(states.num_visited, expected["visited"])
    yield "wheels on the road", np.array_equal(states.on_road, expected["on_road"])
    yield "plain tiles", np.array_equal(plain, expected["plain"])
    yield "rewards", np.allclose(rewards, expected["rewards"], rtol=0, atol=1e-6)
    yield "terminals", np.array_equal(terminals, expected["terminated"])
    yield "spin", np.allclose(states.spin[:, -1], expected["omega"], rtol=0, atol=1e-10)
    yield "phase", np.allclose(states.turned[:, -1], expected["phase"], rtol=0, atol=1e-10)


def compare_pictures():
    """Draw the recorded states, and print the mean difference."""
    env, expected, (first, (states, _, _)) = play("pictures")
    wanted = expected["steps"][1:] - 1
    chosen = jax.tree.map(
        lambda start, later: jnp.concatenate([start[:, None], later[:, wanted]], axis=1),
        first.replace(track=None),
        states,
    )

    def draw(track, states):
        return jax.vmap(lambda state: env.observation(state.replace(track=track), None))(states)

    pictures = np.asarray(jax.jit(jax.vmap(draw))(first.track, chosen))
    difference = np.abs(pictures.astype(int) - expected["images"].astype(int))
    each = difference.mean((2, 3, 4))
    yield f"mean difference {difference.mean():.3f}", difference.mean() < 0.4
    yield f"greatest of a picture {each.max():.3f}", each.max() < 0.7
    yield f"road {difference[:, 6:, :84].mean():.3f}", difference[:, 6:, :84].mean() < 0.15  # after the zoom


def compare_colors():
    """Draw the road around the car in the recorded colours."""
    expected = record("colors")

    def draw(checkpoints, poses, colors, plain):
        track = lay_track(checkpoints)[0]
        hull, *wheels = (((x, y), (jnp.sin(angle), jnp.cos(angle))) for x, y, angle in poses)
        zero = jnp.zeros((), jnp.float32)
        nothing = Drive(zero, zero, jnp.zeros(4, jnp.float32), zero, zero)
        is_plain = jnp.zeros(MAX_TILES, bool).at[:10].set(plain != 0)
        return draw_picture(hull, wheels, jnp.zeros(4), track, is_plain, colors, jnp.int32(100), nothing)

    columns = (expected[name] for name in ("checkpoints", "poses", "colors", "plain"))
    pictures = np.asarray(jax.jit(jax.vmap(draw))(*columns))[:, :84].astype(int)
    difference = np.abs(pictures - expected["images"][:, :84])
    yield f"mean difference {difference.mean():.3f}", difference.mean() < 0.2
    yield f"median {np.median(difference)}", np.median(difference) == 0
    yield f"greatest of a picture {difference.mean((1, 2, 3)).max():.3f}", difference.mean((1, 2, 3)).max() < 0.3


if __name__ == "__main__":
    what = sys.argv[1]
    checks = {"tracks": compare_tracks, "pictures": compare_pictures, "colors": compare_colors}.get(
        what, lambda: compare_episodes(what)
    )
    for name, agrees in checks():
        print(name, "agrees" if agrees else "DIFFERS")
