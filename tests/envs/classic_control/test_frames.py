"""Laws of the frames of the physical systems."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import (
    Acrobot,
    AcrobotState,
    CartPole,
    CartPoleState,
    MountainCar,
    MountainCarContinuous,
    MountainCarContinuousState,
    MountainCarState,
    Pendulum,
    PendulumState,
)
from funcenv.scene import Circle, palette
from tests.support.frames import center_of, draw_frames, find_color, member

HILL = np.linspace(-2, 2, 200_001)


def rows(kind: Any, *columns: Any) -> Any:
    """States with a leading axis, one column for each field; zeros for the others."""
    columns += (0.0,) * (len(dataclasses.fields(kind)) - len(columns))
    columns = np.broadcast_arrays(*(np.asarray(column, np.float32) for column in columns))
    return kind(*map(jnp.asarray, columns))


class TestCartPole:
    def test_the_mirror_image_of_a_state_is_the_mirror_image_of_its_frame(self) -> None:
        x, theta = np.array([0.3, -1.7, 2.5]), np.array([0.1, -0.2, 0.4])
        frames = draw_frames(CartPole(), rows(CartPoleState, x, 1.0, theta, 0.0))
        mirrored = draw_frames(CartPole(), rows(CartPoleState, -x, 1.0, -theta, 0.0))
        assert np.abs(frames[:, :, ::-1].astype(int) - mirrored).max() <= 1

    def test_the_cart_is_at_x_and_the_pole_leans_by_theta(self) -> None:
        states = rows(CartPoleState, [-2.4, 0.5, 1.0], 0.0, [0.2, 0.0, -0.2], 0.0)
        frames = draw_frames(CartPole(), states, 400, 600)
        carts, poles = find_color(frames, palette.INK), find_color(frames, palette.ORANGE)
        for index in range(3):
            state = member(states, index)
            x, _ = center_of(carts[index], CartPole(), state)
            pole_x, pole_y = center_of(poles[index], CartPole(), state)
            assert abs(x - state.x) < 0.01
            angle = np.arctan2(pole_x - state.x, pole_y - 0.3)
            assert abs(angle - state.theta) < 0.02

    def test_the_pole_is_as_long_as_it_is(self) -> None:
        states = rows(CartPoleState, [0.0], 0.0, 0.0, 0.0)
        middles = []
        for length in (0.5, 1.5, 4.0):
            env = CartPole(length=length)
            pole = find_color(draw_frames(env, states, 400, 600), palette.ORANGE)[0]
            assert not pole[0].any(), "the frame cuts it off"
            middles.append(center_of(pole, env, member(states, 0))[1])
        np.testing.assert_allclose(
            middles, [0.3 + length for length in (0.5, 1.5, 4.0)], atol=0.07
        )  # the axle hides its foot

    def test_the_scale_over_the_pole_ends_where_the_episode_ends(self) -> None:
        for threshold in (0.2, 0.4):
            env = CartPole(theta_threshold_radians=threshold)
            states = rows(CartPoleState, 0.0, 0.0, [-threshold, threshold], 0.0)
            red = find_color(draw_frames(env, states, 400, 600), palette.RED)
            red[:, 200:] = False  # not the track
            for index, angle in enumerate((-threshold, threshold)):
                end = red[index].copy()
                end[:, slice(300, None) if angle < 0 else slice(300)] = False
                x, y = center_of(end, env, member(states, index))
                assert abs(np.arctan2(x, y - 0.3) - angle) < 0.01

    def test_posts_stand_where_the_episode_ends(self) -> None:
        for threshold in (2.4, 1.0):
            env, states = CartPole(x_threshold=threshold), rows(CartPoleState, [0.0], 0.0, 0.0, 0.0)
            red = find_color(draw_frames(env, states, 400, 600), palette.RED)[0]
            tall = red & (red.sum(0) > 8)  # the track beyond is red, too, but thin
            tall[:, 200:] = False  # not the scale over the pole
            assert abs(center_of(tall, env, member(states, 0))[0] + threshold) < 0.02


class TestPendulum:
    def test_the_mirror_image_of_a_state_is_the_mirror_image_of_its_frame(self) -> None:
        theta, torque = np.array([0.3, 2.0, -1.5]), np.array([2.0, -0.7, 0.1])
        frames = draw_frames(Pendulum(), rows(PendulumState, theta, 0.0, torque))
        mirrored = draw_frames(Pendulum(), rows(PendulumState, -theta, 0.0, -torque))
        assert np.abs(frames[:, :, ::-1].astype(int) - mirrored).max() <= 1

    def test_the_rod_points_up_at_0_and_turns_anticlockwise(self) -> None:
        theta = np.array([0.0, np.pi / 2, np.pi, -2.0, 7.0])
        states = rows(PendulumState, theta, 0.0, 0.0)
        rods = find_color(draw_frames(Pendulum(), states, 200, 200), palette.ORANGE)
        for index, angle in enumerate(theta):
            x, y = center_of(rods[index], Pendulum(), member(states, index))
            np.testing.assert_allclose((x, y), (-np.sin(angle) / 2, np.cos(angle) / 2), atol=0.06)

    def test_the_arrow_shows_if_there_is_a_torque_and_grows_with_it(self) -> None:
        for sign in (1, -1):
            torque = sign * np.array([0.0, 0.3, 0.5, 1.0, 2.0])
            frames = draw_frames(Pendulum(), rows(PendulumState, 0.5, 0.0, torque), 200, 200)
            seen = find_color(frames, palette.BLUE, 20).sum((1, 2))
            assert seen[0] == 0
            assert (np.diff(seen) > 0).all()

    def test_next_to_no_torque_is_next_to_no_arrow(self) -> None:
        frames = draw_frames(Pendulum(), rows(PendulumState, 0.5, 0.0, [0.0, 0.01, -0.01, 0.1]), 200, 200)
        changed = np.abs(frames.astype(int) - frames[0]).max((1, 2, 3))
        assert max(changed[1:3]) < 20 < changed[3]

    def test_the_arrow_points_where_the_torque_pushes(self) -> None:
        states = rows(PendulumState, 0.0, 0.0, [2.0, -2.0])
        arrows = find_color(draw_frames(Pendulum(), states, 200, 200), palette.BLUE)
        assert center_of(arrows[0], Pendulum(), member(states, 0))[0] < 0
        assert center_of(arrows[1], Pendulum(), member(states, 1))[0] > 0

    def test_a_rod_of_any_length_fills_the_frame(self) -> None:
        states = rows(PendulumState, [1.0], 0.0, 1.0)
        long, short = (draw_frames(Pendulum(l=length), states) for length in (3.0, 1.0))
        assert np.abs(long.astype(int) - short).max() <= 1


CARS = [(MountainCar, MountainCarState), (MountainCarContinuous, MountainCarContinuousState)]


@pytest.mark.parametrize(("kind", "state_kind"), CARS, ids=["pushed", "throttled"])
class TestMountainCar:
    def test_the_car_is_at_its_position(self, kind: Any, state_kind: Any) -> None:
        position = np.linspace(-1.2, 0.6, 19)
        states = rows(state_kind, position, 0.0)
        cars = find_color(draw_frames(kind(), states, 200, 300), palette.BLUE, 30)
        middles = np.array([center_of(cars[index], kind(), member(states, index)) for index in range(19)])
        assert (np.diff(middles[:, 0]) > 0).all()
        assert np.abs(middles[:, 0] - position).max() < 0.06  # the body is above the wheels, and aslant

    @pytest.mark.parametrize("frequency", [3.0, 2.0])
    def test_both_wheels_touch_the_hill(self, kind: Any, state_kind: Any, frequency: float) -> None:
        env = kind(hill_frequency=frequency)
        hill = np.stack([HILL, 0.45 * np.sin(frequency * HILL) + 0.55], axis=1)
        for position in (-1.2, -0.9, -np.pi / 6, 0.1, 0.45, 0.6):
            scene = env.scene(state_kind(np.float32(position), np.float32(0.0)))
            wheels = [shape for shape in scene.shapes if isinstance(shape, Circle)]
            assert len(wheels) == 2
            for wheel in wheels:
                gap = np.hypot(*(hill - np.asarray(wheel.center, np.float64)).T).min() - wheel.radius
                assert abs(gap) < 1e-4
            assert wheels[0].center[0] < position < wheels[1].center[0]

    def test_the_flag_is_at_the_goal(self, kind: Any, state_kind: Any) -> None:
        states = rows(state_kind, [-0.5], 0.0)
        for env in (kind(), kind(goal_position=0.1)):
            frame = draw_frames(env, states, 400, 600)
            pole = find_color(frame, palette.INK)[0] & (np.arange(400) < 200)[:, None] & (np.arange(600) > 300)
            flag = find_color(frame, palette.RED)[0]
            x, y = center_of(pole, env, member(states, 0))
            assert abs(x - env.goal_position) < 0.005
            top = 0.45 * np.sin(3 * env.goal_position) + 0.55
            assert top < y < center_of(flag, env, member(states, 0))[1] < top + 0.22


def test_an_arrow_shows_the_throttle() -> None:
    env = MountainCarContinuous(max_action=2.0)
    states = rows(MountainCarContinuousState, -np.pi / 6, 0.0, [0.0, 0.5, 2.0, -2.0])
    arrows = find_color(draw_frames(env, states, 400, 600), palette.ORANGE)
    assert not arrows[0].any() and 0 < arrows[1].sum() < arrows[2].sum()
    right, left = (center_of(arrows[index], env, member(states, index))[0] for index in (2, 3))
    assert right > -np.pi / 6 > left


def test_the_throttle_is_that_of_the_last_step() -> None:
    env = MountainCarContinuous()
    state, _ = env.reset(funcenv.key(0))
    assert state.throttle == 0 and env.step(state, jnp.array([-3.0]), funcenv.key(1))[0].throttle == -1


def test_the_two_cars_share_a_frame() -> None:
    position = np.array([-0.9, 0.3])
    pushed = draw_frames(MountainCar(), rows(MountainCarState, position, 0.0))
    throttled = draw_frames(MountainCarContinuous(goal_position=0.5), rows(MountainCarContinuousState, position, 0.0))
    np.testing.assert_array_equal(pushed, throttled)


class TestAcrobot:
    def test_the_arrow_shows_the_torque(self) -> None:
        env = Acrobot(avail_torque=(-2.0, 0.0, 2.0))
        state, _ = env.reset(funcenv.key(0))
        torques = [env.step(state, action, funcenv.key(1))[0].torque for action in range(3)]
        assert [float(state.torque), *map(float, torques)] == [0, -2, 0, 2]
        states = rows(AcrobotState, 0.0, 0.0, 0.0, 0.0, torques)
        arrows = find_color(draw_frames(env, states, 230, 230), palette.RED)
        assert not arrows[1].any()
        clockwise, anticlockwise = (center_of(arrows[index], env, member(states, index))[0] for index in (0, 2))
        assert clockwise < 0 < anticlockwise

    @pytest.mark.parametrize("length", [1.0, 1.7])
    def test_the_end_is_above_the_line_at_the_goal(self, length: float) -> None:
        env = Acrobot(link_length_1=length)
        angles = np.random.default_rng(0).uniform(-np.pi, np.pi, (60, 2))
        angles = np.concatenate([angles, [[np.pi, 0.0], [np.pi - 0.9, 0.4], [2.2, 0.1]]])
        height = -np.cos(angles[:, 0]) - np.cos(angles.sum(1))
        angles = angles[np.abs(height - 1) > 0.05]
        states = rows(AcrobotState, angles[:, 0], angles[:, 1], 0.0, 0.0)
        frames = draw_frames(env, states, 230, 230)
        line = np.nonzero(find_color(frames[0], palette.GREEN, 60)[:, 0])[0].mean()
        terminal = jax.vmap(env.terminal)(states)
        tips = [np.asarray(env.scene(member(states, index)).shapes[-1].center) for index in range(len(angles))]
        assert 0 < terminal.sum() < len(angles)
        camera = env.scene(member(states, 0)).camera
        goal = float(camera.height) / 2 - (line + 0.5) * float(camera.height) / 230
        for frame, tip, over in zip(frames, tips, terminal, strict=True):
            assert (tip[1] > goal) == over
            row, column = (115 - tip[1] / float(camera.height) * 230, 115 + tip[0] / float(camera.height) * 230)
            np.testing.assert_allclose(frame[int(row), int(column)], palette.INK[:3] * 255, atol=25)

    def test_links_hang_at_0_and_turn_anticlockwise(self) -> None:
        states = rows(AcrobotState, [0.0, np.pi / 2, 1.0], [0.0, 0.0, 1.0], 0.0, 0.0)
        frames = draw_frames(Acrobot(), states, 230, 230)
        first, second = find_color(frames, palette.BLUE), find_color(frames, palette.ORANGE)
        for index in range(3):
            state = member(states, index)
            theta1, theta2 = float(state.theta1), float(state.theta1 + state.theta2)
            elbow = np.array([np.sin(theta1), -np.cos(theta1)])
            middle = elbow + np.array([np.sin(theta2), -np.cos(theta2)]) / 2
            np.testing.assert_allclose(center_of(first[index], Acrobot(), state), elbow / 2, atol=0.06)
            np.testing.assert_allclose(center_of(second[index], Acrobot(), state), middle, atol=0.06)

    def test_the_mirror_image_of_a_state_is_the_mirror_image_of_its_frame(self) -> None:
        theta1, theta2 = np.array([0.4, 2.9]), np.array([1.0, -0.3])
        frames = draw_frames(Acrobot(), rows(AcrobotState, theta1, theta2, 0.0, 0.0))
        mirrored = draw_frames(Acrobot(), rows(AcrobotState, -theta1, -theta2, 0.0, 0.0))
        assert np.abs(frames[:, :, ::-1].astype(int) - mirrored).max() <= 1
