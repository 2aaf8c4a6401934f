"""Contacts against mechanics: stacks, friction, bounces, walls, sleep."""

import functools
import math

import jax
import numpy as np
import pytest

from funcenv.physics import ENDED, Body, Circle, Edges, Fixture, Polygon, World, initial_state, step


def ground(friction=0.2, angle=0.0):
    """Return a long line through the origin."""
    x, y = 50 * math.cos(angle), 50 * math.sin(angle)
    ends = np.array([[-x], [-y], [x], [y]], np.float32)
    return Body((Fixture(Edges(*ends), friction=friction),), is_static=True)


def box(position, half=0.5, angle=0.0, **material):
    return Body((Fixture(Polygon.box(half, half), **({"density": 1.0} | material)),), position=position, angle=angle)


@functools.partial(jax.jit, static_argnames="num_steps")
def _run(world, state, num_steps):
    def advance(state, _):
        state = step(world, state, 1 / 60, 10, 10)
        return state, state

    return jax.lax.scan(advance, state, length=num_steps)[1]


def simulate(world, num_steps=120):
    """Return the states after each step, stacked. Worlds of the same structure share a program."""
    return jax.tree.map(np.asarray, _run(world, initial_state(world), num_steps))


def world_of(*bodies, **settings):
    return World(bodies, **({"max_contacts": 6, "is_continuous": False} | settings))


@pytest.mark.dear
def test_a_stack_of_boxes_stands_and_falls_asleep():
    states = simulate(world_of(ground(), *(box((0.0, 0.5 + 1.02 * i)) for i in range(3))))
    assert not states.is_awake[-1].any()
    np.testing.assert_allclose(states.y[-1], [0.5, 1.5, 2.5], atol=0.05)  # the skin keeps them 15 mm apart
    assert np.abs(states.x[-1]).max() < 0.005
    assert states.dropped[-1] == 0


def test_collisions_conserve_momentum():
    boxes = [
        box((-1.2, 20.0)).replace(velocity=(4.0, 0.0)),
        box((1.0, 20.3), density=3.0, angle=0.3).replace(velocity=(-2.0, 0.5)),
        box((0.2, 18.0), density=2.0).replace(velocity=(0.0, 2.0)),
    ]
    world = world_of(ground(), *boxes).replace(gravity=(0.0, 0.0))
    states = simulate(world)
    mass = 1 / np.array([m.inverse_mass for m in world.masses()[1:]])
    inertia = 1 / np.array([m.inverse_inertia for m in world.masses()[1:]])
    momentum = np.stack([states.velocity_x @ mass, states.velocity_y @ mass], -1)
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-4)
    orbital = states.x * states.velocity_y - (states.y - 20) * states.velocity_x
    spin = states.angular_velocity @ inertia + orbital @ mass
    assert np.abs(states.angular_velocity[-1]).max() > 0.1  # they did hit
    np.testing.assert_allclose(spin, spin[0], rtol=0.05)  # but for the correction of overlaps


@pytest.mark.parametrize(("friction", "slides"), [(0.36, True), (0.44, False)])
def test_a_box_slides_on_a_slope_steeper_than_the_cone_of_friction(friction, slides):
    slope = math.atan(0.4)
    start = -0.51 * math.sin(slope), 0.51 * math.cos(slope)
    states = simulate(world_of(ground(friction, slope), box(start, angle=slope, friction=friction)))
    moved = np.hypot(states.x[-1, 0] - states.x[30, 0], states.y[-1, 0] - states.y[30, 0])
    acceleration = 10 * (math.sin(slope) - friction * math.cos(slope))
    if slides:
        assert moved > 0.5 * acceleration * 1.5**2 * 0.9
    else:
        assert moved < 0.01


def test_friction_turns_a_sliding_ball_into_a_rolling_one():
    ball = Body((Fixture(Circle(0.5), density=1.0, friction=0.5),), position=(0.0, 0.5), velocity=(3.0, 0.0))
    states = simulate(world_of(ground(0.5), ball))
    assert states.velocity_x[-1, 0] == pytest.approx(2.0, abs=0.02)  # two thirds, for a disc
    assert states.angular_velocity[-1, 0] == pytest.approx(-4.0, abs=0.05)


def test_a_bounce_keeps_as_much_speed_as_the_restitution_says():
    ball = Body((Fixture(Circle(0.5), density=1.0, friction=0.5, restitution=0.5),), position=(0.0, 3.0))
    speed = simulate(world_of(ground(), ball)).velocity_y[:, 0]
    impact = np.flatnonzero(np.diff(speed) > 1)[0]
    assert -speed[impact + 1] / speed[impact] == pytest.approx(0.5, abs=0.02)


def test_a_bullet_is_stopped_by_a_thin_wall():
    wall = Body((Fixture(Edges(*np.array([[0.0], [-5.0], [0.0], [5.0]], np.float32))),), is_static=True)
    bullet = Body((Fixture(Circle(0.05), density=1.0),), position=(-1.0, 0.0), velocity=(100.0, 0.0))
    states = simulate(world_of(wall, bullet, gravity=(0.0, 0.0), is_continuous=True), 10)
    assert (states.x < 0).all()  # it would move 1.67 m in the first step
    assert abs(states.velocity_x[-1, 0]) < 1


def test_bodies_rest_on_static_polygons_and_pass_sensors():
    table = Body((Fixture(Polygon.box(2.0, 0.5)),), position=(3.0, 1.0), is_static=True)
    gate = Body((Fixture(Polygon.box(1.0, 0.2), is_sensor=True),), position=(3.0, 4.0), is_static=True)
    states = simulate(world_of(table, gate, box((2.8, 6.0))), 130)
    began, ended = np.flatnonzero(states.began[:, 0]), np.flatnonzero(states.last_event[:, 0] == ENDED)
    assert len(began) == 2  # the gate, then the table
    assert len(ended) == 1
    assert 4.6 < states.y[began[0], 0] < 4.8  # lower side at the upper side of the gate, within a step
    assert 3.1 < states.y[ended[0], 0] < 3.3
    assert states.y[-1, 0] == pytest.approx(2.0, abs=0.03)


def test_contacts_beyond_the_capacity_are_counted():
    bodies = (ground(), *(box((1.5 * i, 0.5)) for i in range(3)))
    assert initial_state(world_of(*bodies, max_contacts=2)).dropped == 1


def test_filters_keep_fixtures_apart():
    ghost = box((0.0, 0.5), category=0x02, mask=0x02)
    assert initial_state(world_of(ground(), ghost)).contacts.pair.size == 0
    assert (initial_state(world_of(ground(), box((0.0, 0.5)))).contacts.pair >= 0).sum() == 1


@pytest.mark.dear
def test_worlds_of_a_batch_move_as_each_does_alone():
    def boxes(height):
        world = world_of(ground(), box((0.0, 0.6)), box((0.2, 3.0)))
        state = initial_state(world)
        return world, state.replace(y=state.y.at[1].set(height))

    def run(height):
        world, state = boxes(height)
        return jax.lax.fori_loop(0, 20, lambda _, state: step(world, state, 1 / 60, 10, 10), state)

    heights = np.linspace(1.55, 30.0, 7, dtype=np.float32)  # in some worlds the boxes meet, in others one still falls
    together = jax.jit(jax.vmap(run))(heights)
    assert len(set((together.contacts.pair >= 0).sum(1).tolist())) > 1
    alone = jax.jit(run)
    for row, height in enumerate(heights):
        expected = alone(height)
        np.testing.assert_allclose(together.y[row], expected.y, atol=2e-4)
        assert together.contacts.pair[row].tolist() == expected.contacts.pair.tolist()
