"""The command `funcenv play [ENV] [--terminal]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.adapters.playing.play import play, play_in_terminal
from funcenv.adapters.registration import make
from funcenv.func_env import AnyEnv

DESCRIPTION = "Play with the keyboard, until the window is closed or escape is pressed."


def run(arguments: Sequence[str]) -> int:
    """Play until the player leaves, and return the exit status.

    Args:
        arguments: The arguments after `funcenv play`.

    Raises:
        SystemExit: A flag is not valid; a line that says why is printed first.
        ValueError, TypeError: The environment or a parameter is unknown.
    """
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    if "--save" in [flag.partition("=")[0] for flag in unknown]:
        parser.error(
            "play saves nothing; funcenv replay RUN --save x.gif saves episodes of a trained agent, and in Python "
            'funcenv.record(env, policy, key, save="x.gif") those of any policy'
        )
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    mode, params = "ansi" if options.terminal else "rgb_array", parameters(options.env_params)
    watched: Any = options.env or "CartPole-v1"
    policy = None
    if options.watch is not None:
        if options.env is not None or params:
            parser.error("--watch plays the environment of the run; leave ENV and --env-params out")
        watched, policy = _watched(options.watch, options.agent, options.best)
    with make(watched, render_mode=mode, **params) as env:
        is_slow = policy is None and is_turn_based(env.get_wrapper_attr("func_env"))
        wait = is_slow if options.wait is None else options.wait
        shared: dict[str, Any] = {"fps": options.fps, "seed": options.seed, "wait_on_player": wait}
        shared["wait_for_start"] = policy is None and not options.autostart
        if policy is not None:
            shared["policy"] = policy
        if options.terminal:
            play_in_terminal(env, **shared)
        else:
            play(env, zoom=options.zoom, **shared)
    return 0


def _watched(run: str, agent: int, best: bool) -> tuple[AnyEnv, Callable[[Any], Any]]:
    """Return the environment of a run, and the policy of one of its agents."""
    from funcenv.train.best import pick_agent
    from funcenv.train.policy import load_agents, stateful_policy

    learner, agents = load_agents(run, best=best)
    return learner.env, stateful_policy(pick_agent(learner, agents, agent))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="funcenv play", description=DESCRIPTION)
    parser.add_argument("env", metavar="ENV", nargs="?", help="an id, or module:EnvClass (default: CartPole-v1)")
    parser.add_argument(
        "--watch", metavar="RUN", help="let a trained agent of this run play; you pause it and change its speed"
    )
    parser.add_argument("--agent", type=int, default=0, help="which agent to watch, if the run trained several seeds")
    parser.add_argument("--best", action="store_true", help="watch the best agent of the run instead of the newest")
    parser.add_argument(
        "--terminal", action="store_true", help="play in this terminal, for example over SSH, instead of in a window"
    )
    parser.add_argument(
        "--env-params",
        nargs="+",
        default=[],
        metavar="NAME VALUE",
        help="parameters of the environment, for example gravity 1.6",
    )
    parser.add_argument("--fps", type=float, help="steps per second; by default the environment's own frame rate")
    parser.add_argument("--zoom", type=float, default=1.0, help="size of the window relative to a frame")
    parser.add_argument("--seed", type=int, help="seed of the first episode")
    parser.add_argument(
        "--wait",
        action=argparse.BooleanOptionalAction,
        help="step only when a key is pressed; by default in board and card games",
    )
    parser.add_argument(
        "--autostart", action="store_true", help="begin every episode at once, without waiting for a key"
    )
    return parser


def parameters(words: Sequence[str]) -> dict[str, Any]:
    """Return the parameters that alternating names and values give; a value is a number, true or false, or a word.

    Raises:
        ValueError: A name has no value.

    >>> parameters(["gravity", "1.6", "is_slippery", "false", "map_name", "8x8"])
    {'gravity': 1.6, 'is_slippery': False, 'map_name': '8x8'}
    """
    if len(words) % 2:
        raise ValueError(f"--env-params takes names and values in turn, got {' '.join(words)}; write gravity 1.6")
    return {name: _value(text) for name, text in zip(words[::2], words[1::2], strict=True)}


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def is_turn_based(env: AnyEnv) -> bool:
    """Check whether an environment waits for its player, as board and card games do.

    It does if its observations have no continuous part, unless `get_keys_to_action` has an action for no key, `()`.

    >>> import funcenv
    >>> [is_turn_based(funcenv.make(name)) for name in ("Blackjack-v1", "Pendulum-v1", "arcade/Pong-v0")]
    [True, False, False]
    """
    keys: dict[Any, Any] = getattr(env.unwrapped, "get_keys_to_action", dict)()
    leaves = jax.tree.leaves(env.unwrapped.observation_space.abstract_member())
    return () not in keys and not any(jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in leaves)
