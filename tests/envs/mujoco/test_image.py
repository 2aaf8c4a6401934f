"""MuJoCo's own images, which are compared with Gymnasium's where OpenGL works, and the scene without them."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from funcenv import adapters
from funcenv.envs import Ant
from tests.support.mujoco import OPENGL, ours

SAME = """
import gymnasium, jax, numpy as np
from funcenv import adapters
from tests.support.mujoco import ours
for arguments in {}, {"width": 200, "height": 120, "camera_name": "track"}:
    theirs = gymnasium.make("Ant-v5", render_mode="rgb_array", **arguments)
    theirs.reset(seed=0)
    inner = theirs.unwrapped
    inner.set_state(inner.init_qpos, inner.init_qvel)
    env = adapters.make("Ant-v5", render_mode="rgb_array", reset_noise_scale=0.0, **arguments)
    env.reset(seed=0)
    image = env.render()
    assert image.dtype == np.uint8 and image.shape == (arguments.get("height", 480), arguments.get("width", 480), 3)
    np.testing.assert_array_equal(image, theirs.render())
envs = adapters.make_vec("Ant-v5", num_envs=2, render_mode="rgb_array", reset_noise_scale=0.0, **arguments)
envs.reset(seed=0)
for frame in envs.render():
    np.testing.assert_array_equal(frame, image)
arguments |= {"render_mode": "rgbd_tuple", "reset_noise_scale": 0.0}
theirs, env = gymnasium.make("Ant-v5", **arguments), adapters.make("Ant-v5", **arguments)
theirs.reset(seed=0), env.reset(seed=0)
for one, other in zip(env.render(), theirs.render(), strict=True):
    np.testing.assert_array_equal(one, other)
    assert one.dtype == other.dtype
envs = adapters.make_vec("Ant-v5", num_envs=2, **arguments | {"render_mode": "depth_array_list"})
envs.reset(seed=0)
for (frame,) in envs.render():
    np.testing.assert_array_equal(frame, theirs.render()[1])
    assert 0.5 < frame.min() < frame.max() <= 1
state = jax.jit(ours("Ant").initial)(jax.random.key(0))
draw = lambda x: ours("Ant").host_image(jax.device_get(state.replace(qpos=state.qpos.at[0].set(x))), (60, 60))
assert np.abs(np.int32(draw(0.0)) - draw(4.0)).mean() < 1  # the camera moves with the robot; the floor repeats
"""

TERRAINS = """
import jax, numpy as np
from funcenv.envs import SuiteQuadrupedEscape
env = SuiteQuadrupedEscape()
flat = jax.device_get(jax.jit(env.initial)(jax.random.key(0)))
flat = flat.replace(variables=np.full((30, 30), 0.15, np.float32))
steep = flat.replace(variables=np.ones((30, 30), np.float32))
first, second, again = (np.int32(env.host_image(state, (60, 80))) for state in (flat, steep, flat))
np.testing.assert_array_equal(first, again)
assert np.abs(first - second).mean() > 1  # 2.5, or 0.2 from rangefinders alone if the renderer keeps its terrain
"""


def run(script, **variables):
    environment = {**os.environ, **variables}
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(OPENGL is None, reason="neither OSMesa nor EGL is installed: libosmesa6")
@pytest.mark.parametrize("script", [SAME, TERRAINS], ids=["gymnasiums", "terrains"])
@pytest.mark.dear
def test_images_are_as_they_should_be(script):
    done = run(script, MUJOCO_GL=OPENGL)
    assert done.returncode == 0, done.stderr


def test_a_failing_opengl_is_explained():
    script = """
from funcenv import adapters
env = adapters.make("InvertedPendulum-v5", render_mode="rgb_array")
env.reset(seed=0)
env.render()
"""
    done = run(script, MUJOCO_GL="glfw", DISPLAY="", WAYLAND_DISPLAY="")
    assert "RuntimeError: MuJoCo cannot draw with MUJOCO_GL=glfw: " in done.stderr
    assert "; before Python starts, set MUJOCO_GL to egl" in done.stderr


def test_without_opengl_the_scene_is_drawn_in_the_size_that_was_asked_for(monkeypatch, recwarn):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    env = adapters.make("InvertedPendulum-v5", render_mode="rgb_array", width=60, height=40)
    env.reset(seed=0)
    assert env.render().shape == (40, 60, 3)
    assert not [entry for entry in recwarn if "MUJOCO_GL" in str(entry.message)]


def test_depth_needs_opengl(monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    with pytest.raises(ValueError, match="got 'depth_array'; MuJoCo draws depth where MUJOCO_GL is set, to egl or"):
        adapters.make("InvertedPendulum-v5", render_mode="depth_array")


def test_arguments_without_effect_are_named(monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    env = ours("Ant", camera_name="track")
    state = jax.device_get(jax.jit(env.initial)(jax.random.key(0)))
    with pytest.warns(UserWarning, match="camera_name='track' have no effect.*set MUJOCO_GL to egl"):
        assert env.host_image(state, (40, 60)) is None


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"camera_name": "nose"}, r"has no camera 'nose'; its cameras are \['track'\]"),
        ({"camera_id": 1}, "camera_id must be from -1 to 0 in .*, got 1"),
        ({"camera_id": 0, "camera_name": "track"}, "name two cameras; leave one out"),
    ],
)
def test_wrong_cameras_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Ant(**arguments)


def test_a_scene_has_the_aspect_of_its_camera_by_default(monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    assert Ant().image_size is None
    assert Ant(height=100).image_size == (100, 480)
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    assert Ant().image_size == (480, 480)
    assert np.ndim(Ant(camera_id=-1).camera_id) == 0
