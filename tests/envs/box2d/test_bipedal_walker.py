"""BipedalWalker against Gymnasium's: whole episodes, bit for bit, its terrain, and the rules at their boundaries."""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs.box2d.bipedal_walker import BipedalWalker, throttles_of
from funcenv.envs.box2d.walker_terrain import GROUND, MAX_BOXES, PIT, PITCH, STAIRS, STUMP, build_terrain, draw_terrain
from tests.support.box2d import assert_replays, in_kernels_and_plainly, placed

RECORD = pathlib.Path(__file__).parents[2] / "reference" / "bipedal_walker.npz"


@pytest.mark.dear  # compiles the solver
@pytest.mark.parametrize(("kind", "in_kernels"), in_kernels_and_plainly("grass", "hardcore"))
def test_whole_episodes_equal_gymnasiums_bit_for_bit(kind, in_kernels):
    assert_replays("play_bipedal_walker.py", kind, "equal", in_kernels)


@pytest.fixture(scope="module")
def first():
    """Return a state at the beginning of an episode, without its first step."""
    env = BipedalWalker()
    return jax.jit(lambda key: env.standing(draw_terrain(key)))(funcenv.key(0))


def test_the_episode_ends_where_the_walker_falls_goes_back_or_arrives(first):
    env = BipedalWalker()
    middle = float(first.world.x[0]) - 200 * PITCH / 20  # centre of mass, from the origin of the hull
    goal = 190 * PITCH
    for x, ends, fails in ((0.001, 0, 0), (-0.001, 1, 1), (goal - 0.001, 0, 0), (goal + 0.001, 1, 0)):
        state = placed(first, x=x + middle)
        assert bool(env.terminal(state)) == ends
        assert (float(env.reward(first, np.zeros(4), state)) == -100) == fails
    fallen = first.replace(has_fallen=jnp.array(True))
    assert bool(env.terminal(fallen))
    assert float(env.reward(first, np.zeros(4), fallen)) == -100


def test_progress_pays_tilting_and_torque_cost(first):
    env, still = BipedalWalker(), np.zeros(4)
    assert float(env.reward(first, still, first)) == 0
    ahead = placed(first, x=first.world.x[0] + 0.3)
    assert float(env.reward(first, still, ahead)) == pytest.approx(1.3, abs=1e-5)
    action = np.array([0.5, -0.25, 0.0, 9.0])
    assert float(env.reward(first, action, first)) == pytest.approx(-0.028 * 1.75)
    tilted = [placed(first, angle=angle, x=first.world.x[0]) for angle in (0.2, -0.3)]
    shift = [float(env.position(state)[0] - env.position(tilted[0])[0]) for state in tilted]
    expected = -5 * 0.1 + 130 / 30 * shift[1]
    assert float(env.reward(tilted[0], still, tilted[1])) == pytest.approx(expected, abs=1e-5)


def test_actions_are_clipped_and_nan_is_no_torque():
    action = np.array([np.nan, 2.0, -3.0, 0.25], np.float32)
    assert throttles_of(action).tolist() == [0.0, 1.0, -1.0, 0.25]


def test_the_sign_of_an_action_is_a_direction_and_its_magnitude_a_torque(first):
    env = BipedalWalker(motors_torque=50.0, speed_hip=3.0, speed_knee=2.0)
    joints = env.world(first, throttles_of(np.array([0.5, -0.25, 0.0, 1.0]))).joints
    assert [float(joint.motor_speed) for joint in joints] == [3.0, -2.0, 0.0, 2.0]
    assert [float(joint.max_motor_torque) for joint in joints] == [25.0, 12.5, 0.0, 50.0]


