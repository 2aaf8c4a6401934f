"""The command line, `funcenv COMMAND`: train, evaluate, compare, report, replay, export, play, bench, check, list.

Each command imports what it needs when it runs, so `funcenv list` is fast and starts no JAX backend.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import os
import pathlib
import sys
import typing
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from funcenv.interrupts import Interrupted, leave_at_once, raise_interrupted

USAGE = """\
usage: funcenv COMMAND ...

  funcenv train [ENV] [--flags]        train an agent and write a run to runs/
  funcenv train --resume RUN           continue a run that was stopped, or give it more --total-timesteps
  funcenv evaluate RUN                 evaluate a trained agent over many episodes
  funcenv compare RUN ...              print the final returns of runs with their intervals, and how they differ
  funcenv report RUN ...               write one page on runs: curves, differences, cost, best and worst episodes
  funcenv replay RUN [--save x.gif]    record episodes of a trained agent, and open them in a browser
  funcenv export RUN FILE              write a policy as .safetensors (parameters) or .mlir (StableHLO)
  funcenv play [ENV] [--terminal]      play with the keyboard, in a window or in the terminal
  funcenv play --watch RUN             watch a trained agent play
  funcenv bench ENV [--num-envs 256]   measure speed, compile time, memory, and the cost of each part of a step
  funcenv check ENV ...                check environments for mistakes
  funcenv list                         list all environments, with time limits and reward thresholds

ENV is an id from the list, or module:EnvClass. funcenv COMMAND --help lists all flags of a command.
Compiled programs are kept in the user's cache folder; --no-compile-cache compiles anew and keeps nothing.
"""

NO_CACHE = "--no-compile-cache"
COMPILING = ("train", "evaluate", "report", "replay", "play", "check")
"""The commands that keep compiled programs. `bench` measures how long compiling takes."""

TRAIN_PACKAGES = ("matplotlib", "optax", "orbax", "rich", "tyro")
"""The packages of the extra `train`."""


_NOBODY_READS = 141  # the status of a process that SIGPIPE ends


class UsageError(Exception):
    """The command line is not valid; the message says how to correct it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    A command that SIGINT or SIGTERM interrupts ends with a line and the status 130 or 143. One whose output nobody
    reads any more ends with the status 141.

    >>> main(["--version"])
    funcenv 0.1.0
    0
    """
    try:
        try:
            return _main(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # whoever reads the output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what Python still writes at its end
        return _NOBODY_READS


def _main(arguments: Sequence[str] | None) -> int:
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0
    if arguments[0] == "--version":
        import funcenv

        print(f"funcenv {funcenv.__version__}")
        return 0
    command, rest = arguments[0], [argument for argument in arguments[1:] if argument != NO_CACHE]
    hints: list[str] = []  # what to say of an interrupted command
    commands: dict[str, Callable[[list[str]], int]]
    commands = {
        "train": lambda rest: _train(rest, hints),
        "evaluate": _evaluate,
        "compare": _compare,
        "report": _report,
        "replay": _replay,
        "export": _export,
        "play": _play,
        "bench": _bench,
        "check": _check,
        "list": _list,
    }
    # A game restores the terminal, which an exception allows; all other commands are left at once.
    watch = raise_interrupted() if command == "play" else leave_at_once(lambda: _farewell(command, hints))
    try:
        if command not in commands:
            raise UsageError(f"there is no command {command!r}; the commands are {', '.join(commands)}")
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())  # "module:Env" may name a file here, as with python -m
        with watch:
            if command in COMPILING and NO_CACHE not in arguments and not _asks_for_help(rest):
                _enable_cache()
            return commands[command](rest)
    except UsageError as error:
        print(f"funcenv {command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        raise
    except (ValueError, TypeError, ImportError, OSError, RuntimeError) as error:  # mistakes of the user
        print(f"funcenv {command}: {error}", file=sys.stderr)
        return 1
    except Interrupted as interrupted:
        print(_farewell(command, hints), file=sys.stderr)
        return 128 + interrupted.number


def _enable_cache() -> None:
    """Keep compiled programs for the next command, and say so the first time."""
    from funcenv._compile.disk_cache import cache_folder, enable_disk_cache

    is_new = not cache_folder().exists()
    folder = enable_disk_cache()
    if folder is not None and is_new:
        print(f"compiled programs are kept in {folder} ({NO_CACHE} turns this off)", file=sys.stderr)


def _farewell(command: str, hints: list[str]) -> str:
    return "; ".join([f"funcenv {command}: interrupted", *hints])


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """Options of how a run is stored and shown. Only the algorithm changes its result."""

    algo: str
    """training algorithm: dqn, ppo, pqn, q_learning, recurrent_ppo, reinforce, sac, td3, that of a package, or
    "module:name\""""
    run_dir: str | None = None
    """folder of this run; by default a folder in --runs, named after the task and the time"""
    runs: str = "runs"
    """folder for runs"""
    checkpoint_seconds: float = 30.0
    """time between checkpoints; one is also written at the end and when the run is stopped"""
    replay_episodes: int = 3
    """episodes of the trained agent in replay.html, 0 for no replay"""
    tensorboard: bool = False
    """write event files for TensorBoard to the folder of the run as well"""
    wandb: str | None = None
    """project of Weights & Biases that the run is logged to as well"""
    threads: int = 1
    """threads that XLA may use on a CPU, 0 for all; more threads cost CPU time and do not speed up small networks"""
    distributed: bool = False
    """train in several processes, which SLURM, Open MPI, Kubernetes or a TPU pod has started"""
    coordinator: str | None = None
    """HOST:PORT of the first of several processes, which you have started yourself"""
    num_processes: int | None = None
    """number of these processes"""
    process_id: int | None = None
    """number of this process, from 0"""
    connect_seconds: int = 120
    """time that the processes have to find each other"""


