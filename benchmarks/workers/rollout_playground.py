"""Random policy in an environment of MuJoCo Playground, with its wrappers for training, in MJX.

Episodes have at most 1000 steps and are reset to each environment's first state, as in brax.
"""

import jax
from mujoco_playground import registry, wrapper
from protocol import serve
from random_policy import prepare_rollout


def prepare(options):
    config = registry.get_default_config(options["env"])
    config.impl = "jax"
    env = wrapper.wrap_for_brax_training(registry.load(options["env"], config=config), episode_length=1000)
    num_envs = options["num_envs"]

    def reset(key):
        return env.reset(jax.random.key_data(jax.random.split(key, num_envs)))  # it takes keys as numbers

    def draw_actions(key):
        return jax.random.uniform(key, (num_envs, env.action_size), minval=-1.0, maxval=1.0)

    def step(state, action):
        state = env.step(state, action)
        return state, state.done

    return prepare_rollout("playground", options, reset, draw_actions, step)


if __name__ == "__main__":
    serve(prepare)
