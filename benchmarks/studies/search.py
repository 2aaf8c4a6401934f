"""Costs and gains of searching real environments: branches of states, planning in LunarLander, learning in MinAtar.

    python benchmarks/studies/search.py branches        1,000 branches of one state in one call, beside copies of C's
    python benchmarks/studies/search.py lander          PPO's agent, with and without a search on top of it
    python benchmarks/studies/search.py minatar         AlphaZero, which learns from searches, beside PPO at equal steps

`branches` first compares every branch with its replay from the same state, bit for bit. The other side is Gymnasium's
own environment, which is brought back to the state for each branch, as its simulator allows: Atari by
`restore_state`, MuJoCo by its positions and velocities, Box2D, which has no such call, by playing again from the reset.
LunarLander's other side needs `pip install "gymnasium[box2d]"`.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import numpy as np

import funcenv
from funcenv.policy import adapted
from funcenv.search import branch, make_search, playouts
from funcenv.train import alphazero
from funcenv.train.loop import Learner
from funcenv.train.presets import preset

BRANCHED: dict[str, dict[str, Any]] = {  # with arguments of `make`, also of Gymnasium's
    "arcade/Pong-v0": {"obs_type": "ram"},  # A search needs no screens, and a thousand of them are 100 MB a step.
    "ALE/Pong-v5": {"obs_type": "ram"},
    "Ant-v5": {},
    "LunarLander-v3": {},
}
REFERENCES = {"arcade/Pong-v0": "ALE/Pong-v5"}  # where Gymnasium has another name
NUM_PLAYED = 60  # steps before the state that is branched
GAMES = tuple(f"MinAtar/{name}-v1" for name in ("Breakout", "Asterix", "SpaceInvaders", "Freeway", "Seaquest"))


def clock(work: Callable[[], Any]) -> tuple[float, float]:
    """Return the wall and CPU seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    jax.block_until_ready(work())
    return time.perf_counter() - wall, time.process_time() - cpu


def actions_of(env: Any, shape: tuple[int, ...], seed: int) -> Any:
    """Return random actions `[*shape, ...]`."""
    keys = jax.random.split(funcenv.key(seed), int(np.prod(shape)))
    actions = jax.vmap(env.action_space.sample)(keys)
    return jax.tree.map(lambda leaf: leaf.reshape(*shape, *leaf.shape[1:]), actions)


