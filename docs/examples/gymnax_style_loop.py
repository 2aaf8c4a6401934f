"""A training loop with the structure of gymnax programs: `train(key)`, compiled and mapped over seeds.

A comment above each call that changed gives the call in gymnax 1.0.1; the rest is unchanged. The learner is REINFORCE
with a learned baseline, and one network with one hidden layer.

    python docs/examples/gymnax_style_loop.py --num-seeds 4 --num-updates 200
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import funcenv


class Config(NamedTuple):
    """Sizes and rates of a run."""

    env_id: str = "CartPole-v1"
    num_envs: int = 16
    num_steps: int = 64
    num_updates: int = 200
    hidden: int = 32
    learning_rate: float = 0.05
    discount: float = 0.99


class Step(NamedTuple):
    """The part of a step that is kept, `[num_steps, num_envs, ...]`."""

    observation: jax.Array
    action: jax.Array
    reward: jax.Array
    terminated: jax.Array
    done: jax.Array
    final_observation: jax.Array
    returned: jax.Array  # return of the episode, where one ended


def make_train(config: Config) -> Any:
    """Return the function `train(key) -> (params, mean return of the episodes of each update)`."""
    # gymnax: env, params = gymnax.make(config.env_id)
    env = funcenv.make(config.env_id)
    # gymnax: env = LogWrapper(env); jax.vmap(env.reset, (0, None)); jax.vmap(env.step, (0, 0, 0, None))
    venv = funcenv.FuncVectorEnv(env, config.num_envs)
    # gymnax: env.observation_space(params).shape, env.action_space(params).n
    num_inputs, num_actions = funcenv.spaces.flatdim(env.observation_space), funcenv.spaces.flatdim(env.action_space)

    def network(params: Any, observation: jax.Array) -> tuple[jax.Array, jax.Array]:
        hidden = jnp.tanh(observation @ params["in"] + params["bias"])
        return hidden @ params["policy"], (hidden @ params["value"])[..., 0]

    def init(key: jax.Array) -> Any:
        keys = jax.random.split(key, 3)
        return {
            "in": jax.random.normal(keys[0], (num_inputs, config.hidden), float) / num_inputs**0.5,
            "bias": jnp.zeros((1, config.hidden), float),
            "policy": 0.01 * jax.random.normal(keys[1], (config.hidden, num_actions), float),
            "value": jax.random.normal(keys[2], (config.hidden, 1), float) / config.hidden**0.5,
        }

    def collect(params: Any, vstate: Any, observation: jax.Array, key: jax.Array) -> Any:
        def step(carry: Any, key: jax.Array) -> Any:
            vstate, observation = carry
            action = jax.random.categorical(key, network(params, observation)[0])
            # gymnax: obs, state, reward, terminated, truncated, info = env.step(keys, state, action, params)
            vstate, timestep = venv.step(vstate, action)
            kept = Step(
                observation=observation,
                action=action,
                reward=timestep.reward,
                terminated=timestep.terminated,
                done=timestep.done,
                final_observation=timestep.final_observation,  # gymnax: info["final_observation"]
                returned=timestep.episode_return,  # gymnax: info["returned_episode_returns"]
            )
            return (vstate, timestep.observation), kept

        return jax.lax.scan(step, (vstate, observation), jax.random.split(key, config.num_steps))

    def targets(params: Any, steps: Step) -> jax.Array:
        """Compute discounted returns, bootstrapped unless the episode terminated."""
        after = network(params, steps.final_observation.reshape(-1, num_inputs))[1].reshape(steps.reward.shape)

        def accumulate(later: jax.Array, step: Any) -> tuple[jax.Array, jax.Array]:
            reward, terminated, done, after = step
            follows = jnp.where(done, jnp.where(terminated, 0.0, after), later)
            target = reward + config.discount * follows
            return target, target

        rows = steps.reward, steps.terminated, steps.done, after
        return jax.lax.scan(accumulate, after[-1], rows, reverse=True)[1]

    def loss(params: Any, steps: Step, target: jax.Array) -> jax.Array:
        scores, value = network(params, steps.observation.reshape(-1, num_inputs))
        chosen = jnp.take_along_axis(jax.nn.log_softmax(scores), steps.action.reshape(-1, 1), axis=1)[:, 0]
        error = target.reshape(-1) - value
        advantage = jax.lax.stop_gradient((error - error.mean()) / (error.std() + 1e-6))
        return -(chosen * advantage).mean() + 1e-3 * jnp.square(error).mean()

    def train(key: jax.Array) -> tuple[Any, jax.Array]:
        params_key, reset_key, key = jax.random.split(key, 3)
        params = init(params_key)
        # gymnax: obs, state = jax.vmap(env.reset, (0, None))(jax.random.split(reset_key, config.num_envs), params)
        vstate, timestep = venv.reset(reset_key)

        def update(carry: Any, key: jax.Array) -> tuple[Any, jax.Array]:
            params, vstate, observation = carry
            (vstate, observation), steps = collect(params, vstate, observation, key)
            gradient = jax.grad(loss)(params, steps, targets(params, steps))
            norm = jnp.sqrt(sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(gradient)))
            rate = config.learning_rate / jnp.maximum(norm, 1.0)
            params = jax.tree.map(lambda leaf, slope: leaf - rate * slope, params, gradient)
            ended = steps.done.astype(float)
            return (params, vstate, observation), (ended * steps.returned).sum() / jnp.maximum(ended.sum(), 1)

        carry = params, vstate, timestep.observation
        (params, _, _), returns = jax.lax.scan(update, carry, jax.random.split(key, config.num_updates))
        return params, returns

    return train


def main() -> None:
    """Train a few seeds in one program and print their returns."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--num-seeds", type=int, default=4)
    parser.add_argument("--num-updates", type=int, default=Config().num_updates)
    arguments = parser.parse_args()
    train = make_train(Config(num_updates=arguments.num_updates))
    _, returns = jax.jit(jax.vmap(train))(jax.random.split(funcenv.key(0), arguments.num_seeds))
    for number in range(0, arguments.num_updates, max(1, arguments.num_updates // 10)):
        print(f"update {number:4d}: mean return {float(returns[:, number].mean()):6.1f}")


if __name__ == "__main__":
    main()