def _train(arguments: list[str], hints: list[str]) -> int:
    if not _asks_for_help(arguments):
        print("loading JAX and the packages for training", flush=True)
    tyro = _require_train_packages("train")
    resumed, arguments = _take_option(arguments, "--resume")
    algorithm, _ = _take_option(arguments, "--algo")
    pixels, _ = _take_option(arguments, "--pixels")
    env_id = arguments.pop(0) if arguments and not arguments[0].startswith("-") else None
    _limit_threads(arguments)
    if not _asks_for_help(arguments):
        _connect(arguments, resumed)

    from funcenv.registry import spec
    from funcenv.train import run
    from funcenv.train.algorithm import DEFAULT_ALGORITHM
    from funcenv.train.logs import LogOptions
    from funcenv.train.presets import preset
    from funcenv.train.processes import ProcessLostError, is_first

    if resumed is not None:
        started_with, default, _ = run.read_config(pathlib.Path(resumed))
        if algorithm not in (None, started_with):
            raise UsageError(f"{resumed} was started with --algo {started_with}, not {algorithm}; leave --algo out")
        algorithm = started_with
        if env_id is not None:
            default = dataclasses.replace(default, env_id=env_id)
    else:
        algorithm = algorithm or DEFAULT_ALGORITHM
        env_id = env_id or "CartPole-v1"
        found = spec(env_id)  # report a misspelt id before any mistake in the flags
        from_pixels = pixels not in (None, "0")
        default = preset(env_id if ":" in env_id else found.id, algorithm, from_pixels=from_pixels)
    config, options = _parse_config(tyro, default, RunOptions(algo=algorithm), arguments)

    shared: Any = {name: getattr(options, name) for name in ("checkpoint_seconds", "replay_episodes")}
    shared["logs"] = LogOptions(options.tensorboard, options.wandb)
    folder = pathlib.Path(resumed or options.run_dir or run.new_folder(options.runs, config, algorithm))
    hints.append(f"what is saved is in {folder}; go on with: funcenv train --resume {folder}")
    try:
        if resumed is not None:
            result = run.resume(folder, config=config, **shared)
        else:
            result = run.start(config, folder, algorithm=algorithm, **shared)
    except ProcessLostError as error:  # at the end of Python, JAX would wait for that process and then abort
        print(f"funcenv train: {error}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(1)
    if not is_first():
        return 0 if result.signal_number is None else 128 + int(result.signal_number)
    if result.signal_number is not None:
        print(f"stopped and saved; resume it with: funcenv train --resume {result.folder}")
        return 128 + int(result.signal_number)
    print(f"everything is in {result.folder}")
    if (result.folder / run.REPLAY_FILE).exists():
        print(f"watch it: {result.folder / run.REPLAY_FILE}")
    print(f"evaluate it over 100 more episodes: funcenv evaluate {result.folder}")
    print(result.summary)
    return 0


def _parse_config(tyro: Any, config: Any, options: RunOptions, arguments: list[str]) -> tuple[Any, RunOptions]:
    """Parse flags for every field of the configuration and the options, without prefixes.

    Parameters of the environment are added to those that the configuration has.
    """
    params = config.env_params

    def collect(config: Any, options: RunOptions) -> tuple[Any, RunOptions]:
        return config, options

    flat = tyro.conf.OmitArgPrefixes
    collect.__annotations__ = {"config": flat[type(config)], "options": flat[RunOptions], "return": tuple}
    # With a default that has entries, tyro would make a flag of each of them and take no others.
    collect.__defaults__ = (dataclasses.replace(config, env_params={}), options)
    collect.__doc__ = f"Train with {options.algo}, starting from its configuration for {config.env_id}."
    if params:
        words = " ".join(f"{name} {value}" for name, value in params.items())
        collect.__doc__ += f" Its --env-params are {words}."
    arguments = _with_whole_numbers(arguments, type(config), RunOptions)
    parsed, options = tyro.cli(collect, prog="funcenv train [ENV]", args=arguments)
    return dataclasses.replace(parsed, env_params=params | parsed.env_params), options


def _evaluate(arguments: list[str]) -> int:
    tyro = _require_train_packages("evaluate")
    from funcenv.train.evaluate_command import EvaluateOptions, evaluate_run

    about = "Play whole episodes with the newest agents of a run, or its best."
    folder, options = _parse_run(tyro, "evaluate", about, EvaluateOptions, arguments)
    evaluate_run(folder, options)
    return 0


def _compare(arguments: list[str]) -> int:
    tyro = _require_train_packages("compare")
    from funcenv.train.compare_command import CompareOptions, compare_runs

    about = "Print the final returns of runs. Runs that differ in their seeds alone are taken together."
    folders, options = _parse_runs(tyro, "compare", about, CompareOptions, arguments)
    compare_runs(folders, options)
    return 0


def _report(arguments: list[str]) -> int:
    tyro = _require_train_packages("report")
    from funcenv.train.report_command import ReportOptions, report_runs

    about = "Write one page on runs: learning curves, differences, cost, and the best and worst episodes."
    folders, options = _parse_runs(tyro, "report", about, ReportOptions, arguments)
    report_runs(folders, options)
    return 0


def _replay(arguments: list[str]) -> int:
    tyro = _require_train_packages("replay")
    from funcenv.train.replay_command import ReplayOptions, replay_run

    about = "Record episodes with the newest agents of a run, or its best, and open them in a browser."
    folder, options = _parse_run(tyro, "replay", about, ReplayOptions, arguments)
    replay_run(folder, options)
    return 0


def _export(arguments: list[str]) -> int:
    tyro = _require_train_packages("export")
    from funcenv.train.export_command import ExportOptions, export_run

    about = "Write a policy of a run to FILE.safetensors (its parameters) or FILE.mlir (a program in StableHLO)."
    (folder, file), options = _parse_words(tyro, "export", ("RUN", "FILE"), about, ExportOptions, arguments)
    export_run(folder, file, options)
    return 0


def _parse_run(tyro: Any, command: str, about: str, options: type, arguments: list[str]) -> tuple[str, Any]:
    """Parse the folder of a run and the flags that follow it."""
    (folder,), parsed = _parse_words(tyro, command, ("RUN",), about, options, arguments)
    return folder, parsed


def _parse_words(
    tyro: Any, command: str, words: tuple[str, ...], about: str, options: type, arguments: list[str]
) -> tuple[list[str], Any]:
    """Parse words such as the folder of a run, and the flags that follow them."""
    _limit_threads(arguments)
    asks_for_help, count = _asks_for_help(arguments), len(words)
    given = arguments[:count]
    if not asks_for_help and (len(given) < count or any(word.startswith("-") for word in given)):
        needed = "the folder of a run" + (" and a file" if "FILE" in words else "")
        example = " ".join(["runs/...", *("policy.safetensors" for word in words if word == "FILE")])
        raise UsageError(f"{command} needs {needed}: funcenv {command} {example}")
    flags = _with_whole_numbers(arguments if asks_for_help else arguments[count:], options)
    parsed = tyro.cli(options, prog=f"funcenv {command} {' '.join(words)}", description=about, args=flags)
    return given, parsed


def _parse_runs(tyro: Any, command: str, about: str, options: type, arguments: list[str]) -> tuple[list[str], Any]:
    """Parse the folders of runs and the flags that follow them."""
    _limit_threads(arguments)
    count = next((i for i, argument in enumerate(arguments) if argument.startswith("-")), len(arguments))
    folders, flags = arguments[:count], arguments[count:]
    if not folders and not _asks_for_help(arguments):
        raise UsageError(f"{command} needs the folders of runs: funcenv {command} runs/*")
    flags = _with_whole_numbers(flags, options)
    return folders, tyro.cli(options, prog=f"funcenv {command} RUN ...", description=about, args=flags)


def _play(arguments: list[str]) -> int:
    from funcenv.adapters.playing.command import run

    if any(argument.partition("=")[0] == "--watch" for argument in arguments):
        _require_train_packages("play --watch")
    return run(arguments)


def _check(arguments: list[str]) -> int:
    parser = _Parser("check", "Check environments for mistakes. The exit status is 1 if one has an error.")
    parser.add_argument("envs", metavar="ENV", nargs="+", help="an id, or module:EnvClass, or module:function")
    parser.add_argument("--seed", type=int, default=0, help="seed of the recorded steps")
    options = parser.parse_args(arguments)

    from funcenv.checker import Severity, format_findings, run_check
    from funcenv.registry import make

    failed = False
    for env in options.envs:
        print(f"{env}: ", end="", flush=True)
        findings = run_check(env, options.seed, make=make)
        failed |= any(finding.severity is Severity.ERROR for finding in findings)
        print(format_findings(findings), flush=True)
    return 1 if failed else 0


def _bench(arguments: list[str]) -> int:
    _limit_threads(arguments)
    from funcenv.bench.command import run

    return run(arguments)


def _list(arguments: list[str]) -> int:
    _Parser("list", "List all environments, with time limits and reward thresholds.").parse_args(arguments)
    from funcenv.registry import pprint_registry

    print(pprint_registry())
    return 0


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are reported as those of all commands are."""

    def __init__(self, command: str, about: str) -> None:
        super().__init__(prog=f"funcenv {command}", description=about)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; {self.prog} --help lists what it takes")


def _asks_for_help(arguments: list[str]) -> bool:
    return any(argument in ("-h", "--help") for argument in arguments)


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


def _with_whole_numbers(arguments: list[str], *settings: type) -> list[str]:
    """Return the arguments with whole numbers such as 1e5 written out, where a setting is an integer.

    >>> _with_whole_numbers(["--threads", "1e0", "--checkpoint-seconds", "1e1"], RunOptions)
    ['--threads', '1', '--checkpoint-seconds', '1e1']
    """
    hints = {name: kind for one in settings for name, kind in typing.get_type_hints(one).items()}
    flags = {f"--{name.replace('_', '-')}" for name, kind in hints.items() if kind is int}
    changed, flag = [], ""
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if equals and name.replace("_", "-") in flags:
            changed.append(f"{name}={_written_out(value)}")
        else:
            changed.append(_written_out(argument) if flag in flags else argument)
        flag = argument.replace("_", "-")
    return changed


def _written_out(text: str) -> str:
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() and "e" in text.lower() else text


def _limit_threads(arguments: list[str]) -> None:
    """Set the environment variable from which XLA's CPU client reads its number of threads when it starts."""
    threads, _ = _take_option(arguments, "--threads")
    if threads != "0":
        os.environ.setdefault("PJRT_NPROC", threads or str(RunOptions.threads))


def _connect(arguments: list[str], resumed: str | None) -> None:
    """Make this process one of several, if a flag says so, before JAX starts."""
    names = ("--coordinator", "--num-processes", "--process-id", "--connect-seconds")
    values: dict[str, Any] = {name: _take_option(arguments, name)[0] for name in names}
    is_meant = "--distributed" in arguments or any(values[name] is not None for name in names[:3])
    if not is_meant:
        return
    if resumed is None and _take_option(arguments, "--run-dir")[0] is None:
        raise UsageError("several processes need a folder, got none; name it by --run-dir or --resume")
    from funcenv.train.processes import CONNECT_SECONDS, connect

    try:
        numbers = [None if values[name] is None else int(values[name]) for name in names[1:]]
    except ValueError as error:
        raise UsageError(f"{', '.join(names[1:])} are whole numbers: {error}; write digits") from error
    num_processes, process_id, seconds = numbers
    connect(values["--coordinator"], num_processes, process_id, seconds or CONNECT_SECONDS)


def _require_train_packages(command: str) -> Any:
    """Return tyro, after checking that all packages are installed that commands on runs import."""
    missing = [name for name in TRAIN_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(f'{command} needs {", ".join(missing)}: pip install "funcenv[train]"')
    return importlib.import_module("tyro")
