"""The render modes of the stateful environment."""

import copy
import importlib.util
import pickle

import cloudpickle
import jax
import numpy as np
import pytest

import funcenv
from funcenv import adapters
from funcenv.adapters import FunctionalEnv, ResetNeeded
from funcenv.adapters.error import ClosedEnvironment
from funcenv.adapters.rendering import renderer
from funcenv.adapters.rendering.display import load_pygame
from funcenv.adapters.rendering.terminal import half_blocks
from funcenv.adapters.rendering.window import Window
from funcenv.adapters.wrappers import RenderCollection
from funcenv.envs import CartPole
from funcenv.scene import rasterize
from funcenv.wrappers import TimeLimit
from tests.support.programs import window_of

ALL = ["human", "rgb_array", "ansi", "rgb_array_list", "ansi_list"]


def drawn(env, height, width):
    """Draw the current state with the rasterizer alone."""
    return np.asarray(jax.jit(lambda state: rasterize(env.func_env.scene(state), height, width))(env.state.env_state))


class NoScene(CartPole):
    """An environment without `scene`."""

    scene = funcenv.FuncEnv.scene


class TextOnly(NoScene):
    """An environment with `text` only."""

    def text(self, state, action=None):
        return f"{type(state.x).__name__} {action}"


def test_the_modes_are_what_the_environment_can_do(dot):
    assert FunctionalEnv(dot()).metadata == {"render_modes": ALL, "jax": False, "render_fps": 500}
    assert FunctionalEnv(NoScene()).metadata == {"render_modes": [], "jax": False}
    text_only = FunctionalEnv(TextOnly(), "ansi")
    assert text_only.metadata["render_modes"] == ["ansi", "ansi_list"]
    text_only.reset(seed=0)
    assert text_only.render() == "ndarray None"
    text_only.step(1)
    assert text_only.render() == "ndarray 1"


@pytest.mark.parametrize("id", sorted(funcenv.registry))
def test_modes_and_speed_of_every_environment_are_gymnasiums_or_more(id):
    import gymnasium

    if id not in gymnasium.registry:  # one that another test registered
        return
    if id.startswith("ALE/"):  # ALE states 30 pictures a second, however many of its 60 frames a step lasts
        assert adapters.make(id).metadata["render_fps"] == 60 / 4
        return
    if "box2d" in str(gymnasium.spec(id).entry_point) and importlib.util.find_spec("Box2D") is None:
        assert set(adapters.make(id).metadata["render_modes"]) >= {"human", "rgb_array"}
        return  # Gymnasium's needs Box2D, which is not installed
    theirs = gymnasium.envs.registration.load_env_creator(gymnasium.spec(id).entry_point).metadata
    ours = adapters.make(id).metadata
    assert set(theirs["render_modes"]) - {"depth_array", "rgbd_tuple"} <= set(ours["render_modes"])  # MuJoCo's depths
    assert ours["render_fps"] == theirs.get("render_fps", ours["render_fps"])


def test_a_frame_is_the_rasterized_scene(dot):
    env = FunctionalEnv(TimeLimit(dot(), max_episode_steps=5), "rgb_array")
    env.reset(seed=1)
    for action in (1, 1, 0, 1):
        frame = env.render()
        assert frame.shape == (200, 600, 3) and frame.dtype == np.uint8
        np.testing.assert_array_equal(frame, drawn(env, 200, 600))
        env.step(action)
    assert (frame != env.render()).any()


def test_frames_are_fresh_and_writable(dot):
    env = FunctionalEnv(dot(), "rgb_array", render_width=60)
    env.reset(seed=0)
    first = env.render()
    kept = first.copy()
    env.step(1)
    second = env.render()
    assert not np.shares_memory(first, second) and (second != kept).any()
    first[:] = 0
    np.testing.assert_array_equal(env.render(), second)


@pytest.mark.parametrize(
    ("height", "width", "size"),
    [(None, None, (200, 600)), (50, None, (50, 150)), (None, 90, (30, 90)), (40, 40, (40, 40)), (33, None, (33, 100))],
)
def test_sizes(dot, height, width, size):
    env = FunctionalEnv(dot(), "rgb_array", render_height=height, render_width=width)
    env.reset(seed=0)
    assert env.render().shape == (*size, 3)
    tall = FunctionalEnv(dot(length=1), "rgb_array", render_height=height, render_width=width)
    tall.reset(seed=0)
    if (height, width) == (None, None):
        assert tall.render().shape == (600, 300, 3)


def test_make_passes_the_size_on_and_the_spec_keeps_it():
    env = adapters.make("CartPole-v1", "rgb_array", render_height=40, render_width=90)
    again = adapters.EnvSpec.from_json(env.spec.to_json()).make()
    for one in (env, again, env.spec.make(render_width=90)):
        one.reset(seed=0)
        assert one.render().shape == (40, 90, 3)
    other = env.spec.make("ansi", render_height=None)
    assert other.render_mode == "ansi" and other.spec.render_height is None and other.spec.render_width == 90


