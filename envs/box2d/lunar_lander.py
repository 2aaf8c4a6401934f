"""Land a spacecraft softly on a pad between hills, with one main engine and two side engines.

The lander is a hull with two legs on hinges, which motors hold out. The moon is a chain of ten edges over a flat floor.
Engines act as impulses on the hull, scattered at random. `funcenv.physics` moves the bodies as Box2D 2.3.10 does, with
the same constants, and the rules are those of Gymnasium 1.4.0's `LunarLander-v3`, including their quirks: the thrust of
the side engines acts at a point that depends on the lander's angle, and the observed angular velocity is 0.4 of the
real one. Box2D is the work of Erin Catto, and the environment that of Oleg Klimov.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_finite, require_one_of
from funcenv.envs.box2d.lunar_lander_scene import draw_lunar_lander
from funcenv.func_env import FuncEnv
from funcenv.levels.design import HasLevels
from funcenv.physics import (
    BEGAN,
    ENDED,
    Body,
    Edges,
    Fixture,
    Polygon,
    RevoluteJoint,
    World,
    WorldState,
    apply_impulse,
    initial_state,
    step,
    transform_of,
)
from funcenv.physics.scalars import opaque
from funcenv.scene import Scene
from funcenv.spaces import Box, Discrete
from funcenv.struct import PyTreeNode, field

FPS = 50  # steps a second
SCALE = 30.0  # pixels of Gymnasium's image to a metre; lengths below are in these pixels
WIDTH, HEIGHT = 600 / SCALE, 400 / SCALE  # size of the view [m]
CHUNKS = 11  # points of the terrain
PAD_HEIGHT = HEIGHT / 4  # [m]
LANDER = ((-14, 17), (-17, 0), (-17, -10), (17, -10), (17, 0), (14, 17))
LEG_AWAY, LEG_DOWN, LEG_WIDTH, LEG_HEIGHT = 20, 18, 2, 8
MAIN_ENGINE_Y, SIDE_ENGINE_HEIGHT, SIDE_ENGINE_ARM, SIDE_ENGINE_AWAY = 4, 14, 17, 12
MOON, HULL, LEGS = 0, 1, (2, 3)  # bodies
MAX_CONTACTS, MAX_TOUCHING = 12, 8  # pairs of a body and an edge that are close, and that touch
FIDELITIES = {"exact": (180, 60, True), "fast": (20, 10, False)}  # iterations, and whether fast bodies are stopped


class LunarLanderState(PyTreeNode):
    """The bodies, the terrain, and the engines in the last step, which are drawn."""

    world: WorldState
    terrain: Float[Array, "11"]  # heights of the moon at equal distances [m]
    touches: Bool[Array, "2"]  # contact of each leg with the moon; ends with any one contact of it, as in Gymnasium
    has_crashed: Bool[Array, ""]  # true if the hull has touched the moon
    wind_index: Int[Array, ""]  # counts the steps with wind
    torque_index: Int[Array, ""]
    main_power: Float[Array, ""]  # power of the main engine in the last step, from 0 to 1
    side_power: Float[Array, ""]  # power of the side engines in the last step, negative for the left one


class Engines(NamedTuple):
    """The powers of the engines under an action."""

    main: Float[Array, ""]  # 0, or from 0.5 to 1
    side: Float[Array, ""]  # 0, or from 0.5 to 1
    direction: Float[Array, ""]  # side engine: -1 for the left one, 1 for the right one


class LunarLander(HasLevels, FuncEnv[LunarLanderState, Any, Float[Array, "8"]]):
    """LunarLander.

    Observation: float32 `[8]`: x from the pad [10 m], y from the pad [6.67 m], velocity in x [5 m/s], velocity in y
        [7.5 m/s], angle [rad], angular velocity [2.5 rad/s], whether the left leg touches the moon (0 or 1), whether
        the right leg touches the moon (0 or 1). All are clipped to the space, which Gymnasium's environment, with the
        same space, can exceed.

    Action: 0 for nothing, 1 for the left side engine, 2 for the main engine, 3 for the right side engine; any other
        number acts as 0. With `continuous=True` float32 `[2]` in [-1, 1], clipped: the main engine is off up to 0, and
        gives 50% to 100% from 0 to 1; the left side engine gives as much as the second number is below -0.5, the right
        one as much as it is above 0.5. NaN is off.

    Reward: the change of -100 (distance + speed + |angle|) + 10 for each leg on the ground, less 0.3 for the main
        engine and 0.03 for a side engine at full power. The last step of an episode gives -100 for a crash or for
        leaving the view to a side, and 100 for a lander that has come to rest.

    Termination: the hull touches the moon, |x| reaches 1, or the lander has come to rest: Box2D puts it to sleep.
        `LunarLander-v3` is truncated after 1000 steps.

    Initial state: the lander is at the top, and a random force has pushed it for one step. The terrain is random but
        for the pad. `info["contacts_dropped"]` counts contacts beyond the solver's capacity of 12.

    Batches of parameters (`gravity`, powers, wind) are batches of moons. There are no useful gradients: contacts are
    discontinuous, and loops of unknown length have no reverse-mode derivative.

    Levels: `heights`, the random heights of the terrain, from 0 to 6.67 m; None draws new ones in every episode. The
        terrain is their moving average, and flat at the pad.

    Raises:
        ValueError: gravity that is not between -12 and 0, a parameter that is not finite, or an unknown fidelity.

    >>> import funcenv, jax
    >>> env = LunarLander(gravity=-5.0)
    >>> state, timestep = jax.jit(env.reset)(funcenv.key(0))
    >>> timestep.observation.shape, bool(env.terminal(state))
    ((8,), False)
    """

    gravity: float = -10.0  # acceleration of gravity, negative downwards [m/s^2]
    wind_power: float = 15.0  # greatest force of the wind on the hull [N]
    turbulence_power: float = 1.5  # greatest torque of the wind on the hull [N m]
    main_engine_power: float = 13.0  # impulse per metre of the lever of Gymnasium's formula [N s/m]
    side_engine_power: float = 0.6  # the same for the side engines [N s/m]
    initial_random: float = 1000.0  # bound of each component of the force in the first step [N]
    leg_spring_torque: float = 40.0  # greatest torque of the motors that hold the legs out [N m]
    continuous: bool = field(pytree_node=False, default=False)  # true for throttles as actions
    enable_wind: bool = field(pytree_node=False, default=False)  # true for wind and turbulence
    fidelity: str = field(pytree_node=False, default="exact")  # "exact" as in Gymnasium; "fast": fewer iterations
    heights: Float[Array, "12"] | None = field(
        ndim=1, default=None
    )  # heights before smoothing, None for random ones [m]

    differentiable = False
    render_fps = FPS

    def __post_init__(self) -> None:
        require_finite(
            gravity=self.gravity,
            wind_power=self.wind_power,
            turbulence_power=self.turbulence_power,
            main_engine_power=self.main_engine_power,
            side_engine_power=self.side_engine_power,
            initial_random=self.initial_random,
            leg_spring_torque=self.leg_spring_torque,
        )
        if not _holds(self.gravity, lambda g: (g > -12) & (g < 0)):
            raise ValueError(f"gravity must be between -12 and 0, got {self.gravity}; -10 is Gymnasium's default")
        for name, value, most in (("wind_power", self.wind_power, 20), ("turbulence_power", self.turbulence_power, 2)):
            if not _holds(value, lambda x, most=most: (x >= 0) & (x <= most)):
                warnings.warn(f"{name} should be between 0 and {most}, got {value}", stacklevel=3)
        require_one_of("fidelity", self.fidelity, FIDELITIES)

    def initial(self, key: jax.Array) -> LunarLanderState:
        """Return the lander at the top of the view, after a step under a random force."""
        terrain_key, force_key, wind_key, torque_key = jax.random.split(key, 4)
        heights = _draw_heights(terrain_key) if self.heights is None else jnp.asarray(self.heights)
        force = jax.random.uniform(force_key, (2,), float, -1.0, 1.0) * self.initial_random
        wind_index = jax.random.randint(wind_key, (), -9999, 9999, jnp.int32)
        torque_index = jax.random.randint(torque_key, (), -9999, 9999, jnp.int32)
        return self.start(heights, force, wind_index, torque_index)

    def start(
        self,
        heights: Float[Array, "12"],
        force: Float[Array, "2"],
        wind_index: Int[Array, ""],
        torque_index: Int[Array, ""],
    ) -> LunarLanderState:
        """Return the initial state for what is drawn at random: heights before smoothing [m], the first force [N]."""
        pad = CHUNKS // 2
        heights = heights.at[pad - 2 : pad + 3].set(PAD_HEIGHT)
        before, after = jnp.roll(heights, 1)[:CHUNKS], heights[1 : CHUNKS + 1]
        terrain = (0.33 * (before + heights[:CHUNKS] + after)).astype(jnp.float32)
        zero = jnp.zeros((), float)
        state = LunarLanderState(
            world=initial_state(self._world(terrain)),
            terrain=terrain,
            touches=jnp.zeros(2, bool),
            has_crashed=jnp.zeros((), bool),
            wind_index=wind_index,
            torque_index=torque_index,
            main_power=zero,
            side_power=zero,
        )
        return self._advance(state, Engines(zero, zero, zero), jnp.zeros(2, float), force, max_contacts=0)

    def transition(self, state: LunarLanderState, action: Any, key: jax.Array) -> LunarLanderState:
        """Fire the engines, with random scatter, and simulate a fiftieth of a second."""
        dispersion = jax.random.uniform(key, (2,), float, -1.0, 1.0) / SCALE
        return self.advance(state, action, dispersion)

    def advance(self, state: LunarLanderState, action: Any, dispersion: Float[Array, "2"]) -> LunarLanderState:
        """Return the state after a step for what is drawn at random: the scatter of the engines' impulses [m]."""
        return self._advance(state, self.engines(action), dispersion, jnp.zeros(2, float), MAX_CONTACTS)

    def observation(self, state: LunarLanderState, key: jax.Array) -> Float[Array, "8"]:
        """Return position, velocity, angle and contacts."""
        del key
        numbers = jnp.stack(self._measure(state)).astype(jnp.float32)
        space = self.observation_space
        return jnp.clip(numbers, space.low, space.high)

    def reward(self, state: LunarLanderState, action: Any, next_state: LunarLanderState) -> Float[Array, ""]:
        """Return the progress towards a soft landing, less the fuel; -100 or 100 at the end."""
        engines = self.engines(action)
        reward = self._progress(state, next_state) - engines.main * 0.3 - engines.side * 0.03
        reward = jnp.where(self._has_failed(next_state), -100.0, reward)
        return jnp.where(self._has_landed(next_state), 100.0, reward)

    def terminal(self, state: LunarLanderState) -> Bool[Array, ""]:
        """Return whether the lander has crashed, left the view, or come to rest."""
        return self._has_failed(state) | self._has_landed(state)

    def state_info(self, state: LunarLanderState) -> dict[str, Any]:
        """Return how many contacts found no place in the solver."""
        return {"contacts_dropped": state.world.dropped}

    def draw_level(self, key: jax.Array) -> dict[str, Any]:
        """Return the heights of a random terrain."""
        return {"heights": _draw_heights(key)}

    def mutate_level(self, level: dict[str, Any], key: jax.Array) -> dict[str, Any]:
        """Return the heights with a new one in one place."""
        place_key, height_key = jax.random.split(key)
        heights = jnp.asarray(level["heights"])
        place = jax.random.randint(place_key, (), 0, CHUNKS + 1, jnp.int32)
        return {"heights": heights.at[place].set(_draw_heights(height_key)[0].astype(heights.dtype))}

    @property
    def observation_space(self) -> Box:
        """Gymnasium's bounds."""
        high = [2.5, 2.5, 10.0, 10.0, 2 * math.pi, 10.0, 1.0, 1.0]
        return Box([*(-bound for bound in high[:6]), -0.0, -0.0], high)

    @property
    def action_space(self) -> Discrete | Box:
        """Four actions, or the throttles of the main engine and the side engines."""
        return Box(-1.0, 1.0, (2,)) if self.continuous else Discrete(4)

    @property
    def action_names(self) -> tuple[str, ...]:
        """The engines."""
        return (
            ("main engine", "side engines")
            if self.continuous
            else ("nothing", "left engine", "main engine", "right engine")
        )

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the actions of the arrow keys: up for the main engine, left and right to turn the lander there."""
        if not self.continuous:
            return {(): 0, ("left",): 1, ("up",): 2, ("right",): 3}
        side = {"left": -1.0, "right": 1.0}
        keys: dict[Any, Any] = {}
        for pressed in ((), ("up",), ("left",), ("right",), ("left", "up"), ("right", "up")):
            main = 1.0 if "up" in pressed else -1.0
            keys[pressed] = np.array([main, sum(side.get(name, 0.0) for name in pressed)], np.float32)
        return keys

    def heuristic(self, observation: Float[Array, "8"], key: jax.Array | None = None) -> Array:
        """Return the action of Gymnasium's hand-written policy, which lands most of the time.

        >>> import funcenv
        >>> env = LunarLander()
        >>> int(env.heuristic(jnp.array([0.0, 0.5, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0])))
        2
        """
        del key
        x, y, velocity_x, velocity_y, angle, turn, left, right = observation
        target = jnp.clip(x * 0.5 + velocity_x, -0.4, 0.4)
        lands = (left != 0) | (right != 0)
        tilt = jnp.where(lands, 0.0, (target - angle) * 0.5 - turn)
        climb = jnp.where(lands, -velocity_y * 0.5, (0.55 * jnp.abs(x) - y) * 0.5 - velocity_y * 0.5)
        if self.continuous:
            return jnp.clip(jnp.stack([climb * 20 - 1, -tilt * 20]), -1.0, 1.0).astype(jnp.float32)
        turns = jnp.where(tilt < -0.05, 3, jnp.where(tilt > 0.05, 1, 0))
        return jnp.where((climb > jnp.abs(tilt)) & (climb > 0.05), 2, turns).astype(jnp.int32)

    def scene(self, state: LunarLanderState) -> Scene:
        """Draw the moon, the pad, the lander and the plumes of its engines."""
        world = self._world(state.terrain)
        frames = [transform_of(world, state.world, body) for body in (HULL, *LEGS)]
        poses = [(position, jnp.arctan2(sine, cosine)) for position, (sine, cosine) in frames]
        return draw_lunar_lander(state.terrain, poses, state.main_power, state.side_power)

    def _world(self, terrain: Float[Array, "11"]) -> World:
        """Return the bodies of one moon."""
        x = np.array([WIDTH / (CHUNKS - 1) * i for i in range(CHUNKS)], np.float32)
        floor = np.array([[0.0], [0.0], [WIDTH], [0.0]], np.float32)
        moon = Body(
            (Fixture(Edges(*floor)), Fixture(Edges(x[:-1], terrain[:-1], x[1:], terrain[1:]), friction=0.1)),
            is_static=True,
        )
        hull = Fixture(Polygon(tuple((x / SCALE, y / SCALE) for x, y in LANDER)), 5.0, 0.1, category=0x10, mask=0x01)
        leg = Fixture(Polygon.box(LEG_WIDTH / SCALE, LEG_HEIGHT / SCALE), 1.0, category=0x20, mask=0x01)
        top = WIDTH / 2, HEIGHT
        bodies, joints = [moon, Body((hull,), top)], []
        for index, side in zip(LEGS, (-1, 1), strict=True):
            bodies.append(Body((leg,), (top[0] - side * LEG_AWAY / SCALE, top[1]), side * 0.05))
            joints.append(
                RevoluteJoint(
                    HULL,
                    index,
                    anchor_b=(side * LEG_AWAY / SCALE, LEG_DOWN / SCALE),
                    reference_angle=side * 0.05,
                    limits=(0.9 - 0.5, 0.9) if side == -1 else (-0.9, -0.9 + 0.5),
                    motor_speed=0.3 * side,
                    max_motor_torque=self.leg_spring_torque,
                )
            )
        return World(
            tuple(bodies),
            tuple(joints),
            gravity=(0.0, self.gravity),
            max_contacts=MAX_CONTACTS,
            max_touching=MAX_TOUCHING,
            is_continuous=FIDELITIES[self.fidelity][2],
        )

    def engines(self, action: Any) -> Engines:
        """Return the powers of an action."""
        if not self.continuous:
            action = jnp.asarray(action)
            is_side = (action == 1) | (action == 3)
            return Engines(
                jnp.where(action == 2, 1.0, 0.0).astype(float),
                jnp.where(is_side, 1.0, 0.0).astype(float),
                jnp.where(action == 1, -1.0, 1.0).astype(float),
            )
        main, side = jnp.clip(jnp.asarray(action).astype(float), -1.0, 1.0)
        return Engines(
            jnp.where(main > 0, (jnp.clip(main, 0.0, 1.0) + 1) * 0.5, 0.0),
            jnp.where(jnp.abs(side) > 0.5, jnp.clip(jnp.abs(side), 0.5, 1.0), 0.0),
            jnp.where(side < 0, -1.0, 1.0).astype(float),
        )

    def _fire(self, world: World, bodies: WorldState, engines: Engines, dispersion: Float[Array, "2"]) -> WorldState:
        """Apply the impulses of the engines to the hull."""
        row = world.row(HULL)
        position, _ = transform_of(world, bodies, HULL)
        place = position[0].astype(float), position[1].astype(float)
        angle = bodies.angle[row].astype(float)
        tip = jnp.sin(angle), jnp.cos(angle)
        side = -tip[1], tip[0]

        lever = MAIN_ENGINE_Y / SCALE + 2 * dispersion[0]
        ox = tip[0] * lever + side[0] * dispersion[1]
        oy = -tip[1] * lever - side[1] * dispersion[1]
        power = self.main_engine_power
        impulse = -ox * power * engines.main, -oy * power * engines.main
        bodies = apply_impulse(world, bodies, HULL, impulse, (place[0] + ox, place[1] + oy), engines.main > 0)

        lever = 3 * dispersion[1] + engines.direction * SIDE_ENGINE_AWAY / SCALE
        ox = tip[0] * dispersion[0] + side[0] * lever
        oy = -tip[1] * dispersion[0] - side[1] * lever
        at = (
            place[0] + ox - tip[0] * SIDE_ENGINE_ARM / SCALE,
            place[1] + oy + tip[1] * SIDE_ENGINE_HEIGHT / SCALE,
        )
        power = self.side_engine_power
        impulse = -ox * power * engines.side, -oy * power * engines.side
        return apply_impulse(world, bodies, HULL, impulse, at, engines.side > 0)

    def _advance(
        self,
        state: LunarLanderState,
        engines: Engines,
        dispersion: Float[Array, "2"],
        force: Float[Array, "2"],
        max_contacts: int,
    ) -> LunarLanderState:
        """Return the state after a step with a force on the hull; without contacts where nothing can touch."""
        world = self._world(state.terrain).replace(max_contacts=max_contacts)
        total = force[0].astype(jnp.float32), force[1].astype(jnp.float32)
        torques = {}
        if self.enable_wind:
            blows = ~state.touches.any()
            wind = jnp.where(blows, _gust(state.wind_index) * self.wind_power, 0.0).astype(jnp.float32)
            torque = jnp.where(blows, _gust(state.torque_index) * self.turbulence_power, 0.0).astype(jnp.float32)
            total, torques = (total[0] + wind, total[1]), {HULL: torque}
            counted = blows.astype(jnp.int32)
            state = state.replace(wind_index=state.wind_index + counted, torque_index=state.torque_index + counted)
        bodies = self._fire(world, state.world, engines, dispersion)
        velocity_iterations, position_iterations, _ = FIDELITIES[self.fidelity]
        bodies = step(world, bodies, 1 / FPS, velocity_iterations, position_iterations, {HULL: total}, torques)
        rows = np.array([world.row(leg) for leg in LEGS])
        last, hull = bodies.last_event[rows], world.row(HULL)
        return state.replace(
            world=bodies,
            touches=jnp.where(last == BEGAN, True, jnp.where(last == ENDED, False, state.touches)),
            has_crashed=state.has_crashed | bodies.began[hull],
            main_power=engines.main,
            side_power=engines.side * engines.direction,
        )

    def _measure(self, state: LunarLanderState) -> list[Float[Array, ""]]:
        """Return the numbers of the observation."""
        world, bodies = self._world(state.terrain), state.world
        row = world.row(HULL)
        position, _ = transform_of(world, bodies, HULL)
        x, y = (number.astype(float) for number in position)
        return [
            (x - WIDTH / 2) / (WIDTH / 2),
            (y - (PAD_HEIGHT + LEG_DOWN / SCALE)) / (HEIGHT / 2),
            bodies.velocity_x[row].astype(float) * (WIDTH / 2) / FPS,
            bodies.velocity_y[row].astype(float) * (HEIGHT / 2) / FPS,
            bodies.angle[row].astype(float),
            20.0 * bodies.angular_velocity[row].astype(float) / FPS,
            state.touches[0].astype(float),
            state.touches[1].astype(float),
        ]

    def _progress(self, state: LunarLanderState, next_state: LunarLanderState) -> Float[Array, ""]:
        """Return the change of -100 (distance + speed + |angle|) + 10 for each leg on the ground.

        The change of a length is computed from changes of its components: the difference of two lengths would lose
        half of the digits of float32. The compiler does not see that the numbers are scaled: it would take the scale
        out of a square, in some programs and not in others.
        """
        before, after = opaque((self._measure(state), self._measure(next_state)))
        distance = _change_of_length(before[:2], after[:2])
        speed = _change_of_length(before[2:4], after[2:4])
        tilt = jnp.abs(after[4]) - jnp.abs(before[4])
        legs = after[6] - before[6] + after[7] - before[7]
        return -100 * (distance + speed + tilt) + 10 * legs

    def _has_failed(self, state: LunarLanderState) -> Bool[Array, ""]:
        return state.has_crashed | (jnp.abs(self._measure(state)[0]) >= 1.0)

    def _has_landed(self, state: LunarLanderState) -> Bool[Array, ""]:
        return ~state.world.is_awake[0]  # the hull is the first of the moving bodies


def _change_of_length(before: list[Float[Array, ""]], after: list[Float[Array, ""]]) -> Float[Array, ""]:
    """Return |after| - |before| of two vectors."""
    (x0, y0), (x1, y1) = before, after
    total = jnp.sqrt(x0 * x0 + y0 * y0) + jnp.sqrt(x1 * x1 + y1 * y1)
    change = (x1 - x0) * (x1 + x0) + (y1 - y0) * (y1 + y0)
    return jnp.where(total > 0, change / jnp.where(total > 0, total, 1.0), 0.0)


def _gust(index: Int[Array, ""]) -> Float[Array, ""]:
    """Return the wind of a step, from -1 to 1; it has no period."""
    time = index.astype(float)
    return jnp.tanh(jnp.sin(0.02 * time) + jnp.sin(math.pi * 0.01 * time))


def _draw_heights(key: jax.Array) -> Float[Array, "12"]:
    """Return random heights of the terrain before smoothing [m]."""
    return jax.random.uniform(key, (CHUNKS + 1,), float, 0.0, HEIGHT / 2)


def _holds(value: Any, condition: Any) -> bool:
    """Return whether a condition holds for all concrete numbers in a parameter."""
    if isinstance(value, jax.core.Tracer) or not isinstance(value, (int, float, np.generic, np.ndarray, jax.Array)):
        return True
    return bool(np.all(condition(np.asarray(value))))