def test_heights_and_boxes_are_those_of_the_rules():
    """A pit, then a stump, then stairs, on ground without bumps."""
    draws = jax.tree.map(np.array, draw_terrain(funcenv.key(0)))
    draws = draws.replace(
        bump=np.zeros(200),
        wait=np.full(200, 6),
        obstacle=np.full(200, STAIRS),
        pit=np.full(200, 4),
        stump=np.full(200, 2),
        stairs=np.full(200, 3),
        stair_rises=np.ones(200, bool),
    )
    draws.obstacle[:30], draws.obstacle[30:36] = PIT, STUMP
    heights, boxes = jax.jit(build_terrain, static_argnums=1)(draws, True)
    levels = (np.asarray(heights) - GROUND) / PITCH
    np.testing.assert_allclose(levels[:21], 0, atol=1e-5)
    np.testing.assert_allclose(levels[21:26], [-4, -4, -4, -4, 0], atol=1e-5)
    np.testing.assert_allclose(levels[26:40], 0, atol=1e-5)  # also under the stump
    np.testing.assert_allclose(levels[41:53], np.arange(1, 13) / 4 - 0.5, atol=0.26)
    left, bottom, right, top = (np.asarray(side) / PITCH for side in boxes.T)
    ground = GROUND / PITCH
    np.testing.assert_allclose(left[:6], [20, 24, 32, 40, 44, 48], atol=1e-4)
    np.testing.assert_allclose(right[:6], [21, 25, 34, 44, 48, 52], atol=1e-4)
    np.testing.assert_allclose(top[:6] - ground, [0, 0, 2, 0, 1, 2], atol=1e-4)
    np.testing.assert_allclose(top[:6] - bottom[:6], [4, 4, 2, 1, 1, 1], atol=1e-4)


def test_boxes_stay_in_order_and_within_their_places():
    draw = jax.jit(jax.vmap(lambda key: build_terrain(draw_terrain(key), True)))
    heights, boxes = map(np.asarray, draw(jax.random.split(funcenv.key(1), 300)))
    assert np.isfinite(heights).all()
    assert (np.diff(boxes[:, :, 2], axis=1) >= 0).all()
    used = (boxes[:, :, 0] < 900).sum(1)
    assert used.min() > 12
    assert used.max() < MAX_BOXES
    short = jax.tree.map(np.array, draw_terrain(funcenv.key(0))).replace(
        wait=np.full(200, 5), obstacle=np.full(200, PIT), pit=np.full(200, 3)
    )
    _, boxes = jax.jit(build_terrain, static_argnums=1)(short, True)
    assert (boxes[:, 0] < 900).sum() == 36  # the most that pits alone can need


def test_grass_has_bumps_after_a_flat_start():
    draw = jax.jit(jax.vmap(lambda key: build_terrain(draw_terrain(key), False).heights))
    heights = np.asarray(draw(jax.random.split(funcenv.key(2), 500)))
    np.testing.assert_allclose(heights[:, :20], GROUND, rtol=1e-6)
    assert np.abs(heights[:, 21:].mean() - GROUND) < 0.1  # bumps are pulled back to the level of the start
    assert heights[:, 100:].std() == pytest.approx(0.133, abs=0.01)  # Gymnasium's over 150 seeds


def test_rays_see_the_ground_below_and_the_obstacles_ahead(first):
    env = BipedalWalker()
    x, y = (float(value) for value in env.position(first))
    reach = 160 / 30
    expected = [min((y - GROUND) / np.cos(1.5 * i / 10) / reach, 1.0) for i in range(10)]
    flat = first.replace(terrain=jnp.full(200, GROUND))
    np.testing.assert_allclose(env.measured_distances(flat), expected, rtol=1e-5)
    wall = np.tile(np.float32([1000, 0, 1001, 1]), (MAX_BOXES, 1))
    wall[0] = x + 1, GROUND, x + 2, GROUND + 5
    seen = np.asarray(BipedalWalker(hardcore=True).measured_distances(flat.replace(boxes=jnp.asarray(wall))))
    angles = 1.5 * np.arange(10) / 10
    expected = np.minimum(expected, 1 / np.maximum(np.sin(angles), 1e-9) / reach)
    np.testing.assert_allclose(seen, expected, rtol=1e-5)


@pytest.mark.parametrize("episode", [0, 1])
def test_the_heuristic_does_what_gymnasiums_does(episode):
    record, env = np.load(RECORD), BipedalWalker()
    observations = np.concatenate(
        [record["grass/first_observation"][None, episode], record["grass/observation"][episode]]
    )

    def choose(memory, observation):
        choice = env.heuristic({"memory": memory, "observation": observation})
        return choice["memory"], choice["action"]

    start = jnp.zeros(env.heuristic_memory)
    _, actions = jax.jit(lambda rows: jax.lax.scan(choose, start, rows))(observations[:-1])
    np.testing.assert_allclose(actions, record["grass/action"][episode], atol=2e-5)


def test_impossible_parameters_are_refused():
    with pytest.raises(ValueError, match="lidar_range"):
        BipedalWalker(lidar_range=0.0)
    with pytest.raises(ValueError, match="gravity"):
        BipedalWalker(gravity=np.inf)


def test_lower_bounds_of_0_print_as_gymnasiums():
    space = BipedalWalker().observation_space
    assert np.signbit(space.low).all() and " -0. " in repr(space)
