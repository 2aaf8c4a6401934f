"""Random policy in pgx, with its `auto_reset` wrapper: the vectorized step of its documentation in a `jax.lax.scan`."""

import jax
import pgx
import pgx.experimental
from protocol import serve
from random_policy import prepare_rollout


def prepare(options):
    env, num_envs = pgx.make(options["env"]), options["num_envs"]
    step = jax.vmap(pgx.experimental.auto_reset(env.step, env.init))

    def reset(key):
        state_key, step_key = jax.random.split(key)
        return jax.vmap(env.init)(jax.random.split(state_key, num_envs)), step_key

    def step_all(carried, actions):
        state, key = carried
        key, step_key = jax.random.split(key)
        state = step(state, actions, jax.random.split(step_key, num_envs))
        return (state, key), state.terminated

    def draw_actions(key):
        return jax.random.randint(key, (num_envs,), 0, env.num_actions)

    return prepare_rollout("pgx", options, reset, draw_actions, step_all)


if __name__ == "__main__":
    serve(prepare)
