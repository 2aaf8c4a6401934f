"""The game loop with a scripted screen."""

import numpy as np

from funcenv.adapters import StepCompatibility
from funcenv.adapters.playing.loop import default_keys, run
from funcenv.keyboard import Keymap

STAY, LEFT, RIGHT = (), ("left",), ("right",)


def game(env, screen, seed=0, **arguments):
    run(env, screen, Keymap(default_keys(env), 0, env.action_space), seed, **arguments)


def test_keys_are_played_and_no_key_is_the_noop(corridor, script):
    env, screen = corridor(), script(RIGHT, STAY, LEFT, ("left", "right"), RIGHT, STAY)
    game(env, screen)
    assert env.actions == [2, 0, 1, 0, 2]
    assert [score.step for score in screen.scores] == [0, 1, 2, 3, 4, 5]
    assert screen.scores[-1].episode_return == 5.0


def test_the_last_frame_of_an_episode_is_shown_before_the_next_begins(corridor, script):
    env, screen = corridor(), script(RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, STAY)
    game(env, screen)
    assert [(score.episode, score.step) for score in screen.scores] == [(1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 1)]
    assert screen.frames[3][0, 79].tolist() == [200, 40, 40]  # at the end of the corridor
    assert screen.scores[3].last == "terminated after 3, return 3"


def test_episodes_differ_though_the_game_is_seeded(corridor, script):
    first, second = corridor(), corridor()
    for env in (first, second):
        game(env, script(*[RIGHT] * 13), seed=7)
    assert first.seeds == [7, None, None, None]
    assert len(set(first.starts)) == 4
    assert first.starts == second.starts


def test_the_callback_gets_observations_and_what_step_returned(corridor, script):
    calls = []
    env = corridor()
    game(env, script(*[RIGHT] * 6), callback=lambda *arguments: calls.append(arguments))
    assert len(calls) == 4  # the fourth frame begins the second episode
    for before, after, action, reward, terminated, truncated, info in calls:
        assert isinstance(before, np.float32) and isinstance(after, np.float32)
        assert after - before == np.float32(1) or abs(after - before - 1) < 1e-6
        assert (action, reward, truncated) == (2, 1.0, False)
        assert terminated == (info["cell"] == 3)


def test_a_game_in_turns_waits_for_the_player(corridor, script):
    env = corridor()
    game(env, script(STAY, STAY, RIGHT, ("x",), LEFT, STAY, STAY), wait_on_player=True)
    assert env.actions == [2, 1]


def test_an_episode_begins_at_a_new_key(corridor, script):
    """A key that is held when an episode ends does not begin the next one."""
    env, screen = corridor(), script(STAY, STAY, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, STAY, ("x",), STAY, STAY)
    game(env, screen, wait_for_start=True)
    shown = [(score.episode, score.step, score.message.rpartition(": ")[2]) for score in screen.scores]
    start, over = "press a key to start", "press a key for the next episode"
    assert shown == [
        *[(1, 0, start)] * 3, (1, 1, ""), (1, 2, ""), *[(1, 3, over)] * 4, (2, 0, ""), (2, 1, "")
    ]  # fmt: skip
    assert screen.scores[5].message == f"terminated after 3, return 3: {over}"


def test_a_game_is_paused_and_slowed_down(corridor, script):
    env, screen = corridor(), script(STAY, ("return",), STAY, ("-",), ("x",), ("-",), ("+",), ("=",), STAY)
    game(env, screen)
    assert [score.step for score in screen.scores] == [0, 1, 1, 1, 1, 2, 3, 4, 5]
    assert [score.speed for score in screen.scores] == [1, 1, 1, 1, 0.5, 0.5, 0.25, 0.5, 1]
    assert "paused" in screen.scores[2].message and "speed 0.5x" in screen.scores[4].status


def test_a_key_of_the_environment_does_not_pause(corridor, script):
    env, screen = corridor(), script(("return",), ("-",), STAY)
    run(env, screen, Keymap({("return",): 2, "-": 1}, 0, env.action_space), 0)
    assert env.actions == [2, 1] and {(score.message, score.speed) for score in screen.scores} == {("", 1.0)}


def test_a_list_without_new_frames_shows_the_frame_before(corridor, script):
    env, screen = corridor(), script(STAY, RIGHT, STAY)
    draw, drawn = env.render, []
    env.render = lambda: drawn.append(1) or ([draw()] if len(drawn) == 1 else [])
    game(env, screen, wait_on_player=True)
    assert len(screen.frames) == 3 and screen.frames[2] is screen.frames[0]


def test_the_end_of_an_episode_is_named(corridor, script):
    env, screen = corridor(), script(RIGHT, STAY)
    step = env.step
    env.step = lambda action: (*step(action)[:2], False, True, {})
    game(env, screen)
    assert screen.scores[1].last == "time limit after 1, return 1"


def test_an_environment_with_the_interface_of_old_gym_is_played_alike(corridor, script):
    lines = []
    for make in (corridor, lambda: StepCompatibility(corridor())):
        env, screen = make(), script(*[RIGHT] * 6)
        game(env, screen)
        lines.append((env.actions, [score.last for score in screen.scores]))
    assert lines[0] == lines[1]


def test_frames_are_left_out_where_drawing_takes_too_long(corridor, script):
    env, screen = corridor(), script(RIGHT, *[STAY] * 7, RIGHT, RIGHT, STAY)
    screen.is_late = True
    game(env, screen)
    assert [score.step for score in screen.scores] == [
        0,
        4,
        8,
        10,
    ]  # the first, every fourth, and the end of an episode
    assert screen.num_skipped == 7 and len(env.actions) == 10


def test_a_game_that_waits_is_drawn_though_it_is_late(corridor, script):
    env, screen = corridor(), script(STAY, ("x",), ("return",), STAY, STAY)
    screen.is_late = True
    game(env, screen, wait_for_start=True)
    assert [bool(score.message) for score in screen.scores] == [True, True, True, True]
