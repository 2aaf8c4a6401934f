"""The command `funcenv export RUN FILE`, which writes a policy for use without its run."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Sequence
from typing import Annotated

from funcenv.cli.flags import TrustCode, Word, read
from funcenv.files import write_text
from funcenv.printable import printable
from funcenv.train.runs.best import pick_agent
from funcenv.train.runs.exported import policy_spec, save_safetensors, save_stablehlo
from funcenv.train.runs.folder import is_own, read_config
from funcenv.train.runs.policy import load_agents

SUFFIXES = {".safetensors": "its parameters", ".mlir": "a program in StableHLO"}
"""What each suffix of a file stands for."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(TrustCode):
    """Write a policy of a run to FILE.safetensors (its parameters) or FILE.mlir (a program in StableHLO)."""

    run: Annotated[str, Word("RUN")]
    """the folder of a run"""
    file: Annotated[str, Word("FILE")]
    """a name that ends with .safetensors or .mlir"""
    agent: int = 0
    """index of the agent, if the run trained several seeds"""
    best: bool = False
    """export the best agent of the run instead of the newest"""


def run(arguments: Sequence[str]) -> int:
    """Export the agent that the arguments name, with its specification beside it as JSON; return the exit status."""
    options: Options = read("export", Options, arguments)
    path = pathlib.Path(options.file)
    if path.suffix not in SUFFIXES:
        kinds = " or ".join(f"{suffix} for {what}" for suffix, what in SUFFIXES.items())
        raise ValueError(f"a policy is exported as {kinds}, got {str(path)!r}; choose one of these suffixes")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; create it first")
    algorithm, config, _ = read_config(pathlib.Path(options.run), options.trust_code)
    learner, agents = load_agents(options.run, best=options.best, trust_code=options.trust_code)
    agent = pick_agent(learner, agents, options.agent)
    spec = policy_spec(algorithm, config, learner.env, agent, is_own=is_own(pathlib.Path(options.run)))
    if path.suffix == ".safetensors":
        save_safetensors(path, agent, spec)
    else:
        save_stablehlo(path, agent, learner.env)
    described = path.with_suffix(".json")
    write_text(described, json.dumps(spec, indent=2) + "\n")
    places = printable(f"{path}, and its specification to {described}")
    print(f"exported agent {options.agent}, {SUFFIXES[path.suffix]}, to {places}")
    return 0
