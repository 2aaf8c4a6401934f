"""The command line: `funcenv train`, `evaluate`, `replay`, `play`, `bench`, `check`, `list`.

Each command imports what it needs when it runs, so `funcenv list` is fast and starts no JAX backend.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

USAGE = """\
usage: funcenv COMMAND ...

  funcenv train [ENV_ID] [--flags]     train an agent and write a run to runs/ (funcenv train --help lists all flags)
  funcenv train --resume RUN           continue a run that was stopped
  funcenv evaluate RUN                 evaluate a trained agent over many episodes
  funcenv replay RUN [--save x.gif]    record episodes of a trained agent, and open them in a browser
  funcenv play [ENV_ID] [--terminal]   play with the keyboard, in a window or in the terminal
  funcenv bench ENV [--num-envs 256]   measure speed, compile time, memory, and the cost of each part of a step
  funcenv check TARGET ...             check an environment for mistakes: an id, or module:EnvClass
  funcenv list                         list all environments, with time limits and reward thresholds
"""


class UsageError(Exception):
    """The command line is not valid; the message says how to correct it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    >>> main(["--version"])
    funcenv 0.1.0
    0
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0
    if arguments[0] == "--version":
        import funcenv

        print(f"funcenv {funcenv.__version__}")
        return 0
    command, rest = arguments[0], arguments[1:]
    commands: dict[str, Callable[[list[str]], int]]
    commands = {
        "train": _train,
        "evaluate": _evaluate,
        "replay": _replay,
        "play": _play,
        "bench": _bench,
        "check": _check,
        "list": _list,
    }
    try:
        if command not in commands:
            raise UsageError(f"there is no command {command!r}; the commands are {', '.join(commands)}")
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())  # "module:Env" may name a file here, as with python -m
        return commands[command](rest)
    except UsageError as error:
        print(f"funcenv {command}: {error}", file=sys.stderr)
        return 2
    except (ValueError, TypeError, ImportError, OSError, RuntimeError) as error:  # mistakes of the user
        print(f"funcenv {command}: {error}", file=sys.stderr)
        return 1


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """How a run is stored and shown. Only the algorithm changes its result."""

    algo: str
    """training algorithm: a module of funcenv.train, or "module:name\""""
    run_dir: str | None = None
    """folder of this run; by default a folder in --runs, named after the task and the time"""
    runs: str = "runs"
    """folder for runs"""
    checkpoint_seconds: float = 30.0
    """time between checkpoints; one is also written at the end and when the run is stopped"""
    replay_episodes: int = 3
    """episodes of the trained agent in replay.html, 0 for no replay"""
    threads: int = 1
    """threads that XLA may use on a CPU, 0 for all; more threads cost CPU time and do not speed up small networks"""


def _train(arguments: list[str]) -> int:
    tyro = _require_tyro()
    resumed, arguments = _take_option(arguments, "--resume")
    algorithm, _ = _take_option(arguments, "--algo")
    env_id = arguments.pop(0) if arguments and not arguments[0].startswith("-") else None
    _limit_threads(arguments)

    from funcenv.registry import spec
    from funcenv.train import run
    from funcenv.train.algorithm import DEFAULT_ALGORITHM
    from funcenv.train.presets import preset

    if resumed is not None:
        started_with, default, _ = run.read_config(pathlib.Path(resumed))
        if algorithm not in (None, started_with):
            raise UsageError(f"{resumed} was started with --algo {started_with}, not {algorithm}; leave --algo out")
        algorithm = started_with
        if env_id is not None:
            default = dataclasses.replace(default, env_id=env_id)
    else:
        algorithm = algorithm or DEFAULT_ALGORITHM
        default = preset(env_id or "CartPole-v1", algorithm)
        spec(default.env_id)  # report a misspelt id before any mistake in the flags
    config, options = _parse_config(tyro, default, RunOptions(algo=algorithm), arguments)

    shared: Any = {name: getattr(options, name) for name in ("checkpoint_seconds", "replay_episodes")}
    if resumed is not None:
        result = run.resume(resumed, config=config, **shared)
    else:
        folder = options.run_dir or run.new_folder(options.runs, config, algorithm)
        result = run.start(config, folder, algorithm=algorithm, **shared)
    if result.signal_number is not None:
        print(f"stopped and saved; resume it with: funcenv train --resume {result.folder}")
        return 128 + int(result.signal_number)
    if result.solved_at_steps is not None:
        print(f"solved at {result.solved_at_steps:,} steps, {result.solved_after_seconds:.1f} s into the run")
    print(f"mean return of the last episodes {result.mean_return:.1f}; everything is in {result.folder}")
    if (result.folder / run.REPLAY_FILE).exists():
        print(f"watch it: {result.folder / run.REPLAY_FILE}")
    print(f"evaluate it over 100 more episodes: funcenv evaluate {result.folder}")
    return 0


