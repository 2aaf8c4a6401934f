"""Writes the animations of the gallery, and the list of environments in the README.

    python docs/make_gallery.py            everything: assets/gallery/*.gif, assets/cartpole.gif, the list in README.md
    python docs/make_gallery.py Taxi-v4    the animation of one environment, and the list
    funcenv replay RUN --save agent.gif    an animation of an agent of your own

`funcenv.record` plays the episodes and `Replay.save` draws them from the scenes of the environment. An environment with
a transition table is played by its optimal policy, one with an agent in the zoo by that, some others by the heuristics
below, the rest by a random policy.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from environment_list import animated, animation_name, env_pages, family_of, specs_of  # a file of this folder

import funcenv
from funcenv.envs.toy_text.tabular import TabularEnv
from funcenv.replay import Replay
from funcenv.scene import Camera, Scene, Text, letters, palette
from funcenv.train import ppo
from funcenv.train.loop import Learner
from funcenv.train.presets import preset
from funcenv.train.runs.zoo import zoo_agents
from funcenv.wrappers import PolicyMemory

DOCS = pathlib.Path(__file__).resolve().parent
FOLDER = DOCS / "assets" / "gallery"
README = DOCS.parent / "README.md"
WIDTH = 320  # pixels
MAX_SECONDS = 8.0  # duration of an animation
FRAMES_PER_SECOND = 17.0  # approximately
MAX_BYTES = 700_000  # size of an animation [bytes]; a larger one is shortened
NUM_UPDATES_SHOWN = (0, 20, 195)  # updates of PPO after which the agent is shown; each has 1024 steps
LEARNING_STEPS, LEARNING_WIDTH = 250, 560  # steps of that animation, and its pixels
MAX_LISTED, NUM_EXAMPLES = 16, 3  # ids of a family in the list of the README, and those of a larger one
LIST_START, LIST_END = "<!-- environments -->\n", "<!-- /environments -->\n"  # around the list in the README


class Labelled(funcenv.Wrapper[Any, Any, Any]):
    """Adds a line of text to the scene of CartPole, and shows less of its sky and ground."""

    label: str = funcenv.field(pytree_node=False, default="")

    def scene(self, state: Any) -> Scene:
        """Return the scene with the text in its upper left corner."""
        scene = self.env.scene(self.inner(state))
        text = Text((-2.65, 1.72), letters(self.label), 0.15, palette.INK, anchor="left")
        return scene.replace(camera=Camera((0.0, 0.8), 5.6, 2.2), shapes=(*scene.shapes, text))


def balance(observation: jax.Array, key: jax.Array) -> jax.Array:
    """Return CartPole's push towards the side to which the pole and the cart lean."""
    x, x_dot, theta, theta_dot = observation
    return (0.05 * x + 0.15 * x_dot + theta + 0.3 * theta_dot > 0).astype(jnp.int32)


def rock(observation: jax.Array, key: jax.Array) -> jax.Array:
    """Return MountainCar's push in the direction of motion."""
    return jnp.where(observation[1] >= 0, jnp.int32(2), jnp.int32(0))


def rock_gently(observation: jax.Array, key: jax.Array) -> jax.Array:
    """Return a gentler push in the direction of motion, for MountainCarContinuous."""
    return jnp.where(observation[1:] >= 0, 0.7, -0.7)


def swing_up(observation: jax.Array, key: jax.Array) -> jax.Array:
    """Return the torque that pumps the Pendulum's energy up to that of the upright position, and holds it there."""
    cos, sin, speed = observation
    missing = 15.0 * (1 - cos) - 0.5 * speed**2
    held = -12.0 * jnp.arctan2(sin, cos) - 3.0 * speed
    return jnp.clip(jnp.where(cos > 0.9, held, jnp.sign(speed + 1e-3) * missing), -2.0, 2.0)[None]


def pump(observation: jax.Array, key: jax.Array) -> jax.Array:
    """Return the torque along the rotation of Acrobot's joint, which adds energy."""
    return jnp.where(observation[5] > 0, jnp.int32(2), jnp.int32(0))


def careful(observation: Any, key: jax.Array) -> jax.Array:
    """Return whether to draw another card in Blackjack: below 17."""
    return (observation[0] < 17).astype(jnp.int32)