def test_an_episode_with_options_is_drawn_with_them(dot):
    env = FunctionalEnv(dot(), "rgb_array", render_width=90)
    env.reset(seed=0)
    usual = env.render()
    env.reset(seed=0, options={"radius": 1.0})
    large = env.render()
    assert (large != usual).any()
    np.testing.assert_array_equal(large, rasterize(dot(radius=1.0).scene(env.state.env_state), *usual.shape[:2]))


def test_one_program_draws_all_environments_of_a_kind(dot):
    for radius in (0.25, 0.75):
        env = FunctionalEnv(dot(radius=radius), "rgb_array", render_height=24, render_width=48)
        env.reset(seed=0)
        env.render()
        if radius == 0.25:
            dot.traces.clear()
        for _ in range(3):
            env.step(1)
            env.render()
    assert not dot.traces


def test_a_state_that_was_set_is_drawn(dot):
    env = FunctionalEnv(dot(), "rgb_array", render_width=60)
    env.reset(seed=0)
    snapshot, frame = env.state, env.render()
    env.step(1)
    env.state = snapshot
    np.testing.assert_array_equal(env.render(), frame)


def test_characters_are_the_frame_as_large_as_the_terminal(dot, monkeypatch):
    env = FunctionalEnv(dot(), "ansi")
    env.reset(seed=0)
    for columns, lines, size in ((80, 24, (26, 80)), (40, 6, (8, 24))):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", str(lines))
        assert env.render() == half_blocks(drawn(env, *size))


def test_text_goes_through_wrappers_with_the_action_played_inside():
    mirrored = funcenv.wrappers.TransformAction(TextOnly(), lambda action: 1 - action)
    env = FunctionalEnv(TimeLimit(mirrored, 9), "ansi")
    env.reset(seed=0)
    env.step(1)
    assert env.render() == "ndarray 0"
    env = FunctionalEnv(funcenv.wrappers.StickyAction(TextOnly(), 0.9), "ansi_list")
    env.reset(seed=0)
    actions = [0, 1] * 3  # so that almost every sticky action differs
    played = []
    for action in actions:
        env.step(action)
        played.append(f"ndarray {env.state.env_state.last_action}")
    assert env.render() == ["ndarray None", *played] and played != [f"ndarray {action}" for action in actions]
    env = FunctionalEnv(funcenv.wrappers.Autoreset(TimeLimit(TextOnly(), 1)), "ansi_list")
    env.reset(seed=0)
    env.step(1)
    env.reset()
    assert env.render() == ["ndarray None"]


@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
def test_lists_are_what_collecting_every_frame_gives(dot, mode, assert_same_frames):
    ours = FunctionalEnv(TimeLimit(dot(), 4), f"{mode}_list", render_width=60)
    theirs = RenderCollection(FunctionalEnv(TimeLimit(dot(), 4), mode, render_width=60))
    lengths = assert_same_frames(ours, theirs, "rs.ss.r.rss..sr")
    assert lengths == [2, 2, 1, 3, 0]


@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
def test_lists_hold_the_steps_inside_of_the_wrappers(dot, mode):
    collecting = FunctionalEnv(TimeLimit(dot(), 9), f"{mode}_list", render_width=60)
    single = FunctionalEnv(TimeLimit(dot(), 9), mode, render_width=60)
    frames = []
    for face in ("reset", "outer", "inner", "outer", "inner"):
        for env in (collecting, single):
            if face == "reset":
                env.reset(seed=0)
            else:
                (env if face == "outer" else env.unwrapped).step(1)
        frames.append(single.render())
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(collecting)).render(), frames)
    np.testing.assert_array_equal(collecting.unwrapped.render(), frames)
    assert collecting.render() == []


def test_frames_nobody_asks_for_are_not_drawn(dot, monkeypatch):
    calls = []
    original = renderer.draw_frame
    monkeypatch.setattr(renderer, "draw_frame", lambda *args: calls.append(args) or original(*args))
    env = FunctionalEnv(dot(), "rgb_array_list", render_width=30)
    env.reset(seed=0)
    for _ in range(3):
        env.step(0)
    env.reset()
    env.step(0)
    assert not calls and len(env.render()) == len(calls) == 2


def test_the_window_shows_every_state(dot):
    env = FunctionalEnv(dot(), "human", render_width=60)
    assert window_of(env) is None
    env.reset(seed=0)
    for action in (1, 1, 0):
        np.testing.assert_array_equal(window_of(env).pixels(), drawn(env, 20, 60))
        assert env.render() is None
        env.step(action)
    snapshot = env.state
    env.step(1)
    env.state = snapshot
    env.render()
    np.testing.assert_array_equal(window_of(env).pixels(), drawn(env, 20, 60))
    env.close()
    env.close()
    assert not load_pygame().display.get_init()


