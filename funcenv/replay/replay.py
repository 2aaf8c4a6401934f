"""What was played: episodes as values, and the ways to look at them."""

from __future__ import annotations

import dataclasses
import html
import os
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from funcenv.checks import require_positive, require_size
from funcenv.func_env import FuncEnv
from funcenv.replay import frames, video
from funcenv.replay import html as html_page
from funcenv.replay.files import replacing, require_destination
from funcenv.replay.scene_stack import draw_states, stack_scenes, take_steps
from funcenv.scene import Scene
from funcenv.spaces import Space

DEFAULT_FPS = 30.0

_NOTEBOOK_HEIGHT = 640  # of the frame in a notebook, until the page in it says how high it is


@dataclasses.dataclass(frozen=True, eq=False)
class Episode:
    """One episode; arrays are NumPy's."""

    scenes: Scene  # every array has a leading axis [num_steps + 1]: the first state, then the one after each step
    reward: np.ndarray[Any, Any]  # [num_steps]
    action: Any = None  # of the action space, every array with a leading axis [num_steps]; None: not known
    terminated: bool = False
    truncated: bool = False  # neither: the recording stopped before the episode ended
    title: str = "Episode"
    action_space: Space[Any] | None = None

    @property
    def num_steps(self) -> int:
        """How many actions were played."""
        return len(self.reward)

    @property
    def episode_return(self) -> float:
        """The sum of the rewards."""
        return float(self.reward.sum(dtype=np.float64))

    def clip(self, start: int, stop: int) -> Episode:
        """The steps from `start` to `stop`; those that do not exist are left out."""
        stop = min(stop, self.num_steps)
        start = min(start, stop)
        whole = stop == self.num_steps
        return dataclasses.replace(
            self,
            scenes=take_steps(self.scenes, slice(start, stop + 1)),
            reward=self.reward[start:stop],
            action=jax.tree.map(lambda leaf: leaf[start:stop], self.action),
            terminated=self.terminated and whole,
            truncated=self.truncated and whole,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Replay:
    """Episodes, of one environment or of several, played side by side. In a notebook it shows itself.

    >>> import funcenv, jax.numpy as jnp
    >>> from funcenv.scene import Camera, Circle, Scene
    >>> class Walk(funcenv.envs.CartPole):
    ...     def scene(self, state):
    ...         ball = Circle(jnp.stack([state.x, 0.0]), 0.1, (1.0, 0.0, 0.0, 1.0))
    ...         return Scene(Camera((0.0, 0.0), 4.8, 3.2), (ball,))
    >>> env = Walk()
    >>> replay = funcenv.record(env, funcenv.random_policy(env), funcenv.key(0), num_episodes=2)
    >>> [episode.episode_return == episode.num_steps for episode in replay.episodes]
    [True, True]
    >>> next(replay.frames(width=60)).shape
    (40, 128, 3)
    """

    episodes: tuple[Episode, ...]
    fps: float = DEFAULT_FPS  # steps a second
    title: str = "Replay"

    def __post_init__(self) -> None:
        require_positive(fps=self.fps)
        if not self.episodes:
            raise ValueError("a replay needs at least one episode, got none")

    @classmethod
    def from_scenes(
        cls,
        scenes: Sequence[Scene],
        reward: Any = None,
        *,
        fps: float = DEFAULT_FPS,
        title: str = "Replay",
        **facts: Any,
    ) -> Replay:
        """A replay of one episode from pictures of its states.

        Args:
            scenes: of the first state, and of the one after each step.
            reward: `[num_steps]`, one less than there are scenes; zeros, if left out.
            fps: steps a second.
            title: shown above.
            facts: other fields of `Episode`: `action`, `terminated`, `truncated`, `action_space`.

        Raises:
            ValueError: scenes whose shapes differ; a number of rewards or actions that does not fit.

        >>> from funcenv.scene import Camera, Scene
        >>> Replay.from_scenes([Scene(Camera((float(x), 0.0), 2.0, 2.0)) for x in range(4)]).episodes[0].num_steps
        3
        """
        return cls((_episode(stack_scenes(scenes), len(scenes), reward, facts),), fps, title)

    @classmethod
    def from_states(
        cls,
        env: FuncEnv[Any, Any, Any],
        states: Any,
        reward: Any = None,
        *,
        fps: float | None = None,
        title: str | None = None,
        **facts: Any,
    ) -> Replay:
        """A replay of one episode from states that were kept: for whoever steps an environment in a loop of their own.

        Args:
            env: what draws them.
            states: a list of states, or one state whose arrays have a leading axis `[num_steps + 1]`.
            reward: as for `from_scenes`.
            fps: steps a second; by default the environment's.
            title: by default the environment's name.
            facts: as for `from_scenes`.

        >>> import funcenv
        >>> Replay.from_states(funcenv.make("CartPole-v1"), [])
        Traceback (most recent call last):
            ...
        ValueError: a replay needs at least one state, got none
        """
        if isinstance(states, list):
            if not states:
                raise ValueError("a replay needs at least one state, got none")
            states = jax.tree.map(lambda *leaves: np.stack(leaves), *jax.device_get(states))
        count = len(jax.tree.leaves(states)[0])
        facts = {"action_space": env.action_space, **facts}
        episode = _episode(draw_states(env, states), count, reward, facts)
        return cls((episode,), fps or natural_fps(env), title or natural_title(env))

    @classmethod
    def together(cls, *replays: Replay, title: str | None = None) -> Replay:
        """Several replays side by side, at the pace of the first; each episode says which it is from.

        >>> from funcenv.scene import Camera, Scene
        >>> one, other = (Replay.from_scenes([Scene(Camera((0.0, 0.0), 2.0, 2.0))], title=name) for name in "AB")
        >>> [episode.title for episode in Replay.together(one, other).episodes]
        ['A', 'B']
        """
        episodes = [
            dataclasses.replace(
                episode, title=replay.title if len(replay.episodes) == 1 else f"{replay.title}, {episode.title}"
            )
            for replay in replays
            for episode in replay.episodes
        ]
        fps = replays[0].fps if replays else DEFAULT_FPS
        return cls(tuple(episodes), fps, title or " | ".join(dict.fromkeys(replay.title for replay in replays)))

    @property
    def num_steps(self) -> int:
        """Of the longest episode."""
        return max(episode.num_steps for episode in self.episodes)

    @property
    def episode_return(self) -> np.ndarray[Any, Any]:
        """`[num_episodes]`, float64."""
        return np.array([episode.episode_return for episode in self.episodes])

    def clip(self, start: int = 0, stop: int | None = None) -> Replay:
        """Some of the steps of every episode.

        >>> from funcenv.scene import Camera, Scene
        >>> Replay.from_scenes([Scene(Camera((0.0, 0.0), 2.0, 2.0))] * 9).clip(stop=5).num_steps
        5
        """
        stop = self.num_steps if stop is None else stop
        return dataclasses.replace(self, episodes=tuple(episode.clip(start, stop) for episode in self.episodes))

    def frames(
        self, height: int | None = None, width: int | None = None, every: int = 1, columns: int | None = None
    ) -> Iterator[frames.Frame]:
        """Pictures, uint8 `[height, width, 3]`: the first state, the one after `every` steps, and so on, and the last.

        Args:
            height: of one episode's picture; by default in the proportions of its camera.
            width: of one episode's picture; by default 600, or 400 where there are several.
            every: how many steps lie between two pictures.
            columns: of the grid in which several episodes lie; by default about as many as there are rows.
        """
        scenes = [episode.scenes for episode in self.episodes]
        height, width = frames.default_size(scenes, height, width)
        columns = None if columns is None else require_size("columns", columns)
        steps = np.arange(0, self.num_steps + require_size("every", every), every).clip(max=self.num_steps)
        return frames.side_by_side(scenes, np.unique(steps), height, width, columns)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        height: int | None = None,
        width: int | None = None,
        every: int | None = None,
        columns: int | None = None,
    ) -> None:
        """Write a file: `.html` is a page that plays the episodes, drawn anew at any size; the others are films.

        The file appears whole, or not at all.

        Args:
            path: where to; the suffix is `.html`, `.gif`, `.webp` or `.mp4`.
            height: of a film, in pixels, as for `frames`.
            width: of a film, in pixels, as for `frames`.
            every: of a film: keep the picture after each so many steps, at the same pace; by default as many as the
                format can show.
            columns: of a film of several episodes, as for `frames`.

        Raises:
            ValueError: an unknown suffix.
            ImportError: Pillow or FFmpeg is missing; the message says what to install.
            OSError: the folder does not exist or cannot be written to.
        """
        path = require_destination(path)
        with replacing(path) as temporary:
            if path.suffix.lower() == ".html":
                temporary.write_text(self.to_html(), encoding="utf-8")
            else:
                every = every or video.frames_to_skip(path.suffix.lower(), self.fps)
                video.write_film(temporary, self.frames(height, width, every, columns), self.fps / every)

    def to_html(self) -> str:
        """The page, as text: one file, which needs nothing else and asks no network."""
        return html_page.build(self.episodes, self.fps, self.title)

    def _repr_html_(self) -> str:
        """In a notebook: the page in a frame of its own, so that neither's styles reach the other."""
        return (
            f'<iframe srcdoc="{html.escape(self.to_html())}" title="{html.escape(self.title)}" '
            f'style="width:100%;height:{_NOTEBOOK_HEIGHT}px;border:0;border-radius:12px" loading="lazy"></iframe>'
        )

    def __repr__(self) -> str:
        returns = ", ".join(f"{value:g}" for value in self.episode_return[:8])
        more = ", ..." if len(self.episodes) > 8 else ""
        return f"Replay({self.title!r}, {len(self.episodes)} episodes, returns [{returns}{more}])"


def natural_fps(env: FuncEnv[Any, Any, Any]) -> float:
    """How many steps a second look right."""
    return float(np.min(np.asarray(env.render_fps)))


def natural_title(env: FuncEnv[Any, Any, Any]) -> str:
    """The name of the environment beneath the wrappers."""
    return type(env.unwrapped).__name__


def _episode(scenes: Scene, count: int, reward: Any, facts: dict[str, Any]) -> Episode:
    reward = np.zeros(count - 1) if reward is None else np.asarray(reward)
    if reward.shape != (count - 1,):
        raise ValueError(
            f"reward must have one number for each of the {count - 1} steps between {count} states, "
            f"got shape {list(reward.shape)}"
        )
    for leaf in jax.tree.leaves(facts.get("action")):
        if np.shape(leaf)[:1] != (count - 1,):
            raise ValueError(
                f"action must have a leading axis of {count - 1} steps, one less than there are states, "
                f"got shape {list(np.shape(leaf))}"
            )
    return Episode(scenes=scenes, reward=reward, **{"title": "Episode", **facts})
