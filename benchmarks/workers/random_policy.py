"""The rollout of peers whose environments run inside JAX: random actions in one compiled `jax.lax.scan`."""

import importlib.metadata

import jax
import jax.numpy as jnp

jax.devices()  # start the backend before the clock starts


def prepare_rollout(package, options, reset, draw_actions, step):
    """Return the work and facts that `protocol.serve` expects.

    Args:
        package: The name of the peer, for its version.
        options: `num_envs` and `num_steps`.
        reset: A function from a key to the batched state.
        draw_actions: A function from a key to `num_envs` actions.
        step: A function from state and actions to the next state and a flag for each episode that ended.
    """

    @jax.jit
    def run(key):
        key, reset_key = jax.random.split(key)

        def body(carry, _):
            key, state, episodes = carry
            key, action_key = jax.random.split(key)
            state, is_done = step(state, draw_actions(action_key))
            return (key, state, episodes + is_done.astype(jnp.int32)), None

        carry = key, reset(reset_key), jnp.zeros(options["num_envs"], jnp.int32)
        (_, _, episodes), _ = jax.lax.scan(body, carry, None, options["num_steps"])
        return episodes.sum()

    key = jax.random.key(0)
    facts = {"steps": options["num_envs"] * options["num_steps"], "jax": jax.__version__}
    return lambda: {"episodes": int(run(key))}, {**facts, "version": importlib.metadata.version(package)}