def test_a_state_is_shown_once(dot, monkeypatch):
    shown = []
    original = Window.show
    monkeypatch.setattr(Window, "show", lambda window, frame: shown.append(1) or original(window, frame))
    with FunctionalEnv(dot(), "human", render_width=60) as env:
        env.reset(seed=0)
        env.render()
        env.step(1)
        env.render()
        env.render()
        assert len(shown) == 2


def test_the_user_closes_the_window_and_stepping_goes_on(dot):
    pygame = load_pygame()
    env = FunctionalEnv(dot(length=50), "human", render_width=60)
    env.reset(seed=0)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    for _ in range(3):
        env.step(1)
        env.render()
    assert window_of(env).was_closed and not pygame.display.get_init()
    env.reset()
    env.step(1)
    env.close()


def test_two_environments_have_a_window_each(dot):
    one, other = (FunctionalEnv(dot(radius=radius), "human", render_width=60) for radius in (0.3, 0.9))
    for env in (one, other, one, other):
        env.reset(seed=0)
        env.step(1)
    for env in (one, other):
        np.testing.assert_array_equal(window_of(env).pixels(), drawn(env, 20, 60))
    one.close()
    other.step(1)
    np.testing.assert_array_equal(window_of(other).pixels(), drawn(other, 20, 60))
    other.close()


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, *(lambda env, by=by: by.loads(by.dumps(env)) for by in (pickle, cloudpickle))],
    ids=["deepcopy", "pickle", "cloudpickle"],
)
@pytest.mark.parametrize("mode", ALL)
def test_a_copy_draws_what_the_original_draws(copied, mode):
    with adapters.make("CartPole-v1", mode, render_width=60) as env:
        env.reset(seed=0)
        env.step(1)
        with copied(env) as other:
            assert other.render_mode == mode and other.metadata == env.metadata
            for one in (env, other):
                one.step(0)
            np.testing.assert_array_equal(env.render(), other.render())
            if mode == "human":
                assert window_of(env) is not window_of(other)
                np.testing.assert_array_equal(window_of(env).pixels(), window_of(other).pixels())


def test_text_of_a_copy_knows_the_last_action():
    env = adapters.make("FrozenLake-v1", "ansi")
    env.reset(seed=0)
    env.step(2)
    assert "(Right)" in copy.deepcopy(env).render()


def test_double_precision_draws_the_same(dot):
    env = FunctionalEnv(dot(), "rgb_array", render_width=60)
    env.reset(seed=0)
    frame, state = env.render(), int(env.state.env_state)
    with jax.enable_x64(True):
        wide = FunctionalEnv(dot(), "rgb_array", render_width=60)
        wide.reset(seed=0)
        while int(wide.state.env_state) != state:
            wide.step(int(wide.state.env_state) < state)
        assert np.abs(wide.render().astype(int) - frame).max() <= 1


@pytest.mark.parametrize("mode", ["rgb", "Human", "ansi ", "depth_array", "human_list"])
def test_an_unknown_mode_is_named_with_those_there_are(dot, mode):
    with pytest.raises(ValueError, match=rf"render_mode must be one of \[None, 'human', .*\], got '{mode}'"):
        FunctionalEnv(dot(), mode)


def test_what_cannot_be_drawn_is_said(dot):
    with pytest.raises(ValueError, match=r"one of \[None\], got 'rgb_array'; NoScene draws nothing until .* scene"):
        FunctionalEnv(NoScene(), "rgb_array")
    for size in ({"render_height": 0}, {"render_width": -3}):
        with pytest.raises(ValueError, match="must be at least 1"):
            FunctionalEnv(dot(), "rgb_array", **size)
    with pytest.raises(TypeError, match="render_width must be an integer"):
        FunctionalEnv(dot(), "rgb_array", render_width=2.5)
    env = FunctionalEnv(dot(), "rgb_array")
    with pytest.raises(ResetNeeded, match="before render"):
        env.render()
    env.close()
    with pytest.raises(ClosedEnvironment):
        env.render()


def test_without_a_mode_it_warns_and_draws_nothing(dot):
    env = FunctionalEnv(dot())
    with pytest.warns(UserWarning, match=r'no render mode; .* render_mode="human"'):
        assert env.render() is None
    with pytest.warns(UserWarning, match="it has none"):
        assert FunctionalEnv(NoScene()).render() is None


def test_our_checker_draws_in_every_mode(dot):
    for id in ("CartPole-v1", "FrozenLake-v1"):
        adapters.check_env(adapters.make(id, render_width=60).unwrapped, warn=False, skip_render_check=False)
