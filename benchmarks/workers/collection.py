"""The loop in which users collect experience: a scan over steps under the caller's own `jax.jit`.

`options["policy"]` is "network", as in PureJaxRL's `ppo.py` (actor and critic with two hidden layers of 64 units, a
sampled action, its log-probability and the value, all kept), or "random" (uniform actions, only rewards kept).
"""

import importlib.metadata

import jax
import jax.numpy as jnp
import numpy as np

jax.devices()  # start the backend before the clock starts


def make_network(num_inputs, num_actions):
    """Return the parameters of an actor and a critic with two hidden layers of 64 units."""
    generator = np.random.default_rng(0)

    def layer(rows, columns, scale):
        weights = np.linalg.qr(generator.standard_normal((max(rows, columns), min(rows, columns))))[0]
        weights = weights if rows >= columns else weights.T
        return jnp.asarray(scale * weights, jnp.float32), jnp.zeros(columns)

    def layers(size, scale):
        return [layer(num_inputs, 64, np.sqrt(2)), layer(64, 64, np.sqrt(2)), layer(64, size, scale)]

    return layers(num_actions, 0.01), layers(1, 1.0)


def apply(layers, x):
    for weights, bias in layers[:-1]:
        x = jnp.tanh(x @ weights + bias)
    weights, bias = layers[-1]
    return x @ weights + bias


def prepare_collection(package, options, key, reset, step, num_inputs, num_actions):
    """Return the work and facts that `protocol.serve` expects.

    Args:
        package: The name of the library, for its version.
        options: `num_envs`, `num_steps` and `policy`.
        key: The key of the loop.
        reset: A function from a key to state and observation of the batch.
        step: A function from a key, state and actions to the next state, and observation, reward and done.
        num_inputs: Numbers in an observation.
        num_actions: Number of actions.
    """
    num_envs, with_network = options["num_envs"], options["policy"] == "network"

    def step_env(carry, _):
        network, state, observation, key = carry
        key, action_key, step_key = jax.random.split(key, 3)
        if with_network:
            actor, critic = network
            logits, value = apply(actor, observation), apply(critic, observation)[..., 0]
            action = jax.random.categorical(action_key, logits)
            log_prob = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], axis=-1)[:, 0]
        else:
            action = jax.random.randint(action_key, (num_envs,), 0, num_actions)
        state, (following, reward, done) = step(step_key, state, action)
        kept = (done, action, value, reward, log_prob, observation) if with_network else (reward, done)
        return (network, state, following, key), kept

    @jax.jit
    def collect(network, state, observation, key):
        carry, kept = jax.lax.scan(step_env, (network, state, observation, key), None, options["num_steps"])
        return carry[1:], kept

    reset_key, loop_key = jax.random.split(key)
    start = (*jax.jit(reset)(reset_key), loop_key)
    network = make_network(num_inputs, num_actions)

    def work():
        (_, _, _), kept = jax.block_until_ready(collect(network, *start))
        reward, done = (kept[3], kept[0]) if with_network else kept
        return {"episodes": int(done.sum()), "reward": float(reward.sum())}

    facts = {"steps": num_envs * options["num_steps"], "jax": jax.__version__}
    return work, {**facts, "version": importlib.metadata.version(package)}
