"""The render modes of the stateful vector environment."""

import pickle

import numpy as np
import pytest

import funcenv
from funcenv import adapters
from funcenv.adapters import FunctionalEnv, FunctionalVectorEnv, ResetNeeded
from funcenv.adapters.error import ClosedEnvironment
from funcenv.adapters.rendering.display import load_pygame
from funcenv.wrappers import TimeLimit
from tests.support.programs import window_of

MODES = ["human", "rgb_array", "ansi", "rgb_array_list", "ansi_list"]


def single(dot, i, mode="rgb_array", **kwargs):
    """Return the single environment that equals environment i of a vector environment seeded with 0."""
    env = FunctionalEnv(TimeLimit(dot(**kwargs), 4), mode, render_width=60)
    env.reset(seed=i)
    return env


def test_the_modes(dot):
    envs = FunctionalVectorEnv(dot(), 2)
    assert envs.metadata["render_modes"] == MODES and envs.metadata["render_fps"] == 500
    with pytest.raises(ValueError, match=r"one of \[None, 'human', .*\], got 'rgb'"):
        FunctionalVectorEnv(dot(), 2, render_mode="rgb")


@pytest.mark.parametrize("kind", ["rgb_array", "ansi"])
def test_lists_hold_the_frames_of_the_present_episodes(dot, kind):
    envs = FunctionalVectorEnv(TimeLimit(dot(), 4), 2, render_mode=f"{kind}_list", render_width=20)
    one = FunctionalVectorEnv(TimeLimit(dot(), 4), 2, render_mode=kind, render_width=20)
    for each in (envs, one):
        each.reset(seed=0)
    expected = [one.render()]
    for _ in range(2):
        envs.step([1, 0])
        one.step([1, 0])
        expected.append(one.render())
    again = pickle.loads(pickle.dumps(envs)).render()
    frames = envs.render()
    for i in range(2):
        assert [len(frames[i]), len(again[i])] == [3, 3]
        for ours, copied, theirs in zip(frames[i], again[i], expected, strict=True):
            assert np.array_equal(ours, theirs[i]) and np.array_equal(copied, theirs[i])
    assert envs.render() == ([], [])
    envs.reset(options={"reset_mask": np.array([False, True])})
    assert [len(one) for one in envs.render()] == [0, 1]
    envs.rollout(np.ones((2, 2), int))
    assert [len(one) for one in envs.render()] == [1, 1]


@pytest.mark.parametrize("output", ["numpy", "jax"])
def test_a_frame_of_each_environment_as_it_draws_itself(dot, output):
    envs = FunctionalVectorEnv(TimeLimit(dot(), 4), 3, render_mode="rgb_array", render_width=60, output=output)
    envs.reset(seed=0)
    alone = [single(dot, i) for i in range(3)]
    for _ in range(2):
        frames = envs.render()
        assert type(frames) is tuple and len(frames) == 3
        for frame, env in zip(frames, alone, strict=True):
            assert frame.dtype == np.uint8 and frame.flags.writeable
            np.testing.assert_array_equal(frame, env.render())
            frame[:] = 0
            env.step(1)
        envs.step(np.ones(3, int))


def test_each_is_drawn_with_its_own_parameters(dot):
    radii = np.array([0.25, 0.5, 1.0], np.float32)
    envs = FunctionalVectorEnv(TimeLimit(dot(radius=radii), 4), 3, render_mode="rgb_array", render_width=60)
    envs.reset(seed=0)
    for frame, (i, radius) in zip(envs.render(), enumerate(radii), strict=True):
        np.testing.assert_array_equal(frame, single(dot, i, radius=float(radius)).render())
    envs.reset(seed=0, options={"radius": np.array([1.0, 0.5, 0.25])})
    for frame, (i, radius) in zip(envs.render(), enumerate(radii[::-1]), strict=True):
        np.testing.assert_array_equal(frame, single(dot, i, radius=float(radius)).render())