def branches(env_id: str, num_branches: int, num_steps: int) -> dict[str, Any]:
    """Branch one state many times in one call, compare some branches with replays, and time both libraries."""
    env = funcenv.make(env_id, **BRANCHED[env_id])
    first = actions_of(env, (NUM_PLAYED,), 1)
    state, timestep = env.reset(funcenv.key(0))
    step = jax.jit(env.step)
    for number in range(NUM_PLAYED):
        state, timestep = step(state, first[number], jax.random.fold_in(funcenv.key(2), number))
    assert not timestep.done
    actions, key = actions_of(env, (num_branches, num_steps), 3), funcenv.key(4)
    many = jax.jit(branch)
    played = many(env, state, actions, key)
    keys = jax.random.split(key, num_branches)
    equal, chosen = 0, range(0, num_branches, max(num_branches // 20, 1))
    for index in chosen:
        at, rewards = state, []
        for number in range(num_steps):
            at, timestep = step(at, actions[index, number], jax.random.fold_in(keys[index], number))
            rewards.append(np.asarray(timestep.reward))
            if timestep.done:
                break
        alone = np.array(rewards), jax.device_get(timestep.observation)
        there = played.timestep.reward[index, : len(rewards)], played.timestep.observation[index, len(rewards) - 1]
        equal += all(np.array_equal(one, other) for one, other in zip(alone, there, strict=True))
    steps = int((1 - np.asarray(played.timestep.done)).sum()) + num_branches  # those after an end are not counted
    ours = min(clock(lambda: many(env, state, actions, key)) for _ in range(3))
    wall, taken = reference(env_id, np.asarray(first), np.asarray(actions))
    return {
        "branches": num_branches,
        "steps": num_steps,
        "replays_equal": f"{equal} of {len(chosen)}",
        "steps_per_second": round(steps / ours[0]),
        "reference_steps_per_second": round(taken / wall),
        "ratio": round(steps / ours[0] / (taken / wall), 2),
        "ratio_of_cpu_seconds": round(steps / ours[1] / (taken / wall), 2),
    }


def reference(env_id: str, first: Any, actions: Any) -> tuple[float, int]:
    """Return the seconds and the steps of Gymnasium's environment for the same branches, or a tenth of them."""
    import ale_py

    gymnasium.register_envs(ale_py)
    arguments, env_id = BRANCHED[env_id], REFERENCES.get(env_id, env_id)
    env = gymnasium.make(env_id, **arguments)
    env.reset(seed=0)
    bare: Any = env.unwrapped

    def play() -> None:
        for action in first:
            bare.step(action)

    def play_again() -> None:
        env.reset(seed=0)
        play()

    play()
    if env_id.startswith("ALE/"):
        go_back = functools.partial(bare.restore_state, bare.clone_state(include_rng=True))
    elif hasattr(bare, "set_state"):
        go_back = functools.partial(bare.set_state, bare.data.qpos.copy(), bare.data.qvel.copy())
    else:
        go_back = play_again
    count, start = 0, time.perf_counter()
    for sequence in actions[: max(len(actions) // 10, 1)]:
        go_back()
        for action in sequence:
            terminated = bare.step(action)[2]
            count += 1
            if terminated:
                break
    return time.perf_counter() - start, count


def lander(searches: list[str], num_episodes: int, num_simulations: int, num_steps: int, total_timesteps: int) -> Any:
    """Train PPO's preset, and yield the results of the agent and of searches whose values are plays, by name."""
    config = dataclasses.replace(preset("LunarLander-v3", "ppo"), total_timesteps=total_timesteps)
    learner = Learner("ppo", config)
    state, _ = learner.advance_to(learner.init(funcenv.key(config.seed)), config.num_updates)
    agent, env = learner.agent(state), learner.env
    yield "the agent", play(env, agent, num_episodes)

    unit = jax.tree.map(lambda leaf: leaf[0], state.reward_scale).moments.scale(np.ones(()))

    def critic(parts: Any, observation: Any) -> jax.Array:
        agent, unit = parts
        return agent.observe(observation)[1] / unit  # in units of the rewards, which training scales

    def with_prior(parts: Any, state: Any, observation: Any, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        plays, agent = parts
        return plays(state, observation, key)[0], agent.observe(observation)[0].logits

    for name in searches:
        player = funcenv.random_policy(env) if name == "random" else agent
        value = jax.tree_util.Partial(critic, (agent, unit)) if name == "critic" else None
        plays: Any = playouts(env, player, num_steps, gamma=config.gamma, value=value)
        if name != "random":
            plays = jax.tree_util.Partial(with_prior, (plays, agent))
        method: Any = "muzero" if name == "random" else "gumbel"
        search = make_search(env, plays, num_simulations, gamma=config.gamma, method=method)
        by = "agent plays and its critic after" if name == "critic" else f"{name} plays of"
        about = f"{num_simulations} simulations, {by} {num_steps} steps"
        yield about, play(env, search, num_episodes)


def play(env: Any, policy: Any, num_episodes: int) -> dict[str, Any]:
    """Play episodes, all at once, and return their mean return with what a step costs."""
    venv = funcenv.FuncVectorEnv(adapted(env, policy), num_episodes, autoreset_mode=funcenv.AutoresetMode.DISABLED)
    reset_key, act_key = jax.random.split(funcenv.key(5))

    @jax.jit
    def step(vstate: Any, observation: Any, key: jax.Array) -> tuple[Any, Any]:
        return venv.step(vstate, jax.vmap(policy)(observation, jax.random.split(key, num_episodes)))

    vstate, timestep = venv.reset(reset_key)
    start = time.process_time()
    step = step.lower(vstate, timestep.observation, act_key).compile()  # type: ignore[attr-defined]
    compiled, wall = time.process_time(), time.perf_counter()
    totals, lengths, over = np.zeros(num_episodes), np.zeros(num_episodes), np.zeros(num_episodes, bool)
    count = 0
    while not over.all():
        vstate, timestep = step(vstate, timestep.observation, jax.random.fold_in(act_key, count))
        totals += np.where(over, 0, np.asarray(timestep.reward))
        lengths += ~over
        over |= np.asarray(timestep.done)
        count += 1
        if count % 50 == 0:
            print(f"{count} steps, {time.perf_counter() - wall:.0f} s, returns {np.round(totals[over], 1)}", flush=True)
    seconds, half = time.perf_counter() - wall, 1.96 * totals.std(ddof=1) / np.sqrt(num_episodes)
    return {
        "returns": np.round(totals, 1).tolist(),
        "mean_return": round(float(totals.mean()), 1),
        "half_interval": round(float(half), 1),
        "mean_length": round(float(lengths.mean()), 1),
        "milliseconds_a_step_of_all_episodes": round(1e3 * seconds / count, 2),
        "compile_cpu_seconds": round(compiled - start, 1),
        "cpu_seconds": round(time.process_time() - compiled, 1),
    }


def minatar(env_id: str, num_episodes: int, total_timesteps: int, num_seeds: int) -> dict[str, Any]:
    """Train seeds of AlphaZero and PPO by their presets for equally many steps, and test them.

    Returns are means over episodes of most likely actions, one for each seed. The first seed of AlphaZero also plays
    with searches of `num_simulations`.
    """
    results: dict[str, Any] = {"total_timesteps": total_timesteps, "episodes": num_episodes}
    for name in ("ppo", "alphazero"):
        config = dataclasses.replace(preset(env_id, name), total_timesteps=total_timesteps, num_seeds=num_seeds)
        learner, start = Learner(name, config), time.process_time()
        state, _ = learner.advance_to(learner.init(funcenv.key(config.seed)), config.num_updates)
        jax.block_until_ready(state)
        seconds = time.process_time() - start
        agents = [learner.agent(state, seed) for seed in range(num_seeds)]
        played = [funcenv.evaluate(learner.env, agent, num_episodes, funcenv.key(5)) for agent in agents]
        results[name] = {
            "returns": [round(float(evaluation.mean_return), 2) for evaluation in played],
            "cpu_seconds": round(seconds, 1),
        }
        print(env_id, name, results[name], flush=True)
        if name == "alphazero":
            search = alphazero.search_with(config, learner.env, agents[0])
            with_search = funcenv.evaluate(learner.env, search, num_episodes, funcenv.key(5))
            results["first seed with search"] = round(float(with_search.mean_return), 2)
    return results


def main() -> None:
    """Run one of the studies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=["branches", "lander", "minatar"])
    parser.add_argument("--output", type=pathlib.Path, help="write the results to this file")
    parser.add_argument("--ids", nargs="+", default=list(BRANCHED), choices=list(BRANCHED))
    parser.add_argument("--branches", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=40, help="of a branch, or of a play from a leaf of the tree")
    parser.add_argument("--searches", nargs="*", default=["agent", "critic"], choices=["agent", "critic", "random"])
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--simulations", type=int, default=64)
    parser.add_argument("--total-timesteps", type=int, help="of training; by default 1.5 million, or 1 in MinAtar")
    parser.add_argument("--games", nargs="+", default=list(GAMES), choices=GAMES, help="of MinAtar")
    parser.add_argument("--seeds", type=int, default=3, help="of agents of MinAtar")
    options = parser.parse_args()
    if options.study == "branches":
        found: Any = ((env_id, branches(env_id, options.branches, options.steps)) for env_id in options.ids)
    elif options.study == "minatar":
        training = options.total_timesteps or 1_000_000, options.seeds
        found = ((env_id, minatar(env_id, options.episodes, *training)) for env_id in options.games)
    else:
        sizes = options.episodes, options.simulations, options.steps, options.total_timesteps or 1_500_000
        found = lander(options.searches, *sizes)
    results: dict[str, Any] = {}
    for name, result in found:
        results[name] = result
        print(name, result, flush=True)
        if options.output is not None:
            options.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
