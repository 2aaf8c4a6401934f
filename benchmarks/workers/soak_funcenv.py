"""A long rollout without a trajectory, during which memory must not grow. A turn takes `options["steps"]` steps."""

import gc

import jax
from protocol import resident_megabytes, serve

import funcenv


def prepare(options):
    env, num_envs, num_steps = funcenv.make(options["env"]), options["num_envs"], options["num_steps"]
    venv = funcenv.FuncVectorEnv(env, num_envs)
    policy, root = funcenv.random_policy(env), funcenv.key(0)
    calls = max(1, round(options["steps"] / (num_envs * num_steps)))
    vstate, number = jax.jit(venv.reset)(root)[0], 0

    def work():
        nonlocal vstate, number
        for _ in range(calls):
            key = jax.random.fold_in(root, number)
            vstate, _, statistics = funcenv.rollout(venv, policy, key, num_steps, vstate=vstate, collect=None)
            number += 1
        mean_length = float(statistics.mean_length)
        gc.collect()
        return {"rss_mb": resident_megabytes(), "mean_length": mean_length}

    return work, {"steps": calls * num_envs * num_steps, "version": funcenv.__version__, "jax": jax.__version__}


serve(prepare)
