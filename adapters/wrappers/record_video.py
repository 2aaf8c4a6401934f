"""Record episodes as videos."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from funcenv.adapters.single.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.wrapper import Wrapper
from funcenv.checks import require_at_least, require_positive
from funcenv.replay.mp4 import VideoWriter, require_ffmpeg, require_folder

_MODES = ("rgb_array", "rgb_array_list")


def capped_cubic_video_schedule(episode_id: int) -> bool:
    """Whether an episode is one of 0, 1, 8, 27, ..., 729, 1000, 2000, 3000 and so on, as Gymnasium chooses them.

    >>> [episode for episode in range(2001) if capped_cubic_video_schedule(episode)]
    [0, 1, 8, 27, 64, 125, 216, 343, 512, 729, 1000, 2000]
    """
    return round(episode_id ** (1 / 3)) ** 3 == episode_id if episode_id < 1000 else episode_id % 1000 == 0


class RecordVideo(Wrapper[ObsType, ActType]):
    """Records some episodes, or pieces of `video_length` frames, as MP4 files.

    Gymnasium's wrapper of this name (1.4.0), with its triggers and names: `rl-video-episode-0.mp4`, or
    `rl-video-step-200.mp4` for what a step began. A video ends where the next begins, at `close`, after `video_length`
    frames, or if that is 0, at the next `reset`. It has the first frame of the episode, and one more for each step.

    Frames go to FFmpeg as they come, and a file has its name only once it is whole. Two things differ: a piece has
    exactly `video_length` frames, where Gymnasium's has one more; and there is no `gc_trigger`, as no frames are kept.

    Args:
        env: an environment with the render mode "rgb_array" or "rgb_array_list".
        video_folder: where the files go; made, if it does not exist.
        episode_trigger: whether to begin with this episode, counted from 0. Without any trigger it is
            `capped_cubic_video_schedule`.
        step_trigger: whether to begin with this step, counted from 0 over all episodes.
        video_length: how many frames a video has; 0 for whole episodes.
        name_prefix: what the names of the files begin with.
        fps: frames a second; by default `metadata["render_fps"]`, or 30.
        disable_logger: whether to keep silent, rather than print a line for each video.

    Attributes:
        recording: whether a video is being recorded.
        episode_id: the number of the present episode; -1 before the first.
        step_id: the number of the last step; -1 before the first.

    Raises:
        ValueError: another render mode; a negative `video_length`; `fps` not above 0.
        ModuleNotFoundError: imageio-ffmpeg is not installed.
        OSError: the folder cannot be written to.

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
        if env.render_mode not in _MODES:
            raise ValueError(
                f"RecordVideo needs an environment whose render_mode is one of {', '.join(_MODES)}, got "
                f'{env.render_mode!r}; make it with render_mode="rgb_array"'
            )
        require_at_least(0, "video_length", video_length, remedy="0 records whole episodes")
        self.frames_per_sec = env.metadata.get("render_fps", 30) if fps is None else fps
        require_positive(fps=self.frames_per_sec)
        require_ffmpeg()
        folder = require_folder(video_folder)
        if any(folder.glob(f"{name_prefix}-*.mp4")):
            warnings.warn(
                f"{folder} has videos named {name_prefix}-... that may be replaced", UserWarning, stacklevel=2
            )
        self.video_folder, self.name_prefix = str(folder), name_prefix
        if episode_trigger is None and step_trigger is None:
            episode_trigger = capped_cubic_video_schedule
        self.episode_trigger, self.step_trigger = episode_trigger, step_trigger
        self.video_length = video_length or math.inf
        self.disable_logger = disable_logger
        self.episode_id = self.step_id = -1
        self._video: VideoWriter | None = None
        self._for_the_user: list[Any] = []  # frames of a list that was taken to be recorded

    @property
    def recording(self) -> bool:
        """Whether a video is being recorded."""
        return self._video is not None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode."""
        started: tuple[ObsType, dict[str, Any]] = super().reset(seed=seed, options=options)
        self.episode_id += 1
        if self.video_length == math.inf:
            self.stop_recording()
        if self.episode_trigger is not None and self.episode_trigger(self.episode_id):
            self.start_recording(f"{self.name_prefix}-episode-{self.episode_id}")
        self._capture()
        return started

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        stepped = super().step(action)
        self.step_id += 1
        if self.step_trigger is not None and self.step_trigger(self.step_id):
            self.start_recording(f"{self.name_prefix}-step-{self.step_id}")
        self._capture()
        return stepped

    def render(self) -> Any:
        """What the environment inside draws; of a list, also the frames that were recorded meanwhile."""
        picture = super().render()
        if not self._for_the_user:
            return picture
        frames, self._for_the_user = self._for_the_user, []
        return frames + picture

    def start_recording(self, video_name: str) -> None:
        """Begin a video, with the next frame; one that is being recorded is finished first."""
        self.stop_recording()
        self._video = VideoWriter(os.path.join(self.video_folder, f"{video_name}.mp4"), self.frames_per_sec)
        self.close_by_itself()  # so that the video is finished even if nobody calls close()

    def stop_recording(self) -> None:
        """Finish the video, if one is being recorded."""
        video, self._video = self._video, None
        if video is None:
            return
        video.close()
        if not self.disable_logger and video.num_frames:
            print(f"{video.path}: {video.num_frames} frames")

    def close(self) -> None:
        """Close the environment inside, and finish the video."""
        super().close()
        self.stop_recording()

    def _capture(self) -> None:
        if self._video is None:
            return
        frame = self.env.render()
        if isinstance(frame, list):
            self._for_the_user += frame
            frame = frame[-1] if frame else None
        if not isinstance(frame, np.ndarray):
            warnings.warn(
                f"the recording stopped: render() gave {type(frame).__name__} instead of a picture; "
                "let only this wrapper call it",
                UserWarning,
                stacklevel=3,
            )
            self.stop_recording()
            return
        self._video.add(frame)
        if self._video.num_frames >= self.video_length:
            self.stop_recording()
