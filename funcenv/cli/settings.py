"""The settings of an algorithm as flags, whose defaults are those of a preset or of a run."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib.util
import inspect
from collections.abc import Sequence
from typing import Any

from funcenv.cli.flags import Flag, Parser, flags_of, import_from_here, prepare
from funcenv.cli.table import UsageError
from funcenv.hints import OTHER_ALGORITHMS

DEFAULT_ENV = "CartPole-v1"
TASK = ("env_params", "max_episode_steps", "pixels", "frames", "action_repeat")
"""The settings that say what is learned, and not how."""


@dataclasses.dataclass(frozen=True)
class Typed:
    """What was typed after the name of a command that trains.

    Attributes:
        command: The name of the command.
        options: The options that do not depend on the algorithm.
        rest: All other arguments: the environment, and flags for the settings of the algorithm.
        wants_help: Whether the help is asked for.
    """

    command: str
    options: Any
    rest: list[str]
    wants_help: bool


def read_options(command: str, options: type, arguments: Sequence[str]) -> Typed:
    """Read the options that do not depend on the algorithm, and prepare the process as they say."""
    given, rest = Parser(command, "", flags_of(options), handles_help=False).known(arguments)
    wants_help = given.pop("help", False)
    if not wants_help:
        prepare(command, options, given, arguments)
    given.pop("no_compile_cache", None)
    return Typed(command, options(**given), rest, wants_help)


def find_algorithm(name: str) -> Any:
    """Return the algorithm with a name; a module of the current folder may be one.

    Raises:
        UsageError: There is none; the message suggests another.
    """
    from funcenv.train.algorithm import algorithm_names, find_algorithm

    names = algorithm_names()
    if name not in names:
        import_from_here()
        if name.isidentifier() and importlib.util.find_spec(name) is None:
            lowered = name.lower().replace("-", "_")
            close = [f"did you mean {one}?" for one in difflib.get_close_matches(lowered, names, n=1)]
            close = [f"{OTHER_ALGORITHMS[lowered]};"] if lowered in OTHER_ALGORITHMS else close
            known = f"there are {', '.join(names)}, and module:name"
            raise UsageError(f"there is no algorithm {name!r}; {' '.join([*close, known])}")
    return find_algorithm(name)


def chosen_algorithm(typed: Typed) -> str:
    """Return the name of the algorithm: what `--algo` says, or else the best that is measured for the environment."""
    from funcenv.train.algorithm import DEFAULT_ALGORITHM
    from funcenv.train.config import TrainConfig
    from funcenv.train.presets import default_algorithm

    if typed.options.algo is not None:
        return str(typed.options.algo)
    pixels = [flag for flag in flags_of(TrainConfig) if flag.name == "pixels"]
    given, _ = Parser(typed.command, "", pixels, handles_help=False).known(typed.rest)
    from_pixels = given.get("pixels", 0) > 0
    named = (default_algorithm(word, from_pixels=from_pixels) for word in typed.rest)
    return next((name for name in named if name != DEFAULT_ALGORITHM), DEFAULT_ALGORITHM)


def read_config(typed: Typed, algorithm: Any, name: str, saved: Any = None) -> Any:
    """Return the configuration that the arguments say.

    Args:
        typed: What was typed.
        algorithm: The algorithm.
        name: Its name, which finds the preset.
        saved: The configuration to start from, if it is not a preset.

    Raises:
        UsageError: An argument is not known, or a setting is not valid.
        ValueError: The environment is unknown.
        SystemExit: The help was asked for, and is printed.
    """
    from funcenv.registry import spec
    from funcenv.train.presets import preset

    others = [flag.option for flag in flags_of(type(typed.options))]
    parser = Parser(typed.command, "", _config_flags(algorithm.Config, name))
    given = parser.given(typed.rest, others, functools.partial(_owners, name))
    default = saved
    if default is None:
        env_id = given.pop("env_id", DEFAULT_ENV)
        found = spec(env_id).id
        default = preset(env_id if ":" in env_id else found, name, from_pixels=given.get("pixels", 0) > 0)
    if typed.wants_help:
        about = (
            f"{inspect.getdoc(typed.options)} The flags are those of {name}, with the defaults for {default.env_id}."
        )
        flags = [*_config_flags(algorithm.Config, name, default), *flags_of(type(typed.options))]
        parser = Parser(typed.command, about, flags)
        parser.print_help()
        parser.exit()
    if "env_params" in given:
        given["env_params"] = default.env_params | given["env_params"]
    try:
        return dataclasses.replace(default, **given)
    except ValueError as error:
        raise UsageError(str(error)) from error


def read_shared_settings(typed: Typed, word: Flag, algorithm: Any, name: str) -> dict[str, Any]:
    """Return a word and the settings that are typed for several environments, whose presets say the others.

    Args:
        typed: What was typed.
        word: The argument without a flag.
        algorithm: The algorithm, or None if each environment has its own; then only the settings of all are taken.
        name: Its name.

    Raises:
        UsageError: An argument is not known.
        SystemExit: The help was asked for, and is printed.
    """
    from funcenv.train.config import TrainConfig

    of_options = flags_of(type(typed.options))
    flags = [
        dataclasses.replace(flag, default=None)  # that of each preset
        for flag in _config_flags(TrainConfig if algorithm is None else algorithm.Config, name)
        if flag.name not in ("env_id", "num_seeds")
    ]
    if typed.wants_help:
        about = f"{inspect.getdoc(typed.options)} Settings that are not given are those of each task's preset."
        parser = Parser(typed.command, about, [word, *flags, *of_options])
        parser.print_help()
        parser.exit()

    def explain(option: str) -> str | None:
        if option == "--num-seeds":
            return "write --seeds"
        return _owners(name, option)

    return Parser(typed.command, "", [word, *flags]).given(typed.rest, [flag.option for flag in of_options], explain)


def _owners(algorithm: str, option: str) -> str | None:
    """Return what to write for a flag that other algorithms have, or None if none has it."""
    from funcenv.train.algorithm import algorithm_names, find_algorithm

    def has_flag(name: str) -> bool:
        return any(flag.option == option for flag in _config_flags(find_algorithm(name).Config, name))

    owners = [name for name in algorithm_names() if has_flag(name)]
    lacks = f"{algorithm} does not have it" if algorithm else "not all algorithms have it"
    return f"{lacks}; write --algo {' or '.join(owners)}" if owners else None


def all_settings() -> list[Flag]:
    """Return the flags of the settings of all algorithms that have a name."""
    from funcenv.train.algorithm import algorithm_names, find_algorithm

    names = algorithm_names()
    return [flag for name in names for flag in _config_flags(find_algorithm(name).Config, name)]


def _config_flags(config: type, algorithm: str, defaults: Any = None) -> list[Flag]:
    """Return the flags of a configuration; the environment is an argument without a flag."""
    from funcenv.train.agents.networks import NetworkConfig
    from funcenv.train.config import TrainConfig

    def section(owner: type, name: str) -> str:
        if owner is TrainConfig:
            return "task" if name in TASK else "training"
        return "network" if owner is NetworkConfig and name not in ("num_envs", "num_steps") else algorithm

    flags = []
    for flag in flags_of(config, defaults, section):
        if flag.name == "env_id" and flag.reading is not None:
            reading = dataclasses.replace(flag.reading, label="ENV")
            flag = dataclasses.replace(flag, section="arguments", is_word=True, reading=reading)
        flags.append(flag)
    return flags
