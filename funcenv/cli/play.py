"""The command `funcenv play [ENV] [--terminal]`."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import jax
import jax.numpy as jnp

from funcenv.adapters.playing.play import play, play_in_terminal
from funcenv.adapters.registration import make
from funcenv.cli.flags import OptionalValue, TrustCode, Word, read
from funcenv.cli.rehearsal import first_speed, rehearse
from funcenv.cli.settings import DEFAULT_ENV
from funcenv.cli.table import UsageError, require_train_packages
from funcenv.cli.waiting import waiting
from funcenv.func_env import AnyEnv
from funcenv.interrupts import Interrupted, raise_interrupted


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(TrustCode):
    """Play with the keyboard, until the window is closed or escape is pressed."""

    env: Annotated[str | None, Word("ENV")] = None
    """an id, or module:EnvClass; CartPole-v1 by default"""
    agent: Annotated[int | None, OptionalValue("N")] = 0
    """watch the agent that comes with the package play ENV; with --watch RUN and a number, one of the run's agents"""
    watch: Annotated[str | None, "RUN"] = None
    """watch a trained agent of this run play, pause it, and change its speed; or that of a file of funcenv export"""
    best: bool = False
    """watch the best agent of the run instead of the newest"""
    terminal: bool = False
    """play in this terminal, for example over SSH, instead of in a window"""
    env_params: dict[str, Any] = dataclasses.field(default_factory=dict)
    """parameters of the environment, for example gravity 1.6"""
    fps: float | None = None
    """steps per second; by default the environment's own frame rate"""
    speed: float | None = None
    """speed at the beginning, relative to --fps; by default slow where random play soon ends, as in CartPole"""
    zoom: float = 1.0
    """size of the window relative to a frame"""
    seed: int | None = None
    """seed of the first episode"""
    wait: bool | None = None
    """step only when a key is pressed; by default in board and card games"""
    autostart: bool = False
    """begin every episode at once, without waiting for a key"""
    record: Annotated[str | None, "FOLDER"] = None
    """folder for a dataset of all episodes; one of the same environment gets more"""


def run(arguments: Sequence[str]) -> int:
    """Play until the player leaves, and return the exit status.

    Raises:
        UsageError: An argument is not valid.
        ValueError, TypeError: The environment or a parameter is unknown.
    """
    if any(word.partition("=")[0] == "--save" for word in arguments):
        raise UsageError(
            "play saves nothing but datasets, by --record FOLDER; funcenv replay RUN --save x.gif saves episodes of a "
            'trained agent, and in Python funcenv.record(env, policy, key, save="x.gif") those of any policy'
        )
    options: Options = read("play", Options, arguments)
    watched: Any = DEFAULT_ENV if options.env is None else options.env
    policy, run = None, _run_to_watch(options)
    if run is not None:
        require_train_packages("play --watch")
        watched, policy = _watched(run, options)
    mode = "ansi" if options.terminal else "rgb_array"
    with waiting("preparing the first step, which is compiled once and kept for later starts"):
        rehearsal = rehearse(watched, mode, options.env_params, options.fps)
    with make(watched, render_mode=mode, render_height=rehearsal.render_height, **options.env_params) as bare:
        env: Any = bare if options.record is None else _recorded(bare, options)
        is_slow = policy is None and is_turn_based(env.get_wrapper_attr("func_env"))
        wait = is_slow if options.wait is None else options.wait
        shared: dict[str, Any] = {"fps": options.fps, "seed": options.seed, "wait_on_player": wait}
        shared["speed"] = options.speed
        if options.speed is None:
            fps = options.fps or float(env.metadata["render_fps"])
            shared["speed"] = first_speed(rehearsal.num_steps / fps) if policy is None and not wait else 1.0
        shared["wait_for_start"] = policy is None and not options.autostart
        if policy is not None:
            shared["policy"] = policy
        try:
            with raise_interrupted():  # lets the game close its window, or restore the terminal
                if options.terminal:
                    play_in_terminal(env, **shared)
                else:
                    play(env, zoom=options.zoom, **shared)
        except Interrupted as interrupted:
            print("funcenv play: interrupted", file=sys.stderr)
            return 128 + interrupted.number
        finally:
            if options.record is not None:
                env.close()  # finishes the dataset
    return 0


def _recorded(env: Any, options: Options) -> Any:
    """Return an environment whose episodes are written to a dataset."""
    from funcenv.adapters.wrappers.record_dataset import RecordDataset

    source = {"command": "funcenv play", "run": _run_to_watch(options)}
    return RecordDataset(env, str(options.record), source=source, append=True)


def _run_to_watch(options: Options) -> str | None:
    """Return the run, the file or the name in the zoo of the agent that plays, or None if a person does.

    Raises:
        UsageError: The options contradict each other.
    """
    if options.watch is None and options.agent is not None:
        if options.agent:
            raise UsageError(f"--agent {options.agent} is one of a run's agents; name the run with --watch RUN")
        return None
    if options.watch is None:
        if options.env_params:
            raise UsageError(
                f"the agent of {options.env or DEFAULT_ENV} plays as it was trained; leave --env-params out"
            )
        return f"zoo/{options.env or DEFAULT_ENV}"
    if options.agent is None:
        raise UsageError(f"--watch {options.watch} needs a number after --agent; or leave one of the two out")
    if options.env is not None or options.env_params:
        raise UsageError(f"--watch {options.watch} plays the environment of the run; leave ENV and --env-params out")
    return options.watch


def _watched(run: str, options: Options) -> tuple[AnyEnv, Callable[[Any], Any]]:
    """Return the environment that an agent was trained in, and its policy."""
    from funcenv.train.runs.policy import load_player, stateful_policy

    env, policy = load_player(run, agent=options.agent or 0, best=options.best, trust_code=options.trust_code)
    return env, stateful_policy(policy)


def is_turn_based(env: AnyEnv) -> bool:
    """Check whether an environment waits for its player, as board and card games do.

    It does if its observations have no continuous part, unless `get_keys_to_action` has an action for no key, `()`.

    >>> import funcenv
    >>> [is_turn_based(funcenv.make(name)) for name in ("Blackjack-v1", "Pendulum-v1", "arcade/Pong-v0")]
    [True, False, False]
    """
    keys = env.unwrapped.get_keys_to_action()
    leaves = jax.tree.leaves(env.unwrapped.observation_space.abstract_member())
    return () not in keys and not any(jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in leaves)
