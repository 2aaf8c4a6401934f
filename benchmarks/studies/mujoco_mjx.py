"""Errors of MJX against MuJoCo's C library in 32 bits, and its compile time: `python benchmarks/studies/mujoco_mjx.py`.

Batches play the same random actions from equal states with both backends. The error of a number is absolute up to 1 and
relative beyond; the largest one of all positions and velocities counts. `--suite` does so for dm_control's tasks, one
for each model, and names what MJX refuses. With `--gradients` it compares derivatives of MJX by reverse mode, in 64
bits, with differences of the library. With `--sensitivity` it compares the library with itself, from states in which
every number is the next one of 32 bits: what no computation in 32 bits can avoid.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.envs.mujoco.mujoco_task import MujocoTask
from funcenv.host import from_words, to_words

IDS = ("Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum", "InvertedPendulum")
IDS += ("Reacher", "Swimmer", "Walker2d")
IDS = tuple(f"{name}-v5" for name in IDS)
SUITE = ("acrobot-swingup", "ball_in_cup-catch", "cartpole-swingup", "cheetah-run", "finger-spin", "fish-swim")
SUITE += ("hopper-hop", "humanoid-run", "humanoid_CMU-run", "lqr-lqr_2_1", "manipulator-bring_ball")
SUITE += ("pendulum-swingup", "point_mass-easy", "quadruped-run", "reacher-easy", "stacker-stack_2")
SUITE += ("swimmer-swimmer6", "walker-run")
SUITE = tuple(f"dm_control/{name}-v0" for name in SUITE)
NUM_ENVS, NUM_STEPS, HALF_STEP = 16, 10, 1e-6
GOALS = {1: 1e-6, 10: 2e-5}  # errors after so many steps


def errors(env_id: str) -> tuple[dict[int, float], float]:
    """Return the error after some numbers of steps, and the CPU seconds of MJX's first call."""
    played, seconds = {}, {}
    for backend, states in first_states(env_id).items():
        env = funcenv.make(env_id, backend=backend).unwrapped
        actions = jnp.asarray(_actions(env))
        start = time.process_time()
        played[backend] = jax.device_get(_play(env, states, actions))
        seconds[backend] = time.process_time() - start
    found, expected = played["mjx"], played["c"]
    return _largest(found, expected), seconds["mjx"]


def sensitivity(env_id: str) -> dict[int, float]:
    """Return the distance of the library's states after some numbers of steps, if starts differ by one rounding."""
    env = funcenv.make(env_id, backend="c").unwrapped
    states = _drawn_states(env)
    if isinstance(env, MujocoTask):
        row = from_words(states.physics).astype(np.float32)
        rows = np.nextafter(row, np.float32(np.inf)), row
        starts = [states.replace(physics=jnp.asarray(to_words(row))) for row in rows]
    else:
        nearby = [np.nextafter(numbers, np.float32(np.inf)) for numbers in jax.device_get((states.qpos, states.qvel))]
        starts = [jax.jit(jax.vmap(env.state_at))(*nearby), states]
    actions = jnp.asarray(_actions(env))
    return _largest(*jax.device_get([_play(env, start, actions) for start in starts]))


def first_states(env_id: str) -> dict[str, Any]:
    """Return equal states of both backends, which the library simulates if an episode begins at rest."""
    library, mjx = (funcenv.make(env_id, backend=backend).unwrapped for backend in ("c", "mjx"))
    states = _drawn_states(library)
    if not isinstance(library, MujocoTask):
        return {"c": states, "mjx": _drawn_states(mjx)}
    return {"c": states, "mjx": states.replace(physics=jnp.asarray(from_words(states.physics), float))}


def _drawn_states(env: Any) -> Any:
    return jax.jit(jax.vmap(env.initial))(jax.random.split(funcenv.key(0), NUM_ENVS))


