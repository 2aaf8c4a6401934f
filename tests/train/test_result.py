"""The line that a run ends with."""

import dataclasses
import pathlib

import pytest

from funcenv.train import ppo
from funcenv.train.presets import preset
from funcenv.train.runs.final import FinalReturns, read_final
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
        (SOLVED, "threshold reached at 84,992 steps after 4.2 s: mean return 500.0 in training, threshold 475"),
        (
            dataclasses.replace(SOLVED, mean_return=300.0),
            "threshold reached at 84,992 steps after 4.2 s, and lost again: mean return 300.0 in training at "
            "the end, best 500.0, threshold 475",
        ),
        (
            UNSOLVED,
            "threshold not reached: mean return 123.4 in training, best 234.5, threshold 475; try another "
            "--seed, or more steps: funcenv train --resume runs/x --total-timesteps 400000",
        ),
        (
            dataclasses.replace(UNSOLVED, config=dataclasses.replace(SOLVED.config, eval_every=500)),
            "threshold not reached: mean return 123.4 in training, best 234.5, threshold 475; try another "
            "--seed, or more steps: funcenv train --resume runs/x --total-timesteps 400000",
        ),
        (
            dataclasses.replace(UNSOLVED, config=dataclasses.replace(SOLVED.config, gamma=0.5, seed=3)),
            "threshold not reached: mean return 123.4 in training, best 234.5, threshold 475; try the preset: "
            "funcenv train CartPole-v1 without other flags, or more steps: "
            "funcenv train --resume runs/x --total-timesteps 400000",
        ),
        (
            dataclasses.replace(UNSOLVED, config=ppo.Config(env_id="lab/Maze-v0")),
            "threshold not reached: mean return 123.4 in training, best 234.5, threshold 475; try more steps: "
            "funcenv train --resume runs/x --total-timesteps 1000000, or other settings",
        ),
        (
            dataclasses.replace(UNSOLVED, config=dataclasses.replace(PONG, pixels=84)),
            "threshold not reached: mean return 123.4 in training, best 234.5, threshold 475; try another "
            f"--seed, or more steps: funcenv train --resume runs/x --total-timesteps {2 * PONG.total_timesteps}",
        ),
        (
            dataclasses.replace(UNSOLVED, config=dataclasses.replace(PONG, gamma=0.5)),
            "threshold not reached: mean return 123.4 in training, best 234.5, threshold 475; try the preset: "
            "funcenv train arcade/Pong-v0 --pixels 42 without other flags, or more steps: "
            f"funcenv train --resume runs/x --total-timesteps {2 * PONG.total_timesteps}",
        ),
        (
            dataclasses.replace(UNSOLVED, threshold=None),
            "finished 200,704 steps after 9.9 s: mean return 123.4 in training, best 234.5; "
            "CartPole-v1 has no threshold",
        ),
        (
            dataclasses.replace(UNSOLVED, mean_return=float("nan")),
            "no episode ended in 200,704 steps; give it more --total-timesteps, or a time limit with "
            "--max-episode-steps",
        ),
    ],
    ids=[
        "threshold reached",
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
def test_the_summary_without_an_evaluation_is_that_of_training(result, summary):
    assert result.summary == summary


@pytest.mark.parametrize(
    ("result", "greedy", "exploring", "summary"),
    [
        (
            SOLVED,
            (500.0,),
            (490.0,),
            "solved: greedy return 500.0 (exploring 490.0) over 100 episodes, threshold 475; threshold reached at "
            "84,992 steps after 4.2 s in training",
        ),
        (
            SOLVED,
            (3.75,),
            (480.0,),
            "not solved: greedy return 3.75 (exploring 480.0) over 100 episodes, threshold 475; threshold reached at "
            "84,992 steps after 4.2 s in training; exploring it is solved: funcenv evaluate runs/x --explore",
        ),
        (
            SOLVED,
            (500.0, 474.0),
            (300.0, 300.0),
            "not solved: greedy return 487.0 (exploring 300.0), worst agent 474.0, over 100 episodes, threshold 475; "
            "threshold reached at 84,992 steps after 4.2 s in training; the best agents were better: "
            "funcenv evaluate runs/x --best",
        ),
        (
            UNSOLVED,
            (123.4,),
            (123.4,),
            "not solved: greedy return 123.4 over 100 episodes, threshold 475; try another "
            "--seed, or more steps: funcenv train --resume runs/x --total-timesteps 400000",
        ),
        (
            dataclasses.replace(SOLVED, threshold=None),
            (475.0,),
            (475.0,),
            "finished 200,704 steps after 9.9 s: greedy return 475.0 over 100 episodes; CartPole-v1 has no threshold",
        ),
    ],
    ids=["solved", "exploring only", "one of two agents", "not solved", "no threshold"],
)
def test_solved_is_said_of_the_agents_that_are_saved(result, greedy, exploring, summary):
    result = dataclasses.replace(result, final=FinalReturns(100, greedy, exploring))
    assert result.summary == summary
    assert result.solved is (None if result.threshold is None else summary.startswith("solved"))


def test_the_threshold_itself_is_solved():
    at = dataclasses.replace(SOLVED, final=FinalReturns(100, (475.0,), (0.0,)))
    below = dataclasses.replace(SOLVED, final=FinalReturns(100, (474.9,), (500.0,)))
    assert at.solved and not below.solved and SOLVED.solved is None


def test_a_damaged_evaluation_is_named(tmp_path):
    (tmp_path / "evaluation.json").write_text('{"update": 3}')
    with pytest.raises(ValueError, match="evaluation.json is damaged; delete it"):
        read_final(tmp_path)
    assert read_final(tmp_path / "elsewhere") is None
