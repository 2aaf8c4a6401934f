"""Walk with two legs of two segments each over rough ground, by the torques of hips and knees.

Hull and legs hang together on four hinges with motors and limits. The ground is a chain of 199 edges, in the hardcore
version with stumps, stairs and pits. Ten rays measure the distance of the ground ahead. `funcenv.physics` moves the
bodies as Box2D 2.3.10 does, and the rules are those of Gymnasium 1.4.0's `BipedalWalker-v3`, including their quirks:
an action gives the direction of a motor and its greatest torque, and a leg counts as off the ground as soon as its
contact with any edge ends. Box2D is the work of Erin Catto, and the environment that of Oleg Klimov.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from funcenv.checks import require_finite, require_positive
from funcenv.envs.box2d.bipedal_walker_scene import draw_bipedal_walker
from funcenv.envs.box2d.walker_terrain import (
    COLUMNS,
    GROUND,
    PITCH,
    SCALE,
    TerrainDraws,
    X,
    build_terrain,
    draw_terrain,
    redraw_stretch,
)
from funcenv.func_env import FuncEnv
from funcenv.levels.design import HasLevels
from funcenv.physics import (
    BEGAN,
    ENDED,
    Body,
    Boxes,
    Edges,
    Fixture,
    Polygon,
    RevoluteJoint,
    World,
    WorldState,
    cast_ray,
    initial_state,
    step,
    transform_of,
)
from funcenv.scene import Scene
from funcenv.spaces import Box
from funcenv.struct import PyTreeNode, field

FPS = 50  # steps a second
HULL_SHAPE = ((-30, 9), (6, 9), (34, 1), (34, -8), (-30, -8))  # corners in pixels; a metre has `SCALE` of them
LEG_DOWN, LEG_WIDTH, LEG_HEIGHT = -8 / SCALE, 8 / SCALE, 34 / SCALE  # [m]
START = PITCH * 20 / 2, GROUND + 2 * LEG_HEIGHT  # position of the hull [m]
GOAL = (COLUMNS - 10) * PITCH  # [m]
GRASS, HULL, LEGS, FEET = 0, 1, (2, 4), (3, 5)  # bodies: the lower segments are called feet
NUM_RAYS = 10
ITERATIONS = 180, 60
SEEN_EDGES, SEEN_BOXES = 14, 6  # edges and boxes that the rays can meet
# The solver knows only the ground around the walker, which it could touch in a step: about 4.5 m to either side.
NEAR_EDGES, NEAR_BOXES, EDGES_BEHIND = 20, 8, 9
NUM_BODIES = 5  # moving bodies
STANDS, PUTS, PUSHES = range(3)  # phases of the heuristic: on one leg, puts the other down, pushes off
MAX_CONTACTS, MAX_TOUCHING = 40, 16  # pairs of a body and a part of the ground that are close, and that touch


class BipedalWalkerState(PyTreeNode):
    """The bodies, the terrain, and what the sensors measure."""

    world: WorldState
    terrain: Float[Array, "200"]  # heights of the ground at equal distances [m]
    boxes: Float[Array, "boxes 4"]  # left, bottom, right and top of obstacles [m]; none but in the hardcore version
    touches: Bool[Array, "2"]  # ground contact of each foot; ends with any one contact of it, as in Gymnasium
    has_fallen: Bool[Array, ""]  # true if the hull has touched the ground
    lidar: Float[Array, "10"]  # distances along the rays, as parts of their range
    first: Int[Array, "2"]  # first box and first edge of those that the solver knows


class BipedalWalker(HasLevels, FuncEnv[BipedalWalkerState, Any, Float[Array, "24"]]):
    """BipedalWalker.

    Observation: float32 `[24]`: angle of the hull [rad], its angular velocity [25 rad/s], velocity in x [8.3 m/s],
        velocity in y [12.5 m/s], angle of the first hip [rad], its angular velocity [4 rad/s], angle of the first knee
        plus 1 rad [rad], its angular velocity [6 rad/s], whether the first foot touches the ground (0 or 1), angle of
        the second hip [rad], its angular velocity [4 rad/s], angle of the second knee plus 1 rad [rad], its angular
        velocity [6 rad/s], whether the second foot touches the ground (0 or 1), distances of the ground `[10]` [5.33
        m]. A foot is a lower segment of a leg. The distances are along rays from straight down to 77 degrees ahead. All
        are clipped to the space, which Gymnasium's environment, with the same space, can exceed.

    Action: float32 `[4]`: hip of the first leg, its knee, hip of the second leg, its knee. Each is clipped to [-1, 1]:
        the sign is the direction of a motor, the magnitude the part of its greatest torque that it may use. NaN is no
        torque.

    Reward: 4.33 for each metre ahead, less 5 for each radian by which the hull tilts more than before, less 0.028 for
        each unit of torque. The last step of an episode gives -100 for a fall or for leaving the ground at the left.

    Termination: the hull touches the ground, x falls below 0, or the walker reaches the end of the ground.
        Gymnasium truncates `BipedalWalker-v3` after 1600 steps, `BipedalWalkerHardcore-v3` after 2000.

    Initial state: the walker stands at the left, and a random force has pushed it for one step. The terrain is random.
        `info["contacts_dropped"]` counts contacts beyond the solver's capacity.

    Batches of parameters are batches of worlds. There are no useful gradients: contacts are discontinuous, and loops of
    unknown length have no reverse-mode derivative.

    Levels: `terrain`, the random numbers of the ground (`walker_terrain.TerrainDraws`); None draws new ones in every
        episode.

    Raises:
        ValueError: a parameter that is not finite, or a range of the rays that is not positive.

    >>> import funcenv, jax
    >>> env = BipedalWalker(gravity=-9.0)
    >>> state, timestep = jax.jit(env.reset)(funcenv.key(0))
    >>> timestep.observation.shape, bool(env.terminal(state))
    ((24,), False)
    """

    gravity: float = -10.0  # acceleration of gravity, negative downwards [m/s^2]
    motors_torque: float = 80.0  # greatest of each motor [N m]
    speed_hip: float = 4.0  # speed of the hip motors [rad/s]
    speed_knee: float = 6.0  # speed of the knee motors [rad/s]
    friction: float = 2.5  # friction of the ground
    initial_random: float = 5.0  # bound of the force in the first step [N]
    lidar_range: float = 160 / SCALE  # length of the rays, at most 5.33 [m]
    hardcore: bool = field(pytree_node=False, default=False)  # true for obstacles
    terrain: TerrainDraws | None = field(default=None)  # random numbers of the ground, None for new ones

    differentiable = False
    render_fps = FPS
    action_names = ("hip 1", "knee 1", "hip 2", "knee 2")
    heuristic_memory: ClassVar[int] = 3  # floats that `heuristic` remembers

    def __post_init__(self) -> None:
        require_finite(
            gravity=self.gravity,
            motors_torque=self.motors_torque,
            speed_hip=self.speed_hip,
            speed_knee=self.speed_knee,
            friction=self.friction,
            initial_random=self.initial_random,
        )
        require_positive(lidar_range=self.lidar_range)

    def initial(self, key: jax.Array) -> BipedalWalkerState:
        """Return the walker at the left end of a new terrain, after a step under a random force."""
        terrain_key, force_key = jax.random.split(key)
        force = jax.random.uniform(force_key, (), float, -1.0, 1.0) * self.initial_random
        return self.start(draw_terrain(terrain_key) if self.terrain is None else self.terrain, force)

    def draw_level(self, key: jax.Array) -> dict[str, Any]:
        """Return the random numbers of a ground."""
        return {"terrain": draw_terrain(key)}

    def mutate_level(self, level: dict[str, Any], key: jax.Array) -> dict[str, Any]:
        """Return a ground with new random numbers on a tenth of its columns."""
        return {"terrain": redraw_stretch(level["terrain"], key)}

    def start(self, draws: TerrainDraws, force: Float[Array, ""]) -> BipedalWalkerState:
        """Return the initial state for what is drawn at random: the terrain, and the first force in x [N]."""
        state = self.standing(draws)
        push = jnp.asarray(force).astype(jnp.float32), np.float32(0)
        # The legs stand so high that nothing touches the ground before the step.
        world = step(self.world(state), state.world, 1 / FPS, *ITERATIONS, {HULL: push}, is_apart=True)
        return self._measured(state, world)

    def standing(self, draws: TerrainDraws) -> BipedalWalkerState:
        """Return the walker as it is put on a terrain, before the first step, with its legs half a metre too high."""
        terrain, boxes = build_terrain(draws, self.hardcore)
        first = _first_near(boxes, START[0])
        return BipedalWalkerState(
            world=initial_state(self._make_world(_near(terrain, boxes, first))),
            terrain=terrain,
            boxes=boxes,
            touches=jnp.zeros(2, bool),
            has_fallen=jnp.zeros((), bool),
            lidar=jnp.ones(NUM_RAYS, jnp.float32),
            first=first,
        )

    def transition(self, state: BipedalWalkerState, action: Any, key: jax.Array) -> BipedalWalkerState:
        """Set the motors, and simulate a fiftieth of a second."""
        del key
        state = _look_around(state, self.position(state)[0])
        bodies = state.world  # whoever sets a motor wakes its bodies
        bodies = bodies.replace(
            is_awake=jnp.ones_like(bodies.is_awake), rest_time=jnp.where(bodies.is_awake, bodies.rest_time, 0.0)
        )
        return self._measured(state, step(self.world(state, throttles_of(action)), bodies, 1 / FPS, *ITERATIONS))

    def observation(self, state: BipedalWalkerState, key: jax.Array) -> Float[Array, "24"]:
        """Return the motion of the hull, the angles of the joints, the contacts, and the distances ahead."""
        del key
        bodies = state.world
        angle, velocity = bodies.angle, bodies.angular_velocity
        numbers = [
            angle[0].astype(float),
            2.0 * velocity[0].astype(float) / FPS,
            0.3 * bodies.velocity_x[0].astype(float) * (600 / SCALE) / FPS,
            0.3 * bodies.velocity_y[0].astype(float) * (400 / SCALE) / FPS,
        ]
        for leg, side in enumerate((-1, 1)):
            hip, knee = 1 + 2 * leg, 2 + 2 * leg
            numbers += [
                (angle[hip] - angle[0] - np.float32(side * 0.05)).astype(float),
                (velocity[hip] - velocity[0]).astype(float) / self.speed_hip,
                (angle[knee] - angle[hip]).astype(float) + 1.0,
                (velocity[knee] - velocity[hip]).astype(float) / self.speed_knee,
                state.touches[leg].astype(float),
            ]
        observed = jnp.concatenate([jnp.stack(numbers).astype(jnp.float32), state.lidar])
        space = self.observation_space
        return jnp.clip(observed, space.low, space.high)

    def reward(self, state: BipedalWalkerState, action: Any, next_state: BipedalWalkerState) -> Float[Array, ""]:
        """Return the progress, less tilting and torque; -100 for a fall."""
        before, after = self.position(state)[0], self.position(next_state)[0]
        tilt = [jnp.abs(s.world.angle[0].astype(float)) for s in (state, next_state)]
        reward = 130 / SCALE * (after - before) - 5.0 * (tilt[1] - tilt[0])
        reward = reward - (0.00035 * self.motors_torque * jnp.abs(throttles_of(action))).sum()
        return jnp.where(self._has_failed(next_state), -100.0, reward)

    def terminal(self, state: BipedalWalkerState) -> Bool[Array, ""]:
        """Return whether the walker has fallen, left the ground at the left, or reached its end."""
        return self._has_failed(state) | (self.position(state)[0] > GOAL)

    def state_info(self, state: BipedalWalkerState) -> dict[str, Any]:
        """Return how many contacts found no place in the solver."""
        return {"contacts_dropped": state.world.dropped}

    @property
    def observation_space(self) -> Box:
        """Gymnasium's bounds."""
        leg = [math.pi, 5.0, math.pi, 5.0, 5.0]
        high = [math.pi, 5.0, 5.0, 5.0, *leg, *leg, *[1.0] * NUM_RAYS]
        low = [-bound for bound in high]
        low[8] = low[13] = -0.0
        return Box(low, high)

    @property
    def action_space(self) -> Box:
        """The torques of hips and knees."""
        return Box(-1.0, 1.0, (4,))

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the torques of the keys: e and d, r and f for the first leg; u and j, i and k for the second."""
        directions = [{"e": 1.0, "d": -1.0}, {"r": 1.0, "f": -1.0}, {"u": 1.0, "j": -1.0}, {"i": 1.0, "k": -1.0}]
        keys: dict[Any, Any] = {}
        for pressed in itertools.product(*(("", *choices) for choices in directions)):
            torques = [choices.get(name, 0.0) for name, choices in zip(pressed, directions, strict=True)]
            keys[tuple(sorted(name for name in pressed if name))] = np.array(torques, np.float32)
        return keys

    def scene(self, state: BipedalWalkerState) -> Scene:
        """Draw the walker on its ground; the view moves with it."""
        world = self.world(state)
        frames = [transform_of(world, state.world, body) for body in range(1, 6)]
        poses = [(position, jnp.arctan2(sine, cosine)) for position, (sine, cosine) in frames]
        return draw_bipedal_walker(state.terrain, state.boxes, poses, state.lidar, self.lidar_range)

    def heuristic(self, observation: dict[str, Array], key: jax.Array | None = None) -> dict[str, Array]:
        """Return the action of Gymnasium's hand-written policy, which mostly falls in the end.

        It plays the walker in a `PolicyMemory` of `heuristic_memory` floats, where it keeps the phase of its gait, the
        moving leg, and the angle that the knee of the other leg aims for.

        >>> from funcenv.wrappers import PolicyMemory
        >>> env = PolicyMemory(BipedalWalker(), BipedalWalker.heuristic_memory)
        >>> choice = env.unwrapped.heuristic({"memory": jnp.zeros(3), "observation": jnp.zeros(24)})
        >>> bool(env.action_space.contains(choice))
        True
        """
        del key
        memory, s = observation["memory"].astype(float), observation["observation"].astype(float)
        phase, moving_leg = memory[0].astype(jnp.int32), memory[1].astype(jnp.int32)
        last_knee_angle = memory[2] + 0.1  # [rad]
        base = 4 + 5 * moving_leg, 9 - 5 * moving_leg
        moving, supporting = (jax.lax.dynamic_slice(s, (start,), (5,)) for start in base)
        speed = 0.29
        stands = phase == STANDS
        knee_angle = last_knee_angle + jnp.where(s[2] > speed, 0.06, 0.03)
        knee_angle = jnp.where(stands, jnp.minimum(knee_angle, 0.1), last_knee_angle)
        knee_supporting = knee_angle
        phase = jnp.where(stands & (supporting[0] < 0.1), PUTS, phase)
        puts = phase == PUTS
        hip_moving = jnp.where(puts, 0.1, 1.1)
        knee_moving = jnp.where(puts, 0.1, -0.6)
        lands = puts & (moving[4] != 0)
        knee_angle = jnp.where(lands, jnp.minimum(moving[2], 0.1), knee_angle)
        phase = jnp.where(lands, PUSHES, phase)
        pushes = phase == PUSHES
        has_hip = stands | puts
        knee_moving = jnp.where(pushes, knee_angle, knee_moving)
        knee_supporting = jnp.where(pushes, 1.0, knee_supporting)
        ends = pushes & ((supporting[2] > 0.88) | (s[2] > 1.2 * speed))
        swaps = moving_leg == 1
        hips = [jnp.where(has_hip, 0.9 * (hip_moving - moving[0]) - 0.25 * moving[1], 0.0), jnp.zeros((), float)]
        # a target of exactly 0 is none, as in Gymnasium
        knees = [
            jnp.where(target != 0, 4.0 * (target - leg[2]) - 0.25 * leg[3], 0.0)
            for target, leg in ((knee_moving, moving), (knee_supporting, supporting))
        ]
        upright, damping = 0.9 * s[0] + 1.5 * s[1], 15.0 * s[3]
        legs = [jnp.stack([hip + upright, knee - damping]) for hip, knee in zip(hips, knees, strict=True)]
        action = jnp.where(swaps, jnp.concatenate(legs[::-1]), jnp.concatenate(legs))
        gait = jnp.where(ends, STANDS, phase), jnp.where(ends, 1 - moving_leg, moving_leg)
        memory = jnp.stack([*(number.astype(jnp.float32) for number in gait), (knee_angle - 0.1).astype(jnp.float32)])
        return {"action": jnp.clip(0.5 * action, -1.0, 1.0).astype(jnp.float32), "memory": memory}

    def world(self, state: BipedalWalkerState, throttles: Float[Array, "4"] | None = None) -> World:
        """Return the bodies with the ground near the walker, and the motors as an action sets them."""
        return self._make_world(_near(state.terrain, state.boxes, state.first), throttles)

    def _make_world(self, near: tuple[Edges, Boxes | None], throttles: Float[Array, "4"] | None = None) -> World:
        throttles = jnp.zeros(4, float) if throttles is None else throttles
        edges, boxes = near
        ground = [Fixture(shape, friction=self.friction) for shape in (boxes, edges) if shape is not None]
        material: dict[str, Any] = {"category": 0x20, "mask": 0x01}
        hull = Fixture(Polygon(tuple((x / SCALE, y / SCALE) for x, y in HULL_SHAPE)), 5.0, 0.1, **material)
        leg = Fixture(Polygon.box(LEG_WIDTH / 2, LEG_HEIGHT / 2), 1.0, **material)
        foot = Fixture(Polygon.box(0.8 * LEG_WIDTH / 2, LEG_HEIGHT / 2), 1.0, **material)
        bodies = [Body(tuple(ground), is_static=True, is_divided=True), Body((hull,), START)]
        joints: list[RevoluteJoint] = []
        torques = (self.motors_torque * jnp.abs(throttles)).astype(jnp.float32)
        directions = jnp.sign(throttles)
        for side, upper, lower in zip((-1, 1), LEGS, FEET, strict=True):
            hip, knee = START[1] - LEG_HEIGHT / 2 - LEG_DOWN, START[1] - LEG_HEIGHT * 3 / 2 - LEG_DOWN
            bodies += [Body((leg,), (START[0], hip), side * 0.05), Body((foot,), (START[0], knee), side * 0.05)]
            for a, b, anchor, reference, limits, speed in (
                (HULL, upper, LEG_DOWN, side * 0.05, (-0.8, 1.1), self.speed_hip),
                (upper, lower, -LEG_HEIGHT / 2, 0.0, (-1.6, -0.1), self.speed_knee),
            ):
                motor = len(joints)
                joints.append(
                    RevoluteJoint(
                        a,
                        b,
                        anchor_a=(0.0, anchor),
                        anchor_b=(0.0, LEG_HEIGHT / 2),
                        reference_angle=reference,
                        limits=limits,
                        motor_speed=speed * directions[motor],
                        max_motor_torque=torques[motor],
                    )
                )
        return World(
            tuple(bodies),
            tuple(joints),
            gravity=(0.0, self.gravity),
            max_contacts=MAX_CONTACTS,
            max_touching=MAX_TOUCHING,
            is_grounded=True,
        )

    def _measured(self, state: BipedalWalkerState, bodies: WorldState) -> BipedalWalkerState:
        """Return the state after the bodies have moved."""
        last = bodies.last_event[np.array([2, 4])]  # last contact event of each foot
        state = state.replace(
            world=bodies,
            touches=jnp.where(last == BEGAN, True, jnp.where(last == ENDED, False, state.touches)),
            has_fallen=state.has_fallen | bodies.began[0],
        )
        return state.replace(lidar=self.measured_distances(state))

    def measured_distances(self, state: BipedalWalkerState) -> Float[Array, "10"]:
        """Return at which part of each ray the ground is."""
        x, y = self.position(state)
        angles = [1.5 * i / NUM_RAYS for i in range(NUM_RAYS)]
        start = x.astype(jnp.float32), y.astype(jnp.float32)
        end = (
            (x + np.array([math.sin(angle) for angle in angles]) * self.lidar_range).astype(jnp.float32),
            (y - np.array([math.cos(angle) for angle in angles]) * self.lidar_range).astype(jnp.float32),
        )
        # all rays lead ahead, so only a few edges and boxes can be in the way
        edge = jnp.clip(jnp.floor(x / PITCH).astype(jnp.int32) - 1, 0, COLUMNS - 1 - SEEN_EDGES)
        found = cast_ray(_edges(state.terrain, edge, SEEN_EDGES), start, end)
        if self.hardcore:
            behind = (state.boxes[:, 2] < start[0]).sum(dtype=jnp.int32)
            found = jnp.minimum(found, cast_ray(_boxes(state.boxes, behind, SEEN_BOXES), start, end))
        return found

    def position(self, state: BipedalWalkerState) -> tuple[Array, Array]:
        """Return the position of the hull."""
        position, _ = transform_of(self.world(state), state.world, HULL)
        return position[0].astype(float), position[1].astype(float)

    def _has_failed(self, state: BipedalWalkerState) -> Bool[Array, ""]:
        return state.has_fallen | (self.position(state)[0] < 0)


def throttles_of(action: Any) -> Float[Array, "4"]:
    """Return the action within its bounds."""
    action = jnp.asarray(action).astype(float)
    return jnp.clip(jnp.where(jnp.isnan(action), 0.0, action), -1.0, 1.0)


def _edges(terrain: Float[Array, "200"], first: Int[Array, ""], count: int) -> Edges:
    """Return a few edges of the ground."""
    x, y = (
        jax.lax.dynamic_slice(column, (first,), (count + 1,)) for column in (jnp.asarray(X.astype(np.float32)), terrain)
    )
    return Edges(x[:-1], y[:-1], x[1:], y[1:])


def _boxes(boxes: Float[Array, "boxes 4"], first: Int[Array, ""], count: int) -> Boxes:
    """Return a few obstacles."""
    near = jax.lax.dynamic_slice(boxes, (first, jnp.int32(0)), (count, 4))
    return Boxes(*near.T)


def _near(
    terrain: Float[Array, "200"], boxes: Float[Array, "boxes 4"], first: Int[Array, "2"]
) -> tuple[Edges, Boxes | None]:
    """Return the part of the ground that the solver knows."""
    obstacles = _boxes(boxes, first[0], NEAR_BOXES) if boxes.shape[0] else None
    return _edges(terrain, first[1], NEAR_EDGES), obstacles


def _first_near(boxes: Float[Array, "boxes 4"], x: Any) -> Int[Array, "2"]:
    """Return the first box and the first edge near a place."""
    edge = jnp.floor(jnp.asarray(x, float) / PITCH).astype(jnp.int32) - EDGES_BEHIND
    edge = jnp.clip(edge, 0, COLUMNS - 1 - NEAR_EDGES)
    behind = (boxes[:, 2] < edge.astype(jnp.float32) * np.float32(PITCH)).sum(dtype=jnp.int32)
    return jnp.stack([jnp.clip(behind, 0, max(boxes.shape[0] - NEAR_BOXES, 0)), edge])


def _look_around(state: BipedalWalkerState, x: Any) -> BipedalWalkerState:
    """Return the state with the ground near a place, in which contacts keep their boxes and edges.

    A contact is known by the index of its pair, which counts the moving bodies of each box, then those of each edge.
    """
    first = _first_near(state.boxes, x)
    shift = (state.first - first) * NUM_BODIES
    pair = state.world.contacts.pair
    num_boxes = min(state.boxes.shape[0], NEAR_BOXES)
    is_box = pair < num_boxes * NUM_BODIES
    start = jnp.where(is_box, 0, num_boxes * NUM_BODIES)
    end = jnp.where(is_box, num_boxes * NUM_BODIES, (num_boxes + NEAR_EDGES) * NUM_BODIES)
    moved = pair + jnp.where(is_box, shift[0], shift[1])
    is_lost = (pair >= 0) & ((moved < start) | (moved >= end))  # nothing is so far away
    contacts = state.world.contacts.replace(pair=jnp.where((pair >= 0) & ~is_lost, moved, -1).astype(jnp.int32))
    dropped = state.world.dropped + is_lost.sum(dtype=jnp.int32)
    return state.replace(world=state.world.replace(contacts=contacts, dropped=dropped), first=first)
