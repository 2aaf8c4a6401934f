"""The kinematics behind drawings against MuJoCo's, and what is drawn."""

import jax
import mujoco
import numpy as np
import pytest
from scipy.spatial import ConvexHull

from funcenv.envs.mujoco.kinematics import geom_poses
from funcenv.envs.mujoco.mujoco_scene import View, draw_model, free_view, view_axes
from funcenv.scene import rasterize
from tests.support.mujoco import NAMES, ours

BALL = """<mujoco><worldbody>
<body pos="0 0 1" quat="0.5 0.5 0.5 -0.5"><joint type="ball" pos="0.1 0 0.2"/>
<geom type="capsule" size="0.1 0.3" pos="0.2 0 0" euler="30 20 10"/>
<body pos="0.3 0 0"><geom type="sphere" size="0.1"/><body pos="0 0.2 0"><joint type="slide" axis="1 1 0" ref="0.3"/>
<joint type="hinge" pos="0 0.1 0" axis="0 1 1" ref="0.2"/><geom type="box" size="0.1 0.2 0.3"/></body></body></body>
</worldbody></mujoco>"""


def models():
    return {**{name: lambda name=name: ours(name).model.mjmodel for name in NAMES}, "ball": lambda: make_ball()}


def make_ball():
    return mujoco.MjModel.from_xml_string(BALL)


@pytest.mark.parametrize("name", models())
def test_geoms_are_where_mujoco_has_them(name):
    mjmodel = models()[name]()
    data, poses = mujoco.MjData(mjmodel), jax.jit(lambda qpos: geom_poses(mjmodel, qpos))
    for seed in range(3):
        data.qpos[:] = mjmodel.qpos0 + np.random.default_rng(seed).normal(size=mjmodel.nq)
        mujoco.mj_kinematics(mjmodel, data)
        centers, axes = poses(data.qpos.copy())
        np.testing.assert_allclose(centers, data.geom_xpos, atol=2e-5)
        np.testing.assert_allclose(np.swapaxes(axes, 1, 2), data.geom_xmat.reshape(-1, 3, 3), atol=2e-5)


def test_geoms_follow_bodies_that_are_elsewhere():
    mjmodel = make_ball()
    changed, random = make_ball(), np.random.default_rng(0)
    changed.body_pos[:] += random.normal(size=changed.body_pos.shape)
    changed.body_quat[1:] = random.normal(size=(mjmodel.nbody - 1, 4))
    changed.body_quat[1:] /= np.linalg.norm(changed.body_quat[1:], axis=1, keepdims=True)
    data = mujoco.MjData(changed)
    mujoco.mj_kinematics(changed, data)
    changes = {"body_pos": changed.body_pos, "body_quat": changed.body_quat}
    centers, axes = jax.jit(lambda qpos: geom_poses(mjmodel, qpos, changes))(data.qpos.copy())
    np.testing.assert_allclose(centers, data.geom_xpos, atol=2e-5)
    np.testing.assert_allclose(np.swapaxes(axes, 1, 2), data.geom_xmat.reshape(-1, 3, 3), atol=2e-5)


def test_the_view_follows_the_body_and_the_floor_passes_by():
    """A step of one metre of grid shows the same image, half of one another floor with the same body."""
    env = ours("HalfCheetah")
    state = jax.jit(env.initial)(jax.random.key(0))
    draw = jax.jit(lambda x: rasterize(env.scene(state.replace(qpos=state.qpos.at[0].set(x))), 60, 120))
    here, half, whole = (np.int32(draw(x)) for x in (0.0, 0.5, 1.0))
    np.testing.assert_allclose(whole, here, atol=1)
    changed = (np.abs(here - half) > 2).any(axis=2)
    assert changed.any()
    assert not changed[:30].any()


