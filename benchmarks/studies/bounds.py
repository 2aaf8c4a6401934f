"""The return that agents leave: their episodes beside the best that a search in the same environment finds.

    python benchmarks/studies/bounds.py acrobot                         fewest steps, by breadth-first search
    python benchmarks/studies/bounds.py plans Reacher-v5 --run RUN      sequences of actions, improved by CEM

A search knows the state, and plays as often as it likes, so that no agent need be as good. What it finds can be had,
and more may be possible: these are bounds from below.

`acrobot` steps every state that it keeps by each action, and keeps one state of each cell of a grid; beyond `--width`
of them, those with the most energy and a random part of the others. `plans` starts from the actions of the agent, and
needs an environment without chance and without an end before its time limit.
"""

from __future__ import annotations

import argparse
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.envs.classic_control import Acrobot
from funcenv.search import branch, make_shooting
from funcenv.search.model import Node, advance

CELLS = np.array([0.1, 0.1, 0.15, 0.15])  # sides of a cell: both angles in rad, both velocities in rad/s
ENERGETIC = 0.7  # the part of the states that are kept for their energy
NOISES = 0.3, 0.1, 0.03  # deviations of the rounds of CEM, each of which starts from the sequence of the one before


def first_state(env: Any, number: int) -> Any:
    """Return one of the states that episodes begin with."""
    return env.initial(funcenv.key(number))


def play(env: Any, agent: Any, state: Any, num_steps: int) -> tuple[jax.Array, jax.Array]:
    """Return the actions and the rewards of an agent from a state on; after the end, rewards are 0."""
    key = funcenv.key(0)

    def step(node: Node, _: None) -> tuple[Node, tuple[jax.Array, jax.Array]]:
        action = agent(node.observation, key)
        node, timestep = advance(env, node, action, key)
        return node, (action, timestep.reward)

    start = Node.begin(env, state, env.observation(state, key))
    played: tuple[jax.Array, jax.Array] = jax.lax.scan(step, start, length=num_steps)[1]
    return played


def acrobot(agent: Any, width: int, num_starts: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the returns of an agent, and those of the shortest sequences that are found."""
    env, key = Acrobot(), funcenv.key(0)

    @jax.jit
    def expand(states: Any) -> tuple[Any, jax.Array]:
        actions = jnp.arange(env.action_space.n)
        after = jax.vmap(lambda action: jax.vmap(lambda state: env.transition(state, action, key))(states))(actions)
        after = jax.tree.map(jnp.concatenate, after)
        return after, jax.vmap(env.terminal)(after).any()

    def fewest_steps(state: Any, random: np.random.Generator) -> int:
        states = jax.tree.map(lambda leaf: jnp.repeat(leaf[None], width), state)
        for number in range(500):
            states, is_over = expand(states)
            if is_over:
                return -number  # the last step costs nothing
            kept = np.resize(most_different(states, width, random), width)
            states = jax.tree.map(lambda leaf, kept=kept: leaf[kept], states)
        raise RuntimeError("no sequence of 500 actions swings up; raise --width")

    starts, random = [first_state(env, number) for number in range(num_starts)], np.random.default_rng(0)
    play_from = jax.jit(lambda state: play(env, agent, state, 500)[1].sum())
    return np.array([play_from(start) for start in starts]), np.array([fewest_steps(start, random) for start in starts])


def most_different(states: Any, width: int, random: np.random.Generator) -> np.ndarray:
    """Return the indices of at most `width` states, at most one of each cell."""
    angles = np.stack([states.theta1, states.theta2], 1) % (2 * np.pi)
    velocities = np.stack([states.theta1_dot, states.theta2_dot], 1)
    cells = np.floor(np.concatenate([angles, velocities], 1) / CELLS).astype(int)
    numbers = (cells - cells.min(0)) @ 1000 ** np.arange(4)  # no angle or velocity has as many cells
    _, found = np.unique(numbers, return_index=True)
    if len(found) <= width:
        return found
    by_energy = found[np.argsort(-energy(states)[found])]
    most = int(ENERGETIC * width)
    return np.concatenate([by_energy[:most], random.choice(by_energy[most:], width - most, replace=False)])


def energy(states: Any) -> np.ndarray:
    """Return the energy of both links, each of 1 kg, 1 m and 1 kg m^2, in joules."""
    theta, bend = np.asarray(states.theta1), np.asarray(states.theta2)
    first, second = np.asarray(states.theta1_dot), np.asarray(states.theta2_dot)
    height = -1.5 * np.cos(theta) - 0.5 * np.cos(theta + bend)  # 1 kg at each middle
    own, cross, other = 3.5 + np.cos(bend), 1.25 + 0.5 * np.cos(bend), 1.25  # the matrix of masses
    return 9.8 * height + 0.5 * own * first**2 + cross * first * second + 0.5 * other * second**2


def plans(env_id: str, agent: Any, num_starts: int, num_samples: int, num_iterations: int) -> tuple[Any, Any]:
    """Return the returns of an agent, and those of its sequences of actions after CEM has improved them."""
    env = funcenv.make(env_id)
    limit, bare = env.max_episode_steps, env.unwrapped
    searches = [
        make_shooting(
            bare, limit, num_samples, num_iterations=num_iterations, noise=noise, elite_fraction=0.05, gamma=1
        )
        for noise in NOISES
    ]

    @jax.jit
    def improve(state: Any, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        actions, rewards = play(bare, agent, state, limit)
        plan = jax.vmap(searches[0].as_step)(actions)
        for search in searches:
            plan = search.plan(state, bare.observation(state, key), plan, key)
        actions = jax.vmap(searches[0].as_action)(plan)
        return rewards.sum(), branch(bare, state, actions[None], key).timestep.reward.sum()

    found = [improve(first_state(bare, number), funcenv.key(number)) for number in range(num_starts)]
    return tuple(np.array(returns) for returns in zip(*found, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=["acrobot", "plans"])
    parser.add_argument("env_id", nargs="?", default="Acrobot-v1", help="environment of plans")
    parser.add_argument("--run", help="run with the agent, instead of the zoo's")
    parser.add_argument("--starts", type=int, default=20, help="episodes")
    parser.add_argument("--width", type=int, default=100_000, help="states that are kept after each step of Acrobot")
    parser.add_argument("--samples", type=int, default=500, help="sequences in an iteration of CEM")
    parser.add_argument("--iterations", type=int, default=60, help="iterations of each of its rounds")
    asked = parser.parse_args()
    agent: Any = funcenv.load_policy(asked.run or f"zoo/{asked.env_id}")
    if asked.study == "acrobot":
        played, found = acrobot(agent, asked.width, asked.starts)
    else:
        played, found = plans(asked.env_id, agent, asked.starts, asked.samples, asked.iterations)
    gain = found - played
    interval = 1.96 * gain.std(ddof=1) / len(gain) ** 0.5
    print(f"{asked.env_id}, {len(gain)} episodes: agent {played.mean():.2f}, search {found.mean():.2f}")
    print(f"gain {gain.mean():.2f} +- {interval:.2f}, from {gain.min():.2f} to {gain.max():.2f}")


if __name__ == "__main__":
    main()
