"""Drive a racing car around a random track, seen from above.

The observation is the picture of 96x96 pixels that Gymnasium 1.4.0's `CarRacing-v3` draws, and the rules are its own.
`funcenv.physics` moves the car as Box2D 2.3.10 does, with the same constants. Box2D is the work of Erin Catto, and the
environment that of Oleg Klimov.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8

from funcenv.checks import require_finite, require_one_of, require_positive
from funcenv.envs.box2d.car_dynamics import (
    ENGINE_POWER,
    FPS,
    FRICTION_LIMIT,
    WHEELS,
    Controls,
    car_world,
    joint_angle,
    roll,
    steering_speeds,
    touches,
)
from funcenv.envs.box2d.car_picture import DEFAULT_COLORS, Drive, draw_picture
from funcenv.envs.box2d.car_racing_scene import draw_car_racing
from funcenv.envs.box2d.car_track import (
    MAX_TILES,
    Track,
    draw_closed_track,
    lay_track,
    make_track,
    move_checkpoint,
    tiles,
)
from funcenv.func_env import FuncEnv
from funcenv.levels.design import HasLevels
from funcenv.physics import WorldState, initial_state, step, transform_of
from funcenv.physics.transforms import Transform
from funcenv.scene import Scene
from funcenv.spaces import Box, Discrete
from funcenv.struct import PyTreeNode, field

PLAYFIELD = 2000 / 6.0  # the car must stay within this distance of the middle, along x and y [m]
NUM_NEAR = 16  # tiles that may touch the car; on random tracks there are 7 at most
FIDELITIES = {"exact": (6 * 30, 2 * 30), "fast": (20, 10)}  # iterations


class CarRacingState(PyTreeNode):
    """The bodies of the car, its wheels, the track, and what has been visited."""

    world: WorldState
    gas: Float[Array, ""]  # throttle of the engine, which follows the pedal
    spin: Float[Array, "4"]  # angular velocities of the wheels [rad/s]
    turned: Float[Array, "4"]  # angles that the wheels have rolled [rad]
    on_road: Bool[Array, "4"]  # true if a wheel touches a tile
    track: Track
    is_visited: Bool[Array, "400"]  # true if a wheel has touched the tile
    is_plain: Bool[Array, "400"]  # true if the car has touched the tile, which then loses its pattern
    num_visited: Int[Array, ""]
    num_paid: Int[Array, ""]  # tiles that were visited, and paid, before the last step
    has_lapped: Bool[Array, ""]  # true if the first tile was visited after enough of the others
    steps: Int[Array, ""]
    colors: Float[Array, "3 3"]  # colours of the road, of the ground, and of its squares, from 0 to 255


class CarRacing(HasLevels, FuncEnv[CarRacingState, Any, UInt8[Array, "96 96 3"]]):
    """CarRacing.

    Observation: uint8 `[96, 96, 3]`: the picture of Gymnasium's environment, from above, with the car pointing up. The
        camera zooms in during the first second. The bar at the bottom shows the score, the speed, the spin of each
        wheel, the steering angle and the angular velocity. The mean difference from Gymnasium's picture is 0.37 of 255.

    Action: float32 `[3]`: steering from -1 (left) to 1 (right), gas from 0 to 1, brake from 0 to 1; from 0.9 on the
        wheels block. Gas is clipped, steering and brake have no effect beyond their bounds, NaN is 0. With
        `continuous=False` 0 for nothing, 1 to steer right, 2 to steer left, 3 for gas, 4 to brake; any other number
        acts as 0.

    Reward: 1000 / n for each of the n tiles when a wheel first touches it, less 0.1 for each frame; the tiles at the
        start are paid with the first frame. A frame in which the car is beyond the playfield gives -100.

    Termination: all tiles have been visited, or |x| or |y| of the hull exceeds 333 m. `CarRacing-v3` is truncated after
        1000 frames. As in Gymnasium 1.4.0, `lap_complete_percent` is compared when the first tile is first visited,
        which is where the car starts; so in practice a lap ends with the last tile.

    Initial state: the car is at rest on the first tile of a random track, after one frame without an action. With
        `domain_randomize=True` the colours are random: new ones for each episode, or, with `randomize=False` as a
        parameter or as a reset option, those of the episode before; the first episode draws them in any case.
        `info["lap_finished"]` says whether the lap is finished.

    The tyres and the track are computed in float32 without `jax_enable_x64`, where Gymnasium uses Python's float64; a
    track then differs from Gymnasium's by about a millimetre. A track of more than 400 tiles is drawn again. There are
    no useful gradients, because observations are integers. Skid marks, which Gymnasium shows to people but not to
    agents, are not drawn: every state would have to keep them.

    Levels: `checkpoints`, through which the track is laid; None draws new ones in every episode. Those that
        `draw_level` and `mutate_level` return have a track that closes.

    Raises:
        ValueError: a parameter that is not finite, a power or friction that is not positive, or an unknown fidelity.

    >>> import funcenv, jax
    >>> env = CarRacing(fidelity="fast")
    >>> state, timestep = jax.jit(env.reset)(funcenv.key(0))
    >>> timestep.observation.shape, bool(state.on_road.all())
    ((96, 96, 3), True)
    """

    lap_complete_percent: float = 0.95  # part of the tiles that a lap must have visited
    engine_power: float = ENGINE_POWER  # power of the engine at full gas [W]
    friction_limit: float = FRICTION_LIMIT  # greatest force of a tyre on the road [N]
    grass_friction: float = 0.6  # friction of the ground beside the road, relative to the road
    randomize: bool = True  # true for new colours in each episode, if `domain_randomize`
    continuous: bool = field(pytree_node=False, default=True)  # true for the actions steering, gas and brake
    domain_randomize: bool = field(pytree_node=False, default=False)  # true for random colours
    fidelity: str = field(pytree_node=False, default="exact")  # "exact" as in Gymnasium; "fast": fewer iterations
    checkpoints: Float[Array, "12 2"] | None = field(
        ndim=2, default=None
    )  # angles [rad] and radii [m], None for random

    differentiable = False
    render_fps = FPS

    def __post_init__(self) -> None:
        require_finite(lap_complete_percent=self.lap_complete_percent)
        require_positive(
            engine_power=self.engine_power, friction_limit=self.friction_limit, grass_friction=self.grass_friction
        )
        require_one_of("fidelity", self.fidelity, FIDELITIES)

    def initial(self, key: jax.Array) -> CarRacingState:
        """Return the car at rest on the first tile of a random track, after a step without an action."""
        track_key, color_key = jax.random.split(key)
        colors = self._draw_colors(color_key) if self.domain_randomize else jnp.array(DEFAULT_COLORS, float)
        track = make_track(track_key) if self.checkpoints is None else lay_track(jnp.asarray(self.checkpoints))[0]
        return self.start(track, colors)

    def draw_level(self, key: jax.Array) -> dict[str, Any]:
        """Return the checkpoints of a random track."""
        return {"checkpoints": draw_closed_track(key)[0]}

    def mutate_level(self, level: dict[str, Any], key: jax.Array) -> dict[str, Any]:
        """Return checkpoints of which one lies elsewhere, unless the track would not close."""
        return {"checkpoints": move_checkpoint(level["checkpoints"], key)}

    def initial_after(self, last: CarRacingState, key: jax.Array) -> CarRacingState:
        """Return an initial state in the colours of the last episode, unless there are new ones for each episode."""
        state = self.initial(key)
        return state.replace(colors=jnp.where(jnp.asarray(self.randomize).astype(bool), state.colors, last.colors))

    @property
    def remembers(self) -> bool:
        """True if colours may stay from one episode to the next."""
        return self.domain_randomize

    def start(self, track: Track, colors: Float[Array, "3 3"]) -> CarRacingState:
        """Return the initial state on a track."""
        place = track.x[0], track.y[0], track.angle[0]
        zero, nothing = jnp.zeros((), float), jnp.zeros(MAX_TILES, bool)
        state = CarRacingState(
            world=initial_state(car_world(place)),
            gas=zero,
            spin=jnp.zeros(4, float),
            turned=jnp.zeros(4, float),
            on_road=jnp.zeros(4, bool),
            track=track,
            is_visited=nothing,
            is_plain=nothing,
            num_visited=jnp.int32(0),
            num_paid=jnp.int32(0),
            has_lapped=jnp.zeros((), bool),
            steps=jnp.int32(-1),
            colors=colors,
        )
        return self._advance(state, Controls(zero, zero, zero))

    def transition(self, state: CarRacingState, action: Any, key: jax.Array) -> CarRacingState:
        """Steer, accelerate and brake for a fiftieth of a second."""
        del key
        return self._advance(state, self.controls(action))

    def observation(self, state: CarRacingState, key: jax.Array) -> UInt8[Array, "96 96 3"]:
        """Return the picture."""
        del key
        hull, *wheels = self._poses(state)
        return draw_picture(
            hull, wheels, state.turned, state.track, state.is_plain, state.colors, state.steps, self._drive(state)
        )

    def reward(self, state: CarRacingState, action: Any, next_state: CarRacingState) -> Float[Array, ""]:
        """Return 1000 / tiles for each new tile, less 0.1; -100 beyond the playfield."""
        del action
        new = next_state.num_visited - state.num_paid
        reward = self._reward_of(new, next_state.track) - 0.1
        return jnp.where(self._has_left(next_state), -100.0, reward)

    def terminal(self, state: CarRacingState) -> Bool[Array, ""]:
        """Return whether the lap is finished, or the car beyond the playfield."""
        return self._has_finished(state) | self._has_left(state)

    def state_info(self, state: CarRacingState) -> dict[str, Any]:
        """Return whether the lap is finished."""
        return {"lap_finished": self._has_finished(state) & ~self._has_left(state)}

    @property
    def observation_space(self) -> Box:
        """Pictures."""
        return Box(0, 255, (96, 96, 3), np.uint8)

    @property
    def action_space(self) -> Discrete | Box:
        """Steering, gas and brake, or five actions."""
        return Box([-1.0, 0.0, 0.0], [1.0, 1.0, 1.0]) if self.continuous else Discrete(5)

    @property
    def action_names(self) -> tuple[str, ...]:
        """Meanings of the numbers of an action."""
        return ("steer", "gas", "brake") if self.continuous else ("none", "right", "left", "gas", "brake")

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the actions of the arrow keys: left and right to steer, up for gas, down to brake."""
        if not self.continuous:
            return {(): 0, ("right",): 1, ("left",): 2, ("up",): 3, ("down",): 4}
        keys: dict[Any, Any] = {}
        for side, steer in (((), 0.0), (("left",), -1.0), (("right",), 1.0)):
            for pedal, gas, brake in (((), 0.0, 0.0), (("up",), 1.0, 0.0), (("down",), 0.0, 0.8)):
                keys[(*side, *pedal)] = np.array([steer, gas, brake], np.float32)
        return keys

    def heuristic(self, observation: UInt8[Array, "96 96 3"], key: jax.Array | None = None) -> Array:
        """Return the action of a simple driver, who steers to where the road is grey ahead.

        Gymnasium has no such policy. It needs the default colours.

        >>> import funcenv, jax
        >>> env = CarRacing()
        >>> picture = np.zeros((96, 96, 3), np.uint8)
        >>> picture[:84, 60:80] = 100
        >>> bool(env.heuristic(picture)[0] > 0)
        True
        """
        del key
        levels = jnp.asarray(observation).astype(jnp.float32)
        rows = levels[40:62]
        is_road = (jnp.abs(rows[..., 0] - rows[..., 1]) < 12) & (rows[..., 0] > 60) & (rows[..., 0] < 150)
        # every row has a vote: where the road's middle is, as an angle from the car
        weight = is_road.astype(jnp.float32)
        columns = np.arange(96, dtype=np.float32) - np.float32(47.5)
        height = (72 - np.arange(40, 62, dtype=np.float32)) * np.float32(0.8)
        middle = (weight * columns[None]).sum(1) / jnp.maximum(weight.sum(1), 1.0)
        has_road = (weight.sum(1) > 0).astype(jnp.float32)
        angle = (middle / height * has_road).sum() / jnp.maximum(has_road.sum(), 1.0)
        speed = levels[84:94, 13].sum() / (3 * 253 * 0.048)
        aim = 60.0 - 80.0 * jnp.minimum(jnp.abs(angle), 0.6)
        gas, brake = jnp.where(speed < aim, 0.5, 0.0), jnp.where(speed > aim + 10, 0.4, 0.0)
        if self.continuous:
            return jnp.stack([jnp.clip(angle, -1.0, 1.0), gas, brake]).astype(jnp.float32)
        turns = jnp.where(angle > 0, 1, 2)
        drives = jnp.where(brake > 0, 4, jnp.where(gas > 0, 3, 0))
        return jnp.where(jnp.abs(angle) > 0.15, turns, drives).astype(jnp.int32)

    def scene(self, state: CarRacingState) -> Scene:
        """Draw the road, the car and the indicators."""
        hull, *wheels = self._poses(state)
        return draw_car_racing(
            hull, wheels, state.turned, state.track, state.is_plain, state.colors, self._drive(state)
        )

    def _poses(self, state: CarRacingState) -> list[Transform]:
        """Return position and rotation of the hull and the wheels."""
        spec = car_world()
        return [transform_of(spec, state.world, body) for body in (0, *WHEELS)]

    def _drive(self, state: CarRacingState) -> Drive:
        """Return what the indicators show. The score lacks the cost of the last frame, as in Gymnasium."""
        world = state.world
        frames = jnp.maximum(state.steps - 1, 0).astype(float)
        return Drive(
            reward=(self._reward_of(state.num_visited, state.track) - 0.1 * frames).astype(jnp.float32),
            speed=jnp.sqrt(world.velocity_x[0] ** 2 + world.velocity_y[0] ** 2),
            spin=state.spin.astype(jnp.float32),
            steering=joint_angle(world, 1),
            turn=world.angular_velocity[0],
        )

    def _draw_colors(self, key: jax.Array) -> Float[Array, "3 3"]:
        road_key, ground_key, channel_key = jax.random.split(key, 3)
        road, ground = (jax.random.uniform(k, (3,), float, 0.0, 210.0) for k in (road_key, ground_key))
        channel = jax.random.randint(channel_key, (), 0, 3, jnp.int32)
        return jnp.stack([road, ground, ground + jnp.where(np.arange(3, dtype=np.int32) == channel, 20.0, 0.0)])

    def controls(self, action: Any) -> Controls:
        """Return what an action asks of the car; NaN asks for nothing."""
        if self.continuous:
            numbers = jnp.asarray(action).astype(float)
            steer, gas, brake = jnp.where(jnp.isnan(numbers), 0.0, numbers)
            return Controls(-steer, jnp.clip(gas, 0.0, 1.0), brake)
        action = jnp.asarray(action)
        steer = jnp.where(action == 1, -0.6, jnp.where(action == 2, 0.6, 0.0))
        gas, brake = jnp.where(action == 3, 0.2, 0.0), jnp.where(action == 4, 0.8, 0.0)
        return Controls(steer.astype(float), gas.astype(float), brake.astype(float))

    def _advance(self, state: CarRacingState, controls: Controls) -> CarRacingState:
        """Return the state after a step."""
        gas = state.gas + jnp.minimum(controls.gas - state.gas, 0.1)
        limit = jnp.where(state.on_road, 1.0, self.grass_friction) * self.friction_limit
        tyres = roll(state.world, state.spin, state.turned, gas, controls.brake, self.engine_power, limit)
        world = state.world.replace(
            is_awake=jnp.ones_like(state.world.is_awake),
            rest_time=jnp.where(state.world.is_awake, state.world.rest_time, 0.0),
        )
        near, wheels, hull = self._touched(state)
        is_touched = wheels.any(0)
        spec = car_world(motor_speeds=steering_speeds(state.world, controls.steer))
        forces = {
            wheel: (tyres.force[0][i].astype(jnp.float32), tyres.force[1][i].astype(jnp.float32))
            for i, wheel in enumerate(WHEELS)
        }
        world = step(spec, world, 1 / FPS, *FIDELITIES[self.fidelity], forces)
        is_visited = state.is_visited.at[near].set(state.is_visited[near] | is_touched)
        is_plain = state.is_plain.at[near].set(state.is_plain[near] | is_touched | hull)
        num_visited = is_visited.sum(dtype=jnp.int32)
        first = is_visited[0] & ~state.is_visited[0]
        enough = num_visited.astype(float) / state.track.count.astype(float) > self.lap_complete_percent
        return state.replace(
            world=world,
            gas=gas,
            spin=tyres.spin,
            turned=tyres.turned,
            on_road=wheels.any(1),
            is_visited=is_visited,
            is_plain=is_plain,
            num_visited=num_visited,
            num_paid=jnp.where(state.steps < 0, 0, num_visited),
            has_lapped=state.has_lapped | (first & enough),
            steps=state.steps + 1,
        )

    def _touched(self, state: CarRacingState) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Return the tiles near the car, which of them each wheel touches before a step, and which ones the hull.

        Box2D's sensors notice at the beginning of a step, so that the tyres feel a tile one step later.
        """
        corners = tiles(state.track)
        dx = (corners[0] + corners[6]) * np.float32(0.5) - state.world.x[0]
        dy = (corners[1] + corners[7]) * np.float32(0.5) - state.world.y[0]
        is_there = np.arange(MAX_TILES, dtype=np.int32) < state.track.count
        _, near = jax.lax.top_k(jnp.where(is_there, -(dx * dx + dy * dy), -jnp.inf), NUM_NEAR)
        wheels, hull = touches(state.world, corners[:, near])
        return near, wheels & is_there[near][None], hull & is_there[near]

    def _reward_of(self, count: Int[Array, ""], track: Track) -> Float[Array, ""]:
        return count.astype(float) * (1000.0 / track.count.astype(float))

    def _has_finished(self, state: CarRacingState) -> Bool[Array, ""]:
        return (state.num_visited == state.track.count) | state.has_lapped

    def _has_left(self, state: CarRacingState) -> Bool[Array, ""]:
        (x, y), _ = transform_of(car_world(), state.world, 0)
        return (jnp.abs(x) > PLAYFIELD) | (jnp.abs(y) > PLAYFIELD)
