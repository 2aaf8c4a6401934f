"""Write car_racing.npz: tracks, episodes and pictures of Gymnasium's CarRacing.

Run it in an environment of its own, after pip install "gymnasium[box2d]==1.4.0" "box2d==2.3.10" "pygame==2.6.1".

Whole episodes would take megabytes. So of each step the 30 floats of the car are stored as a checksum, and every 25th
step in full.
"""

import math
import os
import pathlib
import zlib

os.environ["SDL_VIDEODRIVER"] = "dummy"

import gymnasium
import numpy as np
from gymnasium.envs.box2d.car_racing import PLAYFIELD, TRACK_RAD

STEPS, EVERY = 300, 25
CHECKPOINTS = 12
POLICIES = ("drive", "random", "throttle", "stops", "fast")  # each plays four episodes
PICTURES = (0, 1, 2, 5, 10, 20, 30, 40, 60, 90, 120, 150, 180, 220, 260, 299)  # steps of two episodes
NUM_TRACKS = 50


def car(env):
    """Return centre, angle and velocities of the hull and the wheels, float32 `[5, 6]`."""
    bodies = [env.car.hull, *env.car.wheels]
    rows = [[*body.worldCenter, body.angle, *body.linearVelocity, body.angularVelocity] for body in bodies]
    return np.array(rows, np.float32)


def choose(env, policy, step, rng):
    """Return an action in steps of 1/64: steering, gas, brake."""
    hull = env.car.hull
    if policy in ("drive", "fast"):
        points = np.array([point[2:] for point in env.track])
        nearest = np.argmin(((points - hull.worldCenter) ** 2).sum(1))
        ahead = points[(nearest + 5) % len(points)] - hull.worldCenter
        heading = math.atan2(ahead[1], ahead[0]) - math.pi / 2 - hull.angle
        turn = math.sin(heading) * 1.5
        speed = math.hypot(*hull.linearVelocity)
        most = 80 if policy == "fast" else 40
        action = -turn, 0.6 if speed < most - 30 * abs(turn) else 0.0, 0.4 if speed > most else 0.0
    elif policy == "random":
        if step % 8 == 0:
            env.held = rng.uniform(-1, 1), rng.uniform(0, 1), rng.uniform(0, 1) * (rng.uniform() < 0.25)
        action = env.held
    elif policy == "throttle":
        action = math.sin(step / 15) * (step > 60), 1.0, 0.0
    else:  # rests until it sleeps, goes, blocks its wheels
        phase = step % 150
        action = 0.3 * math.sin(step), 0.8 * (40 <= phase < 90), (0.5 if phase < 105 else 1.0) * (phase >= 90)
    return np.round(np.clip(action, [-1, 0, 0], [1, 1, 1]) * 64).astype(np.int8)


