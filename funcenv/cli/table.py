"""The table of commands. A command is a module of this package with its name, and an entry here."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import importlib.util
from typing import Any

TRAIN_PACKAGES = ("matplotlib", "optax", "orbax", "rich")
"""The packages of the extra `train`."""


class UsageError(Exception):
    """The command line is not valid; the message says how to correct it."""


@dataclasses.dataclass(frozen=True)
class Command:
    """A command: what the overview says about it, and what it needs.

    Its module defines a dataclass `Options`, whose fields are its arguments, and `run(arguments)`, which returns the
    exit status.
    """

    name: str
    words: str
    """the arguments without a flag, as the usage shows them"""
    summary: str
    packages: tuple[str, ...] = ()
    """packages that it imports beyond the base dependencies"""
    keeps_programs: bool = False
    """whether compiled programs are kept for the next command"""
    may_forget: bool = True
    """whether a flag turns that off"""
    imports_from_here: bool = False
    """whether `module:name` may name a file of the current folder"""
    takes_settings: bool = False
    """whether the settings of the algorithm are flags as well"""
    examples: tuple[str, ...] = ()
    """command lines that its help shows"""

    @property
    def usage(self) -> str:
        """The command with its words, `funcenv evaluate RUN`."""
        return f"funcenv {self.name} {self.words}".rstrip()

    def load(self) -> Any:
        """Import the module of the command.

        Raises:
            ImportError: A package that it needs is missing.
        """
        require_train_packages(self.name, self.packages)
        return importlib.import_module(f"{__package__}.{self.name}")


_ON_RUNS: dict[str, Any] = {"packages": TRAIN_PACKAGES, "keeps_programs": True}
_ON_ENVS: dict[str, Any] = {"imports_from_here": True}
_TRAINING: dict[str, Any] = {**_ON_RUNS, **_ON_ENVS, "takes_settings": True}

COMMANDS = {
    command.name: command
    for command in (
        Command(
            "train",
            "[ENV]",
            "train an agent, and write the run to a folder",
            examples=(
                "funcenv train Pendulum-v1 --total-timesteps 500k",
                "funcenv train Acrobot-v1 --algo dqn --num-seeds 3 --run-dir runs/dqn",
                "funcenv train --resume runs/dqn --total-timesteps 1e6",
            ),
            **_TRAINING,
        ),
        Command(
            "sweep",
            "[ENV]",
            "train with many values of settings side by side",
            examples=("funcenv sweep CartPole-v1 --vary gamma=0.9,0.99 --num-seeds 4",),
            **_TRAINING,
        ),
        Command(
            "benchmark",
            "SUITE",
            "train in all tasks of a suite, and score the agents",
            examples=(
                "funcenv benchmark classic --seeds 10",
                "funcenv benchmark mujoco-v5 --algo sac --seeds 5 --budget 8",
                "funcenv benchmark classic --algo my_module --beside suites/classic-ppo",
            ),
            **_TRAINING,
        ),
        Command(
            "evaluate",
            "RUN",
            "evaluate a trained agent over many episodes",
            examples=("funcenv evaluate runs/dqn --explore", "funcenv evaluate runs/dqn --seed 1 --json -"),
            **_ON_RUNS,
        ),
        Command(
            "compare",
            "RUN ...",
            "print the final returns of runs, and how they differ",
            TRAIN_PACKAGES,
            examples=("funcenv compare runs/dqn runs/ppo", "funcenv compare runs/* --json -"),
        ),
        Command(
            "report",
            "RUN ...",
            "write a page on runs: curves, differences, cost, episodes",
            examples=("funcenv report runs/dqn runs/ppo --output dqn_or_ppo.html",),
            **_ON_RUNS,
        ),
        Command(
            "replay",
            "RUN",
            "record a trained agent, and open its episodes in a browser",
            examples=("funcenv replay runs/dqn", "funcenv replay runs/dqn --save episode.gif --num-episodes 1"),
            **_ON_RUNS,
        ),
        Command(
            "record",
            "[ENV]",
            "write episodes to a dataset, with every state and key",
            keeps_programs=True,
            examples=(
                "funcenv record CartPole-v1 --output data/random",
                "funcenv record --policy runs/ppo --num-episodes 500 --output data/expert",
            ),
            **_ON_ENVS,
        ),
        Command(
            "export",
            "RUN FILE",
            "write a policy as .safetensors or .mlir (StableHLO)",
            TRAIN_PACKAGES,
            examples=("funcenv export runs/dqn policy.safetensors --best",),
        ),
        Command(
            "play",
            "[ENV]",
            "play with the keyboard, or watch a trained agent play",
            keeps_programs=True,
            examples=(
                "funcenv play LunarLander-v3",
                "funcenv play LunarLander-v3 --agent",
                "funcenv play --watch runs/dqn --terminal",
            ),
            **_ON_ENVS,
        ),
        Command(
            "bench",
            "ENV",
            "measure speed, compile time, memory, and the parts of a step",
            examples=("funcenv bench CartPole-v1", "funcenv bench my_module:MyEnv --num-envs 64 4096 --json -"),
            **_ON_ENVS,
        ),
        Command(
            "check",
            "ENV ...",
            "check environments for mistakes",
            keeps_programs=True,
            examples=("funcenv check CartPole-v1", "funcenv check my_module:MyEnv"),
            **_ON_ENVS,
        ),
        Command(
            "verify",
            "[ENV ...]",
            "compare environments with their records, or replay datasets",
            keeps_programs=True,
            examples=(
                "funcenv verify CartPole-v1 Taxi-v4",
                "funcenv verify --exact --quiet",
                "funcenv verify data/expert",
            ),
        ),
        Command(
            "compile",
            "ENV",
            "compile the programs of an environment for later",
            keeps_programs=True,
            may_forget=False,
            examples=(
                "funcenv compile LunarLander-v3 --num-envs 64",
                "funcenv compile LunarLander-v3 --algo ppo",
            ),
            **_ON_ENVS,
        ),
        Command(
            "cache",
            "",
            "show or delete the compiled programs that are kept",
            examples=("funcenv cache", "funcenv cache --clear"),
        ),
        Command(
            "list",
            "",
            "list all environments with their time limits and thresholds",
            examples=("funcenv list", "funcenv list --json"),
        ),
        Command(
            "completion",
            "SHELL",
            "print what completes commands, flags and ids",
            TRAIN_PACKAGES,
            examples=("source <(funcenv completion bash)",),
        ),
    )
}
"""All commands by name, in the order of the overview."""


def find_command(name: str) -> Command:
    """Return the command with a name.

    Raises:
        UsageError: There is none; the message suggests another.

    >>> find_command("evaluate").usage
    'funcenv evaluate RUN'
    """
    if name in COMMANDS:
        return COMMANDS[name]
    close = difflib.get_close_matches(name.lower(), COMMANDS, n=1)
    remedy = f"did you mean {close[0]}?" if close else f"the commands are {', '.join(COMMANDS)}"
    raise UsageError(f"there is no command {name!r}; {remedy}")


def require_train_packages(command: str, packages: tuple[str, ...] = TRAIN_PACKAGES) -> None:
    """Raise `ImportError` unless the packages are installed that a command on runs imports."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(f'{command} needs {", ".join(missing)}: pip install "funcenv[train]"')
