"""A reader of videos, for tests of what writes them."""

import re
import subprocess

import numpy as np


def read_video(path):
    """Return the frames of an H.264 video, uint8 `[num_frames, height, width, 3]`, and the frames per second."""
    import imageio_ffmpeg

    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    info = re.search(r"Video: h264.*?yuv420p.*? (\d+)x(\d+).*? ([\d.]+) fps", done.stderr.decode())
    width, height, fps = int(info[1]), int(info[2]), float(info[3])
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, height, width, 3), fps