def _actions(env: Any) -> Any:
    """Draw actions of all environments, `[steps, num_envs, nu]`."""
    low, high = env.model.ctrlrange  # a control without limits, as in lqr, has the range (0, 0)
    low, high = np.where(low < high, low, -1), np.where(low < high, high, 1)
    return np.random.default_rng(0).uniform(low, high, (NUM_STEPS, NUM_ENVS, len(low))).astype(np.float32)


def _largest(found: Any, expected: Any) -> dict[int, float]:
    distances = np.abs(found - expected) / np.maximum(np.abs(expected), 1)
    return {steps: float(distances[:steps].max()) for steps in GOALS}


@jax.jit
def _play(env: Any, states: Any, actions: jax.Array) -> jax.Array:
    """Return positions and velocities, `[steps, num_envs, nq + nv]`."""

    def step(states: Any, action: jax.Array) -> tuple[Any, jax.Array]:
        key = jax.random.key(0)
        states = jax.vmap(lambda state, action: env.transition(state, action, key))(states, action)
        return states, jnp.concatenate([states.qpos, states.qvel], axis=1)

    return jax.lax.scan(step, states, actions)[1]


def gradient_error(env_id: str, num_steps: int) -> float:
    """Return the largest error of the derivatives of a sum of rewards and positions, relative to the largest one."""
    mjx, library = (funcenv.make(env_id, backend=backend).unwrapped for backend in ("mjx", "c"))
    random, model = np.random.default_rng(0), library.model
    low, high = model.ctrlrange
    qpos = model.init_qpos + random.uniform(-0.05, 0.05, model.mjmodel.nq)
    args = [qpos, random.uniform(-0.1, 0.1, model.mjmodel.nv), random.uniform(low, high, (num_steps, len(low)))]
    found = jax.jit(jax.grad(_objective, argnums=(1, 2, 3)))(mjx, *args)
    value = jax.jit(_objective)
    worst = scale = 0.0
    for index, arg in enumerate(args):
        expected = np.zeros_like(arg)
        for place in np.ndindex(arg.shape):
            sides = [[other.copy() for other in args] for _ in range(2)]
            sides[0][index][place] += HALF_STEP
            sides[1][index][place] -= HALF_STEP
            high_value, low_value = (float(value(library, *side)) for side in sides)
            expected[place] = (high_value - low_value) / (2 * HALF_STEP)
        worst = max(worst, float(np.abs(found[index] - expected).max()))
        scale = max(scale, float(np.abs(expected).max()))
    return worst / scale


def _objective(env: Any, qpos: Any, qvel: Any, actions: Any) -> jax.Array:
    def step(state: Any, action: Any) -> tuple[Any, jax.Array]:
        state, timestep = env.step(state, action, jax.random.key(0))
        return state, timestep.reward

    state, rewards = jax.lax.scan(step, env.state_at(qpos, qvel), actions)
    return rewards.sum() + state.qpos @ jnp.arange(1.0, 1 + len(state.qpos)) + 0.1 * state.qvel.sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", nargs="+", default=list(IDS))
    parser.add_argument("--suite", action="store_true", help="dm_control's tasks instead")
    parser.add_argument(
        "--gradients", type=int, default=0, metavar="STEPS", help="compare derivatives of so many steps"
    )
    parser.add_argument("--sensitivity", action="store_true", help="compare the library with itself")
    arguments = parser.parse_args()
    for name in SUITE if arguments.suite else arguments.envs:
        if arguments.gradients:
            with jax.enable_x64(True):
                print(f"| `{name}` | {gradient_error(name, arguments.gradients):.0e} |", flush=True)
            continue
        if arguments.sensitivity:
            cells = [f"{distance:.0e}" for distance in sensitivity(name).values()]
            print(f"| `{name}` | {' | '.join(cells)} |", flush=True)
            continue
        try:
            found, seconds = errors(name)
        except ValueError as refusal:
            print(f"| `{name}` | {refusal} |", flush=True)
            continue
        cells = [f"{error:.0e}{'' if error <= GOALS[steps] else ' (missed)'}" for steps, error in found.items()]
        print(f"| `{name}` | {' | '.join(cells)} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
