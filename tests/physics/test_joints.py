"""Revolute joints against mechanics."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv.physics import Body, Circle, Fixture, Polygon, RevoluteJoint, World, initial_state, step

ROD = Fixture(Polygon.box(0.05, 0.5), density=10.0)  # 1 kg


def simulate(world, num_steps, dt=0.01, iterations=(20, 5)):
    """Return the states after each step, stacked."""
    run = functools.partial(step, world, dt=dt, velocity_iterations=iterations[0], position_iterations=iterations[1])

    def advance(state, _):
        state = run(state)
        return state, state

    return jax.jit(lambda state: jax.lax.scan(advance, state, length=num_steps)[1])(initial_state(world))


def pendulum(angle, **joint):
    """Return a rod of 1 m that hangs from a pin at the origin."""
    post = Body(is_static=True)
    rod = Body((ROD,), position=(0.5 * math.sin(angle), -0.5 * math.cos(angle)), angle=angle)
    return World((post, rod), (RevoluteJoint(0, 1, anchor_b=(0.0, 0.5), **joint),))


def test_a_pendulum_has_its_analytic_period():
    angle = np.asarray(simulate(pendulum(0.1), 500, dt=0.005).angle[:, 0])
    crossings = np.flatnonzero((angle[:-1] > 0) & (angle[1:] <= 0)) * 0.005
    inertia, mass = 1 / 12 * (1 + 0.01), 1.0
    expected = 2 * math.pi * math.sqrt((inertia + 0.25 * mass) / (10 * 0.5 * mass)) * (1 + 0.1**2 / 16)
    assert np.diff(crossings) == pytest.approx(expected, rel=0.01)


def test_the_pin_holds():
    states = simulate(pendulum(2.0), 300)
    top = np.stack([states.x - 0.5 * np.sin(states.angle), states.y + 0.5 * np.cos(states.angle)])
    assert np.abs(top).max() < 0.006  # the slop


def test_limits_hold_and_a_motor_reaches_its_speed_within_its_torque():
    states = simulate(pendulum(0.0, limits=(-0.4, 0.3), motor_speed=3.0, max_motor_torque=100.0), 200)
    assert states.angle.max() == pytest.approx(0.3, abs=0.03)
    states = simulate(pendulum(0.0, motor_speed=3.0, max_motor_torque=100.0), 200)
    assert states.angular_velocity[-1, 0] == pytest.approx(3.0, abs=1e-3)
    weak = simulate(pendulum(0.0, motor_speed=3.0, max_motor_torque=1.0), 2000)
    assert weak.angle.max() < 2 * math.asin(1.0 / 5.0) + 0.05  # a constant torque turns it to twice the equilibrium


def test_a_motor_between_free_bodies_conserves_momentum():
    bodies = (Body((ROD,)), Body((ROD,), position=(0.0, 1.0)))
    joint = RevoluteJoint(0, 1, (0.0, 0.5), (0.0, -0.5), motor_speed=2.0, max_motor_torque=5.0)
    states = simulate(World(bodies, (joint,), gravity=(0.0, 0.0)), 50)
    assert np.abs(states.velocity_x.sum(1)).max() < 1e-5
    inertia = 1 / 12 * (1 + 0.01)
    orbital = (states.x * states.velocity_y - states.y * states.velocity_x).sum(1)
    assert np.abs(inertia * states.angular_velocity.sum(1) + orbital).max() < 1e-4
    difference = states.angular_velocity[-1, 1] - states.angular_velocity[-1, 0]
    assert difference == pytest.approx(2.0, abs=1e-3)


def test_worlds_batch_over_numbers():
    def final(gravity):
        world = pendulum(0.5).replace(gravity=(0.0, gravity))
        return step(world, initial_state(world), 0.01).angular_velocity[0]

    rates = np.asarray(jax.jit(jax.vmap(final))(jnp.array([-10.0, -5.0, 0.0])))
    assert rates[0] == pytest.approx(2 * rates[1], rel=1e-3)
    assert rates[2] == 0


def test_impossible_joints_are_refused():
    ball = Body((Fixture(Circle(0.5), density=1.0),))
    with pytest.raises(ValueError, match="must connect two of the 1 bodies"):
        World((ball,), (RevoluteJoint(0, 0),))
    with pytest.raises(ValueError, match="must hold a moving body"):
        World((Body(is_static=True), Body(is_static=True)), (RevoluteJoint(0, 1),))
    with pytest.raises(ValueError, match="3 to 16 vertices"):
        Polygon(((0, 0), (1, 0)))
    with pytest.raises(ValueError, match="span an area"):
        Polygon(((0, 0), (1, 0), (2, 0)))
