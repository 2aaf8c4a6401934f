"""Record games of the package `minatar` 1.0.15 for the tests, into minatar.npz.

    pip install minatar==1.0.15
    python tests/reference/make_minatar.py [GAME ...]

For each game, some thousand steps, from states that occur and from states with changed counters: the state before the
step, the action, what was drawn, the state after it, the reward and the observation. The names of the arrays are those
of the fields of `funcenv.envs.arcade`. And the mean return of a random player, with its standard error. `minatar` is
under the GPL-3.0; only numbers that it computed are stored.
"""

import importlib
import logging
import pathlib
import sys
from importlib import metadata

import numpy as np
from minatar import Environment

VERSION, NUM_STEPS, SEED = "1.0.15", 2500, 0
NUM_EPISODES = {
    "asterix": 10_000,
    "breakout": 10_000,
    "space_invaders": 10_000,
    "seaquest": 10_000,
    "freeway": 50,
}  # which are long
FILE = pathlib.Path(__file__).parent / "minatar.npz"


def freeway(env):
    cars = np.array(env.cars)
    return {
        "row": env.pos,
        "wait": env.move_timer,
        "time_left": env.terminate_timer,
        "car_column": cars[:, 0],
        "car_wait": cars[:, 2],
        "car_speed": cars[:, 3],
        "over": env.terminal,
    }


def asterix(env):
    things = [thing or (0, 0, False, False) for thing in env.entities]
    return {
        "row": env.player_y,
        "column": env.player_x,
        "present": np.array([thing is not None for thing in env.entities]),
        "thing_column": np.array([thing[0] for thing in things]),
        "to_right": np.array([bool(thing[2]) for thing in things]),
        "is_gold": np.array([bool(thing[3]) for thing in things]),
        "spawn_interval": env.spawn_speed,
        "spawn_wait": env.spawn_timer,
        "move_interval": env.move_speed,
        "move_wait": env.move_timer,
        "ramp_wait": env.ramp_timer,
        "ramp_index": env.ramp_index,
        "over": env.terminal,
    }


def space_invaders(env):
    return {
        "column": env.pos,
        "bullets": env.f_bullet_map > 0,
        "alien_bullets": env.e_bullet_map > 0,
        "aliens": env.alien_map > 0,
        "to_right": env.alien_dir > 0,
        "move_interval": env.enemy_move_interval,
        "move_wait": env.alien_move_timer,
        "alien_shot_wait": env.alien_shot_timer,
        "shot_wait": env.shot_timer,
        "ramp_index": env.ramp_index,
        "over": env.terminal,
    }


def breakout(env):
    return {
        "paddle": env.pos,
        "ball_column": env.ball_x,
        "ball_row": env.ball_y,
        "right": 1 if env.ball_dir in (1, 2) else -1,
        "down": 1 if env.ball_dir in (2, 3) else -1,
        "trail_column": env.last_x,
        "trail_row": env.last_y,
        "bricks": env.brick_map > 0,
        "in_bricks": env.strike,
        "over": env.terminal,
    }


def newest_first(name, things, fields, size):
    """Return the fields of a list of things as arrays, padded with zeros."""
    rows = np.zeros((size, len(fields)), int)
    rows[: len(things)] = np.array(things[::-1], int).reshape(-1, len(fields))
    arrays = {f"{name}_{field}": rows[:, number] for number, field in enumerate(fields)}
    return arrays | {f"{name}_present": np.arange(size) < len(things)}


def seaquest(env):
    enemies = [[*fish, 0, False] for fish in env.e_fish] + [[*submarine, True] for submarine in env.e_subs]
    bullets = np.zeros((2, 10, 10), bool)
    for column, row, right in env.e_bullets:
        bullets[int(right), row, column] = True
    moving = "column", "row", "right", "wait"
    return {
        "column": env.sub_x,
        "row": env.sub_y,
        "faces_right": env.sub_or,
        "oxygen": env.oxygen,
        "divers_on_board": env.diver_count,
        "surfaced": env.surface,
        "left_bullets": bullets[0],
        "right_bullets": bullets[1],
        "shot_wait": env.shot_timer,
        "spawn_interval": env.e_spawn_speed,
        "spawn_wait": env.e_spawn_timer,
        "diver_spawn_wait": env.d_spawn_timer,
        "move_wait": env.move_speed,
        "ramp_index": env.ramp_index,
        "over": env.terminal,
        **newest_first("enemy", enemies, (*moving, "shot_wait", "is_submarine"), 32),
        **newest_first("diver", env.divers, moving, 2),
        **newest_first("bullet", env.f_bullets, moving[:3], 2),
    }


