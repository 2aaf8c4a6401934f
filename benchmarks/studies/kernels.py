"""Time steps that draw images or multiply matrices: `python benchmarks/studies/kernels.py`.

Each case plays in three ways, a process for each: as funcenv chooses, by a kernel wherever XLA compiles one (without
the two rules of `funcenv._compile.single_kernel` against images and large products), and by the plain program. Times
are CPU microseconds of a step of one environment, the least of several runs; in brackets the CPU seconds of the first
run, which compiles. The actions depend on the observation, so that no program can leave it out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from policies import loop  # a study of this folder

import funcenv
from funcenv import FuncVectorEnv, adapters
from funcenv._compile import single_kernel
from funcenv.wrappers import PixelObservation

NUM_ENVS, NUM_STEPS, NUM_SINGLE_STEPS, REPEATS = 16, 100, 50, 5
WAYS = ("chosen", "kernel", "plain")


class Linear(funcenv.FuncEnv[Any, Any, Any]):
    """A vector that a matrix multiplies in each step."""

    size: int = funcenv.field(pytree_node=False, default=64)
    observation_space = funcenv.spaces.Box(-jnp.inf, jnp.inf, (1,))
    action_space = funcenv.spaces.Discrete(2)

    def initial(self, key: jax.Array) -> jax.Array:
        """Draw a vector."""
        return jax.random.normal(key, (self.size,))

    def transition(self, state: jax.Array, action: jax.Array, key: jax.Array) -> jax.Array:
        """Multiply the vector."""
        del key
        matrix = jnp.sin(jnp.arange(self.size**2, dtype=jnp.float32)).reshape(self.size, self.size) / self.size
        return matrix @ state + action

    def observation(self, state: jax.Array, key: jax.Array) -> jax.Array:
        """Show the first number."""
        del key
        return state[:1]

    def reward(self, state: jax.Array, action: jax.Array, next_state: jax.Array) -> jax.Array:
        """Add up the vector."""
        del state, action
        return next_state.sum()

    def terminal(self, state: jax.Array) -> jax.Array:
        """Go on for ever."""
        return state[0] > jnp.inf


def pixels(env_id: str, size: int) -> Any:
    """Return an environment that shows images."""
    return PixelObservation(funcenv.make(env_id), size, size)


CASES: dict[str, Callable[[], Any]] = {
    "CartPole's pixels, 84 x 84": lambda: pixels("CartPole-v1", 84),
    "Pendulum's pixels, 64 x 64": lambda: pixels("Pendulum-v1", 64),
    "pixels of MinAtar's Breakout, 40 x 40": lambda: pixels("MinAtar/Breakout-v1", 40),
    "a matrix of 32 x 32": lambda: Linear(size=32),
    "a matrix of 128 x 128": lambda: Linear(size=128),
}


def policy_of(env: Any) -> Callable[[Any, jax.Array], Any]:
    """Return a policy whose actions are random, and which reads the observation."""

    def policy(observation: Any, key: jax.Array) -> Any:
        total = sum(leaf.sum(dtype=jnp.float32) for leaf in jax.tree.leaves(observation))
        return jax.tree.map(lambda action: jnp.where(total == math.pi, 0, action), env.action_space.sample(key))

    return policy


def stateful(make: Callable[[], Any], num_steps: int) -> Callable[[jax.Array], Any]:
    """Return a loop over the steps of a stateful environment, which is made and reset once."""
    made: list[Any] = []

    def play(key: jax.Array) -> Any:
        del key
        if not made:
            made.append(make())
            made[0].reset(seed=0)
        for _ in range(num_steps):
            result = made[0].step(made[0].action_space.sample())
            if not np.ndim(result[2]) and (result[2] or result[3]):
                made[0].reset()
        return result[1]

    return play


def measure(case: str) -> dict[str, tuple[float, float]]:
    """Return for each use the CPU microseconds of a step, and the CPU seconds of the first run."""
    env = CASES[case]()
    venv, policy = FuncVectorEnv(env, NUM_ENVS), policy_of(env)
    uses: dict[str, tuple[int, Callable[[jax.Array], Any]]] = {
        "rollout": (
            NUM_ENVS * NUM_STEPS,
            lambda key: funcenv.rollout(venv, policy, key, num_steps=NUM_STEPS, collect=None)[2],
        ),
        "loop": (NUM_ENVS * NUM_STEPS, loop(venv, policy, NUM_STEPS)),
        "vector": (NUM_ENVS * NUM_STEPS, stateful(lambda: adapters.FunctionalVectorEnv(env, NUM_ENVS), NUM_STEPS)),
        "single": (NUM_SINGLE_STEPS, stateful(lambda: adapters.FunctionalEnv(env), NUM_SINGLE_STEPS)),
    }
    found = {}
    for use, (num_steps, play) in uses.items():
        times = []
        for seed in range(REPEATS + 1):
            start = time.process_time()
            jax.block_until_ready(play(funcenv.key(seed)))
            times.append(time.process_time() - start)
        found[use] = (min(times[1:]) / num_steps * 1e6, times[0])
    return found


def main() -> None:
    """Print a table in Markdown, or measure one case in this process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--case", help="measure this case alone")
    parser.add_argument("--way", choices=WAYS, default="chosen", help="in this way, for --case")
    options = parser.parse_args()
    if options.case:
        os.environ["FUNCENV_NO_FAST_PATH"] = str(int(options.way == "plain"))
        limit = math.inf if options.way == "kernel" else single_kernel._MAX_PRODUCT_OPERATIONS
        rule = (lambda jaxpr: None) if options.way == "kernel" else single_kernel.require_no_image
        with (
            mock.patch.object(single_kernel, "_MAX_PRODUCT_OPERATIONS", limit),
            mock.patch.object(single_kernel, "require_no_image", rule),
        ):
            print(json.dumps(measure(options.case)))
        return
    print("| case | rollout | a loop of the user's | `FunctionalVectorEnv` | `FunctionalEnv` |\n|---|---|---|---|---|")
    for case in CASES:
        found = [_measured(case, way) for way in WAYS]
        cells = (", ".join(_cell(*figures[use]) for figures in found) for use in found[0])
        print(f"| {case} | {' | '.join(cells)} |", flush=True)


def _measured(case: str, way: str) -> dict[str, tuple[float, float]]:
    command = [sys.executable, __file__, "--case", case, "--way", way]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, tuple[float, float]] = json.loads(output.splitlines()[-1])
    return found


def _cell(microseconds: float, first: float) -> str:
    return f"{microseconds:.2g} ({first:.1f})" if microseconds < 10 else f"{microseconds:.0f} ({first:.1f})"


if __name__ == "__main__":
    main()
