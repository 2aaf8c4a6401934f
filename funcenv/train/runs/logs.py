"""Metrics for other tools while a run trains: event files for TensorBoard, and Weights & Biases.

Both get one point for each compiled call, about twice a second, with the evaluations. `metrics.csv` has all updates.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import pathlib
import re
from typing import Any, Protocol

import numpy as np

from funcenv.train.loop import Metrics

EVENTS_FOLDER = "tensorboard"
"""The folder of a run that holds its event files, those of each seed in a folder of their own."""


class Log(Protocol):
    """A place that takes metrics."""

    def write(self, metrics: Metrics) -> None:
        """Write the last update of a compiled call; metrics have the shape `[num_updates, num_seeds]`."""

    def close(self) -> None:
        """Write what is left."""


@dataclasses.dataclass(frozen=True)
class LogOptions:
    """Where metrics are written beside `metrics.csv`."""

    tensorboard: bool = False
    """write event files for TensorBoard to the folder of the run"""
    wandb: str | None = None
    """project of Weights & Biases that the run is logged to"""

    def require(self) -> None:
        """Raise `ImportError` if a package is missing."""
        if self.tensorboard and importlib.util.find_spec("tensorboardX") is None:
            raise ImportError('--tensorboard needs tensorboardX: pip install "funcenv[tensorboard]"')
        if self.wandb is not None and importlib.util.find_spec("wandb") is None:
            raise ImportError("--wandb needs the package wandb: pip install wandb")

    def open(self, folder: pathlib.Path, config: Any, env_steps: int) -> list[Log]:
        """Return the logs of a run that has done some steps."""
        logs: list[Log] = []
        if self.tensorboard:
            logs.append(EventFiles(folder, config.num_seeds, env_steps))
        if self.wandb is not None:
            logs.append(WeightsAndBiases(folder, self.wandb, config))
        return logs


NO_LOGS = LogOptions()


class EventFiles:
    """Event files for TensorBoard: `tensorboard --logdir runs`.

    Args:
        folder: The folder of the run.
        num_seeds: Number of agents.
        env_steps: Steps that the run has done already; points beyond them are hidden, because they are made anew.
    """

    def __init__(self, folder: pathlib.Path, num_seeds: int, env_steps: int) -> None:
        from tensorboardX import SummaryWriter

        places = [folder / EVENTS_FOLDER / f"seed{seed}" for seed in range(num_seeds)]
        purge = env_steps + 1 if env_steps else None
        self._writers = [SummaryWriter(str(place), purge_step=purge) for place in places]

    def write(self, metrics: Metrics) -> None:
        """Write the last update of a compiled call."""
        for seed, writer in enumerate(self._writers):
            row = last_row(metrics, seed)
            for name, value in row.items():
                writer.add_scalar(name, value, int(metrics["env_steps"][-1, seed]))
            writer.flush()

    def close(self) -> None:
        """Close the files."""
        for writer in self._writers:
            writer.close()


class WeightsAndBiases:
    """A run of Weights & Biases with the name of the run's folder, which a resumed run continues.

    Args:
        folder: The folder of the run.
        project: The project.
        config: The configuration of the run.
    """

    def __init__(self, folder: pathlib.Path, project: str, config: Any) -> None:
        wandb: Any = importlib.import_module("wandb")
        name = folder.resolve().name
        identity = re.sub(r"[^\w-]", "-", name)
        self._run = wandb.init(
            project=project, name=name, id=identity, resume="allow", dir=str(folder), config=config.to_json()
        )

    def write(self, metrics: Metrics) -> None:
        """Write the last update of a compiled call: means over seeds, and the seeds if there are several."""
        num_seeds = metrics["env_steps"].shape[1]
        rows = [last_row(metrics, seed) for seed in range(num_seeds)]
        values = {name: float(np.mean([row[name] for row in rows])) for name in rows[0] if all(name in r for r in rows)}
        if num_seeds > 1:
            values |= {f"seed{seed}/{name}": value for seed, row in enumerate(rows) for name, value in row.items()}
        self._run.log(values, step=int(metrics["env_steps"][-1, 0]))

    def close(self) -> None:
        """Finish the run."""
        self._run.finish()


def last_row(metrics: Metrics, seed: int) -> dict[str, float]:
    """Return the finite metrics of a seed after the last update of a compiled call."""
    row = {name: float(values[-1, seed]) for name, values in metrics.items() if name != "env_steps"}
    return {name: value for name, value in row.items() if np.isfinite(value)}
