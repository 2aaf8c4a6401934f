"""Replays as values: how they are made, cut, joined and shown."""

import copy
import html
import pickle

import jax
import numpy as np
import pytest

import funcenv
from funcenv.replay import Replay
from funcenv.replay.scene_stack import stack_scenes
from funcenv.scene import Camera, Circle, Repeat, Scene, rasterize, rgba

CAMERA = Camera((0.0, 0.0), 3.0, 2.0)


def ball(x, *more):
    return Scene(CAMERA, (Circle((x, 0.0), 0.5, rgba("#ff0000")), *more))


def test_states_that_were_kept_make_a_replay():
    env = funcenv.make("CartPole-v1")
    state, _ = env.reset(funcenv.key(0))
    states, rewards = [state], []
    for number in range(4):
        state, timestep = env.step(state, 1, funcenv.key(number))
        states.append(state)
        rewards.append(timestep.reward)
    replay = Replay.from_states(env, states, rewards, action=np.ones(4, np.int32), truncated=True)
    stacked = Replay.from_states(env, jax.tree.map(lambda *leaves: np.stack(leaves), *states), rewards)
    assert replay.episode_return.tolist() == stacked.episode_return.tolist() == [4.0]
    assert replay.title == "CartPole" and replay.fps == env.render_fps
    for a, b in zip(
        jax.tree.leaves(replay.episodes[0].scenes), jax.tree.leaves(stacked.episodes[0].scenes), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_a_scene_that_changes_its_shapes_is_named():
    changed = [ball(0.0), ball(1.0), ball(2.0, Circle((0.0, 0.0), 0.1, rgba("#000000")))]
    with pytest.raises(ValueError, match=r"after step 2 shapes\[1\] \(Circle\) is added"):
        Replay.from_scenes(changed)
    many = [Scene(CAMERA, (Repeat(Circle(np.zeros((n, 2)), np.ones(n), np.ones((n, 4)))),)) for n in (2, 3)]
    with pytest.raises(ValueError, match=r"after step 1 shapes\[0\]"):
        Replay.from_scenes(many)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"reward": [1.0]}, "reward must have one number for each of the 2 steps between 3 states"),
        ({"action": np.zeros(3)}, "action must have a leading axis of 2 steps"),
        ({"fps": 0.0}, "fps must be a finite number above 0"),
    ],
)
def test_facts_that_do_not_fit_are_refused(facts, message):
    with pytest.raises(ValueError, match=message):
        Replay.from_scenes([ball(0.0), ball(0.5), ball(1.0)], **facts)


def test_nothing_to_show_is_refused():
    with pytest.raises(ValueError, match="at least one episode"):
        Replay(())
    with pytest.raises(ValueError, match="at least one scene"):
        Replay.from_scenes([])


def test_clipping_keeps_the_end_only_where_it_is_whole():
    replay = Replay.from_scenes([ball(x) for x in np.arange(6.0)], np.arange(5.0), terminated=True)
    middle, end = replay.clip(1, 3).episodes[0], replay.clip(3).episodes[0]
    assert (middle.reward.tolist(), middle.terminated) == ([1.0, 2.0], False)
    assert (end.reward.tolist(), end.terminated) == ([3.0, 4.0], True)
    assert middle.scenes.shapes[0].center[0].tolist() == [1.0, 2.0, 3.0]
    assert replay.clip(9).num_steps == 0


def test_frames_are_the_rasterisers():
    scenes = [ball(x) for x in (-0.5, 0.0, 0.5, 1.0)]
    frames = list(Replay.from_scenes(scenes).frames(height=20))
    assert len(frames) == 4
    for frame, scene in zip(frames, scenes, strict=True):
        np.testing.assert_array_equal(frame, rasterize(scene, 20, 30))
    assert len(list(Replay.from_scenes(scenes).frames(height=20, every=2))) == 3  # the last one is always shown


def test_frames_of_several_lie_in_a_grid_and_wait_for_each_other():
    one, two = (Replay.from_scenes([ball(x) for x in np.linspace(-1, 1, n)], title=str(n)) for n in (2, 4))
    frames = list(Replay.together(one, two, one).frames(height=20))
    assert {frame.shape for frame in frames} == {(48, 68, 3)} and len(frames) == 4
    assert next(Replay.together(one, two, one).frames(height=20, columns=3)).shape == (20, 106, 3)
    np.testing.assert_array_equal(frames[3][:20, :30], frames[1][:20, :30])
    np.testing.assert_array_equal(frames[3][:20, 38:], list(two.frames(height=20))[3])
    np.testing.assert_array_equal(frames[0][28:, :30], frames[0][:20, :30])


def test_a_replay_is_a_value():
    replay = Replay.from_scenes([ball(0.0), ball(1.0)], [2.0])
    for twin in (copy.deepcopy(replay), pickle.loads(pickle.dumps(replay))):
        assert twin.to_html() == replay.to_html()


def test_stacked_scenes_have_strong_small_types():
    stacked = stack_scenes([ball(0), ball(1)])
    assert {leaf.dtype for leaf in jax.tree.leaves(stacked)} == {np.dtype(np.float32)}


def test_a_notebook_shows_the_page_in_a_frame():
    replay = Replay.from_scenes([ball(0.0), ball(1.0)], title='A "quoted" & <b>title</b>')
    text = replay._repr_html_()
    assert text.startswith("<iframe srcdoc=") and text.count("<iframe") == 1
    inner = text.split('srcdoc="', 1)[1].split('" title=', 1)[0]
    assert '"' not in inner and html.unescape(inner) == replay.to_html()


def test_names_are_handed_on():
    assert funcenv.Replay is Replay and funcenv.record is funcenv.replay.record
