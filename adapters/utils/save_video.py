"""Videos of frames that `render` has returned, as `gymnasium.utils.save_video` makes them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from funcenv.adapters.wrappers.record_video import capped_cubic_video_schedule
from funcenv.replay.mp4 import VideoWriter, require_ffmpeg, require_folder

__all__ = ["capped_cubic_video_schedule", "save_video"]


def save_video(
    frames: list[Any],
    video_folder: str | os.PathLike[str],
    episode_trigger: Callable[[int], bool] | None = None,
    step_trigger: Callable[[int], bool] | None = None,
    video_length: int | None = None,
    name_prefix: str = "rl-video",
    episode_index: int = 0,
    step_starting_index: int = 0,
    fps: float = 30,
) -> None:
    """Write the frames of an episode to MP4 files, if a trigger says so.

    Args:
        frames: Frames of the episode, as the render mode "rgb_array_list" returns them.
        video_folder: Folder of the files, created if it does not exist.
        episode_trigger: Function that tells whether to save the episode `episode_index`. The default is
            `capped_cubic_video_schedule` if there is no `step_trigger`.
        step_trigger: Function that tells whether a video starts at a step, counted over all episodes.
        video_length: Number of frames of a video; by default all that follow.
        name_prefix: Beginning of the file names.
        episode_index: Number of the episode.
        step_starting_index: Number of the step that the first frame shows.
        fps: Frames per second, such as `env.metadata["render_fps"]`.

    Raises:
        TypeError: `frames` is not a list.
        ModuleNotFoundError: imageio-ffmpeg is not installed.
        OSError: The folder cannot be written to.

    >>> import tempfile
    >>> from funcenv import adapters
    >>> folder = tempfile.mkdtemp()
    >>> env = adapters.make("CartPole-v1", render_mode="rgb_array_list", render_width=64)
    >>> _ = env.reset(seed=0)
    >>> for _ in range(3):
    ...     _ = env.step(0)
    >>> save_video(env.render(), folder, fps=env.metadata["render_fps"])
    >>> os.listdir(folder)
    ['rl-video-episode-0.mp4']
    """
    if not isinstance(frames, list):
        raise TypeError(f'frames must be a list, as render_mode="rgb_array_list" gives, got {type(frames).__name__}')
    require_ffmpeg()
    folder = require_folder(video_folder)
    if episode_trigger is None and step_trigger is None:
        episode_trigger = capped_cubic_video_schedule
    pieces: list[tuple[str, int]] = []
    if episode_trigger is not None and episode_trigger(episode_index):
        pieces.append((f"episode-{episode_index}", 0))
    if step_trigger is not None:
        steps = range(step_starting_index, step_starting_index + len(frames))
        pieces += [(f"step-{step}", step - step_starting_index) for step in steps if step_trigger(step)]
    for name, start in pieces:
        video = VideoWriter(os.path.join(folder, f"{name_prefix}-{name}.mp4"), fps)
        for frame in frames[start : None if video_length is None else start + video_length]:
            video.add(frame)
        video.close()
