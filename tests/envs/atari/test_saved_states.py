"""States that other emulators continue, as in a batch or a search: their frames are those of the unbroken run."""

import jax
import numpy as np
import pytest

from funcenv.envs import Atari
from funcenv.envs.atari.games import GAMES
from tests.support.rotation import rotated

KEY = jax.random.key(0)
CUT_SHORT = ("alien", "tic_tac_toe_3d", "video_checkers")  # games with frames that show remains of earlier ones
ROUNDED = ("miniature_golf", "pitfall2")  # games of which ALE rounds a number of the state when it saves it
NUM_FIRST, NUM_LATER, FRAMES_BETWEEN = 100, 300, 8


@jax.jit
def play_on(env, state, segments):
    """Play one segment of actions after the other, in one emulator, and return the states after each."""

    def play(state, actions):
        state = jax.lax.cond(state.terminal, lambda: env.initial_after(state, KEY), lambda: state)
        state = env.play(state, actions, len(actions))
        return state, state

    return jax.lax.scan(play, state, segments)


@jax.jit
def play_all(env, states, actions):
    return jax.vmap(lambda state, actions: env.play(state, actions, actions.size))(states, actions)


def branch(env, states, actions):
    """Continue all states in emulators that are shared, so that each loads many of them."""
    ready = jax.block_until_ready(jax.device_put((states, actions)))
    return jax.device_get(play_all(env, *ready))


def random_actions(env, *shape):
    """Return random actions, most of which are held for several frames."""
    rng = np.random.default_rng(0)
    drawn = rng.choice(env.action_set, shape).astype(np.int32).reshape(-1)
    starts = np.maximum.accumulate(np.where(rng.random(drawn.size) < 0.15, np.arange(drawn.size), 0))
    return drawn[starts].reshape(shape)


def assert_same(game, found, expected):
    for name in ("emulator", "screen", "ram", "lives", "frame", "total_frames", "terminal", "truncated"):
        if (game in CUT_SHORT and name == "screen") or (game in ROUNDED and name == "emulator"):
            continue
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=f"{name} of {game}")


@pytest.mark.parametrize("game", rotated(GAMES, ("yars_revenge", "qbert", "tic_tac_toe_3d")))
def test_every_state_can_be_continued(game):
    """Each of the first hundred for two frames, so that a frame drawn in part shows what was there before."""
    env = Atari(game)
    start = jax.tree.map(lambda leaf: np.asarray(leaf)[None], env.initial(KEY))
    actions = random_actions(env, NUM_FIRST + 2, 1)
    state, states = jax.device_get(play_on(env, env.initial(KEY), actions))
    states = jax.tree.map(lambda *leaves: np.concatenate(leaves), start, states)
    found = branch(env, take(states, slice(-2)), np.hstack([actions[:-1], actions[1:]]))
    assert_same(game, found, take(states, slice(2, None)))
    later = random_actions(env, NUM_LATER + 1, FRAMES_BETWEEN)
    _, states = jax.device_get(play_on(env, state, later))
    continued = np.flatnonzero(~states.terminal[:-1])  # After the other ones, the run begins another episode.
    found = branch(env, take(states, slice(-1)), later[1:])
    assert_same(game, take(found, continued), take(states, continued + 1))


def take(states, rows):
    return jax.tree.map(lambda leaf: leaf[rows], states)
