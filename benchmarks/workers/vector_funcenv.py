"""Steps of a stateful vector environment, called from Python."""

import jax
import numpy as np
from protocol import serve

import funcenv
from funcenv.adapters.vector.functional_vector_env import FunctionalVectorEnv


def prepare(options):
    jax.config.update("jax_cpu_enable_async_dispatch", options["asynchronous"])
    kwargs = {"output": options["output"], "autoreset_mode": options["autoreset_mode"]}
    envs = FunctionalVectorEnv(funcenv.make("CartPole-v1"), options["num_envs"], **kwargs)
    actions = np.random.default_rng(0).integers(0, 2, (64, options["num_envs"]))
    envs.reset(seed=0)

    def work():
        for number in range(options["steps"]):
            observations = envs.step(actions[number % 64])[0]
        return float(np.abs(observations).mean())

    return work, {"steps": options["steps"], "version": funcenv.__version__, "jax": jax.__version__}


serve(prepare)