SOLIDS = """<mujoco><worldbody><body pos="0 0 1"><freejoint/>
<geom name="box" type="box" size="0.1 0.2 0.3" pos="0.2 0 0"/><geom name="egg" type="ellipsoid" size="0.3 0.1 0.2"/>
<geom name="ghost" type="box" size="2 2 2" rgba="1 1 1 0"/><geom name="shape" type="box" size="2 2 2" group="4"/>
</body></worldbody></mujoco>"""


@pytest.mark.parametrize("view", [View(2, 2), View(2, 2, azimuth=30, elevation=-40), View(2, 2, elevation=-90)])
def test_boxes_and_ellipsoids_have_their_outlines(view):
    mjmodel = mujoco.MjModel.from_xml_string(SOLIDS)
    data, random = mujoco.MjData(mjmodel), np.random.default_rng(0)
    across, up, _ = view_axes(view)
    for _ in range(5):
        data.qpos[:] = random.normal(size=7)
        data.qpos[3:] /= np.linalg.norm(data.qpos[3:])
        mujoco.mj_kinematics(mjmodel, data)
        boxes, eggs = (shape.shape for shape in draw_model(mjmodel, data.qpos.copy(), view).shapes)
        assert len(boxes.points) == 1  # neither what is transparent nor what belongs to a hidden group
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1)
        turn = data.geom("box").xmat.reshape(3, 3)
        corners = data.geom("box").xpos + (turn @ (signs * mjmodel.geom("box").size[:, None])).T
        corners = corners @ np.stack([across, up], axis=1)
        hull = corners[ConvexHull(corners).vertices]
        distances = np.linalg.norm(hull[:, None] - np.asarray(boxes.points[0])[None], axis=2)
        assert distances.min(axis=1).max() < 1e-4  # every corner of the hull is one of the polygon
        assert np.isclose(area(np.asarray(boxes.points[0])), ConvexHull(corners).volume, rtol=1e-3)
        turn = data.geom("egg").xmat.reshape(3, 3) * mjmodel.geom("egg").size
        expected = np.linalg.svd(np.stack([across, up]) @ turn, compute_uv=False)  # half of length and width
        start, end, width = np.asarray(eggs.start[1]), np.asarray(eggs.end[1]), float(eggs.width[1])
        np.testing.assert_allclose([np.linalg.norm(end - start) / 2 + width / 2, width / 2], expected, rtol=1e-3)
        np.testing.assert_allclose((start + end) / 2, np.stack([across, up]) @ data.geom("egg").xpos, atol=1e-4)


def area(corners):
    x, y = corners.T
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def test_a_model_is_seen_by_its_free_camera():
    """The view is as high as the camera's picture where it looks."""
    xml = """<mujoco><visual><global azimuth="20" elevation="-10" fovy="30"/></visual>
    <statistic center="1 2 3" extent="4"/><worldbody><geom size="1"/></worldbody></mujoco>"""
    mjmodel, camera = mujoco.MjModel.from_xml_string(xml), mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(mjmodel, camera)
    view = free_view(mjmodel)
    assert view.middle == tuple(camera.lookat) and (view.azimuth, view.elevation) == (camera.azimuth, camera.elevation)
    assert np.isclose(view.height, 2 * camera.distance * np.tan(np.radians(15)))


def test_geoms_in_a_plane_keep_their_order():
    """The cart hides the rail wherever it is, although both are equally far but for rounding."""
    env = ours("InvertedPendulum")
    state = jax.jit(env.initial)(jax.random.key(0))
    draw = jax.jit(lambda qpos: rasterize(env.scene(state.replace(qpos=qpos)), 16 * 6, 30 * 6))
    cart = np.float32([43, 53, 65])
    for x in np.linspace(-0.9, 0.9, 13):
        image = np.asarray(draw(np.float32([x, 0.1])))
        column = round((x / 3.0 + 0.5) * 180 - 8)
        np.testing.assert_allclose(image[60, column], cart, atol=3, err_msg=str(x))
