"""MuJoCo's own images of the robots and their goals, which are compared with Gymnasium-Robotics'."""

import os
import subprocess
import sys

import pytest

from tests.support.mujoco import OPENGL

SAME = """
import jax, jax.numpy as jnp, numpy as np
from funcenv.envs.robotics.maze_task import MazeGoal
from tests.support.robotics import ours, readable_joints, reference, state_of
for id in "robotics/PointMaze_Large-v3", "robotics/FetchSlide-v4":
    env, theirs = ours(id), reference(id, render_mode="rgb_array")
    with readable_joints():
        theirs.reset(seed=1)
    goal = jnp.asarray(theirs.goal)
    state = state_of(env, theirs, goal if "Fetch" in id else MazeGoal(place=goal, is_passed=jnp.zeros((), bool)))
    image, expected = env.host_image(state, (480, 480)), theirs.render()
    assert image.dtype == np.uint8 and image.shape == (480, 480, 3)
    assert (np.abs(image.astype(int) - expected) > 2).mean() < 1e-3, id
ant = ours("robotics/AntMaze_UMaze-v5")
state = jax.device_get(jax.jit(ant.initial)(jax.random.key(0)))
image, away = (ant.host_image(state.replace(qpos=state.qpos + step), (60, 60)) for step in (0.0, 50.0 * np.eye(15)[0]))
for one in image, away:  # the ant is in the middle of the image, wherever it is
    red, _, blue = one[24:34, 26:34].reshape(-1, 3).astype(int).mean(0)
    assert red > blue + 40
"""


@pytest.mark.skipif(OPENGL is None, reason="neither OSMesa nor EGL is installed: libosmesa6")
@pytest.mark.dear
def test_images_are_the_packages():
    variables = {**os.environ, "MUJOCO_GL": OPENGL}
    done = subprocess.run([sys.executable, "-c", SAME], env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
