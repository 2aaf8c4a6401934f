"""Pong against the original in ALE."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv.envs import Pong
from funcenv.envs.arcade.pong import RIGHT_END, WAIT
from funcenv.wrappers import PixelObservation
from tests.support.ale import (
    assert_long_games_are_truncated,
    assert_observes_members,
    assert_stacks_run_compiled,
    original,
    played,
    random_policy,
    replayed,
)

ALE_ACTIONS = (0, 1, 3, 4, 11, 12)  # ALE's numbers of our actions
# In ALE's memory: x and y of the ball, y of the rival, of the player's paddle as drawn and in the next frame, scores.
ADDRESSES = (49, 54, 50, 51, 60, 13, 14)
FIRST_BALL = 59  # frame


def frames(**parameters):
    """Return the game, one frame a step, without sticky actions."""
    return Pong(**{"frameskip": 1, "repeat_action_probability": 0.0, **parameters})


def meet_ball(state, key):
    """Return the action of a player who mostly returns the ball, with various parts of the paddle."""
    slip_key, slip_action_key, fire_key = jax.random.split(key, 3)
    arrives = jnp.maximum((188 - state.ball_x) // jnp.maximum(state.ball_dx, 1), 0)
    height = state.ball_y + state.ball_dy * arrives
    height = jnp.where(height < 46, 92 - height, jnp.where(height > 206, 412 - height, height))
    part = (state.frame // 250 * 5) % 14 - 12
    goal = jnp.where(state.ball_dx > 0, height + part, 120)
    aim = 38 + 2 * ((state.knob - 120_400) // 7_990)
    turn = jnp.where(goal > aim + 3, 3, jnp.where(goal < aim - 3, 2, 0))
    turn = jnp.where(jax.random.bernoulli(slip_key, 0.02), jax.random.randint(slip_action_key, (), 0, 4), turn)
    presses = jax.random.bernoulli(fire_key, 0.1) & (turn != 1)
    return jnp.where(presses, jnp.where(turn == 0, 1, turn + 2), turn).astype(jnp.int32)


at_random = random_policy(len(ALE_ACTIONS))


@pytest.mark.parametrize(("policy", "num_frames"), [(at_random, 5000), (meet_ball, 12000)])
def test_every_frame_is_that_of_the_original(policy, num_frames):
    actions, states = played(frames(), policy, num_frames)
    memory = replayed("pong", np.take(ALE_ACTIONS, actions), states)[:, ADDRESSES]
    names = ("ball_x", "ball_y", "rival", "paddle", "reading", "rival_score", "player_score")
    for column, name in enumerate(names):
        start = FIRST_BALL if name == "ball_x" else 0
        ours = getattr(states, name)[start : len(memory)]
        np.testing.assert_array_equal(ours, memory[start:, column], err_msg=name)
    if policy is meet_ball:
        assert np.abs(states.ball_dx).max() == 4 and len(np.unique(states.ball_dy)) >= 5
        assert states.player_score.max() > 0
    else:
        assert states.over.any() and (states.rival_score.max() == 21)


def test_the_numbers_of_the_memory_lie_within_bounds_that_they_reach():
    env = frames()
    games = [played(env, policy, num_frames)[1] for policy, num_frames in ((at_random, 5000), (meet_ball, 12000))]
    memory = np.concatenate([np.stack(jax.jit(jax.vmap(env.memory))(states), axis=1) for states in games])
    low, high = np.transpose(env.memory_bounds)
    assert (memory >= low).all() and (memory <= high).all()
    always = [2, 3, 8, 9]  # speeds, knob and wait
    np.testing.assert_array_equal(memory.min(0)[always], low[always])
    np.testing.assert_array_equal(memory.max(0)[always], high[always])
    np.testing.assert_array_equal(memory.min(0)[[0, 1, 4, 5, 6, 7]], [0, 0, 38, 0, 0, 0])


def test_every_screen_is_that_of_the_original():
    actions, states = played(frames(), at_random, 1500)
    ale, env = original("pong"), frames()
    image, gray_image = jax.jit(env.image), jax.jit(env.gray_image)
    late = set(np.flatnonzero((states.ball_x >= 175) & (states.ball_x < RIGHT_END)))
    checked = set(range(1, 1500, 10)) | set(np.flatnonzero(states.wait >= WAIT - 1)) | late
    num_different = 0
    for number, action in enumerate(actions):
        ale.act(ALE_ACTIONS[action])
        if number in checked:
            state = jax.tree.map(lambda leaf, number=number: leaf[number], states)
            differs = (np.asarray(image(state)) != ale.getScreenRGB()).any(axis=-1)
            np.testing.assert_array_equal(differs, np.asarray(gray_image(state)) != ale.getScreenGrayscale())
            if state.ball_x < 175:
                assert not differs.any()
            else:  # near the player's paddle, the rows of the ball depend on more than the ball
                assert differs.sum() <= 4 and differs[:, state.ball_x - 49 : state.ball_x - 47].sum() == differs.sum()
                num_different += bool(number in late and differs.any())
    assert num_different < len(late) / 10
    assert (states.wait >= WAIT - 1).any()


def test_a_step_is_some_frames_and_sums_their_points():
    env, one = frames(frameskip=4), frames()
    actions = np.random.default_rng(0).integers(0, 6, 200).astype(np.int32)
    key = jax.random.key(0)

    def play(env, actions):
        def step(state, action):
            state = env.transition(state, action, key)
            return state, state

        return jax.lax.scan(step, env.initial(None), actions)[1]

    skipped, single = jax.jit(play)(env, actions), jax.jit(play)(one, actions.repeat(4))
    np.testing.assert_array_equal(skipped.reward, np.asarray(single.reward).reshape(-1, 4).sum(axis=1))
    assert skipped.reward.sum() < -3
    np.testing.assert_array_equal(skipped.ball_x, single.ball_x[3::4])


def test_actions_stick_in_every_frame():
    env = Pong(repeat_action_probability=0.25)
    knobs = jax.jit(jax.vmap(lambda key: env.transition(env.initial(None), 3, key).knob))(
        jax.random.split(jax.random.key(0), 2000)
    )
    turns = (np.asarray(knobs) - 408_823) // 23_000
    assert abs((turns == 4).mean() - 0.75) < 0.05 and abs((turns == 0).mean() - 0.25**4) < 0.01


def test_a_game_that_is_over_stays_as_it_is():
    env = frames(frameskip=4)
    start = env.initial(None)
    last = start.replace(rival_score=jnp.int32(20), wait=jnp.int32(0), ball_x=jnp.int32(205), ball_y=jnp.int32(99))
    over, timestep = jax.jit(env.step)(last, 3, jax.random.key(0))
    assert timestep.terminated and timestep.reward == -1 and over.frame == 1
    after, timestep = jax.jit(env.step)(over, 3, jax.random.key(0))
    assert timestep.terminated and timestep.reward == 0
    jax.tree.map(np.testing.assert_array_equal, after.replace(reward=over.reward), over)


def test_long_games_are_truncated():
    assert_long_games_are_truncated(frames(max_num_frames_per_episode=3))
    unlimited = frames(max_num_frames_per_episode=None)
    assert not unlimited.truncated(unlimited.initial(None).replace(frame=jnp.int32(10**6)))


def test_stacks_of_wrappers_run_compiled():
    assert_stacks_run_compiled(frames(obs_type="grayscale"))
    env = PixelObservation(Pong(), 84, 84, grayscale=True)
    assert jax.jit(env.reset)(jax.random.key(0))[1].observation.shape == (84, 84)


@pytest.mark.parametrize("obs_type", ["rgb", "grayscale", "ram"])
def test_observations_have_the_shape_of_their_space(obs_type):
    assert_observes_members(Pong(obs_type=obs_type))


def test_keys_hold_the_knob_and_the_button():
    keys = Pong().get_keys_to_action()
    assert keys[()] == 0 and keys[("up", "space")] == keys[("right", "space")] == 4 and keys[("down",)] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"frameskip": 0}, "frameskip must be at least 1, got 0"),
        ({"repeat_action_probability": 1.0}, "repeat_action_probability must be at least 0 and below 1"),
        ({"obs_type": "gray"}, "obs_type must be one of ram, rgb, grayscale, got 'gray'"),
        ({"max_num_frames_per_episode": 0}, "max_num_frames_per_episode must be at least 1"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Pong(**arguments)


def test_a_probability_may_be_an_integer():
    env = Pong(repeat_action_probability=0)
    state = jax.jit(env.transition)(env.initial(None), 2, jax.random.key(0))
    assert state.last_action == 2
