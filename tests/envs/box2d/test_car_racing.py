"""CarRacing against Gymnasium's: tracks, episodes and pictures; and the rules at their boundaries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.adapters.engine.reset_options import with_options
from funcenv.envs import CarRacing
from funcenv.envs.box2d.car_dynamics import FRICTION_LIMIT, roll, steering_speeds
from funcenv.envs.box2d.car_picture import (
    DEFAULT_COLORS,
    NUM_PIECES,
    PIECES_PER_BLOCK,
    Drive,
    first_entries,
    indicators,
    near_blocks,
    pieces_in,
    road_lines,
    view_of,
)
from funcenv.envs.box2d.car_track import MAX_TILES, draw_checkpoints, lay_track, make_track, tiles
from tests.support.box2d import assert_replays, placed


@pytest.mark.dear  # compiles the solver
@pytest.mark.parametrize(
    "kind", ["tracks", "continuous", "pictures", "colors", pytest.param("discrete", marks=pytest.mark.exhaustive)]
)
def test_what_gymnasium_records_is_computed_here(kind):
    assert_replays("play_car_racing.py", kind, "agrees")


@pytest.fixture(scope="module")
def env():
    return CarRacing(fidelity="fast")


@pytest.fixture(scope="module")
def transition(env):
    return jax.jit(lambda env, state, action: env.transition(state, action, None))


@pytest.fixture(scope="module")
def first(env):
    return jax.jit(env.initial)(funcenv.key(0))


def test_the_episode_ends_beyond_the_playfield(env, first):
    center = float(first.world.y[0])
    for x, ends in ((333.0, False), (333.7, True), (-333.0, False), (-333.7, True)):
        state = placed(first, x=x, y=0.0, angle=0.0)
        assert bool(env.terminal(state)) == ends
        assert not env.state_info(state)["lap_finished"]
        assert float(env.reward(first, None, state)) == (
            -100 if ends else pytest.approx(2000 / float(state.track.count) - 0.1, abs=1e-4)
        )
    assert center < 0


def test_the_lap_is_finished_with_the_last_tile(env, first, transition):
    count = int(first.track.count)
    one_left = first.replace(
        is_visited=np.arange(MAX_TILES) < count, num_visited=jnp.int32(count - 1), num_paid=jnp.int32(count - 1)
    )
    missing = one_left.replace(is_visited=one_left.is_visited & (np.arange(MAX_TILES) != 1))
    assert not env.terminal(missing)
    following = transition(env, missing, np.zeros(3, np.float32))  # the car stands on tile 1
    assert bool(env.terminal(following))
    assert bool(env.state_info(following)["lap_finished"])
    assert float(env.reward(missing, None, following)) == pytest.approx(1000 / count - 0.1, abs=1e-4)


def test_the_lap_counts_when_the_first_tile_is_visited_first(env, first, transition):
    """As in Gymnasium 1.4.0: afterwards `lap_complete_percent` is not looked at again."""
    many = np.arange(MAX_TILES) < int(first.track.count) // 2
    state = first.replace(is_visited=jnp.asarray(many & (np.arange(MAX_TILES) != 0)))
    for percent, ends in ((0.4, True), (0.6, False)):
        following = transition(env.replace(lap_complete_percent=percent), state, np.zeros(3, np.float32))
        assert bool(following.has_lapped) == bool(env.terminal(following)) == ends
    again = first.replace(is_visited=jnp.asarray(many))
    assert not transition(env.replace(lap_complete_percent=0.4), again, np.zeros(3, np.float32)).has_lapped


def test_the_tiles_at_the_start_are_paid_with_the_first_frame(env, first, transition):
    tile, nothing = 1000 / float(first.track.count), np.zeros(3, np.float32)
    assert int(first.num_visited) == 2
    second = transition(env, first, nothing)
    assert float(env.reward(first, nothing, second)) == pytest.approx(2 * tile - 0.1, abs=1e-4)
    third = transition(env, second, nothing)
    assert float(env.reward(second, nothing, third)) == pytest.approx(-0.1)


@pytest.mark.parametrize(
    ("action", "steer", "gas", "brake"),
    [((0.5, 2.0, 0.3), -0.5, 1.0, 0.3), ((-1.0, -1.0, 0.0), 1.0, 0.0, 0.0), ((np.nan,) * 3, 0.0, 0.0, 0.0)],
)
def test_pedals(env, action, steer, gas, brake):
    controls = env.controls(np.array(action, np.float32))
    assert tuple(map(float, controls)) == pytest.approx((steer, gas, brake))


def test_five_actions():
    env = CarRacing(continuous=False)
    expected = [(0, 0, 0), (-0.6, 0, 0), (0.6, 0, 0), (0, 0.2, 0), (0, 0, 0.8)]
    assert [tuple(map(float, env.controls(action))) for action in range(5)] == [pytest.approx(row) for row in expected]
    assert tuple(map(float, env.controls(7))) == (0, 0, 0)
    assert env.action_space == funcenv.spaces.Discrete(5)


def test_tyres_slide_at_the_limit_and_brakes_block(first):
    """At rest, a wheel that is spun pushes as hard as the ground allows, and straight ahead."""
    still, limit = (
        first.world.replace(**{n: jnp.zeros(5) for n in ("velocity_x", "velocity_y")}),
        jnp.array([400.0, 240.0, 400.0, 240.0]),
    )
    spin = jnp.array([50.0, 50.0, 0.0, 0.0])
    tyres = roll(still, spin, jnp.zeros(4), jnp.float32(0.0), jnp.float32(0.0), 40000.0, limit)
    force = jnp.hypot(*tyres.force)
    np.testing.assert_allclose(force, [400, 240, 0, 0], rtol=1e-5)
    np.testing.assert_array_equal(tyres.slides, [True, True, False, False])
    assert (tyres.spin[:2] < 50).all()
    blocked = roll(still, spin, jnp.zeros(4), jnp.float32(1.0), jnp.float32(0.9), 40000.0, limit)
    np.testing.assert_allclose(blocked.spin, 0, atol=1e-5)
    slowed = roll(still, spin, jnp.zeros(4), jnp.float32(0.0), jnp.float32(0.5), 40000.0, limit + 1e9)
    np.testing.assert_allclose(slowed.turned[:2] * 50, 50 - 7.5, rtol=1e-5)


def test_the_front_wheels_turn_towards_the_steering_angle(first):
    speeds = steering_speeds(first.world.replace(angle=jnp.zeros(5)), jnp.float32(0.02))
    assert list(map(float, speeds)) == pytest.approx([1, 1, 0, 0])
    assert float(steering_speeds(first.world, jnp.float32(-1.0))[0]) == -3


def test_grass_is_slippery_and_power_pushes(env, first, transition):
    """Mass and friction decide how fast the car can get in a second."""
    go = np.array([0.0, 1.0, 0.0], np.float32)

    def speed_after(env, state, steps=50):
        def advance(i, state):
            return env.transition(state, go, None)

        world = jax.lax.fori_loop(0, steps, advance, state).world
        return jnp.hypot(world.velocity_x[0], world.velocity_y[0])

    away = placed(first, x=0.0)
    away = first.replace(world=first.world.replace(x=first.world.x * 0 + first.world.x - 40.0))
    race = jax.jit(speed_after)
    road, grass, weak = race(env, first), race(env, away), race(env.replace(engine_power=4000.0), first)
    assert 20 < float(road) < 60
    assert float(grass) < float(road)
    assert float(weak) < float(road)


def test_tracks_are_closed_loops_of_equal_steps():
    keys = jax.random.split(funcenv.key(4), 200)
    track, is_usable = jax.jit(jax.vmap(lambda key: lay_track(draw_checkpoints(key))))(keys)
    assert 0.8 < np.asarray(is_usable).mean() < 1
    track, corners = jax.device_get((track, jax.jit(jax.vmap(tiles))(track)))
    for i in np.flatnonzero(is_usable):
        count = int(track.count[i])
        assert 200 < count <= MAX_TILES
        x, y = track.x[i, :count], track.y[i, :count]
        np.testing.assert_allclose(np.hypot(np.diff(x), np.diff(y)), 3.5, rtol=1e-3)
        assert np.hypot(x[0] - x[-1], y[0] - y[-1]) < 15  # head and tail need not lie on one line
        np.testing.assert_array_equal(corners[i, 4:, 0], corners[i, :4, count - 1])


@pytest.mark.dear
def test_colors(first):
    """They are drawn for each episode, unless they stay from one to the next."""
    np.testing.assert_array_equal(first.colors, DEFAULT_COLORS)
    env = CarRacing(domain_randomize=True, fidelity="fast")
    states = jax.jit(jax.vmap(env.initial))(jax.random.split(funcenv.key(2), 4))
    colors = np.asarray(states.colors)
    assert len(np.unique(colors[:, 0], axis=0)) == 4
    assert (colors[:, :2] <= 210).all()
    np.testing.assert_allclose(np.sort(colors[:, 2] - colors[:, 1], axis=1), [[0, 0, 20]] * 4, atol=1e-4)
    assert env.remembers and not CarRacing().remembers
    last = jax.tree.map(lambda leaf: leaf[0], states)
    after = jax.jit(lambda env, last, key: env.initial_after(last, key))
    assert (np.asarray(after(env, last, funcenv.key(9)).colors) != colors[0]).any()
    np.testing.assert_array_equal(after(env.replace(randomize=False), last, funcenv.key(9)).colors, colors[0])


def test_bad_parameters():
    with pytest.raises(ValueError, match="fidelity must be one of exact, fast"):
        CarRacing(fidelity="slow")
    with pytest.raises(ValueError, match="lap_complete_percent must be"):
        CarRacing(lap_complete_percent=np.nan)
    with pytest.raises(ValueError, match="engine_power must be"):
        CarRacing(engine_power=0.0)


@pytest.mark.dear
def test_the_heuristic_drives(env):
    """It visits tiles in the first three seconds, and stays on the road."""

    def drive(key):
        def advance(state, _):
            state = env.transition(state, env.heuristic(env.observation(state, None)), None)
            return state, state.on_road.any()

        return jax.lax.scan(advance, env.initial(key), None, 150)

    state, on_road = jax.jit(drive)(funcenv.key(3))
    assert int(state.num_visited) > 15
    assert on_road.all()


def test_friction_limit_is_gymnasiums():
    assert FRICTION_LIMIT == 1000000 * 0.02 * 0.02


def test_randomize_is_a_reset_option():
    """The stateful environment then passes the last state to `initial_after`."""
    env = funcenv.make("CarRacing-v3", domain_randomize=True)
    assert not with_options(env, {"randomize": False}).unwrapped.randomize
    assert env.remembers


def test_random_colors_are_drawn_first_and_may_stay(first):
    """As in Gymnasium, where the constructor draws colours: without `randomize` the first ones stay."""

    class Painted(CarRacing):
        def start(self, track, colors):
            return first.replace(colors=colors)

    keys = jax.random.split(funcenv.key(5), 50)
    for randomize in (True, False):
        env = Painted(domain_randomize=True, randomize=randomize)
        colors = np.asarray(jax.jit(jax.vmap(lambda key: env.initial(key).colors))(keys))  # noqa: B023
        road, ground, squares = np.swapaxes(colors, 0, 1)
        assert (colors[:, :2] >= 0).all() and (colors[:, :2] < 210).all() and colors[:, :2].std() > 50
        np.testing.assert_allclose((squares - ground).sum(1), 20, atol=1e-4)
        assert set((squares - ground).argmax(1)) == {0, 1, 2}
        later = jax.jit(lambda last, key: env.initial_after(last, key).colors)(  # noqa: B023
            first.replace(colors=jnp.asarray(colors[0])), keys[1]
        )
        np.testing.assert_array_equal(later, colors[1 if randomize else 0])
    assert not np.array_equal(road[0], road[1])


def test_indicators_show_values_from_a_ten_thousandth_on():
    for value in (0.9e-4, -0.9e-4, 1.1e-4, -1.1e-4):
        number = jnp.float32(value)
        shown = [is_shown for *_, is_shown, _ in indicators(Drive(number, number, jnp.full(4, number), number, number))]
        assert len(shown) == 7
        assert all(bool(each) == (abs(value) > 1e-4) for each in shown)


def test_a_mark_as_thin_as_a_line_darkens_nothing_beside_its_wheel(env, first):
    """Marks have no height before wheels roll, and are hidden once they rolled a little."""
    draw = jax.jit(lambda state: env.observation(state, None).astype(jnp.int32))
    assert not first.turned.any()
    hidden = first.replace(turned=np.full(4, 1e-3, np.float32))
    thin = first.replace(turned=np.full(4, -1e-3, np.float32))
    assert np.abs(draw(first) - draw(hidden)).max() <= 1 and np.abs(draw(first) - draw(thin)).max() <= 1


def test_blocks_of_the_picture_hold_every_tile_that_they_show():
    """Where the camera is after its first second: at places beside the road of random tracks, at all angles."""

    def crowd(key):
        track_key, place_key, angle_key = jax.random.split(key, 3)
        track = make_track(track_key)
        places = jax.random.randint(place_key, (8,), 0, track.count)
        angles = jax.random.uniform(angle_key, (8,), jnp.float32, 0, 2 * np.pi)

        def most(place, angle):
            x, y = (each[place].astype(jnp.float32) for each in (track.x, track.y))
            view = view_of(((x, y), (jnp.sin(angle), jnp.cos(angle))), jnp.int32(100))
            pieces = pieces_in(view, track, jnp.zeros(MAX_TILES, bool))
            return near_blocks(pieces, road_lines(pieces)).sum(1).max(), pieces.is_there.sum()

        return jax.vmap(most)(places, angles)

    in_block, in_view = jax.jit(jax.vmap(crowd))(jax.random.split(funcenv.key(8), 25))
    assert 4 < in_block.max() <= PIECES_PER_BLOCK
    assert 20 < in_view.max() < NUM_PIECES


@pytest.mark.parametrize("size", [1, 31, 32, 33, 400])
def test_first_entries(size):
    rng = np.random.default_rng(size)
    mask = rng.random((9, size)) < rng.random((9, 1))
    mask[0], mask[1] = True, False
    found = np.asarray(jax.jit(first_entries, static_argnums=1)(mask, 12))
    for row, places in zip(mask, found, strict=True):
        expected = np.flatnonzero(row)[:12]
        np.testing.assert_array_equal(places[: len(expected)], expected)
        assert (places[len(expected) :] >= size).all()
