"""The command line: `funcenv train`, `evaluate`, `replay`, `play`, `bench`, `check`, `list`.

Each command imports what it needs when it runs, so that `funcenv list` answers at once and starts no JAX backend.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funcenv.train.ppo import Config

USAGE = """\
usage: funcenv COMMAND ...

  funcenv train [ENV_ID] [--flags]     train PPO; leaves a folder in runs/ (funcenv train --help: every hyper-parameter)
  funcenv train --resume RUN           go on with a run that was stopped
  funcenv evaluate RUN                 play episodes with a trained agent
  funcenv replay RUN [--save x.gif]    record episodes of a trained agent, and open them in a browser
  funcenv play [ENV_ID] [--terminal]   play with the keyboard, in a window or in the terminal
  funcenv bench ENV [--num-envs 256]   speed, compile time, memory, and where the time of a step goes
  funcenv check TARGET ...             look for mistakes in an environment: an id, or module:EnvClass
  funcenv list                         every environment, with its time limit and threshold
"""


class UsageError(Exception):
    """The command line makes no sense; the message says how to mend it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status.

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
            sys.path.insert(0, os.getcwd())  # "module:Env" may name a file here, as it may for python -m
        return commands[command](rest)
    except _user_errors() as error:
        print(f"funcenv {command}: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """Where a run goes and how it is watched; none of these changes its result."""

    run_dir: str | None = None
    """folder of this run; by default one named after the task and the time, below --runs"""
    runs: str = "runs"
    """folder that holds the runs"""
    checkpoint_seconds: float = 30.0
    """how often the train state is saved, besides at the end and when the run is stopped"""
    replay_episodes: int = 3
    """episodes of the trained agent in replay.html, 0 for none"""
    threads: int = 1
    """threads that XLA may use on a CPU, 0 for all: a small network is no faster with more, and costs more CPU time"""


def _train(arguments: list[str]) -> int:
    tyro = _require_tyro()
    resumed, arguments = _take_option(arguments, "--resume")
    env_id = arguments.pop(0) if arguments and not arguments[0].startswith("-") else None
    _limit_threads(arguments)

    import funcenv
    from funcenv.train import run
    from funcenv.train.presets import preset

    if resumed is not None:
        _, default, _ = run.read_config(pathlib.Path(resumed))
        if env_id is not None:
            default = dataclasses.replace(default, env_id=env_id)
    else:
        default = preset(env_id or "CartPole-v1")
        funcenv.spec(default.env_id)  # a misspelt id is better heard of before the flags are
    config, options = _parse(tyro, "funcenv train", default, arguments)

    watched: dict[str, Any] = {
        "checkpoint_seconds": options.checkpoint_seconds,
        "replay_episodes": options.replay_episodes,
    }
    if resumed is not None:
        result = run.resume(resumed, config=config, **watched)
    else:
        folder = pathlib.Path(options.run_dir) if options.run_dir else run.new_folder(options.runs, config)
        result = run.start(config, folder, **watched)
    return _say_how_it_ended(result)


def _say_how_it_ended(result: Any) -> int:
    if result.signal_number is not None:
        print(f"stopped and saved; go on with: funcenv train --resume {result.folder}")
        return 128 + int(result.signal_number)
    if result.solved_at_steps is not None:
        print(f"solved at {result.solved_at_steps:,} steps, {result.solved_after_seconds:.1f} s into the run")
    print(f"mean return of the last episodes {result.mean_return:.1f}; everything is in {result.folder}")
    if (result.folder / "replay.html").exists():
        print(f"watch it: {result.folder / 'replay.html'}")
    print(f"see it play 100 more: funcenv evaluate {result.folder}")
    return 0


@dataclasses.dataclass(frozen=True)
class EvaluateOptions:
    """How a trained agent is tried."""

    num_episodes: int = 100
    """episodes of each of the run's agents"""
    seed: int = 0
    """of the episodes"""
    explore: bool = False
    """draw actions from the policy, instead of taking the likeliest"""
    threads: int = 1
    """threads that XLA may use on a CPU, 0 for all"""


def _evaluate(arguments: list[str]) -> int:
    tyro = _require_tyro()
    _limit_threads(arguments)
    asks_for_help = any(argument in ("-h", "--help") for argument in arguments)
    if not asks_for_help and (not arguments or arguments[0].startswith("-")):
        raise UsageError("evaluate needs the folder of a run: funcenv evaluate runs/...")
    folder = "" if asks_for_help else arguments.pop(0)
    program, about = "funcenv evaluate RUN", "Play whole episodes with the newest checkpoint of a run."
    options = tyro.cli(EvaluateOptions, prog=program, description=about, args=arguments)

    import funcenv
    from funcenv.train.run import load

    learner, state = load(folder)
    num_seeds = learner.config.num_seeds
    for index in range(num_seeds):
        agent = learner.agent(state, index, explore=options.explore)
        evaluation = funcenv.evaluate(learner.env, agent, options.num_episodes, funcenv.key(options.seed))
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
    tyro = _require_tyro()
    _limit_threads(arguments)
    asks_for_help = any(argument in ("-h", "--help") for argument in arguments)
    if not asks_for_help and (not arguments or arguments[0].startswith("-")):
        raise UsageError("replay needs the folder of a run: funcenv replay runs/...")
    folder = "" if asks_for_help else arguments.pop(0)
    from funcenv.train.replay_command import ReplayOptions, show_run

    program, about = "funcenv replay RUN", "Record episodes with the newest checkpoint of a run, and show them."
    show_run(folder, tyro.cli(ReplayOptions, prog=program, description=about, args=arguments))
    return 0


def _play(arguments: list[str]) -> int:
    _require_tyro()
    from funcenv.adapters.playing.command import run

    return run(arguments)


def _check(arguments: list[str]) -> int:
    seed, targets = _take_option(arguments, "--seed")
    if not targets or targets[0].startswith("-"):
        raise UsageError("check needs an environment: funcenv check [--seed 0] module:EnvClass, or a registered id")
    import funcenv
    from funcenv.checker import Severity, format_findings, run_check

    failed = False
    for target in targets:
        findings = run_check(target, int(seed or 0), make=funcenv.make)
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


def _parse(tyro: Any, program: str, default: Config, arguments: list[str]) -> tuple[Config, RunOptions]:
    """Flags for every field of the configuration and the options, without prefixes."""

    def collect(config: Any, options: RunOptions) -> tuple[Any, RunOptions]:
        return config, options

    flat = tyro.conf.OmitArgPrefixes
    collect.__annotations__ = {"config": flat[type(default)], "options": flat[RunOptions], "return": tuple}
    collect.__defaults__ = (default, RunOptions())
    collect.__doc__ = f"Train PPO, starting from the configuration for {default.env_id}."
    return tyro.cli(collect, prog=program, args=arguments)


def _take_option(arguments: list[str], name: str) -> tuple[str | None, list[str]]:
    """The value of `--name VALUE` or `--name=VALUE`, and the other arguments."""
    for i, argument in enumerate(arguments):
        if argument.startswith(f"{name}="):
            return argument.partition("=")[2], arguments[:i] + arguments[i + 1 :]
        if argument == name:
            if i + 1 == len(arguments):
                value = "a number" if name in ("--seed", "--threads") else "the folder of a run"
                raise UsageError(f"{name} needs {value}")
            return arguments[i + 1], arguments[:i] + arguments[i + 2 :]
    return None, arguments


def _limit_threads(arguments: list[str]) -> None:
    """Tell XLA how many threads to use, before it starts; the environment variable is read by its CPU client."""
    value, _ = _take_option(arguments, "--threads")
    threads = value or str(RunOptions.threads)
    if threads != "0":
        os.environ.setdefault("PJRT_NPROC", threads)


def _require_tyro() -> Any:
    try:
        import tyro
    except ImportError:
        raise UsageError('this command needs tyro: pip install "funcenv[train]"') from None
    return tyro


def _user_errors() -> tuple[type[Exception], ...]:
    """What goes wrong through what a user asked for, and is told without a traceback."""
    return UsageError, ValueError, TypeError, ImportError, OSError, RuntimeError