def draws_of(seed):
    """Return the noise and radius of the checkpoints of each attempt, as Gymnasium draws them."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    while True:
        pairs = [
            (rng.uniform(0, 2 * math.pi * 1 / CHECKPOINTS), rng.uniform(TRACK_RAD / 3, TRACK_RAD))
            for _ in range(CHECKPOINTS)
        ]
        yield np.array(pairs)


def attempts(env, seed):
    """Reset, and return the checkpoints of all attempts and of the one that gave the track."""
    env.attempts = 0
    create = type(env)._create_track

    def counted():
        env.attempts += 1
        return create(env)

    env._create_track = counted
    env.reset(seed=seed)
    generator = draws_of(seed)
    return np.array([next(generator) for _ in range(env.attempts)])


def kerbs(env):
    """Return on which side of each tile a kerb is: -1, 0 for none, 1."""
    sides, tile = np.zeros(len(env.track), np.int8), -1
    for corners, color in env.road_poly:
        if len(color) == 3 and not isinstance(color, tuple):
            tile += 1
            continue
        x, y = env.track[tile][2:]
        beta = env.track[tile][1]
        sides[tile] = np.sign((corners[0][0] - x) * math.cos(beta) + (corners[0][1] - y) * math.sin(beta))
    return sides


def record_tracks():
    env = gymnasium.make("CarRacing-v3").unwrapped
    rejected, accepted, tracks, sides, counts = [], [], [], [], []
    for seed in range(NUM_TRACKS):
        tries = attempts(env, seed)
        rejected.extend(tries[:-1])
        accepted.append(tries[-1])
        tracks.append(np.array([point[1:] for point in env.track]))
        sides.append(kerbs(env))
        counts.append(len(env.track))
    return {
        "tracks/rejected": np.array(rejected),
        "tracks/checkpoints": np.array(accepted),
        "tracks/count": np.array(counts),
        "tracks/sample": np.concatenate([track[::10] for track in tracks]),  # every tenth point: angle, x, y
        "tracks/sum": np.array([track.sum(0) for track in tracks]),
        "tracks/kerbs": np.concatenate(sides),
    }


def record_episode(policy, seed, continuous=True, pictures=()):
    env = gymnasium.make("CarRacing-v3", continuous=continuous).unwrapped
    checkpoints = attempts(env, seed)[-1]
    rng = np.random.default_rng(seed)
    out = {"checkpoints": checkpoints, "first": car(env), "first_count": env.tile_visited_count}
    images, rows = [env.state] if pictures else [], []
    for step in range(STEPS):
        if continuous:
            stored = choose(env, policy, step, rng)
            action = stored.astype(np.float32) / 64
        else:
            stored = action = np.int64(rng.choice([0, 1, 2, 3, 3, 3, 4]) if step % 5 == 0 else action)
        before = env.reward
        image, reward, terminated, _, _ = env.step(action)
        del before
        on_road = [bool(wheel.tiles) for wheel in env.car.wheels]
        plain = sum(not np.any(tile.color != env.road_color) for tile in env.road)
        rows.append((stored, car(env), reward, terminated, env.tile_visited_count, on_road, plain))
        if step + 1 in pictures:
            images.append(image)
    names = "actions", "car", "rewards", "terminated", "visited", "on_road", "plain"
    out.update({name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})
    cars = out.pop("car")
    out["checksums"] = np.array([zlib.crc32(row.tobytes()) for row in cars], np.uint32)
    out["car"] = cars[EVERY - 1 :: EVERY]
    out["omega"] = np.array([wheel.omega for wheel in env.car.wheels])
    out["phase"] = np.array([wheel.phase for wheel in env.car.wheels])
    if pictures:
        out["images"] = np.array(images)
    return out


def record_colors(seed):
    """Return a picture in random colours of the car at rest, after the first second, and where everything is."""
    env = gymnasium.make("CarRacing-v3").unwrapped
    colors = np.random.default_rng(seed).uniform(0, 210, (3, 3))
    env.road_color, env.bg_color, env.grass_color = colors
    out = {"checkpoints": attempts(env, seed)[-1], "colors": colors}
    for _ in range(20):
        env.step(np.zeros(3, np.float32))
    env.t = 2.0
    bodies = [env.car.hull, *env.car.wheels]
    out["poses"] = np.array([[*body.position, body.angle] for body in bodies], np.float32)
    out["plain"] = np.array([not np.any(tile.color != env.road_color) for tile in env.road[:10]])
    return {**out, "images": env._render("state_pixels")}


def stacked(prefix, episodes):
    kinds = {"rewards": np.float32, "visited": np.int16, "plain": np.int16, "actions": np.int8}
    return {
        f"{prefix}/{name}": np.array([episode[name] for episode in episodes]).astype(
            kinds.get(name, np.asarray(episodes[0][name]).dtype)
        )
        for name in episodes[0]
    }


if __name__ == "__main__":
    assert PLAYFIELD > 333
    arrays = record_tracks()
    episodes = [record_episode(policy, 10 * i + j) for i, policy in enumerate(POLICIES) for j in range(4)]
    arrays |= stacked("continuous", episodes)
    arrays |= stacked("discrete", [record_episode("", seed, continuous=False) for seed in (60, 61)])
    drawn = [record_episode(policy, seed, pictures=PICTURES) for policy, seed in (("fast", 70), ("random", 71))]
    arrays |= stacked("pictures", drawn)
    arrays |= stacked("colors", [record_colors(seed) for seed in range(80, 84)])
    arrays["pictures/steps"] = np.array(PICTURES)
    np.savez_compressed(pathlib.Path(__file__).with_name("car_racing.npz"), **arrays)
