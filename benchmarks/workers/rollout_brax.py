"""Random policy in an environment of brax.

The environment is made by `brax.envs.create`: episodes of at most 1000 steps, and resets to each environment's first
state. `options["backend"]` names the engine.
"""

import jax
from brax import envs
from protocol import serve
from random_policy import prepare_rollout


def prepare(options):
    env = envs.create(options["env"], batch_size=options["num_envs"], backend=options.get("backend", "generalized"))
    shape = options["num_envs"], env.action_size

    def draw_actions(key):
        return jax.random.uniform(key, shape, minval=-1.0, maxval=1.0)

    def step(state, action):
        state = env.step(state, action)
        return state, state.done

    return prepare_rollout("brax", options, env.reset, draw_actions, step)


if __name__ == "__main__":
    serve(prepare)
