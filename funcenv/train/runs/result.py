"""The outcome of a run, read from its metrics, and what there is to say of it."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import numpy as np

from funcenv.struct import NDArray
from funcenv.train.config import TrainConfig
from funcenv.train.presets import default_algorithm, preset, preset_settings
from funcenv.train.runs.final import FinalReturns, read_final
from funcenv.train.runs.metrics import format_return, read_metrics, scores

# Settings that a preset leaves open.
_NOT_OF_THE_PRESET = ("seed", "num_seeds", "pixels", "eval_every", "eval_episodes", "stop_at_threshold")


@dataclasses.dataclass(frozen=True)
class RunResult:
    """The outcome of a run."""

    folder: pathlib.Path
    state: Any  # the train state; every leaf has a leading axis [num_seeds]
    config: Any
    finished: bool  # False if a signal or the limit of its CPU time stopped the run
    signal_number: int | None  # the signal that stopped it
    threshold: float | None  # the mean return from which the task counts as solved
    mean_return: (
        float  # during training: last evaluation, or else recent episodes; mean over seeds, NaN before the first
    )
    best_return: float  # the largest mean return during training
    env_steps: int  # environment steps of each seed
    wall_seconds: float  # time spent compiling and training, in all parts of a run that was resumed
    solved_at_steps: int | None  # environment steps at which the mean return of every seed reached the threshold
    solved_after_seconds: float | None  # wall time at which it did
    final: FinalReturns | None = None  # returns of the trained agents after training, if they were evaluated

    @property
    def solved(self) -> bool | None:
        """Whether each trained agent is at the threshold, greedy and over whole episodes; None if nobody knows."""
        if self.threshold is None or self.final is None:
            return None
        return min(self.final.greedy) >= self.threshold

    @property
    def summary(self) -> str:
        """One line that says whether the trained agents solve the task, and by how much."""
        if self.final is not None:
            return self._verdict(self.final)
        if np.isnan(self.mean_return) and not self.config.plays_episodes:
            return f"learned from {self.env_steps:,} transitions; funcenv evaluate {self.folder} plays episodes"
        if np.isnan(self.mean_return):
            remedy = "give it more --total-timesteps, or a time limit with --max-episode-steps"
            return f"no episode ended in {self.env_steps:,} steps; {remedy}"
        reached = f"mean return {format_return(self.mean_return)} in training"
        if self.threshold is None:
            steps = f"finished {self.env_steps:,} steps after {self.wall_seconds:.1f} s"
            return f"{steps}: {reached}, best {format_return(self.best_return)}; {self.config.env_id} has no threshold"
        threshold = f"threshold {self.threshold:g}"
        if self.solved_at_steps is None:
            best = f"best {format_return(self.best_return)}, {threshold}"
            return f"threshold not reached: {reached}, {best}; try {_advice(self.config, self.folder)}"
        if self.mean_return < self.threshold:
            best = format_return(self.best_return)
            return f"{self._when}, and lost again: {reached} at the end, best {best}, {threshold}"
        return f"{self._when}: {reached}, {threshold}"

    @property
    def figures(self) -> dict[str, Any]:
        """The outcome as JSON values, by name; None where nothing is known."""
        known = {
            "folder": str(self.folder),
            "env_id": self.config.env_id,
            "finished": self.finished,
            "env_steps": self.env_steps,
            "wall_seconds": self.wall_seconds,
            "threshold": self.threshold,
            "solved": self.solved,
            "solved_at_steps": self.solved_at_steps,
            "mean_return": self.mean_return,
            "best_return": self.best_return,
            "final": None if self.final is None else dataclasses.asdict(self.final),
        }
        return {name: None if value != value else value for name, value in known.items()}  # JSON has no NaN

    @property
    def _when(self) -> str:
        return f"threshold reached at {self.solved_at_steps:,} steps after {self.solved_after_seconds:.1f} s"

    def _verdict(self, final: FinalReturns) -> str:
        """Return what the final evaluation says, and what to do where training had a better policy."""
        if self.threshold is None:
            steps = f"finished {self.env_steps:,} steps after {self.wall_seconds:.1f} s"
            return f"{steps}: {final.text}; {self.config.env_id} has no threshold"
        reached = f"{final.text}, threshold {self.threshold:g}"
        when = "" if self.solved_at_steps is None else f"; {self._when} in training"
        if self.solved:
            return f"solved: {reached}{when}"
        if min(final.exploring) >= self.threshold:
            remedy = f"exploring it is solved: funcenv evaluate {self.folder} --explore"
        elif self.solved_at_steps is not None:
            remedy = f"the best agents were better: funcenv evaluate {self.folder} --best"
        else:
            remedy = f"try {_advice(self.config, self.folder)}"
        return f"not solved: {reached}{when}; {remedy}"


def read_result(
    folder: pathlib.Path,
    state: Any,
    config: Any,
    threshold: float | None,
    signals: list[int],
    is_finished: bool,
) -> RunResult:
    """Return the outcome of a run; its returns are read from the metrics file, which covers all of its parts.

    Args:
        folder: The folder of the run.
        state: The newest train state.
        config: The configuration of the run.
        threshold: The mean return from which the task counts as solved, if it has one.
        signals: The signals that stopped the run.
        is_finished: Whether it is trained to its end.
    """
    rows = read_metrics(folder / "metrics.csv")
    returns = scores(rows, config.num_seeds)
    is_solved = solved_updates(returns, threshold)
    solved = rows[is_solved.argmax() * config.num_seeds] if is_solved.any() else None
    means = returns.mean(axis=1)
    means = means[~np.isnan(means)]
    return RunResult(
        folder=folder,
        state=state,
        config=config,
        finished=is_finished,
        signal_number=signals[0] if signals else None,
        threshold=threshold,
        mean_return=float(means[-1]) if len(means) else float("nan"),
        best_return=float(means.max()) if len(means) else float("nan"),
        env_steps=int(rows[-1]["env_steps"]) if rows else 0,
        wall_seconds=float(rows[-1]["wall_seconds"]) if rows else 0.0,
        solved_at_steps=int(solved["env_steps"]) if solved else None,
        solved_after_seconds=float(solved["wall_seconds"]) if solved else None,
        final=read_final(folder, int(rows[-1]["update"])) if rows and is_finished else None,
    )


def solved_updates(returns: NDArray, threshold: float | None) -> NDArray:
    """Return whether every seed has reached the threshold, `[num_updates]`, given returns `[num_updates, num_seeds]`.

    >>> solved_updates(np.array([[470.0, 480.0], [475.0, 480.0], [np.nan, 480.0]]), 475.0)
    array([False,  True, False])
    """
    is_reached: NDArray = np.all(returns >= (np.inf if threshold is None else threshold), axis=1)
    return is_reached


def ends_solved(rows: list[dict[str, str]], config: Any, threshold: float | None) -> bool:
    """Return whether the last row of a metrics file is at the threshold."""
    return bool(rows) and bool(solved_updates(scores(rows, config.num_seeds)[-1:], threshold)[0])


def _advice(config: TrainConfig, folder: pathlib.Path) -> str:
    """Return what to try where a task was not solved."""
    longer = f"more steps: funcenv train --resume {folder} --total-timesteps {2 * config.total_timesteps}"
    algorithm = type(config).__module__.rpartition(".")[2]
    if preset_settings(config.env_id, algorithm, from_pixels=config.pixels > 0) is None:
        return f"{longer}, or other settings"
    left_open = {name: getattr(config, name) for name in _NOT_OF_THE_PRESET}
    if config == dataclasses.replace(preset(config.env_id, algorithm, from_pixels=config.pixels > 0), **left_open):
        return f"another --seed, or {longer}"
    words = f"{config.env_id} --pixels {config.pixels}" if config.pixels else config.env_id
    if algorithm != default_algorithm(config.env_id, from_pixels=config.pixels > 0):
        words += f" --algo {algorithm}"
    return f"the preset: funcenv train {words} without other flags, or {longer}"
