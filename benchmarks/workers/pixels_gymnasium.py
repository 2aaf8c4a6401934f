"""Grey images from Gymnasium: `render()` as an rgb_array, which Pillow converts to grey and averages over areas.

`options["kind"]` is "step" for random actions with an image after each, or "draw" for images of one state.
"""

import os

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import warnings

import gymnasium
import numpy as np
from PIL import Image
from protocol import serve

warnings.simplefilter("ignore")


def prepare(options):
    size, num_steps = options["size"], options["num_steps"]
    env = gymnasium.make(options["env"], render_mode="rgb_array")
    actions = np.random.default_rng(0).integers(0, env.action_space.n, 1024)
    env.reset(seed=0)

    def image():
        return Image.fromarray(env.render()).convert("L").resize((size, size), Image.Resampling.BOX)

    def step():
        for number in range(num_steps):
            _, _, terminated, truncated, _ = env.step(actions[number % 1024])
            if terminated or truncated:
                env.reset()
            frame = image()
        return frame

    def draw():
        for _ in range(num_steps):
            frame = image()
        return frame

    work = step if options["kind"] == "step" else draw
    return lambda: float(np.asarray(work()).mean()), {"steps": num_steps, "version": gymnasium.__version__}


serve(prepare)
