"""The command `funcenv export RUN FILE`, which writes a policy for use without its run."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib

from funcenv.train.best import pick_agent
from funcenv.train.exported import policy_spec, save_safetensors, save_stablehlo
from funcenv.train.folder import read_config
from funcenv.train.policy import load_agents

SUFFIXES = {".safetensors": "its parameters", ".mlir": "a program in StableHLO"}
"""What each suffix of a file stands for."""


@dataclasses.dataclass(frozen=True)
class ExportOptions:
    """Which agent is exported."""

    agent: int = 0
    """index of the agent, if the run trained several seeds"""
    best: bool = False
    """export the best agent of the run instead of the newest"""


def export_run(folder: str | os.PathLike[str], file: str | os.PathLike[str], options: ExportOptions) -> pathlib.Path:
    """Write a policy of a run to a file, and its specification beside it as JSON.

    Args:
        folder: The folder of the run.
        file: A name that ends with `.safetensors` for the parameters, or `.mlir` for a program in StableHLO.
        options: Which agent.

    Raises:
        ValueError: Another suffix, or no such agent.
        FileNotFoundError: There is no run, or no folder for the file.
        ImportError: The package that writes such files is missing.
    """
    path = pathlib.Path(file)
    if path.suffix not in SUFFIXES:
        kinds = " or ".join(f"{suffix} for {what}" for suffix, what in SUFFIXES.items())
        raise ValueError(f"a policy is exported as {kinds}, got {str(path)!r}; choose one of these suffixes")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; create it first")
    algorithm, config, _ = read_config(pathlib.Path(folder))
    learner, agents = load_agents(folder, best=options.best)
    agent = pick_agent(learner, agents, options.agent)
    spec = policy_spec(algorithm, config, learner.env, agent)
    if path.suffix == ".safetensors":
        save_safetensors(path, agent, spec)
    else:
        save_stablehlo(path, agent, learner.env)
    described = path.with_suffix(".json")
    described.write_text(json.dumps(spec, indent=2) + "\n")
    print(f"exported {SUFFIXES[path.suffix]} of agent {options.agent} to {path}, and its specification to {described}")
    return path