def follow_ball(observation: jax.Array, key: jax.Array) -> jax.Array:
    """Return Pong's action that moves the paddle to the height of the ball."""
    court = observation[34:194]
    ball = (court == 236).all(-1)[:, 20:139].any(axis=1)
    paddle = (court[:, 141] == jnp.array([92, 186, 92], jnp.uint8)).all(-1)
    rows = jnp.arange(160)
    height, own = jnp.argmax(ball), jnp.sum(jnp.where(paddle, rows, 0)) // jnp.maximum(paddle.sum(), 1)
    return jnp.where(ball.any() & (jnp.abs(height - own) > 3), jnp.where(height < own, 2, 3), 0).astype(jnp.int32)


def meet_ball(observation: jax.Array, key: jax.Array) -> jax.Array:
    """Return the action of native Pong that turns the paddle to where the ball will cross its column."""
    x, y, dx, dy = observation[:4]
    arrives = jnp.maximum((188 - x) // jnp.maximum(dx, 1), 0)
    height = y + dy * arrives
    height = jnp.where(height < 46, 92 - height, jnp.where(height > 206, 412 - height, height))
    goal = jnp.where(dx > 0, height - 10, 120)
    aim = 38 + (observation[8] - 120) // 4
    return jnp.where(goal > aim + 11, 3, jnp.where(goal < aim - 11, 2, 0)).astype(jnp.int32)


def meet_falling_ball(observation: jax.Array, key: jax.Array) -> jax.Array:
    """Return the action of native Breakout that turns the paddle to where the ball will come down."""
    x, y, dx, dy, _, knob = observation[:6]
    landing = x + jnp.where((dy > 0) & (y < 1416), dx * (1416 - y) // jnp.maximum(dy, 1), 0)
    landing = jnp.where(landing > 1600, 3200 - landing, jnp.where(landing < 456, 912 - landing, landing)) // 8
    aim = 235 - (knob - 52) // 4 + 6
    turn = jnp.where(landing > aim + 11, 2, jnp.where(landing < aim - 11, 3, 0))
    return jnp.where(y < 8, 1, turn).astype(jnp.int32)


def chase_ball(observation: jax.Array, key: jax.Array) -> jax.Array:
    """Return MinAtar Breakout's action that moves the paddle under the next cell of the ball."""
    paddle, ball, trail = (jnp.argmax(observation[..., channel].any(axis=0)) for channel in range(3))
    ahead = 2 * ball - trail
    return jnp.where(ahead < paddle, 1, jnp.where(ahead > paddle, 2, 0)).astype(jnp.int32)


def rescue(observation: jax.Array, key: jax.Array) -> jax.Array:
    """Return MinAtar Seaquest's action: shoot at enemies ahead, fetch divers, and surface with one of them."""
    player, stern, enemies, divers = (
        observation[..., 0],
        observation[..., 1],
        observation[..., 5] | observation[..., 6],
        observation[..., 9],
    )
    row, column = jnp.argmax(player.any(axis=1)), jnp.argmax(player.any(axis=0))
    faces_right = jnp.argmax(stern.any(axis=0)) < column
    columns, rows = jnp.arange(10), jnp.arange(10)
    ahead = (enemies[row] & ((columns > column) == faces_right)).any()
    oxygen, crew = observation[9, :, 7].sum(), observation[9, :, 8].sum()
    diver_row, diver_column = jnp.argmax(divers.any(axis=1)), jnp.argmax(divers.any(axis=0))
    goal = jnp.where((crew > 0) & (oxygen < 5), 0, jnp.where(divers.any(), diver_row, jnp.maximum(row, 3)))
    ahead_of_time = jnp.clip(row + jnp.sign(goal - row), 0, 9)
    near = enemies[ahead_of_time] & (jnp.abs(columns - column) <= 1)
    upright = jnp.where((goal == row) | (near.any() & (rows[ahead_of_time] > 0)), 0, jnp.where(goal < row, 2, 4))
    sideways = jnp.where(diver_column < column, 1, 3)
    turn = jnp.where(faces_right, 1, 3)
    fetch = jnp.where((upright == 0) & divers.any() & (goal == row), sideways, upright)
    return jnp.where(ahead, 5, jnp.where(enemies[row].any(), turn, fetch)).astype(jnp.int32)


def cross(observation: jax.Array, key: jax.Array) -> jax.Array:
    """Return MinAtar Freeway's action up."""
    return jnp.int32(1)


def collect_own(observation: Any, key: jax.Array) -> Any:
    """Return the Coin Game's actions of players who go for coins of their own colour, and wander otherwise."""

    def act(planes: jax.Array, key: jax.Array) -> jax.Array:
        (row, column), (coin_row, coin_column) = (
            (jnp.argmax(plane.any(axis=1)), jnp.argmax(plane.any(axis=0))) for plane in (planes[0], planes[2])
        )
        sideways = jnp.where((coin_column - column) % 3 == 1, 1, 0)
        upright = jnp.where((coin_row - row) % 3 == 1, 3, 2)
        goal = jnp.where(coin_column == column, upright, sideways)
        return jnp.where(planes[2].any(), goal, jax.random.randint(key, (), 0, 4)).astype(jnp.int32)

    keys = dict(zip(observation, jax.random.split(key, len(observation)), strict=True))
    return {agent: act(planes, keys[agent]) for agent, planes in observation.items()}


def correct_bits(observation: Any, key: jax.Array) -> jax.Array:
    """Return the bit of Bit Flip that is the first to differ from the goal."""
    return jnp.argmax(observation["achieved_goal"] != observation["desired_goal"]).astype(jnp.int32)


def reach_goal(observation: Any, key: jax.Array) -> jax.Array:
    """Return the accelerations of Goal Reacher that draw the tip to the goal, by the inverse of the Jacobian."""
    cos, sin, _, _, *speeds = observation["observation"]
    tip, way = observation["achieved_goal"], observation["desired_goal"] - observation["achieved_goal"]
    arms = jnp.stack([tip, tip - 0.5 * jnp.stack([cos, sin])])  # from each joint to the tip
    jacobian = jnp.stack([-arms[:, 1], arms[:, 0]])
    turns = jacobian.T @ jnp.linalg.solve(jacobian @ jacobian.T + 0.01 * jnp.eye(2), way)  # damped where it is singular
    return jnp.clip(4 * turns - jnp.stack(speeds), -1.0, 1.0)


RULES: dict[str, Callable[[Any, jax.Array], Any]] = {
    "CartPole": balance,
    "MountainCar": rock,
    "MountainCarContinuous": rock_gently,
    "Pendulum": swing_up,
    "Acrobot": pump,
    "Blackjack": careful,
    "Atari": follow_ball,
    "Pong": meet_ball,
    "AtariBreakout": meet_falling_ball,
    "Breakout": chase_ball,
    "Freeway": cross,
    "Seaquest": rescue,
    "CoinGame": collect_own,
    "BitFlip": correct_bits,
    "GoalReacher": reach_goal,
}


def policy_for(env: funcenv.FuncEnv[Any, Any, Any], env_id: str) -> Callable[[Any, jax.Array], Any]:
    """Return the policy that plays an environment in its animation, given its id."""
    inner = env.unwrapped
    if isinstance(inner, TabularEnv):
        table = inner.P
        values = jnp.zeros(inner.observation_space.n)
        for _ in range(500):
            values = table.action_values(values, 0.99).max(axis=1)
        best = table.action_values(values, 0.99).argmax(axis=1).astype(jnp.int32)
        return lambda observation, key: best[observation]
    if env_id in zoo_agents():
        return funcenv.load_policy(f"zoo/{env_id}")
    if hasattr(inner, "heuristic"):
        return inner.heuristic
    return RULES.get(type(inner).__name__, funcenv.random_policy(env))


def animate(env_id: str) -> pathlib.Path:
    """Write the animation of an environment; short episodes follow each other."""
    env = funcenv.make(env_id)
    if hasattr(env.unwrapped, "heuristic_memory") and env_id not in zoo_agents():
        env = PolicyMemory(env, env.unwrapped.heuristic_memory)
    seconds, replays = 0.0, []
    while seconds < MAX_SECONDS / 2:
        key = funcenv.key(len(replays))
        replays.append(funcenv.record(env, policy_for(env, env_id), key, max_steps=int(MAX_SECONDS * env.render_fps)))
        seconds += (replays[-1].num_steps + 1) / replays[-1].fps
    path, replay = FOLDER / animation_name(env_id), join_episodes(replays)
    every = max(1, round(env.render_fps / FRAMES_PER_SECOND))
    replay.save(path, width=WIDTH, every=every)
    if (size := path.stat().st_size) > MAX_BYTES:
        replay.clip(stop=int(replay.num_steps * MAX_BYTES / size)).save(path, width=WIDTH, every=every)
    return path


def join_episodes(replays: list[Replay]) -> Replay:
    """Join episodes into one, and hold the end of each for half a second."""
    scenes = []
    for replay in replays:
        (episode,) = replay.episodes
        steps = [*range(episode.num_steps + 1), *[episode.num_steps] * max(1, int(replay.fps / 2))]
        scenes += [jax.tree.map(lambda leaf, step=step: leaf[step], episode.scenes) for step in steps]
    return Replay.from_scenes(scenes, fps=replays[0].fps)


def animate_learning(path: pathlib.Path) -> None:
    """Write an animation of CartPole played by an agent before, during and after training, one below the other."""
    learner = Learner(ppo, preset("CartPole-v1"))
    state, rows = learner.init(funcenv.key(1)), []
    for num_updates in NUM_UPDATES_SHOWN:
        state, _ = learner.advance_to(state, num_updates)
        steps = learner.num_updates_done(state) * learner.config.batch_size
        policy = learner.agent(state)
        mean = funcenv.evaluate(learner.env, policy, 100, funcenv.key(8)).mean_return
        label = f"{f'after {steps:,} steps' if steps else 'untrained'}: balances {mean:.0f} of 500"
        env, played = Labelled(learner.env, label=label), []
        while sum(replay.num_steps + 1 for replay in played) < LEARNING_STEPS:
            played.append(funcenv.record(env, policy, funcenv.key(len(played)), max_steps=LEARNING_STEPS))
        rows.append(join_episodes(played))
    Replay.together(*rows).clip(stop=LEARNING_STEPS).save(path, width=LEARNING_WIDTH, every=3, columns=1)


def env_ids(package: str = "funcenv.envs") -> list[str]:
    """Return the ids that a package has registered and that can be drawn."""
    return [spec.id for spec in specs_of(package) if funcenv.replay.can_draw(spec.make())]


def animated_ids() -> list[str]:
    """Return the ids that have an animation."""
    drawn = set(env_ids())
    return [spec.id for page in env_pages() for spec in animated(page) if spec.id in drawn]


def readme_list(ids: list[str]) -> str:
    """Return the list of environments in the README, one line for each family, of which a large one is shortened."""
    families: dict[str, list[str]] = {}
    for env_id in ids:
        families.setdefault(family_of(funcenv.spec(env_id)), []).append(f"`{env_id}`")
    return "".join(f"- **{family}:** {_listed(of_family)}\n" for family, of_family in families.items())


def _listed(ids: list[str]) -> str:
    if len(ids) <= MAX_LISTED:
        return ", ".join(ids)
    return f"{len(ids)} ids such as {', '.join(ids[:NUM_EXAMPLES])}; `funcenv list` prints all"


def replace_list(readme: str, ids: list[str]) -> str:
    """Return the text of the README with its list of environments brought up to date."""
    before, _, rest = readme.partition(LIST_START)
    _, _, after = rest.partition(LIST_END)
    return f"{before}{LIST_START}\n{readme_list(ids)}\n{LIST_END}{after}"


def main(chosen: list[str]) -> None:
    """Write everything, or the chosen animations and the list."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for env_id in chosen or animated_ids():
        path = animate(env_id)
        print(f"{path.relative_to(DOCS)}: {path.stat().st_size / 1000:.0f} kB")
    if not chosen:
        animate_learning(DOCS / "assets" / "cartpole.gif")
    README.write_text(replace_list(README.read_text(), env_ids()))


if __name__ == "__main__":
    main(sys.argv[1:])
