"""CPU time of the first `render()`, with compilation, and of later ones: `python benchmarks/render.py`.

Frames have 600x400 pixels. Each environment runs in its own process on one core.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from harness import pin

from funcenv import adapters

IDS = ("FrozenLake-v1", "CliffWalking-v1", "Taxi-v4", "Blackjack-v1", "CartPole-v1")
FRAMES = 50


def measure(env_id: str) -> tuple[float, float]:
    """Return the CPU seconds of the first frame after a reset, and the median of later ones, with steps in between."""
    env = adapters.make(env_id, render_mode="rgb_array", render_width=600, render_height=400)
    env.reset(seed=0)
    seconds = []
    for _ in range(FRAMES):
        before = time.process_time()
        env.render()
        seconds.append(time.process_time() - before)
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    return seconds[0], statistics.median(seconds[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", nargs="+", default=IDS)
    env_ids = parser.parse_args().envs
    if len(env_ids) > 1:
        for env_id in env_ids:
            subprocess.run([sys.executable, __file__, "--envs", env_id], check=True)
        return
    pin()
    first, later = measure(env_ids[0])
    print(f"{env_ids[0]:<18} first {first:.2f} s   then {1e3 * later:.1f} ms")


if __name__ == "__main__":
    main()
