"""Fails if a CartPole rollout lost most of its speed, measured against a plain JAX loop in the same process.

Only the ratio counts, so the bound holds on any machine: benchmarks/ has the figures. Both programs are compiled with
JAX's default options, as users have them, and take turns.
"""

from __future__ import annotations

import sys
import time

import jax
import jax.numpy as jnp

import funcenv

NUM_ENVS, NUM_STEPS, NUM_ROUNDS = 1024, 1000, 5
MIN_RATIO = (
    5.0  # of our steps per second to those of the loop; without the fast path it is about 4, and with it above 20
)


def plain_step(carry: tuple[jax.Array, jax.Array], key: jax.Array) -> tuple[tuple[jax.Array, jax.Array], None]:
    """Step CartPole with a random action, and reset it where it ends; the textbook equations."""
    state, total = carry
    action_key, reset_key = jax.random.split(key)
    x, x_dot, theta, theta_dot = state
    force = jnp.where(jax.random.randint(action_key, (), 0, 2) == 1, 10.0, -10.0)
    cos, sin = jnp.cos(theta), jnp.sin(theta)
    temp = (force + 0.05 * theta_dot**2 * sin) / 1.1
    theta_acc = (9.8 * sin - cos * temp) / (0.5 * (4.0 / 3.0 - 0.1 * cos**2 / 1.1))
    x_acc = temp - 0.05 * theta_acc * cos / 1.1
    moved = jnp.stack([x + 0.02 * x_dot, x_dot + 0.02 * x_acc, theta + 0.02 * theta_dot, theta_dot + 0.02 * theta_acc])
    done = (jnp.abs(moved[0]) > 2.4) | (jnp.abs(moved[2]) > 0.20943951)
    fresh = jax.random.uniform(reset_key, (4,), minval=-0.05, maxval=0.05)
    return (jnp.where(done, fresh, moved), total + done), None


@jax.jit
def plain_rollout(key: jax.Array) -> jax.Array:
    """Return how many episodes of `NUM_ENVS` environments end in `NUM_STEPS` steps."""

    def one(key: jax.Array) -> jax.Array:
        (_, total), _ = jax.lax.scan(plain_step, (jnp.zeros(4), jnp.int32(0)), jax.random.split(key, NUM_STEPS))
        return total

    return jnp.sum(jax.vmap(one)(jax.random.split(key, NUM_ENVS)))


def seconds(function: object, key: jax.Array) -> float:
    start = time.perf_counter()
    jax.block_until_ready(function(key))  # type: ignore[operator]
    return time.perf_counter() - start


def main() -> None:
    venv = funcenv.FuncVectorEnv(funcenv.make("CartPole-v1"), NUM_ENVS)
    policy = funcenv.random_policy(venv)

    def our_rollout(key: jax.Array) -> jax.Array:
        return funcenv.rollout(venv, policy, key, NUM_STEPS, collect=None)[2].count

    ours, theirs = int(our_rollout(funcenv.key(0))), int(plain_rollout(jax.random.key(0)))
    if not 0.9 < ours / theirs < 1.1:
        sys.exit(f"both should play CartPole, but {ours} and {theirs} episodes ended")
    times = [
        (seconds(our_rollout, funcenv.key(i)), seconds(plain_rollout, jax.random.key(i))) for i in range(NUM_ROUNDS)
    ]
    ratio = min(theirs for _, theirs in times) / min(ours for ours, _ in times)
    print(f"a CartPole rollout runs {ratio:.1f} times as fast as a plain JAX loop; at least {MIN_RATIO:g} is expected")
    if ratio < MIN_RATIO:
        sys.exit("the rollout lost its speed: see docs/benchmarks.md for what it should be")


if __name__ == "__main__":
    main()
