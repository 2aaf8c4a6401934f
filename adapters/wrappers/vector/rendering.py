"""Wrappers that show or record what the environments of a vector render, side by side."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from funcenv.adapters.env import ActType, ObsType
from funcenv.adapters.rendering.modes import add_render_mode, require_rgb_mode
from funcenv.adapters.rendering.window import Window, window_title
from funcenv.adapters.vector_env import VectorEnv
from funcenv.adapters.wrappers.record_video import Recorder
from funcenv.adapters.wrappers.vector.wrapper import VectorWrapper
from funcenv.checks import require_flag, require_positive
from funcenv.scene.grid import tile_images
from funcenv.struct import NDArray
from funcenv.vector import AutoresetMode

_GAP = 2  # pixels between two images
_GAP_COLOR = np.uint8(128)


class HumanRendering(VectorWrapper[ObsType, ActType]):
    """A wrapper that shows all environments in a window after every `reset` and `step`.

    It is Gymnasium's wrapper of this name. Once the user closes the window, it stays closed and the vector continues.
    `make_vec(id, num_envs, render_mode="human")` has a window of its own.

    Args:
        env: Vector environment with the render mode "rgb_array" or "rgb_array_list".
        screen_size: Width and height in pixels of the area that the tiles fill, without changing their aspect ratio;
            by default those of the image of one environment.

    Raises:
        ValueError: The vector has another render mode, or a side of the screen is not above 0.
        RuntimeError: There is no display.
        ModuleNotFoundError: pygame is not installed.

    >>> from funcenv import adapters
    >>> envs = HumanRendering(adapters.make_vec("CartPole-v1", 4, render_mode="rgb_array"))
    >>> _ = envs.reset(seed=0)
    >>> envs.render_mode, envs.render()
    ('human', None)
    >>> envs.close()
    """

    def __init__(self, env: VectorEnv[Any, Any], screen_size: tuple[int, int] | None = None) -> None:
        super().__init__(env)
        require_rgb_mode("HumanRendering", env)
        self.screen_size = screen_size
        if screen_size is not None:
            width, height = screen_size
            require_positive(width=width, height=height)
        self._window: Window | None = None
        self.metadata = add_render_mode(env.metadata, "human")

    @property
    def render_mode(self) -> str:  # type: ignore[override]  # determined by this wrapper
        """Always "human"."""
        return "human"

    def render(self) -> None:
        """Do nothing; the window already shows the current images."""

    def close(self, **kwargs: Any) -> None:
        """Close the window and the vector inside."""
        if self._window is not None:
            self._window.close()
        super().close(**kwargs)

    def _after_reset(self, result: Any, is_new: NDArray) -> Any:
        self._show()
        return result

    def _after_step(self, result: Any) -> Any:
        self._show()
        return result

    def _show(self) -> None:
        if self._window is not None and self._window.was_closed:
            return
        images = [image[-1] if isinstance(image, list) else image for image in self.env.render()]
        height, width = images[0].shape[:2]
        screen_width, screen_height = self.screen_size or (width, height)
        columns = best_columns(len(images), width / height, screen_width / screen_height)
        tiles = tile_images(np.stack(images), columns, _GAP, _GAP_COLOR)
        if self._window is None:
            zoom = min(screen_width / tiles.shape[1], screen_height / tiles.shape[0])
            self._window = Window(window_title(self), self.metadata.get("render_fps", 30), zoom)
        self._window.show(tiles)


class RecordVideo(Recorder, VectorWrapper[ObsType, ActType]):
    """A wrapper that records all environments side by side as MP4 files, or the first environment alone.

    It is Gymnasium's wrapper of this name, with its triggers and file names. Episodes are those of the first
    environment. In the same-step mode the last frame of an episode is that of the next one's first state, because the
    vector shows no other.

    Args:
        env: Vector environment with the render mode "rgb_array".
        video_folder: Folder of the files, created if it does not exist.
        video_aspect_ratio: Width and height, or any multiples of them, that the picture should come close to.
        record_first_only: Whether to record the first environment alone.
        episode_trigger: Function that tells whether to start a video with an episode, counted from 0. The default is
            `capped_cubic_video_schedule` if there is no `step_trigger`.
        step_trigger: Function that tells whether to start a video with a step, counted from 0 over all episodes.
        video_length: Number of frames of a video; 0 for whole episodes.
        name_prefix: Beginning of the file names.
        fps: Frames per second; by default `metadata["render_fps"]`, or 30.
        disable_logger: Whether not to print a line for each video.

    Attributes:
        recording: Whether a video is being recorded.
        episode_id: Number of the first environment's current episode; -1 before the first.
        step_id: Number of the last step; -1 before the first.

    Raises:
        ValueError: The render mode is another, `video_length` is negative, or `fps` or a side of the picture is not
            above 0.
        ModuleNotFoundError: imageio-ffmpeg is not installed.
        OSError: The folder cannot be written to.

    >>> import tempfile
    >>> from funcenv import adapters
    >>> folder = tempfile.mkdtemp()
    >>> envs = adapters.make_vec("CartPole-v1", 4, render_mode="rgb_array", max_episode_steps=5)
    >>> envs = RecordVideo(envs, folder, video_length=3)
    >>> _ = envs.reset(seed=0)
    >>> for _ in range(3):
    ...     _ = envs.step(envs.action_space.sample())
    >>> envs.close()
    >>> os.listdir(folder)
    ['rl-video-episode-0.mp4']
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any],
        video_folder: str | os.PathLike[str],
        video_aspect_ratio: tuple[int, int] = (1, 1),
        record_first_only: bool = False,
        episode_trigger: Callable[[int], bool] | None = None,
        step_trigger: Callable[[int], bool] | None = None,
        video_length: int = 0,
        name_prefix: str = "rl-video",
        fps: float | None = None,
        disable_logger: bool = True,
    ) -> None:
        super().__init__(env)
        require_rgb_mode("RecordVideo", env, modes=("rgb_array",))
        self._set_up(video_folder, episode_trigger, step_trigger, video_length, name_prefix, fps, disable_logger)
        width, height = video_aspect_ratio
        require_positive(width=width, height=height)
        self._aspect = width / height
        self.record_first_only = require_flag("record_first_only", record_first_only)
        self._first_resets_next = False

    def close(self, **kwargs: Any) -> None:
        """Close the vector inside and finish the video."""
        super().close(**kwargs)
        self.stop_recording()

    def _after_reset(self, result: Any, is_new: NDArray) -> Any:
        if is_new[0]:
            self._first_resets_next = False
            self._begin_episode()
        self._record()
        return result

    def _after_step(self, result: Any) -> Any:
        _, _, terminations, truncations, _ = result
        ended = bool(terminations[0] or truncations[0])
        mode = self.autoreset_mode
        if (mode is AutoresetMode.NEXT_STEP and self._first_resets_next) or (mode is AutoresetMode.SAME_STEP and ended):
            self._begin_episode()
        self._first_resets_next = ended
        self._begin_step()
        self._record()
        return result

    def _frame(self) -> Any:
        images = self.env.render()
        if not (isinstance(images, (tuple, list)) and all(isinstance(image, np.ndarray) for image in images)):
            return images
        if self.record_first_only:
            return images[0]
        height, width = images[0].shape[:2]
        return tile_images(np.stack(images), best_columns(len(images), width / height, self._aspect), _GAP, _GAP_COLOR)


def best_columns(num_tiles: int, tile_aspect: float, aspect: float) -> int:
    """Return the number of columns whose grid comes closest to an aspect ratio, width by height.

    >>> best_columns(4, 1.5, 1.0), best_columns(6, 1.0, 1.5), best_columns(5, 1.5, 1.0)
    (2, 3, 2)
    """

    def distance(columns: int) -> tuple[float, int]:
        rows = -(-num_tiles // columns)
        return abs(math.log(columns * tile_aspect / rows / aspect)), rows * columns - num_tiles

    return min(range(1, num_tiles + 1), key=distance)
