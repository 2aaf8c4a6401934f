"""Writes `docs/gallery.md`, with a film of every registered environment, and the film that the README shows.

    python docs/make_gallery.py            all of it: gallery.md, assets/gallery/*.gif, assets/cartpole.gif
    python docs/make_gallery.py Taxi-v4    one environment's film anew
    funcenv replay RUN --save agent.gif    a film of an agent of your own

Everything is drawn by `funcenv.record` and `Replay.save` from the environments' scenes. What acts is a rule of thumb
that does the task more or less, or, where an environment has a table of its dynamics, the best there is; an
environment that has neither here acts at random.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import funcenv
from funcenv.envs.toy_text.tabular import TabularEnv
from funcenv.registry import load_entry_points
from funcenv.replay import Replay
from funcenv.scene import Scene, Text, letters, palette
from funcenv.train import ppo
from funcenv.train.loop import Learner
from funcenv.train.presets import preset

DOCS = pathlib.Path(__file__).resolve().parent
FOLDER = DOCS / "assets" / "gallery"
WIDTH = 320
SECONDS = 8.0  # of a film, at most
FPS = 17.0  # pictures a second, about
TRAINED_FOR = (0, 20, 195)  # updates of PPO, of 1024 steps each


class Labelled(funcenv.Wrapper[Any, Any, Any]):
    """An environment with a line of text in its picture."""

    label: str = funcenv.field(pytree_node=False, default="")

    def scene(self, state: Any) -> Scene:
        """The picture, and the text at the top."""
        scene = self.env.scene(self.inner(state))
        camera = scene.camera
        place = camera.center[0], camera.center[1] + 0.42 * camera.height
        text = Text(place, letters(self.label), 0.055 * camera.height, palette.INK)
        return scene.replace(shapes=(*scene.shapes, text))


def balance(observation: jax.Array, key: jax.Array) -> jax.Array:
    """CartPole: push to the side to which everything leans."""
    x, x_dot, theta, theta_dot = observation
    return (0.05 * x + 0.15 * x_dot + theta + 0.3 * theta_dot > 0).astype(jnp.int32)


def rock(observation: jax.Array, key: jax.Array) -> jax.Array:
    """MountainCar: push the way it moves."""
    return jnp.where(observation[1] >= 0, jnp.int32(2), jnp.int32(0))


def rock_gently(observation: jax.Array, key: jax.Array) -> jax.Array:
    """MountainCarContinuous: the same, with less force."""
    return jnp.where(observation[1:] >= 0, 0.7, -0.7)


def swing_up(observation: jax.Array, key: jax.Array) -> jax.Array:
    """Pendulum: bring its energy to that of standing upright, and hold it there."""
    cos, sin, speed = observation
    missing = 15.0 * (1 - cos) - 0.5 * speed**2
    held = -12.0 * jnp.arctan2(sin, cos) - 3.0 * speed
    return jnp.clip(jnp.where(cos > 0.9, held, jnp.sign(speed + 1e-3) * missing), -2.0, 2.0)[None]


def pump(observation: jax.Array, key: jax.Array) -> jax.Array:
    """Acrobot: torque along the turning of the joint, which adds energy."""
    return jnp.where(observation[5] > 0, jnp.int32(2), jnp.int32(0))


def careful(observation: Any, key: jax.Array) -> jax.Array:
    """Blackjack: another card below 17."""
    return (observation[0] < 17).astype(jnp.int32)


RULES: dict[str, Callable[[Any, jax.Array], Any]] = {
    "CartPole": balance,
    "MountainCar": rock,
    "MountainCarContinuous": rock_gently,
    "Pendulum": swing_up,
    "Acrobot": pump,
    "Blackjack": careful,
}


def policy_for(env: funcenv.FuncEnv[Any, Any, Any]) -> Callable[[Any, jax.Array], Any]:
    """What acts in an environment."""
    inner = env.unwrapped
    if isinstance(inner, TabularEnv):
        table = inner.P
        values = jnp.zeros(inner.observation_space.n)
        for _ in range(500):
            values = table.action_values(values, 0.99).max(axis=1)
        best = table.action_values(values, 0.99).argmax(axis=1).astype(jnp.int32)
        return lambda observation, key: best[observation]
    return RULES.get(type(inner).__name__, funcenv.random_policy(env))


def film(env_id: str) -> pathlib.Path:
    """Write the film of an environment; a short episode is followed by others."""
    env = funcenv.make(env_id)
    seconds, episodes = 0.0, []
    while seconds < SECONDS / 2:
        replay = funcenv.record(
            env, policy_for(env), funcenv.key(len(episodes)), max_steps=int(SECONDS * env.render_fps)
        )
        episodes.append(replay)
        seconds += (replay.num_steps + 1) / replay.fps
    path = FOLDER / f"{env_id.replace('/', '-')}.gif"
    one_after_another(episodes).save(path, width=WIDTH, every=max(1, round(env.render_fps / FPS)))
    return path


def one_after_another(replays: list[Replay]) -> Replay:
    """The episodes as if they were one, each end held for half a second."""
    scenes = []
    for replay in replays:
        (episode,) = replay.episodes
        steps = [*range(episode.num_steps + 1), *[episode.num_steps] * max(1, int(replay.fps / 2))]
        scenes += [jax.tree.map(lambda leaf, step=step: leaf[step], episode.scenes) for step in steps]
    return Replay.from_scenes(scenes, fps=replays[0].fps)


def learning(path: pathlib.Path) -> None:
    """CartPole by an agent before, while and after it learns, in one row."""
    learner = Learner(ppo, preset("CartPole-v1"))
    state, replays = learner.init(funcenv.key(1)), []
    for updates in TRAINED_FOR:
        while learner.num_updates_done(state) < updates:
            state, _ = learner.advance(state, updates - learner.num_updates_done(state))
        steps = learner.num_updates_done(state) * learner.config.batch_size
        env = Labelled(learner.env, label=f"after {steps:,} steps" if steps else "untrained")
        replays.append(funcenv.record(env, learner.agent(state), funcenv.key(7), title=f"{steps:,} steps"))
    Replay.together(*replays).clip(stop=250).save(path, width=288, every=3, columns=len(replays))


def page(env_ids: list[str]) -> str:
    """The gallery, as Markdown: three environments in a row."""
    cells = []
    for env_id in env_ids:
        module = sys.modules[type(funcenv.make(env_id).unwrapped).__module__]
        summary = (module.__doc__ or "").split("\n\n")[0]
        picture = f'<img src="assets/gallery/{env_id.replace("/", "-")}.gif" alt="{env_id}" width="{WIDTH}">'
        cells.append(f'<td align="center" valign="top" width="33%">{picture}<br><b>{env_id}</b><br>{summary}</td>')
    rows = [f"<tr>{''.join(cells[start : start + 3])}</tr>" for start in range(0, len(cells), 3)]
    return f"# Gallery\n\n{INTRODUCTION}\n\n<table>\n" + "\n".join(rows) + "\n</table>\n"


INTRODUCTION = """\
Every registered environment, drawn by its own `scene(state)`. The pictures are made by `python docs/make_gallery.py`.
A page that plays episodes with their rewards and actions is one line:

```python
import funcenv

env = funcenv.make("CartPole-v1")
funcenv.record(env, funcenv.random_policy(env), funcenv.key(0), num_episodes=4, save="episodes.html")
```

A film is the same with `.gif`, `.webp` or `.mp4`; `funcenv replay RUN` shows a trained agent."""


def main(chosen: list[str]) -> None:
    """Write everything, or some of the films."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    load_entry_points()
    env_ids = [id for id in funcenv.registry if funcenv.replay.can_draw(funcenv.make(id))]
    for env_id in chosen or env_ids:
        path = film(env_id)
        print(f"{path.relative_to(DOCS)}: {path.stat().st_size / 1000:.0f} kB")
    if not chosen:
        learning(DOCS / "assets" / "cartpole.gif")
        (DOCS / "gallery.md").write_text(page(env_ids))
        for name in ("gallery", "cartpole.gif"):
            paths = (DOCS / "assets").glob(f"{name}/*" if name == "gallery" else name)
            print(f"{name}: {sum(path.stat().st_size for path in paths) / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
