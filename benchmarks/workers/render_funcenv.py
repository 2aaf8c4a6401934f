"""Images by `render()`, each after a step; the first one is drawn after a reset, and compiles."""

from protocol import serve

import funcenv
from funcenv import adapters


def prepare(options):
    size = {"render_width": options["width"], "render_height": options["height"]}
    env = adapters.make(options["env"], render_mode="rgb_array", **size)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    env.reset()

    def work():
        image = env.render()
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
        return {"grey": float(image.mean())}

    return work, {"steps": 1, "version": funcenv.__version__}


serve(prepare)