def _parse_config(tyro: Any, config: Any, options: RunOptions, arguments: list[str]) -> tuple[Any, RunOptions]:
    """Parse flags for every field of the configuration and the options, without prefixes."""

    def collect(config: Any, options: RunOptions) -> tuple[Any, RunOptions]:
        return config, options

    flat = tyro.conf.OmitArgPrefixes
    collect.__annotations__ = {"config": flat[type(config)], "options": flat[RunOptions], "return": tuple}
    collect.__defaults__ = (config, options)
    collect.__doc__ = f"Train with {options.algo}, starting from its configuration for {config.env_id}."
    return tyro.cli(collect, prog="funcenv train", args=arguments)


@dataclasses.dataclass(frozen=True)
class EvaluateOptions:
    """How a trained agent is evaluated."""

    num_episodes: int = 100
    """episodes of each of the run's agents"""
    seed: int = 0
    """seed of the episodes"""
    explore: bool = False
    """sample actions from the policy instead of taking the most likely ones"""
    threads: int = 1
    """threads that XLA may use on a CPU, 0 for all"""


def _evaluate(arguments: list[str]) -> int:
    about = "Play whole episodes with the newest checkpoint of a run."
    folder, options = _parse_run("evaluate", about, EvaluateOptions, arguments)

    from funcenv.random import key
    from funcenv.rollout import evaluate
    from funcenv.train.run import load

    learner, state = load(folder)
    num_seeds = learner.config.num_seeds
    for index in range(num_seeds):
        agent = learner.agent(state, index, explore=options.explore)
        evaluation = evaluate(learner.env, agent, options.num_episodes, key(options.seed))
        returns, lengths = evaluation.episode_return, evaluation.episode_length
        name = learner.config.env_id + (f" agent {index}" if num_seeds > 1 else "")
        ends = f"{int(evaluation.terminated.sum())} terminated, {int(evaluation.truncated.sum())} truncated"
        print(
            f"{name}: return {float(returns.mean()):.1f} +- {float(returns.std()):.1f} "
            f"(min {float(returns.min()):.1f}, max {float(returns.max()):.1f}), length {float(lengths.mean()):.1f}, "
            f"{options.num_episodes} episodes: {ends}"
        )
    return 0


def _replay(arguments: list[str]) -> int:
    from funcenv.train.replay_command import ReplayOptions, replay_run

    about = "Record episodes with the newest checkpoint of a run, and open them in a browser."
    folder, options = _parse_run("replay", about, ReplayOptions, arguments)
    replay_run(folder, options)
    return 0


def _parse_run(command: str, about: str, options: type, arguments: list[str]) -> tuple[str, Any]:
    """Parse the folder of a run and the flags that follow it."""
    tyro = _require_tyro()
    _limit_threads(arguments)
    asks_for_help = any(argument in ("-h", "--help") for argument in arguments)
    if not asks_for_help and (not arguments or arguments[0].startswith("-")):
        raise UsageError(f"{command} needs the folder of a run: funcenv {command} runs/...")
    folder = "" if asks_for_help else arguments[0]
    flags = arguments if asks_for_help else arguments[1:]
    return folder, tyro.cli(options, prog=f"funcenv {command} RUN", description=about, args=flags)


def _play(arguments: list[str]) -> int:
    from funcenv.adapters.playing.command import run

    return run(arguments)


def _check(arguments: list[str]) -> int:
    seed, targets = _take_option(arguments, "--seed")
    if not targets or targets[0].startswith("-"):
        raise UsageError("check needs an environment: funcenv check [--seed 0] module:EnvClass, or a registered id")
    from funcenv.checker import Severity, format_findings, run_check
    from funcenv.registry import make

    failed = False
    for target in targets:
        findings = run_check(target, int(seed or 0), make=make)
        failed |= any(finding.severity is Severity.ERROR for finding in findings)
        print(f"{target}: {format_findings(findings)}")
    return 1 if failed else 0


def _bench(arguments: list[str]) -> int:
    _limit_threads(arguments)
    from funcenv.bench.command import run

    return run(arguments)


def _list(arguments: list[str]) -> int:
    if arguments:
        raise UsageError(f"list takes no arguments, got {' '.join(arguments)}")
    from funcenv.registry import pprint_registry

    print(pprint_registry())
    return 0


def _take_option(arguments: list[str], name: str) -> tuple[str | None, list[str]]:
    """Return the value of `--name VALUE` or `--name=VALUE`, and the other arguments."""
    for i, argument in enumerate(arguments):
        if argument.startswith(f"{name}="):
            return argument.partition("=")[2], arguments[:i] + arguments[i + 1 :]
        if argument == name:
            if i + 1 == len(arguments):
                values = {"--resume": "the folder of a run", "--algo": "the name of an algorithm"}
                raise UsageError(f"{name} needs {values.get(name, 'a number')}")
            return arguments[i + 1], arguments[:i] + arguments[i + 2 :]
    return None, arguments


def _limit_threads(arguments: list[str]) -> None:
    """Set the environment variable from which XLA's CPU client reads its number of threads when it starts."""
    threads, _ = _take_option(arguments, "--threads")
    if threads != "0":
        os.environ.setdefault("PJRT_NPROC", threads or str(RunOptions.threads))


def _require_tyro() -> Any:
    try:
        import tyro
    except ImportError:
        raise UsageError('this command needs tyro: pip install "funcenv[train]"') from None
    return tyro
