"""Steps of funcenv's stateful environments from Python.

`options["kind"]` is "single" for `FunctionalEnv`, "registered" for the same from `gymnasium.make`, or "vector" for
`FunctionalVectorEnv`, with the dispatch of `options["asynchronous"]`.
"""

import stepping
from protocol import serve

import funcenv
from funcenv.adapters import FunctionalEnv, FunctionalVectorEnv


def prepare(options):
    version, num_steps = funcenv.__version__, options["num_steps"]
    if options["kind"] == "registered":
        import gymnasium

        env_id = f"funcenv.adapters.gymnasium:funcenv/{options['env']}"  # the module registers the ids
        return stepping.single(gymnasium.make(env_id), num_steps, version)
    env = funcenv.make(options["env"])
    if options["kind"] == "single":
        return stepping.single(FunctionalEnv(env), num_steps, version)
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", options["asynchronous"])
    num_envs, choices = options["num_envs"], {name: options[name] for name in ("output", "autoreset_mode")}
    envs = FunctionalVectorEnv(env, num_envs, **choices)
    return stepping.vector(envs, env.action_space, num_envs, num_steps, version)


serve(prepare)
