"""Breakout against the original in ALE."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv.envs import AtariBreakout
from funcenv.envs.arcade.atari_breakout import COLUMNS, LIVES, POINTS, ROWS, UNIT, WALL_SCORE
from tests.support.ale import (
    assert_long_games_are_truncated,
    assert_observes_members,
    assert_stacks_run_compiled,
    original,
    played,
    random_policy,
    replayed,
)

ALE_ACTIONS = (0, 1, 3, 4)  # ALE's numbers of our actions
# In ALE's memory: whole pixels and 1/256 pixels of x, y, dy and -dx; counter of hits, whose bits 6 and 7 say what the
# ball passes; whether the last hit was an inner one, the paddle is short, and the wall is not there; paddle, reading.
BALL, COUNTER, INNER, SHORT, NO_WALL, PADDLE, READING = 99, 107, 109, 97, 94, 72, 70
HUNDREDS, SCORE, LIVES_LEFT, FRAME = 76, 77, 57, 90
# The byte (of six for each row) and the bit of the left half of each brick of a row.
BITS = [(5, 7), *((4, bit) for bit in (7, 5, 3, 1)), *((3, bit) for bit in (0, 2, 4, 6))]
BITS += [(2, 4), (2, 6), *((1, bit) for bit in (7, 5, 3, 1)), *((0, bit) for bit in (0, 2, 4))]


def frames(**parameters):
    """Return the game, one frame a step, without sticky actions."""
    return AtariBreakout(**{"frameskip": 1, "repeat_action_probability": 0.0, **parameters})


def decoded(memory):
    """Return what ALE's memory says in each frame."""
    memory = np.asarray(memory, int)
    signed = lambda high: (memory[:, high] * 256 + memory[:, high + 1] + 32768) % 65536 - 32768  # noqa: E731
    decimal = lambda place: memory[:, place] // 16 * 10 + memory[:, place] % 16  # noqa: E731
    bricks = [[memory[:, row + ROWS * byte] >> bit & 1 for byte, bit in BITS] for row in range(ROWS)]
    numbers = {
        "ball_x": memory[:, BALL] * 256 + memory[:, BALL + 1],
        "ball_y": memory[:, BALL + 2] * 256 + memory[:, BALL + 3],
        "ball_dy": signed(BALL + 4),
        "ball_dx": -signed(BALL + 6),
    }
    return {name: value // (256 // UNIT) for name, value in numbers.items()} | {
        "hits": memory[:, COUNTER] % 32,
        "passes_paddle": memory[:, COUNTER] & 64 > 0,
        "passes_bricks": memory[:, COUNTER] & 128 > 0,
        "inner": memory[:, INNER] > 0,
        "short": memory[:, SHORT] > 0,
        "paddle": memory[:, PADDLE],
        "reading": memory[:, READING],
        "score": decimal(SCORE) + 100 * decimal(HUNDREDS),
        "lives": memory[:, LIVES_LEFT],
        "bricks": np.moveaxis(np.array(bricks), -1, 0) > 0,
    }


