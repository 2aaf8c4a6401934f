"""Steps of arcade games a CPU-second, against gymnax, pgx and ALE: `python benchmarks/arcade_speed.py`.

MinAtar's games are played by a random policy inside one program. The native games of the Atari 2600 are compared with
ALE's own vector environment behind its XLA interface, with stacked frames, and without. It prints rows for the page.
"""

from __future__ import annotations

import argparse
from typing import Any

from harness import Worker, compare, parser, peer_python, write_json

GAMES = ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")
NOT_IN_GYMNAX = ("Seaquest",)
SIZES = (256, 4096)
FRAME_ENVS = 64  # games in a batch of stacked frames
NATIVE = (("arcade/Pong-v0", "pong"), ("arcade/Breakout-v0", "breakout"))


def pgx_name(game: str) -> str:
    """Return the id of a game of MinAtar in pgx.

    >>> pgx_name("SpaceInvaders")
    'minatar-space_invaders'
    """
    words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in game)
    return f"minatar-{words[1:]}"


def minatar_row(game: str, size: int, num_steps: int, rounds: int) -> dict[str, Any]:
    """Measure a game of MinAtar in all libraries that have it."""
    batch = {"num_envs": size, "num_steps": max(num_steps // size, 8)}
    ours = {"num_envs": size, "num_steps": 10 * batch["num_steps"]}
    workers = [Worker("funcenv", "rollout_funcenv.py", {"env": f"MinAtar/{game}-v1", **ours})]
    if game not in NOT_IN_GYMNAX:
        options = {"env": f"{game}-MinAtar", **batch}
        workers.append(Worker("gymnax", "rollout_gymnax.py", options, peer_python("gymnax")))
    options = {"env": pgx_name(game), **batch}
    workers.append(Worker("pgx", "rollout_pgx.py", options, peer_python("interop pgx")))
    return compare(workers, rounds)


def native_row(env: str, game: str, num_steps: int, rounds: int) -> dict[str, Any]:
    """Measure a native game with stacked frames and without, and the original in ALE."""
    frames = {"num_envs": FRAME_ENVS, "num_steps": max(num_steps // FRAME_ENVS, 8)}
    fewer = {**frames, "num_steps": max(frames["num_steps"] // 20, 8)}
    many = {"env": env, "num_envs": 4096, "num_steps": max(20 * num_steps // 4096, 8)}
    workers = [
        Worker("ale", "arcade_frames.py", {"kind": "ale", "env": game, **fewer}),
        Worker("frames", "arcade_frames.py", {"kind": "funcenv", "env": env, **frames}),
        Worker("memory", "rollout_funcenv.py", many),
    ]
    return compare(workers, rounds)


def main() -> None:
    """Print the tables."""
    flags = parser(__doc__, rounds=5)
    flags.add_argument("--games", nargs="*", default=list(GAMES))
    flags.add_argument("--steps", type=int, default=400_000, help="of a peer in one turn, roughly")
    flags.add_argument("--num-envs", nargs="*", type=int, default=list(SIZES))
    flags.add_argument(
        "--native", action=argparse.BooleanOptionalAction, default=True, help="measure the native games as well"
    )
    arguments = flags.parse_args()
    results: dict[str, Any] = {}
    for game in arguments.games:
        for size in arguments.num_envs:
            results[f"{game} {size}"] = found = minatar_row(game, size, arguments.steps, arguments.rounds)
            print(game, size, format_row(found), flush=True)
    for env, game in NATIVE if arguments.native else ():
        results[env] = found = native_row(env, game, arguments.steps, arguments.rounds)
        print(env, format_row(found), flush=True)
    write_json(arguments.json, results)


def format_row(found: dict[str, Any]) -> str:
    """Return the speeds, and how many times as long as the first program the others took for a step."""
    return "; ".join(
        f"{name} {row['steps_per_cpu_second']:,.0f} ({row['ratio_of_first']:.2f})" for name, row in found.items()
    )


if __name__ == "__main__":
    main()
