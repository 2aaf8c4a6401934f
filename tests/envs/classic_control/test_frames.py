"""The pictures of the physical systems, by laws of what they show."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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

HILL = np.linspace(-2, 2, 200_001)


def rows(kind: Any, *columns: Any) -> Any:
    """States with a leading axis, one column for each field."""
    columns = np.broadcast_arrays(*(np.asarray(column, np.float32) for column in columns))
    return kind(*map(jnp.asarray, columns))


def member(tree: Any, index: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], tree)


class TestCartPole:
    def test_the_mirror_image_of_a_state_is_the_mirror_image_of_its_picture(self, gallery: Any) -> None:
        x, theta = np.array([0.3, -1.7, 2.5]), np.array([0.1, -0.2, 0.4])
        pictures = gallery.draw(CartPole(), rows(CartPoleState, x, 1.0, theta, 0.0))
        mirrored = gallery.draw(CartPole(), rows(CartPoleState, -x, 1.0, -theta, 0.0))
        assert np.abs(pictures[:, :, ::-1].astype(int) - mirrored).max() <= 1

    def test_the_cart_is_at_x_and_the_pole_leans_by_theta(self, gallery: Any) -> None:
        states = rows(CartPoleState, [-2.4, 0.5, 1.0], 0.0, [0.2, 0.0, -0.2], 0.0)
        pictures = gallery.draw(CartPole(), states, 400, 600)
        carts, poles = gallery.found(pictures, palette.INK), gallery.found(pictures, palette.ORANGE)
        for index in range(3):
            state = member(states, index)
            x, _ = gallery.middle(carts[index], CartPole(), state)
            pole_x, pole_y = gallery.middle(poles[index], CartPole(), state)
            assert abs(x - state.x) < 0.01
            angle = np.arctan2(pole_x - state.x, pole_y - 0.3)
            assert abs(angle - state.theta) < 0.02

    def test_the_pole_is_as_long_as_it_is(self, gallery: Any) -> None:
        states = rows(CartPoleState, [0.0], 0.0, 0.0, 0.0)
        middles = []
        for length in (0.5, 1.5, 4.0):
            env = CartPole(length=length)
            pole = gallery.found(gallery.draw(env, states, 400, 600), palette.ORANGE)[0]
            assert not pole[0].any(), "the picture cuts it off"
            middles.append(gallery.middle(pole, env, member(states, 0))[1])
        np.testing.assert_allclose(
            middles, [0.3 + length for length in (0.5, 1.5, 4.0)], atol=0.07
        )  # the axle hides its foot

    def test_posts_stand_where_the_episode_ends(self, gallery: Any) -> None:
        for threshold in (2.4, 1.0):
            env, states = CartPole(x_threshold=threshold), rows(CartPoleState, [0.0], 0.0, 0.0, 0.0)
            red = gallery.found(gallery.draw(env, states, 400, 600), palette.RED)[0]
            tall = red & (red.sum(0) > 8)  # the track beyond is red, too, but thin
            tall[:, 300:] = False
            assert abs(gallery.middle(tall, env, member(states, 0))[0] + threshold) < 0.02


class TestPendulum:
    def test_the_mirror_image_of_a_state_is_the_mirror_image_of_its_picture(self, gallery: Any) -> None:
        theta, torque = np.array([0.3, 2.0, -1.5]), np.array([2.0, -0.7, 0.1])
        pictures = gallery.draw(Pendulum(), rows(PendulumState, theta, 0.0, torque))
        mirrored = gallery.draw(Pendulum(), rows(PendulumState, -theta, 0.0, -torque))
        assert np.abs(pictures[:, :, ::-1].astype(int) - mirrored).max() <= 1

    def test_the_rod_points_up_at_0_and_turns_anticlockwise(self, gallery: Any) -> None:
        theta = np.array([0.0, np.pi / 2, np.pi, -2.0, 7.0])
        states = rows(PendulumState, theta, 0.0, 0.0)
        rods = gallery.found(gallery.draw(Pendulum(), states, 200, 200), palette.ORANGE)
        for index, angle in enumerate(theta):
            x, y = gallery.middle(rods[index], Pendulum(), member(states, index))
            np.testing.assert_allclose((x, y), (-np.sin(angle) / 2, np.cos(angle) / 2), atol=0.06)

    def test_the_arrow_shows_if_there_is_a_torque_and_grows_with_it(self, gallery: Any) -> None:
        for sign in (1, -1):
            torque = sign * np.array([0.0, 0.01, 0.5, 1.0, 2.0])
            pictures = gallery.draw(Pendulum(), rows(PendulumState, 0.5, 0.0, torque), 200, 200)
            seen = gallery.found(pictures, palette.BLUE, 20).sum((1, 2))
            assert seen[0] == 0
            assert (np.diff(seen) > 0).all()

    def test_the_arrow_points_where_the_torque_pushes(self, gallery: Any) -> None:
        states = rows(PendulumState, 0.0, 0.0, [2.0, -2.0])
        arrows = gallery.found(gallery.draw(Pendulum(), states, 200, 200), palette.BLUE)
        assert gallery.middle(arrows[0], Pendulum(), member(states, 0))[0] < 0
        assert gallery.middle(arrows[1], Pendulum(), member(states, 1))[0] > 0

    def test_a_rod_of_any_length_fills_the_picture(self, gallery: Any) -> None:
        states = rows(PendulumState, [1.0], 0.0, 1.0)
        long, short = (gallery.draw(Pendulum(l=length), states) for length in (3.0, 1.0))
        assert np.abs(long.astype(int) - short).max() <= 1


CARS = [(MountainCar, MountainCarState), (MountainCarContinuous, MountainCarContinuousState)]


@pytest.mark.parametrize(("kind", "state_kind"), CARS, ids=["pushed", "throttled"])
class TestMountainCar:
    def test_the_car_is_at_its_position(self, gallery: Any, kind: Any, state_kind: Any) -> None:
        position = np.linspace(-1.2, 0.6, 19)
        states = rows(state_kind, position, 0.0)
        cars = gallery.found(gallery.draw(kind(), states, 200, 300), palette.BLUE, 30)
        middles = np.array([gallery.middle(cars[index], kind(), member(states, index)) for index in range(19)])
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

    def test_the_flag_is_at_the_goal(self, gallery: Any, kind: Any, state_kind: Any) -> None:
        states = rows(state_kind, [-0.5], 0.0)
        for env in (kind(), kind(goal_position=0.1)):
            picture = gallery.draw(env, states, 400, 600)
            pole = gallery.found(picture, palette.INK)[0] & (np.arange(400) < 200)[:, None] & (np.arange(600) > 300)
            flag = gallery.found(picture, palette.RED)[0]
            x, y = gallery.middle(pole, env, member(states, 0))
            assert abs(x - env.goal_position) < 0.005
            top = 0.45 * np.sin(3 * env.goal_position) + 0.55
            assert top < y < gallery.middle(flag, env, member(states, 0))[1] < top + 0.22


def test_the_two_cars_share_a_picture(gallery: Any) -> None:
    position = np.array([-0.9, 0.3])
    pushed = gallery.draw(MountainCar(), rows(MountainCarState, position, 0.0))
    throttled = gallery.draw(MountainCarContinuous(goal_position=0.5), rows(MountainCarContinuousState, position, 0.0))
    np.testing.assert_array_equal(pushed, throttled)


class TestAcrobot:
    @pytest.mark.parametrize("length", [1.0, 1.7])
    def test_the_end_is_above_the_line_at_the_goal(self, gallery: Any, length: float) -> None:
        env = Acrobot(link_length_1=length)
        angles = np.random.default_rng(0).uniform(-np.pi, np.pi, (60, 2))
        angles = np.concatenate([angles, [[np.pi, 0.0], [np.pi - 0.9, 0.4], [2.2, 0.1]]])
        height = -np.cos(angles[:, 0]) - np.cos(angles.sum(1))
        angles = angles[np.abs(height - 1) > 0.05]
        states = rows(AcrobotState, angles[:, 0], angles[:, 1], 0.0, 0.0)
        pictures = gallery.draw(env, states, 230, 230)
        line = np.nonzero(gallery.found(pictures[0], palette.GREEN, 60)[:, 0])[0].mean()
        terminal = jax.vmap(env.terminal)(states)
        tips = [np.asarray(env.scene(member(states, index)).shapes[-1].center) for index in range(len(angles))]
        assert 0 < terminal.sum() < len(angles)
        camera = env.scene(member(states, 0)).camera
        goal = float(camera.height) / 2 - (line + 0.5) * float(camera.height) / 230
        for picture, tip, over in zip(pictures, tips, terminal, strict=True):
            assert (tip[1] > goal) == over
            row, column = (115 - tip[1] / float(camera.height) * 230, 115 + tip[0] / float(camera.height) * 230)
            np.testing.assert_allclose(picture[int(row), int(column)], palette.INK[:3] * 255, atol=25)

    def test_links_hang_at_0_and_turn_anticlockwise(self, gallery: Any) -> None:
        states = rows(AcrobotState, [0.0, np.pi / 2, 1.0], [0.0, 0.0, 1.0], 0.0, 0.0)
        pictures = gallery.draw(Acrobot(), states, 230, 230)
        first, second = gallery.found(pictures, palette.BLUE), gallery.found(pictures, palette.ORANGE)
        for index in range(3):
            state = member(states, index)
            theta1, theta2 = float(state.theta1), float(state.theta1 + state.theta2)
            elbow = np.array([np.sin(theta1), -np.cos(theta1)])
            middle = elbow + np.array([np.sin(theta2), -np.cos(theta2)]) / 2
            np.testing.assert_allclose(gallery.middle(first[index], Acrobot(), state), elbow / 2, atol=0.06)
            np.testing.assert_allclose(gallery.middle(second[index], Acrobot(), state), middle, atol=0.06)

    def test_the_mirror_image_of_a_state_is_the_mirror_image_of_its_picture(self, gallery: Any) -> None:
        theta1, theta2 = np.array([0.4, 2.9]), np.array([1.0, -0.3])
        pictures = gallery.draw(Acrobot(), rows(AcrobotState, theta1, theta2, 0.0, 0.0))
        mirrored = gallery.draw(Acrobot(), rows(AcrobotState, -theta1, -theta2, 0.0, 0.0))
        assert np.abs(pictures[:, :, ::-1].astype(int) - mirrored).max() <= 1
