"""Rendering of funcenv's environments by Gymnasium's wrappers and checker."""

import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import HumanRendering, RenderCollection

import funcenv
from funcenv.adapters.gymnasium import register_envs
from funcenv.adapters.rendering.display import load_pygame
from tests.support import environments
from tests.support.programs import window_of

IDS = sorted(funcenv.registry)
MODES = [None, "human", "rgb_array", "ansi", "rgb_array_list", "ansi_list"]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Let windows show frames without waiting."""

    class Clock:
        def tick(self, fps):
            return fps

    monkeypatch.setattr(load_pygame().time, "Clock", Clock)


# What Gymnasium advises on spaces holds for its own environments of these names as well.
@pytest.mark.filterwarnings("ignore:.*WARN.*Box (observation|action) space")
@pytest.mark.filterwarnings("ignore:.*WARN.*the action space is .* normalized")
@pytest.mark.filterwarnings("ignore:.*For Box action spaces")
@pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")
@pytest.mark.dear  # rigid bodies
@pytest.mark.parametrize("id", environments.sampled(IDS))
def test_check_env_with_frames_in_every_mode(id):
    if "/" in id:  # one that another test registered
        return
    for mode in MODES:
        env = gymnasium.make(f"funcenv/{id}", render_mode=mode, render_height=48)
        assert env.metadata["render_modes"] == MODES[1:]
        if mode in (None, "human"):  # the other modes are made and drawn by the check itself
            check_env(env.unwrapped, skip_render_check=False)
        env.reset(seed=0)
        env.step(env.action_space.sample())
        if mode is not None:
            kind = {"human": type(None), "rgb_array": np.ndarray, "ansi": str}.get(mode, list)
            assert isinstance(env.render(), kind)
        env.close()
        env.close()


def test_make_adds_no_wrappers_for_modes():
    for mode in MODES:
        env = gymnasium.make("funcenv/CartPole-v1", render_mode=mode)
        assert "Render" not in str(env) and env.render_mode == mode
        assert env.spec.make().render_mode == mode
        env.close()


def test_an_unknown_mode_is_refused():
    with (
        pytest.warns(UserWarning, match="not in the possible render_modes"),
        pytest.raises(ValueError, match="render_mode must be one of"),
    ):
        gymnasium.make("funcenv/CartPole-v1", render_mode="hologram")


@pytest.fixture
def no_display(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.filterwarnings("ignore:.*WARN.*Box observation space")
def test_check_env_needs_no_display(no_display):
    with pytest.warns(UserWarning, match="shows no window: there is no display .* SDL_VIDEODRIVER=dummy") as caught:
        check_env(gymnasium.make("funcenv/CartPole-v1", render_height=48).unwrapped)
    assert sum("no display" in str(warning.message) for warning in caught) == 1
    with pytest.raises(RuntimeError, match="no display"):
        funcenv.adapters.make("CartPole-v1", render_mode="human")


def test_a_mode_of_an_environment_that_draws_nothing_is_a_type_error():
    """Libraries such as stable-baselines3 then try without the argument."""

    class Bare(funcenv.envs.CartPole):
        scene = funcenv.FuncEnv.scene

    funcenv.register("test-rendering/Bare-v0", Bare)
    register_envs()
    with (
        pytest.warns(UserWarning, match="not in the possible render_modes"),
        pytest.raises(TypeError, match="Bare got an unexpected keyword argument 'render_mode'; it draws nothing until"),
    ):
        gymnasium.make("funcenv-test-rendering/Bare-v0", render_mode="rgb_array")


def test_the_window_opens_again_after_close():
    env = gymnasium.make("funcenv/CartPole-v1", render_mode="human", render_height=48).unwrapped
    for _ in range(2):
        env.reset(seed=0)
        assert not env.closed and window_of(env).is_open
        env.close()
        env.close()
        assert env.closed and window_of(env) is None
    env.step(0)  # as stable-baselines3's checker does
    env.close()


def test_an_environment_that_a_function_builds(dot):
    funcenv.register("test-rendering/Dot-v0", lambda radius=0.5: dot(radius=radius))
    register_envs()
    for mode in ("rgb_array", "ansi_list"):
        env = gymnasium.make("funcenv-test-rendering/Dot-v0", render_mode=mode)
        env.reset(seed=0)
        assert len(env.render()) > 0


def test_gymnasiums_wrappers_draw_ours():
    inside = gymnasium.make("funcenv/MountainCar-v0", render_mode="rgb_array")
    env = RenderCollection(inside)
    env.reset(seed=0)
    for _ in range(3):
        env.step(0)
    frames = env.render()
    assert len(frames) == 4 and all(frame.dtype == np.uint8 and frame.shape[1] == 600 for frame in frames)
    window = HumanRendering(gymnasium.make("funcenv/MountainCar-v0", render_mode="rgb_array"))
    window.reset(seed=0)
    window.step(0)
    window.close()


def test_vector_environments_give_a_frame_of_each():
    envs = gymnasium.make_vec("funcenv/Pendulum-v1", num_envs=2, render_mode="rgb_array", render_width=60)
    loop = gymnasium.make_vec(
        "funcenv/Pendulum-v1", num_envs=2, vectorization_mode="sync", render_mode="rgb_array", render_width=60
    )
    for one in (envs, loop):
        one.reset(seed=0)
        one.action_space.seed(0)
        one.step(one.action_space.sample())
    np.testing.assert_array_equal(envs.render(), loop.render())
    assert envs.metadata["render_fps"] == 30 and "rgb_array" in envs.metadata["render_modes"]
    envs.close()
    loop.close()
