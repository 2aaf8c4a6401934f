"""Writes the agents of the zoo, funcenv/zoo: small agents of the presets, with what they reach.

python docs/export_agents.py RUN ...    the best agent of each run, such as those of `funcenv train ID --num-seeds 3`

The best of several agents is chosen by the mean return of 100 episodes, and its returns are those of 100 others.
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import numpy as np

import funcenv
from funcenv.files import as_file_name
from funcenv.train.reports.measured import measure_run
from funcenv.train.runs.best import pick_agent
from funcenv.train.runs.exported import policy_spec, save_safetensors
from funcenv.train.runs.final import evaluation_figures
from funcenv.train.runs.folder import read_config
from funcenv.train.runs.policy import load_agents

FOLDER = pathlib.Path(__file__).parent.parent / "funcenv" / "zoo"
MAX_STEPS = 10_000  # bound on the length of an episode


def export_agent(run: pathlib.Path, folder: pathlib.Path = FOLDER, num_episodes: int = 100) -> pathlib.Path:
    """Write the best agent of a run, and return its file."""
    algorithm, config, _ = read_config(run)
    learner, agents = load_agents(run)
    measured = measure_run(run, num_episodes, MAX_STEPS)
    index = int(np.argmax(measured["returns"]))
    agent = pick_agent(learner, agents, index)
    evaluation = funcenv.evaluate(learner.env, agent, num_episodes, funcenv.key(1), max_steps=MAX_STEPS)
    figures = evaluation_figures(evaluation)
    spec = policy_spec(algorithm, config, learner.env, agent)
    path = folder / f"{as_file_name(config.env_id)}.safetensors"
    folder.mkdir(exist_ok=True)
    save_safetensors(path, agent, spec)
    results = {
        **{name: round(figures[name], 2) for name in ("mean_return", "std_return", "min_return", "max_return")},
        "episodes": num_episodes,
        "agent": f"{index}, the best of {config.num_seeds}",
        "steps": measured["steps"],
        "cpu_seconds": measured["cpu_seconds"],  # the cost of all agents of the run
    }
    path.with_suffix(".json").write_text(json.dumps({**spec, "results": results}, indent=1) + "\n")
    return path


def main(runs: list[str]) -> None:
    """Export the best agent of each run, and print what it reaches."""
    for run in runs:
        path = export_agent(pathlib.Path(run))
        results: dict[str, Any] = json.loads(path.with_suffix(".json").read_text())["results"]
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB, {results}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