def test_characters_of_each(dot):
    envs = FunctionalVectorEnv(TimeLimit(dot(), 4), 2, render_mode="ansi", render_width=60)
    envs.reset(seed=0)
    envs.step(np.array([1, 0]))
    alone = [single(dot, i, "ansi") for i in range(2)]
    for env, action in zip(alone, (1, 0), strict=True):
        env.step(action)
    assert envs.render() == tuple(env.render() for env in alone)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_text_tells_each_environments_last_action(mode):
    envs = adapters.make_vec("FrozenLake-v1", 2, autoreset_mode=mode, max_episode_steps=2, render_mode="ansi")

    def told():
        return [text.split("\n")[0].strip() for text in envs.render()]

    envs.reset(seed=0)
    assert told() == ["", ""]
    envs.step(np.array([0, 3]))
    assert told() == ["(Left)", "(Up)"]
    envs.step(np.array([0, 0]))
    assert told() == (["(Left)", "(Left)"] if mode == "NextStep" else ["", ""])
    envs.step(np.array([0, 3]))
    assert told() == (["", ""] if mode == "NextStep" else ["(Left)", "(Up)"])
    envs.reset(seed=0)
    envs.rollout(np.array([[0, 0], [3, 0]]))
    assert told() == (["(Up)", "(Left)"] if mode == "NextStep" else ["", ""])
    again = pickle.loads(pickle.dumps(envs))
    assert again.render() == envs.render()
    envs.state = envs.state
    assert told() == ["", ""]


def test_a_mosaic_has_a_tile_for_each(dot):
    envs = FunctionalVectorEnv(TimeLimit(dot(), 4), 4)
    envs.reset(seed=0)
    assert envs.render_mosaic().shape == (300, 900, 3)
    assert envs.render_mosaic(columns=1).shape == (900, 676, 3)
    assert envs.render_mosaic(height=100).shape == (100, 300, 3)
    picture = envs.render_mosaic(width=120)
    assert picture.shape == (40, 120, 3) and picture.dtype == np.uint8
    for i in range(4):  # tiles of 19 by 59 pixels, with gaps of 2
        env = FunctionalEnv(TimeLimit(dot(), 4), "rgb_array", render_height=19, render_width=59)
        env.reset(seed=i)
        top, left = 21 * (i // 2), 61 * (i % 2)
        np.testing.assert_array_equal(picture[top : top + 19, left : left + 59], env.render())


def test_the_window_shows_the_mosaic_after_every_call(dot):
    envs = FunctionalVectorEnv(TimeLimit(dot(), 4), 3, render_mode="human")
    envs.reset(seed=0)

    def is_shown():
        shown, mosaic = window_of(envs).pixels(), envs.render_mosaic()
        return shown.shape == mosaic.shape and (shown == mosaic).all()

    assert is_shown() and envs.render() is None
    envs.step(np.array([1, 0, 1]))
    assert is_shown()
    envs.step_async(np.array([1, 1, 1]))
    envs.step_wait()
    assert is_shown()
    envs.rollout(np.zeros((2, 3), int))
    assert is_shown()
    again = pickle.loads(pickle.dumps(envs))
    again.step(np.array([1, 0, 1]))
    assert window_of(again) is not window_of(envs)
    again.close()
    assert is_shown()
    pygame = load_pygame()
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    envs.step(np.array([1, 1, 1]))
    envs.step(np.array([1, 1, 1]))
    assert window_of(envs).was_closed
    envs.close()
    envs.close()


def test_what_cannot_be_drawn_is_said(dot):
    envs = FunctionalVectorEnv(dot(), 2, render_mode="rgb_array")
    for draw in (envs.render, envs.render_mosaic):
        with pytest.raises(ResetNeeded):
            draw()
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="must be at least 1"):
        envs.render_mosaic(columns=0)
    with pytest.raises(ValueError, match="must be at least 1"):
        envs.render_mosaic(height=0)
    envs.close()
    with pytest.raises(ClosedEnvironment):
        envs.render()
    without = FunctionalVectorEnv(dot(), 2)
    with pytest.warns(UserWarning, match="no render mode"):
        assert without.render() is None

    class Blank(type(dot())):
        scene = funcenv.FuncEnv.scene

    blank = FunctionalVectorEnv(Blank(), 2)
    assert blank.metadata["render_modes"] == []
    blank.reset(seed=0)
    with pytest.raises(ValueError, match="Blank draws nothing until it defines scene"):
        blank.render_mosaic()
