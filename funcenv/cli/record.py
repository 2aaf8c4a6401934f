"""The command `funcenv record [ENV] --output FOLDER`, which writes a dataset."""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from collections.abc import Sequence
from typing import Annotated, Any

from funcenv.cli.flags import TrustCode, Word, read
from funcenv.cli.table import UsageError, require_train_packages
from funcenv.cli.waiting import show_progress
from funcenv.counted import counted
from funcenv.datasets import Dataset, DatasetWriter, record
from funcenv.datasets.recording import MAX_STEPS
from funcenv.datasets.writer import MAX_BYTES
from funcenv.func_env import AnyEnv
from funcenv.memory import readable_size
from funcenv.policy import Policy
from funcenv.printable import printable
from funcenv.random import key as new_key
from funcenv.registry import make
from funcenv.rollout import random_policy


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(TrustCode):
    """Play whole episodes, and write every transition with its state and key to a dataset."""

    env: Annotated[str | None, Word("ENV")] = None
    """an id, or module:EnvClass, which is played at random; leave it out with --policy"""
    output: Annotated[str | None, "FOLDER"] = None
    """folder for the dataset, which must be new or empty"""
    policy: Annotated[str | None, "RUN"] = None
    """run whose agent plays, in the environment of the run"""
    agent: int = 0
    """index of the agent, if the run trained several seeds"""
    best: bool = False
    """let the best agent of the run play instead of the newest"""
    explore: bool = False
    """sample actions from the policy instead of taking the most likely ones"""
    env_params: dict[str, Any] = dataclasses.field(default_factory=dict)
    """parameters of the environment, for example gravity 1.6"""
    num_episodes: int = 100
    """episodes to record"""
    seed: int = 0
    """seed of the episodes"""
    max_steps: int = MAX_STEPS
    """where to stop episodes that do not end"""
    states: bool = True
    """store states; without them, a dataset is smaller, and restoring a state replays its episode"""
    max_bytes: int = MAX_BYTES
    """bound on the size of the dataset before compression"""
    append: bool = False
    """add to a dataset of the same environment"""
    quiet: bool = False
    """print the last line only"""


def run(arguments: Sequence[str]) -> int:
    """Record what the arguments say, and return the exit status."""
    record_dataset(read("record", Options, arguments))
    return 0


def record_dataset(options: Options) -> Dataset:
    """Record episodes, and print what the dataset holds.

    Raises:
        UsageError: There is no folder for the dataset, or not exactly one of an environment and a run.
        ValueError, TypeError, OSError: As `funcenv.datasets.record`.
    """
    if options.output is None:
        raise UsageError("a dataset needs a folder, got none; name it by --output FOLDER")
    if (options.env is None) == (options.policy is None):
        raise UsageError("name either an environment, which is played at random, or a run by --policy RUN, not both")
    if options.policy is not None and options.env_params:
        raise UsageError(f"--policy {options.policy} plays the environment of the run; leave --env-params out")
    env, policy = _player(options)
    if not options.quiet:
        begins = f"recording {counted(options.num_episodes, 'episode')} of {options.policy or options.env}"
        print(printable(begins), file=sys.stderr, flush=True)
    dataset = record(
        env,
        policy,
        new_key(options.seed),
        options.num_episodes,
        options.output,
        max_steps=options.max_steps,
        states=options.states,
        source={"command": "funcenv record", "run": options.policy, "seed": options.seed},
        max_bytes=options.max_bytes,
        append=options.append,
        progress=None if options.quiet else _show_progress,
    )
    returns = dataset.returns
    size = sum(path.stat().st_size for path in pathlib.Path(options.output).iterdir())
    about = _extent(len(dataset), dataset.num_steps, size)
    print(printable(f"{options.output}: {about}, mean return {returns.mean():.1f} +- {returns.std():.1f}"))
    return dataset


def _player(options: Options) -> tuple[AnyEnv, Policy]:
    """Return the environment and the policy that the options name."""
    if options.env is not None:
        env = make(options.env, **options.env_params)
        return env, random_policy(env)
    require_train_packages("record --policy")
    from funcenv.train.runs.best import pick_agent
    from funcenv.train.runs.policy import load_agents

    learner, agents = load_agents(
        str(options.policy), best=options.best, explore=options.explore, trust_code=options.trust_code
    )
    return learner.env, pick_agent(learner, agents, options.agent)


def _show_progress(writer: DatasetWriter) -> None:
    """Show how much is recorded, in one line of the terminal."""
    show_progress(_extent(writer.num_episodes, writer.num_steps, writer.num_bytes))


def _extent(num_episodes: int, num_steps: int, num_bytes: int) -> str:
    return f"{counted(num_episodes, 'episode')}, {num_steps:,} steps, {readable_size(num_bytes)}"
