"""Steps of a vector environment of CartPoles from Python: `options["kind"]` is "funcenv" or "gymnasium"."""

import importlib.metadata

import numpy as np
from protocol import serve


def make(options):
    if options["kind"] == "gymnasium":
        from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

        return CartPoleVectorEnv(options["num_envs"])
    import jax

    import funcenv
    from funcenv.adapters.vector.functional_vector_env import FunctionalVectorEnv

    jax.config.update("jax_cpu_enable_async_dispatch", options["asynchronous"])
    kwargs = {"output": options["output"], "autoreset_mode": options["autoreset_mode"]}
    return FunctionalVectorEnv(funcenv.make("CartPole-v1"), options["num_envs"], **kwargs)


def prepare(options):
    envs = make(options)
    actions = np.random.default_rng(0).integers(0, 2, (64, options["num_envs"]))
    envs.reset(seed=0)

    def work():
        for number in range(options["steps"]):
            observations = envs.step(actions[number % 64])[0]
        return float(np.abs(observations).mean())

    return work, {"steps": options["steps"], "version": importlib.metadata.version(options["kind"])}


serve(prepare)
