"""The page as text: what is in it, and that the numbers come back."""

import base64
import hashlib
import json
import re

import hypothesis
import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole
from funcenv.replay import Episode, Replay, record
from funcenv.replay.html import Encoder
from funcenv.scene import Camera, Scene
from funcenv.wrappers import TimeLimit

TYPES = {"f": "<f4", "i": "<i4", "u": "<u2", "b": "<u1"}


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL).group(1))


def decoded(encoded, blobs, num_steps):
    """Read the documented format."""

    def numbers(written):
        if written and isinstance(written[0], str):
            return np.frombuffer(base64.b64decode(blobs[written[1]]), TYPES[written[0]]).astype(np.float64)
        return np.array(written, np.float64)

    whole = np.tile(numbers(encoded["base"]), (num_steps, 1))
    if "rows" in encoded:
        moving = encoded.get("moving", range(whole.shape[1]))
        rows = numbers(encoded["rows"]).reshape(-1, len(moving))
        which = numbers(encoded["at"]).astype(int) if "at" in encoded else np.arange(num_steps)
        whole[:, list(moving)] = rows[which]
    return whole


@hypothesis.settings(deadline=None, max_examples=60)
@hypothesis.given(
    arrays.arrays(
        st.sampled_from([np.float32, np.int32, np.uint8]),
        st.tuples(st.integers(1, 40), st.integers(1, 20)),
        elements=st.integers(0, 3),
    ),
    st.sampled_from([1, 100, 70_000]),
)
def test_arrays_come_back(values, scale):
    values = values * np.asarray(scale, np.float32 if values.dtype == np.float32 else np.int64)
    values = values.astype(np.float32 if values.dtype == np.float32 else np.int32)
    encoder = Encoder()
    encoded = json.loads(json.dumps(encoder.array(values)))
    np.testing.assert_array_equal(decoded(encoded, encoder.blobs, len(values)), values)


def test_rows_that_repeat_are_written_once():
    images = np.random.default_rng(0).integers(0, 256, (2, 16, 16, 4), np.uint8)
    encoder = Encoder()
    encoder.array(images[np.arange(300) % 2])
    assert sum(map(len, encoder.blobs)) < 2 * 2 * images[0].size + 1000


def test_500_steps_of_cartpole_are_small():
    env = TimeLimit(CartPole(theta_threshold_radians=1e9, x_threshold=1e9), max_episode_steps=500)
    replay = record(env, funcenv.random_policy(env), funcenv.key(0))
    assert replay.num_steps == 500 and len(replay.to_html()) < 200_000


def test_the_figures_are_those_of_the_episode():
    env = funcenv.make("Pendulum-v1")
    replay = record(env, funcenv.random_policy(env), funcenv.key(0), num_episodes=2, title="P")
    data = data_of(replay.to_html())
    assert (data["title"], data["fps"], len(data["scenes"])) == ("P", env.render_fps, 1)
    for written, episode in zip(data["episodes"], replay.episodes, strict=True):
        assert written["return"] == episode.episode_return and written["end"] == "truncated"
        rewards = decoded(written["reward"], data["blobs"], 200)[:, 0]
        np.testing.assert_array_equal(rewards, episode.reward)
        actions = written["actions"]
        assert (actions["kind"], actions["low"], actions["high"]) == ("continuous", -2, 2)
        np.testing.assert_array_equal(decoded(actions["values"], data["blobs"], 200), episode.action)


def test_actions_of_every_kind_become_columns():
    encoder = Encoder()

    def written(action, space=None, *names):
        scenes = Replay.from_scenes([Scene(Camera((0.0, 0.0), 2.0, 2.0))] * 4).episodes[0].scenes
        return encoder.actions(Episode(scenes, np.zeros(3), action, action_space=space, action_names=names))

    assert written(None) is None
    one = written(np.array([0, 1, 1]), funcenv.spaces.Discrete(3, start=-1), "left", "stay", "right")
    assert (one["kind"], one["width"], one["low"], one["high"]) == ("discrete", 1, -1, 1)
    assert one["names"] == ["left", "stay", "right"]
    many = written({"a": np.zeros((3, 2, 3)), "b": np.ones((3, 5), np.int32)})
    assert (many["kind"], many["width"], many["hidden"]) == ("continuous", 11, 0)
    wide = written(np.zeros((3, 40)))
    assert (wide["width"], wide["hidden"]) == (32, 8)
    switches = written(np.array([[True, False]] * 3), funcenv.spaces.MultiBinary(2), "one name")
    assert (switches["kind"], switches["width"], switches["high"]) == ("discrete", 2, 1)
    assert switches["names"] == []  # they do not fit


def test_a_title_cannot_break_out_of_the_page():
    title = "</script><script>alert(1)</script>\u2028 & \"'"
    text = Replay.from_scenes([Scene(Camera((0.0, 0.0), 2.0, 2.0))], title=title).to_html()
    assert text.count("</script>") == 2 and "alert(1)</script>" not in text.replace("&lt;", "")
    assert data_of(text)["title"] == title


def test_it_asks_nothing_of_the_network():
    text = Replay.from_scenes([Scene(Camera((0.0, 0.0), 2.0, 2.0))]).to_html()
    assert not re.search(r"https?:|url\(|@import|<link(?! rel=\"icon\" href=\"data:,\")|src=", text)
    assert "default-src 'none'" in text


def test_numbers_that_are_not_finite_do_not_break_the_page():
    scenes = [Scene(Camera((0.0, 0.0), 2.0, 2.0))] * 3
    data = data_of(Replay.from_scenes(scenes, [np.nan, np.inf]).to_html())
    assert data["episodes"][0]["return"] is None


def test_something_that_is_no_shape_is_refused():
    with pytest.raises(TypeError, match="a scene is made of shapes from funcenv.scene, got ndarray among them"):
        Replay.from_scenes([Scene(Camera((0.0, 0.0), 2.0, 2.0), (np.zeros(2),))]).to_html()


def test_only_the_script_of_the_player_may_run():
    env = TimeLimit(CartPole(), 3)
    page = record(env, funcenv.random_policy(env), funcenv.key(0)).to_html()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'sha256-" in policy
    assert "unsafe" not in policy
