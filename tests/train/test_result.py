"""The line that a run ends with."""

import dataclasses
import pathlib

import pytest

from funcenv.train import ppo
from funcenv.train.presets import preset
from funcenv.train.runs.result import RunResult

SOLVED = RunResult(
    folder=pathlib.Path("runs/x"),
    state=None,
    config=preset("CartPole-v1"),
    finished=True,
    signal_number=None,
    threshold=475.0,
    mean_return=500.0,
    best_return=500.0,
    env_steps=200_704,
    wall_seconds=9.9,
    solved_at_steps=84_992,
    solved_after_seconds=4.2,
)
PONG = preset("arcade/Pong-v0", from_pixels=True)
UNSOLVED = dataclasses.replace(SOLVED, mean_return=123.4, best_return=234.5, solved_at_steps=None)


@pytest.mark.parametrize(
    ("result", "summary"),
    [
        (SOLVED, "solved at 84,992 steps after 4.2 s: mean return 500.0, threshold 475"),
        (
            dataclasses.replace(SOLVED, mean_return=300.0),
            "solved at 84,992 steps after 4.2 s, and lost again: mean return 300.0 at the end, best 500.0, "
            "threshold 475",
        ),
        (
            UNSOLVED,
            "not solved: mean return 123.4, best 234.5, threshold 475; try another --seed, or more steps: "
            "funcenv train --resume runs/x --total-timesteps 400000",
        ),
        (
            dataclasses.replace(UNSOLVED, config=dataclasses.replace(SOLVED.config, eval_every=500)),
            "not solved: mean return 123.4, best 234.5, threshold 475; try another --seed, or more steps: "
            "funcenv train --resume runs/x --total-timesteps 400000",
        ),
        (
            dataclasses.replace(UNSOLVED, config=dataclasses.replace(SOLVED.config, gamma=0.5, seed=3)),
            "not solved: mean return 123.4, best 234.5, threshold 475; try the preset: "
            "funcenv train CartPole-v1 without other flags, or more steps: "
            "funcenv train --resume runs/x --total-timesteps 400000",
        ),
        (
            dataclasses.replace(UNSOLVED, config=ppo.Config(env_id="lab/Maze-v0")),
            "not solved: mean return 123.4, best 234.5, threshold 475; try more steps: "
            "funcenv train --resume runs/x --total-timesteps 1000000, or other settings",
        ),
        (
            dataclasses.replace(UNSOLVED, config=dataclasses.replace(PONG, pixels=84)),
            "not solved: mean return 123.4, best 234.5, threshold 475; try another --seed, or more steps: "
            f"funcenv train --resume runs/x --total-timesteps {2 * PONG.total_timesteps}",
        ),
        (
            dataclasses.replace(UNSOLVED, config=dataclasses.replace(PONG, gamma=0.5)),
            "not solved: mean return 123.4, best 234.5, threshold 475; try the preset: "
            "funcenv train arcade/Pong-v0 --pixels 42 without other flags, or more steps: "
            f"funcenv train --resume runs/x --total-timesteps {2 * PONG.total_timesteps}",
        ),
        (
            dataclasses.replace(UNSOLVED, threshold=None),
            "finished 200,704 steps after 9.9 s: mean return 123.4, best 234.5; CartPole-v1 has no threshold",
        ),
        (
            dataclasses.replace(UNSOLVED, mean_return=float("nan")),
            "no episode ended in 200,704 steps; give it more --total-timesteps, or a time limit with "
            "--max-episode-steps",
        ),
    ],
    ids=[
        "solved",
        "lost again",
        "preset",
        "evaluated preset",
        "other than the preset",
        "without a preset",
        "preset for pixels",
        "other than the preset for pixels",
        "no threshold",
        "no episode",
    ],
)
def test_the_summary_says_whether_it_is_solved(result, summary):
    assert result.summary == summary