def meet_ball(state, key):
    """Return the action of a player who meets most balls with various parts of the paddle."""
    numbers = (state.ball_x, state.ball_y, state.ball_dx, state.ball_dy, state.reading, state.frame // 90)
    x, y, dx, dy, reading, phase = (jnp.asarray(number, float) for number in numbers)
    x, y = x / UNIT, y / UNIT
    landing = x + dx * (177 - y) / jnp.maximum(dy, 1)
    landing = jnp.where(landing > 200, 400 - landing, jnp.where(landing < 57, 114 - landing, landing))
    ahead = jnp.where((dy > 0) & (y < 177), landing, x)
    goal = ahead - jnp.where(state.short, 7.5, 9.5) + jnp.where(state.short, 4, 6) * jnp.sin(1.7 * phase)
    aim = 235 - reading
    turn = jnp.where(goal > aim + 3, 2, jnp.where(goal < aim - 3, 3, 0))
    serves = jax.random.bernoulli(key, 0.3)
    return jnp.where(y < 1, serves.astype(jnp.int32), turn)


at_random = random_policy(len(ALE_ACTIONS))


@pytest.mark.parametrize(("policy", "num_frames"), [(at_random, 4000), (meet_ball, 16000)])
def test_every_frame_is_that_of_the_original(policy, num_frames):
    actions, states = played(frames(), policy, num_frames)
    memory = replayed("breakout", np.take(ALE_ACTIONS, actions), states)
    over = len(memory)
    for name, expected in decoded(memory).items():
        np.testing.assert_array_equal(getattr(states, name)[:over], expected, err_msg=name)
    if policy is meet_ball:  # breaks bricks of all rows, and meets the ceiling
        assert states.score[over - 1] > 300 and states.short.any() and states.hits.max() == 16
    else:
        assert states.over.any()


def test_single_frames_from_injected_states_are_those_of_the_original():
    """Try walls with holes, all speeds, counts and flags, and also what a game seldom shows."""
    random, ale = np.random.default_rng(0), original("breakout")
    for action in (1, *(60 * (0,))):  # until the console has drawn its wall
        ale.act(action)
    start = ale.cloneState()
    speeds = [(8, 8), (12, 8), (8, 12), (12, 16), (4, 16), (16, 8), (16, 16), (16, 27)]
    memory, rewards, actions = [], [], []
    for _ in range(1500):
        ale.restoreState(start)
        dx, dy = np.array(speeds[random.integers(8)]) * random.choice([-1, 1], 2)
        x, y = random.integers(UNIT * 57, UNIT * 201), random.integers(UNIT * 25, UNIT * 212)
        if random.random() < 0.4:
            y = random.integers(UNIT * 44, UNIT * 88)
        elif random.random() < 0.4:
            x, y = int(ale.getRAM()[PADDLE]) * UNIT + random.integers(-16, 160), random.integers(UNIT * 174, UNIT * 185)
        for place, value in zip(range(BALL, BALL + 8, 2), (x - dx, y - dy, dy, -dx), strict=True):
            ale.setRAM(place, int(value) // UNIT % 256)
            ale.setRAM(place + 1, int(value) % UNIT * (256 // UNIT))
        share = random.choice([0.0, 0.2, 0.6, 1.0])
        wall = np.zeros(36, int)
        for row in range(ROWS):
            for byte, bit in BITS:
                if random.random() < share:
                    wall[row + ROWS * byte] |= _both_halves(byte, bit)
        counter = random.choice([0, 3, 4, 8, 11, 12, 16]) + random.choice([0, 64, 128])
        others = {COUNTER: counter, INNER: random.choice([0, 2]), SHORT: random.choice([0, 128]), LIVES_LEFT: 2}
        for place, value in (dict(enumerate(wall)) | others).items():
            ale.setRAM(place, int(value))
        ale.act(0)  # draws the ball there; what it touches is known in the next frame
        before, action = ale.getRAM(), random.integers(4)
        rewards.append(ale.act(ALE_ACTIONS[action]))
        memory.append((before, ale.getRAM()))
        actions.append(action)
    before, after = (decoded([pair[side] for pair in memory]) for side in (0, 1))
    env = frames()
    names = [name for name in before if name not in ("reading", "paddle")]
    knob = np.full(len(actions), int(env.start().knob))
    frame = np.array([pair[0][FRAME] for pair in memory])
    fields = {"knob": knob, "frame": frame, **before}

    @jax.jit
    def stepped(fields, actions):
        def one(fields, action):
            cast = {name: jnp.asarray(value).astype(getattr(env.start(), name).dtype) for name, value in fields.items()}
            return env.play_frame(env.start().replace(**cast), action)

        return jax.vmap(one)(fields, actions)

    states = stepped(fields, np.array(actions, np.int32))
    # A ball never flies up from below the end of the walls, where the console treats it otherwise.
    possible = (before["ball_dy"] > 0) | (before["ball_y"] < 186 * UNIT)
    assert possible.mean() > 0.9
    for name in names:
        np.testing.assert_array_equal(np.asarray(getattr(states, name))[possible], after[name][possible], err_msg=name)
    np.testing.assert_array_equal(np.asarray(states.reward)[possible], np.array(rewards)[possible])
    assert sorted(set(rewards)) == [0, 1, 4, 7]


def _both_halves(byte, bit):
    """Return the bits of both halves of a brick; the console mirrors the bits of some bytes."""
    return (3 << bit) if byte in (0, 2, 3) else (3 << bit - 1)


def test_a_second_wall_appears_and_no_third():
    env = frames()
    step = jax.jit(lambda state: env.transition(state, 0, jax.random.key(0)))
    start = env.initial(None)
    at_paddle = start.replace(
        bricks=jnp.zeros_like(start.bricks),
        paddle=jnp.int32(146),
        ball_x=jnp.int32(150 * UNIT),
        ball_y=jnp.int32(180 * UNIT),
        ball_dy=jnp.int32(8),
    )
    first = step(at_paddle.replace(score=jnp.int32(WALL_SCORE)))
    assert not first.bricks.any() and step(first).bricks.all()
    assert not step(step(at_paddle.replace(score=jnp.int32(2 * WALL_SCORE)))).bricks.any()
    assert sum(POINTS) * COLUMNS == WALL_SCORE


@pytest.mark.parametrize(("policy", "num_frames"), [(at_random, 400), (meet_ball, 3000)])
def test_every_screen_is_that_of_the_original(policy, num_frames):
    actions, states = played(frames(), policy, num_frames)
    assert not states.over.any()
    ale, env = original("breakout"), frames()
    image, gray_image = jax.jit(env.image), jax.jit(env.gray_image)
    near = (np.asarray(states.ball_y) // UNIT % 1000 > 181) | (states.reward > 0)
    checked = set(range(0, num_frames, 23)) | set(np.flatnonzero(near)[::3])
    for number, action in enumerate(actions):
        ale.act(ALE_ACTIONS[action])
        if number in checked:
            state = jax.tree.map(lambda leaf, number=number: leaf[number], states)
            np.testing.assert_array_equal(image(state), ale.getScreenRGB(), err_msg=str(number))
            np.testing.assert_array_equal(gray_image(state), ale.getScreenGrayscale())
    assert (states.score.max() > 20) if policy is meet_ball else (states.lives.min() < LIVES)


def test_long_games_and_games_that_are_over_end():
    assert_long_games_are_truncated(frames(max_num_frames_per_episode=3))
    env = frames()
    state, step = env.initial(None), jax.jit(env.step)
    last = state.replace(lives=jnp.int32(1), ball_y=jnp.int32(208 * UNIT), ball_dy=jnp.int32(8))
    over, timestep = step(last, 0, jax.random.key(0))
    assert timestep.terminated and over.lives == 0
    assert not step(last.replace(lives=jnp.int32(2)), 0, jax.random.key(0))[1].terminated


def test_a_step_is_some_frames_and_sums_their_points():
    env, one = frames(frameskip=4), frames()
    start = one.initial(None).replace(
        ball_x=jnp.int32(100 * UNIT), ball_y=jnp.int32(86 * UNIT), ball_dx=jnp.int32(8), ball_dy=jnp.int32(-16)
    )
    step, single = jax.jit(env.transition), jax.jit(one.transition)
    last = step(start, 2, jax.random.key(0))
    state = start
    for _ in range(4):
        state = single(state, 2, jax.random.key(0))
    assert last.reward == 1 and last.score == 1
    jax.tree.map(np.testing.assert_array_equal, last.replace(reward=state.reward), state)


@pytest.mark.parametrize("obs_type", ["rgb", "grayscale", "ram"])
def test_observations_are_members_of_their_space(obs_type):
    assert_observes_members(AtariBreakout(obs_type=obs_type))


def test_observations_stay_in_their_bounds():
    states = played(frames(), meet_ball, 3000)[1]
    env = frames()
    observations = np.asarray(jax.jit(jax.vmap(lambda state: env.observation(state, jax.random.key(0))))(states))
    space = env.observation_space
    assert (observations >= space.low).all() and (observations <= space.high).all()
    assert observations[:, 14:].reshape(-1, ROWS, COLUMNS).sum() == states.bricks.sum()


@pytest.mark.dear
def test_stacks_of_wrappers_run_compiled():
    assert_stacks_run_compiled(frames(obs_type="grayscale"))


def test_keys_hold_the_knob_and_the_button():
    keys = AtariBreakout().get_keys_to_action()
    assert keys[()] == 0 and keys[("space",)] == 1 and keys[("right",)] == 2 and keys[("left",)] == 3


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="frameskip must be at least 1, got 0"):
        AtariBreakout(frameskip=0)
