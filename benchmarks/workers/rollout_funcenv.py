"""Random policy in funcenv, in one compiled program.

`options["keep"]` keeps the trajectory; `options["read"]` adds up the observations, which are not computed where nobody
reads them; `options["in_jit"]` calls the rollout inside a `jax.jit` of the caller's own; `options["generator"]` names
the generator of random numbers.
"""

import jax
import numpy as np
from protocol import serve

import funcenv
import funcenv.envs  # noqa: F401  (imported before the clock starts, like the peers' environments)

jax.devices()  # start the backend before the clock starts


def whole_trajectory(timestep, action):
    return timestep.observation, action, timestep.reward, timestep.terminated, timestep.truncated


def total(timestep, action):
    del action
    return sum(leaf.sum(dtype=np.float32) for leaf in jax.tree.leaves(timestep.observation))


def prepare(options):
    env = funcenv.make(options["env"], **options.get("parameters", {}))
    venv = funcenv.FuncVectorEnv(env, options["num_envs"])
    policy, key = funcenv.random_policy(env), funcenv.key(0, options.get("generator"))
    collect = whole_trajectory if options.get("keep") else total if options.get("read") else None

    def play(key):
        return funcenv.rollout(venv, policy, key, options["num_steps"], collect=collect)

    if options.get("in_jit"):
        play = jax.jit(play)

    def work():
        vstate, kept, statistics = play(key)
        jax.block_until_ready(kept)
        episodes, mean = int(np.asarray(statistics.count)), float(np.asarray(statistics.mean_return))
        unfinished = float(np.asarray(vstate.episode_return).sum())
        return {"episodes": episodes, "reward": unfinished + (episodes * mean if episodes else 0)}

    return work, {
        "steps": options["num_envs"] * options["num_steps"],
        "version": funcenv.__version__,
        "jax": jax.__version__,
    }


if __name__ == "__main__":
    serve(prepare)
