"""A wrapper that records episodes as videos."""

from __future__ import annotations

import inspect
import math
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from funcenv.adapters.compat.results import call_render
from funcenv.adapters.engine.lifecycle import ClosesAtExit
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.rendering.modes import require_rgb_mode
from funcenv.adapters.wrappers.wrapper import Wrapper
from funcenv.checks import require_at_least, require_flag, require_positive
from funcenv.counted import counted
from funcenv.replay.mp4 import VideoWriter, require_ffmpeg, require_folder


def capped_cubic_video_schedule(episode_id: int) -> bool:
    """Check whether an episode is one of 0, 1, 8, 27, ..., 729, 1000, 2000, 3000 and so on, as in Gymnasium.

    >>> [episode for episode in range(2001) if capped_cubic_video_schedule(episode)]
    [0, 1, 8, 27, 64, 125, 216, 343, 512, 729, 1000, 2000]
    """
    return round(episode_id ** (1 / 3)) ** 3 == episode_id if episode_id < 1000 else episode_id % 1000 == 0


class Recorder(ClosesAtExit):
    """The triggers, names and files that the wrappers for videos share, of one environment and of a vector.

    Attributes:
        recording: Whether a video is being recorded.
        episode_id: Number of the current episode; -1 before the first.
        step_id: Number of the last step; -1 before the first.
    """

    metadata: Any
    _video: VideoWriter | None = None

    def _set_up(
        self,
        video_folder: str | os.PathLike[str],
        episode_trigger: Callable[[int], bool] | None,
        step_trigger: Callable[[int], bool] | None,
        video_length: int,
        name_prefix: str,
        fps: float | None,
        disable_logger: bool,
    ) -> None:
        """Check the arguments that the wrappers share, and keep them."""
        require_at_least(0, "video_length", video_length, remedy="0 records whole episodes")
        own_fps = self.metadata.get("render_fps", self.metadata.get("video.frames_per_second", 30))  # old Gym's name
        self.frames_per_sec = own_fps if fps is None else fps
        require_positive(fps=self.frames_per_sec)
        require_ffmpeg()
        folder = require_folder(video_folder)
        if any(folder.glob(f"{name_prefix}-*.mp4")):
            warnings.warn(
                f"{folder} has videos named {name_prefix}-... that may be replaced", UserWarning, stacklevel=3
            )
        self.video_folder, self.name_prefix = str(folder), name_prefix
        if episode_trigger is None and step_trigger is None:
            episode_trigger = capped_cubic_video_schedule
        self.episode_trigger, self.step_trigger = episode_trigger, step_trigger
        self.video_length = video_length or math.inf
        self.disable_logger = require_flag("disable_logger", disable_logger)
        self.episode_id = self.step_id = -1

    @property
    def recording(self) -> bool:
        """True while a video is being recorded."""
        return self._video is not None

    def start_recording(self, video_name: str) -> None:
        """Finish the current video, if any, and start another with the next frame."""
        self.stop_recording()
        self._video = VideoWriter(os.path.join(self.video_folder, f"{video_name}.mp4"), self.frames_per_sec)
        self.close_by_itself()  # finishes the video even if nobody calls close()

    def stop_recording(self) -> None:
        """Finish the current video, if any."""
        video, self._video = self._video, None
        if video is None:
            return
        video.close()
        if not self.disable_logger and video.num_frames:
            print(f"{video.path}: {counted(video.num_frames, 'frame')}")

    def _begin_episode(self) -> None:
        """Count an episode, and start a video if the trigger says so."""
        self.episode_id += 1
        if self.video_length == math.inf:
            self.stop_recording()
        if self.episode_trigger is not None and self.episode_trigger(self.episode_id):
            self.start_recording(f"{self.name_prefix}-episode-{self.episode_id}")

    def _begin_step(self) -> None:
        """Count a step, and start a video if the trigger says so."""
        self.step_id += 1
        if self.step_trigger is not None and self.step_trigger(self.step_id):
            self.start_recording(f"{self.name_prefix}-step-{self.step_id}")

    def _record(self) -> None:
        """Add the current frame to the video, if any."""
        if self._video is None:
            return
        frame = self._frame()
        if not isinstance(frame, np.ndarray):
            warnings.warn(
                f"the recording stopped: render() gave {type(frame).__name__} instead of a frame; "
                "let only this wrapper call it",
                UserWarning,
                stacklevel=5,
            )
            self.stop_recording()
            return
        self._video.add(frame)
        if self._video.num_frames >= self.video_length:
            self.stop_recording()

    def _frame(self) -> Any:
        """Return the current frame; anything but an array stops the recording."""
        raise NotImplementedError


