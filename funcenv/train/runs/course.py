"""The course of a run: compiled calls in a row, with their metrics, checkpoints, evaluations and the best agents."""

from __future__ import annotations

import math
import pathlib
import time
from typing import Any

import jax
import numpy as np
from rich.console import Console

from funcenv.random import impl_name
from funcenv.train.devices import all_gather_scalars, put_replicated
from funcenv.train.loop import MAX_UPDATES_PER_CALL, Learner, Metrics
from funcenv.train.runs import checkpoint
from funcenv.train.runs.best import BestAgents, evaluate_agents, restore_best
from funcenv.train.runs.folder import CHECKPOINTS
from funcenv.train.runs.logs import Log
from funcenv.train.runs.metrics import MetricsFile, with_evaluation
from funcenv.train.runs.progress import SHOWN_METRICS, ProgressReport, print_warnings
from funcenv.train.runs.result import solved_updates

SECONDS_PER_CALL = 0.5
"""The target duration of one compiled call. Progress is reported, and signals are handled, between calls."""


class TrainingDivergedError(RuntimeError):
    """The loss became NaN or infinite."""


class Course:
    """What a run keeps track of beside its train state.

    Attributes:
        best: The best agents so far.
        logs: Where metrics are written beside the metrics file.
        is_solved: Whether the run ends because the threshold is reached.
    """

    def __init__(
        self,
        learner: Learner,
        key: jax.Array,
        folder: pathlib.Path,
        metrics_file: MetricsFile,
        report: ProgressReport,
        threshold: float | None,
        console: Console,
    ) -> None:
        self.learner, self.key, self.folder, self.console = learner, key, folder, console
        self.metrics_file, self.report, self.threshold = metrics_file, report, threshold
        self.best: BestAgents
        self.logs: list[Log] = []
        self.is_solved, self._is_saved = False, True

    def begin(self, state: Any) -> None:
        """Read the best agents of a run that is resumed; those of a new run are not known yet."""
        self.best = BestAgents.of(self.learner, state)
        if checkpoint.checkpoints(self.folder / CHECKPOINTS, checkpoint.BEST):
            try:
                self.best, messages = restore_best(self.learner, self.folder / CHECKPOINTS, self.key)
            except checkpoint.NoCheckpointError as error:  # training does not need them
                messages = [str(error)]
            print_warnings(self.console, messages)

    def save(self, state: Any) -> None:
        """Write checkpoints of the best agents, if they have changed, and of the train state."""
        done = self.learner.num_updates_done(state)
        if not self._is_saved:
            checkpoint.save_best(self.folder / CHECKPOINTS, done, put_replicated(self.learner.mesh, self.best))
            self._is_saved = True
        checkpoint.save(self.folder / CHECKPOINTS, done, state)

    def close(self) -> None:
        """Close the logs."""
        for log in self.logs:
            log.close()

    def updates_to_evaluation(self, done: int) -> int:
        """Return how many updates there are to the next evaluation, or to the end of the run."""
        config = self.learner.config
        interval = -(-config.eval_every // config.batch_size) if config.eval_every else config.num_updates
        return min(interval - done % interval, config.num_updates - done)

    def up_to_threshold(self, before: Any, after: Any, metrics: Metrics) -> tuple[Any, Metrics]:
        """Return the state and the metrics where a call first reached the threshold, if the run stops there.

        The call is made again with fewer updates, so that the end of a run does not depend on the sizes of its calls.
        """
        if donates(self.learner.config):
            return after, metrics
        is_solved = solved_updates(metrics["mean_return"], self.threshold)
        if not is_solved.any():
            return after, metrics
        self.is_solved, count = True, int(is_solved.argmax()) + 1
        return (after, metrics) if count == len(is_solved) else self.learner.advance(before, count)

    def state_after(self, num_updates: int) -> Any:
        """Return an earlier state once more, by training again from the newest checkpoint, or from the beginning."""
        try:
            state = restore(self.learner, self.folder, self.key, self.console)
        except checkpoint.NoCheckpointError:
            state = self.learner.init(self.key)
        state, _ = self.learner.advance_to(state, num_updates, donates(self.learner.config))
        return state

    def judge(self, state: Any, metrics: Metrics, is_due: bool) -> Metrics:
        """Return the metrics of a call with figures of an evaluation, and keep agents that are better than before."""
        config, agents = self.learner.config, self.learner.agents(state)
        score = metrics["mean_return"][-1]
        if config.eval_every:
            figures = evaluate_agents(self.learner, agents, self.key) if is_due else None
            metrics = metrics | with_evaluation(metrics, figures)
            score = metrics["eval_return"][-1]
            if config.stop_at_threshold:
                self.is_solved = bool(solved_updates(score[None], self.threshold)[0])
        if (score > np.asarray(self.best.score)).any():
            self.best = self.best.improved(agents, score, self.learner.num_updates_done(state))
            self._is_saved = False
        return metrics


def advance(
    course: Course, state: Any, checkpoint_seconds: float | None, signals: list[int], end: float = math.inf
) -> Any:
    """Train until the end of the run, its threshold, a signal or a CPU time of the process; return the train state."""
    learner, report = course.learner, course.report
    report.enter("training")
    done, num_updates, last_save = learner.num_updates_done(state), 1, time.perf_counter()
    interval = _CHECKPOINT_SECONDS if checkpoint_seconds is None else checkpoint_seconds
    number = 0  # number of the signal that all processes know of; each must do as many calls as the others
    is_over = False
    while done < learner.config.num_updates and not number and not is_over and not course.is_solved:
        wall, cpu = time.perf_counter(), time.process_time()
        to_evaluation = course.updates_to_evaluation(done)
        next_state, metrics = learner.advance(state, min(num_updates, to_evaluation), donates(learner.config))
        _require_finite(course, done, metrics)
        next_state, metrics = course.up_to_threshold(state, next_state, metrics)
        state, advanced = next_state, learner.num_updates_done(next_state) - done
        seconds = time.perf_counter() - wall
        metrics = course.judge(state, metrics, is_due=advanced == to_evaluation)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        speed = course.metrics_file.append(done + 1, metrics, wall, cpu)
        for log in course.logs:
            log.write(metrics)
        means = {name: float(metrics[name][-1].mean()) for name in metrics if name in SHOWN_METRICS}
        report.report(int(metrics["env_steps"][-1, 0]), **means, steps_per_second=speed)
        num_updates = int(np.clip(advanced * SECONDS_PER_CALL / max(seconds, 1e-6), 1, MAX_UPDATES_PER_CALL))
        done += advanced
        # Clocks and signals differ between processes, which must do the same.
        is_due = time.perf_counter() - last_save >= interval
        is_over = time.process_time() >= end
        decisions = all_gather_scalars(num_updates, is_due, signals[0] if signals else 0, is_over)
        num_updates, number, is_over = int(decisions[0, 0]), int(decisions[:, 2].max()), bool(decisions[:, 3].any())
        if number and not signals:
            signals.append(number)
        if decisions[0, 1]:
            begin = time.perf_counter()
            course.save(state)
            last_save = time.perf_counter()
            if checkpoint_seconds is None:
                interval = max(_CHECKPOINT_SECONDS, _SAVES_BETWEEN * (last_save - begin))
    return state


_CHECKPOINT_SECONDS = 30.0
_SAVES_BETWEEN = 19.0  # A run trains for so many times as long as it has saved: a save takes a twentieth of its time.


def donates(config: Any) -> bool:
    """Return whether calls write over the states before them: not where the run may have to go back to one."""
    return not config.stop_at_threshold or config.eval_every > 0


def restore(learner: Learner, folder: pathlib.Path, key: jax.Array, console: Console) -> Any:
    """Return the newest train state of a run, and print what was wrong with newer ones.

    Raises:
        funcenv.train.runs.checkpoint.NoCheckpointError: No checkpoint can be read.
    """
    state, messages = checkpoint.restore_latest(folder / CHECKPOINTS, learner.template(key), impl_name(key))
    print_warnings(console, messages)
    return state


def _require_finite(course: Course, done: int, metrics: Metrics) -> None:
    """Raise if an update's loss is not finite, after saving the state before that update.

    Args:
        course: The run.
        done: How many updates came before those of the metrics.
        metrics: What a call returned.
    """
    if "loss" not in metrics or np.isfinite(metrics["loss"]).all():
        return
    is_bad = ~np.isfinite(metrics["loss"])
    index = int(is_bad.any(axis=1).argmax())
    seed = int(is_bad[index].argmax())
    saved = checkpoint.save(course.folder / CHECKPOINTS, done + index, course.state_after(done + index))
    raise TrainingDivergedError(
        f"the loss is {metrics['loss'][index, seed]} at update {done + index + 1}, "
        f"environment step {metrics['env_steps'][index, seed]}, seed {seed}; "
        f"the state before it is kept in {saved}. Try a lower learning_rate or max_grad_norm"
    )
