"""Random policy in funcenv, no trajectory kept."""

import jax
from protocol import serve

import funcenv


def prepare(options):
    env = funcenv.make(options["env"])
    venv = funcenv.FuncVectorEnv(env, options["num_envs"])
    policy, key = funcenv.random_policy(env), funcenv.key(0)

    def work():
        _, _, statistics = funcenv.rollout(venv, policy, key, options["num_steps"], collect=None)
        return {"episodes": int(statistics.count), "mean_return": float(statistics.mean_return)}

    return work, {
        "steps": options["num_envs"] * options["num_steps"],
        "version": funcenv.__version__,
        "jax": jax.__version__,
    }


serve(prepare)