def change(name, env, rng):
    """Change counters, so that the game is nearer to what is rare."""
    if name == "freeway":
        env.terminate_timer, env.pos = int(rng.integers(3, 60)), int(rng.integers(1, 10))
    elif name == "asterix":
        env.spawn_speed, env.move_speed = int(rng.integers(1, 11)), int(rng.integers(1, 6))
        env.ramp_timer, env.ramp_index = int(rng.integers(0, 5)), int(rng.integers(0, 9))
    elif name == "space_invaders":
        env.alien_map *= rng.random((10, 10)) < rng.choice([0.0, 0.3, 1.0])
        env.alien_map[0, 4] = 1
        env.alien_map = np.roll(env.alien_map, rng.integers(7), 0)
        env.alien_dir, env.enemy_move_interval = int(rng.choice([-1, 1])), int(rng.integers(6, 13))
        env.alien_move_timer, env.alien_shot_timer = int(rng.integers(0, 13)), int(rng.integers(0, 11))
    elif name == "seaquest":
        env.sub_y, env.diver_count = int(rng.integers(9)), int(rng.integers(-1, 7))
        env.e_spawn_speed, env.move_speed = int(rng.integers(1, 21)), int(rng.integers(2, 6))
        env.oxygen, env.ramp_index = int(rng.choice([3, 60, 130, 200])), int(rng.integers(0, 9))
    else:
        env.brick_map *= rng.random((10, 10)) < rng.choice([0.0, 0.3, 1.0])


def choose(name, env, rng):
    """Return an action of a player who lasts for a while."""
    if name == "breakout" and rng.random() < 0.85:
        ahead = env.ball_x + (1 if env.ball_dir in (1, 2) else -1)
        return 1 if env.pos > ahead else 3 if env.pos < ahead else 0
    if name == "freeway" and rng.random() < 0.85:
        return 2
    if name == "seaquest":  # among the enemies, and up for air
        hurry = 2 if env.diver_count != 0 and env.sub_y > 0 and env.oxygen < 100 else int(rng.integers(6))
        return hurry if rng.random() < 0.6 else int(rng.choice([1, 3, 5]))
    return int(rng.integers(6))


class Draws:
    """The random numbers of a game, which are written down."""

    def __init__(self, rng):
        self.rng, self.drawn = rng, []

    def _draw(self, name, *args, **kwargs):
        drawn = getattr(self.rng, name)(*args, **kwargs)
        self.drawn.append(drawn)
        return drawn

    def rand(self, *args):
        return self._draw("rand", *args)

    def randint(self, *args, **kwargs):
        return self._draw("randint", *args, **kwargs)

    def choice(self, *args):
        return self._draw("choice", *args)


def record(name, read):
    """Return the arrays of a game, by name."""
    env = importlib.import_module(f"minatar.environments.{name}").Env(ramping=True)
    rng, env.random = np.random.default_rng(SEED), Draws(np.random.RandomState(SEED))
    rows, must_reset = [], True
    for step in range(NUM_STEPS):
        if must_reset or step % 250 == 0:
            env.reset()
            if rng.random() < 0.5:
                change(name, env, rng)
        before, action = read(env), choose(name, env, rng)
        env.random.drawn.clear()
        reward, must_reset = env.act(action)
        after = read(env)
        row = {"action": action, "reward": reward, "observation": env.state()}
        row |= {f"before/{key}": value for key, value in before.items()}
        row |= {f"after/{key}": value for key, value in after.items()}
        if name == "asterix":  # direction, kind and lane of what appears
            direction, kind, lane = (
                env.random.drawn if len(env.random.drawn) == 3 else (1.0, 1.0, 0)
            )  # the lanes may be full
            row |= {"lane": lane, "new_to_right": direction < 0.5, "new_is_gold": kind < 1 / 3}
        if name == "seaquest":  # direction, kind and row of an enemy; direction and row of a diver
            drawn = list(env.random.drawn)
            enemy = [drawn.pop(0) for _ in range(3)] if before["spawn_wait"] == 0 else (1.0, 1.0, 1)
            diver = drawn or (1.0, 1)
            row |= {"enemy_right": enemy[0] < 0.5, "is_submarine": enemy[1] < 1 / 3, "enemy_row": enemy[2]}
            row |= {"diver_right": diver[0] < 0.5, "diver_row": diver[1]}
        rows.append(row)
    arrays = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
    return {
        f"{name}/{key}": array.astype(array.dtype if array.dtype == bool else np.int16) for key, array in arrays.items()
    }


def random_return(name, num_episodes):
    """Return the mean return of a random player with sticky actions, and its standard error."""
    env = Environment(name, sticky_action_prob=0.1)
    env.seed(SEED)
    rng, actions, returns = np.random.default_rng(SEED), env.minimal_action_set(), []
    for _ in range(num_episodes):
        env.reset()
        total, over = 0, False
        while not over:
            reward, over = env.act(actions[rng.integers(len(actions))])
            total += reward
        returns.append(total)
    return {f"{name}/random_return": np.array([np.mean(returns), np.std(returns) / num_episodes**0.5])}


def main():
    assert metadata.version("minatar") == VERSION
    logging.disable(logging.WARNING)  # of drawing libraries that are not needed
    games = {
        "freeway": freeway,
        "asterix": asterix,
        "space_invaders": space_invaders,
        "breakout": breakout,
        "seaquest": seaquest,
    }
    names = sys.argv[1:] or list(games)
    arrays = dict(np.load(FILE)) if sys.argv[1:] else {}  # the other games stay as they are
    for name in names:
        arrays |= record(name, games[name]) | random_return(name, NUM_EPISODES[name])
    np.savez_compressed(FILE, **arrays)


if __name__ == "__main__":
    main()
