"""PPO on gymnax in the usual end-to-end form: one scan over updates, with keys split at every step.

The algorithm, networks and sizes are funcenv's. As is common in such loops, values and log-probabilities are computed
while stepping, and a time limit counts as termination.
"""

import importlib.metadata

import flax.linen as nn
import gymnax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from protocol import serve


class ActorCritic(nn.Module):
    num_actions: int

    @nn.compact
    def __call__(self, observation):
        def network(size, scale):
            x = observation
            for _ in range(2):
                x = nn.tanh(nn.Dense(64, kernel_init=nn.initializers.orthogonal(np.sqrt(2)))(x))
            return nn.Dense(size, kernel_init=nn.initializers.orthogonal(scale))(x)

        return network(self.num_actions, 0.01), network(1, 1.0)[..., 0]


def log_prob(logits, action):
    return jnp.take_along_axis(jax.nn.log_softmax(logits), action[..., None], axis=-1)[..., 0]


def prepare(options):
    config = options["config"]
    num_envs, num_steps = config["num_envs"], config["num_steps"]
    num_epochs, num_minibatches = config["num_epochs"], config["num_minibatches"]
    num_updates = config["total_timesteps"] // (num_envs * num_steps)
    env, params = gymnax.make(config["env_id"])
    network = ActorCritic(env.num_actions)
    schedule = optax.linear_schedule(config["learning_rate"], 0.0, num_updates * num_epochs * num_minibatches)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(schedule, eps=1e-5))

    def env_step(carry, _):
        weights, state, observation, key = carry
        key, action_key, step_key = jax.random.split(key, 3)
        logits, value = network.apply(weights, observation)
        action = jax.random.categorical(action_key, logits)
        keys = jax.random.split(step_key, num_envs)
        outcome = jax.vmap(env.step, in_axes=(0, 0, 0, None))(keys, state, action, params)
        following, state, reward, terminated, truncated, _ = outcome
        row = (observation, action, log_prob(logits, action), value, reward, terminated | truncated)
        return (weights, state, following, key), row

    def advantages(rows, last_value):
        _, _, _, value, reward, done = rows

        def step(carry, row):
            following, next_value = carry
            value, reward, done = row
            delta = reward + 0.99 * next_value * (1 - done) - value
            following = delta + 0.99 * 0.95 * (1 - done) * following
            return (following, value), following

        zeros = jnp.zeros_like(last_value)
        return jax.lax.scan(step, (zeros, last_value), (value, reward, done), reverse=True, unroll=16)[1]

    def loss(weights, batch):
        observation, action, old_log_prob, old_value, advantage, target = batch
        logits, value = network.apply(weights, observation)
        ratio = jnp.exp(log_prob(logits, action) - old_log_prob)
        near = old_value + jnp.clip(value - old_value, -0.2, 0.2)
        value_loss = 0.5 * jnp.maximum((value - target) ** 2, (near - target) ** 2).mean()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        policy_loss = -jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage).mean()
        log_probs = jax.nn.log_softmax(logits)
        entropy = -(jnp.exp(log_probs) * log_probs).sum(-1).mean()
        return policy_loss + 0.5 * value_loss - 0.01 * entropy

    def update(carry, _):
        weights, optimizer_state, state, observation, key = carry
        (_, state, observation, key), rows = jax.lax.scan(env_step, (weights, state, observation, key), None, num_steps)
        advantage = advantages(rows, network.apply(weights, observation)[1])
        batch = (*rows[:4], advantage, advantage + rows[3])
        batch = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), batch)

        def epoch(carry, _):
            weights, optimizer_state, key = carry
            key, order_key = jax.random.split(key)
            order = jax.random.permutation(order_key, num_envs * num_steps)
            shuffled = jax.tree.map(lambda leaf: leaf[order].reshape(num_minibatches, -1, *leaf.shape[1:]), batch)

            def minibatch(carry, rows):
                weights, optimizer_state = carry
                updates, optimizer_state = optimizer.update(jax.grad(loss)(weights, rows), optimizer_state)
                return (optax.apply_updates(weights, updates), optimizer_state), None

            (weights, optimizer_state), _ = jax.lax.scan(minibatch, (weights, optimizer_state), shuffled)
            return (weights, optimizer_state, key), None

        carry, _ = jax.lax.scan(epoch, (weights, optimizer_state, key), None, num_epochs)
        weights, optimizer_state, key = carry
        return (weights, optimizer_state, state, observation, key), rows[5].sum()

    @jax.jit
    def train(key):
        key, weights_key, reset_key = jax.random.split(key, 3)
        observation, state = jax.vmap(env.reset, in_axes=(0, None))(jax.random.split(reset_key, num_envs), params)
        weights = network.init(weights_key, observation)
        carry = weights, optimizer.init(weights), state, observation, key
        return jax.lax.scan(update, carry, None, num_updates)[1]

    key = jax.random.key(0)
    compiled = train.lower(key).compile()

    def work():
        episodes = np.asarray(compiled(key))
        last = max(num_updates // 20, 1)
        return {"mean_length_of_the_last_updates": float(last * num_envs * num_steps / max(episodes[-last:].sum(), 1))}

    facts = {"steps": num_updates * num_envs * num_steps, "jax": jax.__version__}
    return work, {**facts, "version": importlib.metadata.version("gymnax")}


serve(prepare)
