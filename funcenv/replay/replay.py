"""Replays: episodes as one value, and the files made from it."""

from __future__ import annotations

import dataclasses
import html
import importlib.util
import os
import pathlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from funcenv.checks import require_positive, require_size
from funcenv.counted import counted
from funcenv.files import replaced_file
from funcenv.func_env import AnyEnv
from funcenv.replay import scene_stack, video
from funcenv.replay.episode import Episode
from funcenv.replay.html import build_html
from funcenv.replay.scene_stack import draw_states, stack_scenes
from funcenv.scene import Scene
from funcenv.struct import NDArray

DEFAULT_FPS = 30.0

_NOTEBOOK_HEIGHT = 640  # pixels, until the page reports its own height
_MAX_LISTED_RETURNS = 8
_WRITERS = {  # the module that writes files of each suffix, and its package
    ".html": None,
    ".gif": ("PIL", "pillow"),
    ".webp": ("PIL", "pillow"),
    ".mp4": ("imageio_ffmpeg", "imageio-ffmpeg"),
    ".png": ("PIL", "pillow"),
}


@dataclasses.dataclass(frozen=True, eq=False)
class Replay:
    """Episodes of one or several environments, shown side by side. A notebook displays a replay as a player.

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
    fps: float = DEFAULT_FPS  # steps per second
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
        """Return a replay of one episode, given the scenes of its states.

        Args:
            scenes: the scene of the first state, then of the state after each step.
            reward: `[num_steps]`, one less than there are scenes; zeros by default.
            fps: steps per second.
            title: title of the page.
            facts: other fields of `Episode`: `action`, `terminated`, `truncated`, `action_space`, `action_names`.

        Raises:
            ValueError: scenes with different shapes, or a number of rewards or actions that does not fit.

        >>> from funcenv.scene import Camera, Scene
        >>> Replay.from_scenes([Scene(Camera((float(x), 0.0), 2.0, 2.0)) for x in range(4)]).episodes[0].num_steps
        3
        """
        return cls((_episode(stack_scenes(scenes), reward, facts),), fps, title)

    @classmethod
    def from_states(
        cls,
        env: AnyEnv,
        states: Any,
        reward: Any = None,
        *,
        fps: float | None = None,
        title: str | None = None,
        **facts: Any,
    ) -> Replay:
        """Return a replay of one episode, given its states, as collected in a loop of your own.

        Args:
            env: the environment, which draws the states.
            states: a list of states, or one state whose arrays have a leading axis `[num_steps + 1]`.
            reward: as for `from_scenes`.
            fps: steps per second; by default the environment's.
            title: title of the page; by default the environment's name.
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
        facts = {"action_space": env.action_space, "action_names": tuple(env.action_names), **facts}
        return replay_of(env, (_episode(draw_states(env, states), reward, facts),), fps, title)

    @classmethod
    def together(cls, *replays: Replay, title: str | None = None) -> Replay:
        """Return several replays side by side, at the speed of the first; the title of an episode names its replay.

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
        """Number of steps of the longest episode."""
        return max(episode.num_steps for episode in self.episodes)

    @property
    def episode_return(self) -> NDArray:
        """Return of every episode, float64 `[num_episodes]`."""
        return np.array([episode.episode_return for episode in self.episodes])

    def clip(self, start: int = 0, stop: int | None = None) -> Replay:
        """Return a replay of the steps from `start` to `stop` of every episode.

        >>> from funcenv.scene import Camera, Scene
        >>> Replay.from_scenes([Scene(Camera((0.0, 0.0), 2.0, 2.0))] * 9).clip(stop=5).num_steps
        5
        """
        stop = self.num_steps if stop is None else stop
        return dataclasses.replace(self, episodes=tuple(episode.clip(start, stop) for episode in self.episodes))

    def frames(
        self, height: int | None = None, width: int | None = None, every: int = 1, columns: int | None = None
    ) -> Iterator[NDArray]:
        """Return an iterator over frames, uint8 `[height, width, 3]`: the first state, every `every`-th, and the last.

        Args:
            height: pixels of one episode's frame; by default in the proportions of its camera.
            width: pixels of one episode's frame; by default 600, or 400 where there are several episodes.
            every: steps from one frame to the next.
            columns: columns of the grid of episodes; by default about as many as rows.
        """
        scenes = [episode.scenes for episode in self.episodes]
        height, width = scene_stack.default_size(scenes, height, width)
        columns = None if columns is None else require_size("columns", columns)
        steps = np.arange(0, self.num_steps + require_size("every", every), every).clip(max=self.num_steps)
        return scene_stack.draw_grid(scenes, np.unique(steps), height, width, columns)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        height: int | None = None,
        width: int | None = None,
        every: int | None = None,
        columns: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Write a file: `.html` is a page that plays the episodes at any size, `.gif`, `.webp` and `.mp4` are videos.

        `.png` is one image of the first states; `replay.clip(start=50).save("later.png")` shows later ones.

        The file appears complete, or not at all.

        Args:
            path: file to write; its suffix is `.html`, `.gif`, `.webp`, `.mp4` or `.png`.
            height: of a video or image, in pixels, as for `frames`.
            width: of a video or image, in pixels, as for `frames`.
            every: of a video: steps from one frame to the next, which does not change the speed; by default the
                smallest number that the format supports.
            columns: of a video of several episodes, as for `frames`.
            progress: function that is called with the number of frames drawn so far, and of all frames of a video.

        Raises:
            ValueError: an unknown suffix.
            ImportError: Pillow or FFmpeg is missing; the message says what to install.
            OSError: the folder does not exist or cannot be written to.
        """
        path = require_destination(path)
        with replaced_file(path) as temporary:
            if path.suffix.lower() == ".html":
                temporary.write_text(self.to_html(), encoding="utf-8")
            else:
                every = every or video.min_frame_interval(path.suffix.lower(), self.fps)
                frames = self.frames(height, width, every, columns)
                if progress is not None:
                    frames = _reported(frames, -(-self.num_steps // every) + 1, progress)
                video.write_video(temporary, frames, self.fps / every)

    def to_html(self) -> str:
        """Return the page that plays the episodes, as one document that loads nothing from the network."""
        return build_html(self.episodes, self.fps, self.title)

    def _repr_html_(self) -> str:
        """Return the page in an iframe, which separates its styles from those of the notebook."""
        return (
            f'<iframe srcdoc="{html.escape(self.to_html())}" title="{html.escape(self.title)}" '
            f'style="width:100%;height:{_NOTEBOOK_HEIGHT}px;border:0;border-radius:12px" loading="lazy"></iframe>'
        )

    def __repr__(self) -> str:
        returns = ", ".join(f"{value:g}" for value in self.episode_return[:_MAX_LISTED_RETURNS])
        more = ", ..." if len(self.episodes) > _MAX_LISTED_RETURNS else ""
        return f"Replay({self.title!r}, {counted(len(self.episodes), 'episode')}, returns [{returns}{more}])"


def replay_of(env: AnyEnv, episodes: tuple[Episode, ...], fps: float | None, title: str | None) -> Replay:
    """Return a replay with the speed and the title of its environment, unless others are given."""
    return Replay(episodes, fps or float(np.min(np.asarray(env.render_fps))), title or type(env.unwrapped).__name__)


def require_destination(path: str | os.PathLike[str]) -> pathlib.Path:
    """Return the path after a check that a replay can be saved there.

    Raises:
        ValueError: an unknown suffix.
        ImportError: the package that writes such files is missing.
        OSError: the folder does not exist or cannot be written to, or the path is a folder.

    >>> require_destination("episode.avi")
    Traceback (most recent call last):
        ...
    ValueError: a replay is saved as .html, .gif, .webp, .mp4 or .png, got 'episode.avi'; choose one of these suffixes
    """
    path = pathlib.Path(path)
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        *most, last = _WRITERS
        raise ValueError(
            f"a replay is saved as {', '.join(most)} or {last}, got {str(path)!r}; choose one of these suffixes"
        )
    if writer := _WRITERS[suffix]:
        module, package = writer
        if importlib.util.find_spec(module) is None:
            raise ImportError(f'{suffix} files are written by {package}: pip install "funcenv[render]"', name=module)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; create it first")
    with _temporary_file(path):
        return path


@contextmanager
def _temporary_file(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield an empty file in the same folder with the same suffix, and remove it afterwards."""
    temporary = path.with_name(f".{path.stem}-{uuid.uuid4().hex}{path.suffix}")
    try:
        temporary.touch()
    except PermissionError as error:
        raise PermissionError(f"{path.parent} cannot be written to; choose another folder for {path.name}") from error
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _reported(frames: Iterator[NDArray], count: int, progress: Callable[[int, int], None]) -> Iterator[NDArray]:
    for number, frame in enumerate(frames, 1):
        yield frame
        progress(number, count)


def _episode(scenes: Scene, reward: Any, facts: dict[str, Any]) -> Episode:
    num_steps = len(scenes.camera.width) - 1
    return Episode(scenes=scenes, reward=np.zeros(num_steps) if reward is None else np.asarray(reward), **facts)