class RecordVideo(Recorder, Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that records episodes, or pieces of `video_length` frames, as MP4 files.

    It is Gymnasium's wrapper of this name (1.4.0), with its triggers and file names: `rl-video-episode-0.mp4` for a
    video that an episode starts, `rl-video-step-200.mp4` for one that a step starts. A video has the episode's first
    frame and one frame for each step. It ends when the next video starts, at `close`, and after `video_length` frames.
    If `video_length` is 0, it also ends at the next `reset`.

    There are two differences to Gymnasium: a piece has exactly `video_length` frames, where Gymnasium's has one more,
    and there is no `gc_trigger`, because frames are not kept in memory. A file appears under its name only when it is
    complete.

    Args:
        env: Environment with the render mode "rgb_array" or "rgb_array_list"; or one with old Gym's interface, whose
            `render` takes the mode.
        video_folder: Folder of the files, created if it does not exist.
        episode_trigger: Function that tells whether to start a video with an episode, counted from 0. The default is
            `capped_cubic_video_schedule` if there is no `step_trigger`.
        step_trigger: Function that tells whether to start a video with a step, counted from 0 over all episodes.
        video_length: Number of frames of a video; 0 for whole episodes.
        name_prefix: Beginning of the file names.
        fps: Frames per second; by default `metadata["render_fps"]`, or 30.
        disable_logger: Whether not to print a line for each video.

    Attributes:
        recording: Whether a video is being recorded.
        episode_id: Number of the current episode; -1 before the first.
        step_id: Number of the last step; -1 before the first.

    Raises:
        ValueError: The render mode is another, `video_length` is negative, or `fps` is not above 0.
        ModuleNotFoundError: imageio-ffmpeg is not installed.
        OSError: The folder cannot be written to.

    >>> import tempfile
    >>> from funcenv import adapters
    >>> folder = tempfile.mkdtemp()
    >>> env = RecordVideo(adapters.make("CartPole-v1", render_mode="rgb_array", max_episode_steps=5), folder)
    >>> for _ in range(3):
    ...     _ = env.reset(seed=0)
    ...     for _ in range(5):
    ...         _ = env.step(0)
    >>> env.close()
    >>> sorted(os.listdir(folder))
    ['rl-video-episode-0.mp4', 'rl-video-episode-1.mp4']
    """

    def __init__(
        self,
        env: Env[Any, Any],
        video_folder: str | os.PathLike[str],
        episode_trigger: Callable[[int], bool] | None = None,
        step_trigger: Callable[[int], bool] | None = None,
        video_length: int = 0,
        name_prefix: str = "rl-video",
        fps: float | None = None,
        disable_logger: bool = True,
    ) -> None:
        super().__init__(env)
        self._mode = "rgb_array" if _render_takes_mode(env) else None
        if self._mode is None:
            require_rgb_mode("RecordVideo", env)
        self._set_up(video_folder, episode_trigger, step_trigger, video_length, name_prefix, fps, disable_logger)
        self._collected: list[Any] = []  # recorded frames of a "_list" mode that `render` still has to return

    def render(self, mode: str | None = None) -> Any:
        """Render the inner environment; a list of frames includes those that were recorded since the last call."""
        frames = super().render(mode)
        if self._collected:
            frames, self._collected = self._collected + frames, []
        return frames

    def close(self) -> None:
        """Close the inner environment and finish the video."""
        super().close()
        self.stop_recording()

    def _after_reset(self, result: Any) -> Any:
        self._begin_episode()
        self._record()
        return result

    def _after_step(self, result: Any) -> Any:
        self._begin_step()
        self._record()
        return result

    def _frame(self) -> Any:
        frame = call_render(self.env, self._mode)
        if isinstance(frame, list):
            self._collected += frame
            frame = frame[-1] if frame else None
        return frame


def _render_takes_mode(env: Env[Any, Any]) -> bool:
    """Return whether an environment has no mode of its own, and `render(mode)` of old Gym's interface instead."""
    inside = env
    while isinstance(inside, Wrapper) and type(inside).render is Wrapper.render:
        inside = inside.env
    modes = [*env.metadata.get("render_modes", []), *env.metadata.get("render.modes", [])]
    takes_mode = "mode" in inspect.signature(inside.render).parameters
    return env.render_mode is None and takes_mode and "rgb_array" in modes
