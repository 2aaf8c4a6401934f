"""The window of an environment that returns frames."""

import numpy as np
import pytest

from funcenv.adapters import FunctionalEnv
from funcenv.adapters.rendering.display import load_pygame
from funcenv.adapters.wrappers import HumanRendering, RenderCollection


@pytest.mark.parametrize("wrap", [lambda env: env, RenderCollection], ids=["frame", "list"])
def test_it_shows_what_is_inside(dot, wrap):
    inside = FunctionalEnv(dot(length=50), "rgb_array", render_width=60)
    env = HumanRendering(wrap(inside))
    assert env.render_mode == "human" and "human" in env.metadata["render_modes"]
    env.reset(seed=0)
    for _ in range(2):
        np.testing.assert_array_equal(env._window.pixels(), inside.render())
        assert env.render() is None
        env.step(1)
    pygame = load_pygame()
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    env.step(1)
    env.step(1)
    assert env._window.was_closed
    env.close()
    env.close()


@pytest.mark.parametrize("mode", [None, "ansi", "human"])
def test_it_needs_frames(dot, mode):
    with pytest.raises(ValueError, match="render_mode is one of rgb_array"):
        HumanRendering(FunctionalEnv(dot(), mode))
