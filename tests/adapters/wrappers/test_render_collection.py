"""Collected frames, compared with those of Gymnasium's wrapper."""

import pytest
from gymnasium.wrappers import RenderCollection as Reference

from funcenv.adapters import FunctionalEnv
from funcenv.adapters.gymnasium import GymnasiumEnv
from funcenv.adapters.wrappers import OrderEnforcing, RenderCollection


@pytest.mark.parametrize("pop_frames", [False, True])
@pytest.mark.parametrize("reset_clean", [False, True])
@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
def test_as_gymnasiums(dot, pop_frames, reset_clean, mode, assert_same_frames):
    ours = RenderCollection(FunctionalEnv(dot(length=9), mode, render_width=30), pop_frames, reset_clean)
    theirs = Reference(GymnasiumEnv(dot(length=9), mode, render_width=30), pop_frames, reset_clean)
    assert ours.render_mode == theirs.render_mode == f"{mode}_list"
    assert ours.metadata == theirs.metadata
    assert_same_frames(ours, theirs, "rss.s..rs.rr.ss")


def test_modes_are_added_and_the_environment_inside_keeps_its_own():
    class Plain(OrderEnforcing):
        metadata = {"render_modes": ["ansi"], "render_fps": 4}
        render_mode = "ansi"

    class Inner(FunctionalEnv):
        pass

    import funcenv

    inside = Plain(Inner(funcenv.make("FrozenLake-v1")))
    assert RenderCollection(inside).metadata == {"render_modes": ["ansi", "ansi_list"], "render_fps": 4}
    assert inside.metadata["render_modes"] == ["ansi"]


@pytest.mark.parametrize("mode", [None, "rgb_array_list"])
def test_it_needs_single_frames(dot, mode):
    with pytest.raises(ValueError, match="render_mode gives one frame"):
        RenderCollection(FunctionalEnv(dot(), mode))
