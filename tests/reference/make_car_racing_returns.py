"""Write car_racing_returns.npz: 100 episodes of a simple driver in Gymnasium's CarRacing, and the tracks he drove on.

The driver knows the track, and nothing is drawn. He is too fast for some corners, so that episodes differ. The
same tracks are also driven on with the iterations of `fidelity="fast"`. Run it in a virtual environment of its own,
after pip install "gymnasium[box2d]==1.4.0" "box2d==2.3.10" "pygame==2.6.1".
"""

import math
import os
import pathlib

os.environ["SDL_VIDEODRIVER"] = "dummy"

import Box2D
import gymnasium
import numpy as np
from gymnasium.envs.box2d.car_racing import CarRacing
from make_car_racing import attempts

EPISODES = 100


class FastWorld(Box2D.b2World):
    """A world with 20 and 10 iterations."""

    def Step(self, dt, velocity_iterations, position_iterations):
        super().Step(dt, 20, 10)


def drive(env, points):
    """Return steering, gas and brake towards a point five tiles ahead, as in benchmarks/studies/box2d.py."""
    hull = env.car.hull
    nearest = np.argmin(((points - hull.worldCenter) ** 2).sum(1))
    ahead = points[(nearest + 5) % len(points)] - hull.worldCenter
    turn = 1.5 * math.sin(math.atan2(ahead[1], ahead[0]) - math.pi / 2 - hull.angle)
    speed = math.hypot(*hull.linearVelocity)
    return np.array([-turn, 0.6 * (speed < 70 - 30 * abs(turn)), 0.4 * (speed > 70)], np.float32)


def play(seed):
    """Return the checkpoints, the return, the number of steps, of tiles and of tiles visited of an episode."""
    env = gymnasium.make("CarRacing-v3")
    checkpoints = attempts(env.unwrapped, seed)[-1]
    env.reset(seed=seed)
    points = np.array([point[2:] for point in env.unwrapped.track])
    total, steps, is_over = 0.0, 0, False
    while not is_over:
        _, reward, terminated, truncated, _ = env.step(drive(env.unwrapped, points))
        total, steps, is_over = total + reward, steps + 1, terminated or truncated
    return checkpoints, total, steps, len(points), env.unwrapped.tile_visited_count


def columns():
    """Return what `play` returns of all episodes."""
    rows = zip(*(play(seed) for seed in range(EPISODES)), strict=True)
    return dict(zip(("checkpoints", "returns", "lengths", "tiles", "visited"), map(np.array, rows), strict=True))


if __name__ == "__main__":
    CarRacing._render = lambda self, mode: np.zeros((96, 96, 3), np.uint8)
    played = {"exact": columns()}
    Box2D.b2World = FastWorld
    played["fast"] = columns()
    arrays = {f"{fidelity}/{name}": column for fidelity, found in played.items() for name, column in found.items()}
    del arrays["fast/checkpoints"]
    np.savez_compressed(pathlib.Path(__file__).with_name("car_racing_returns.npz"), **arrays)
