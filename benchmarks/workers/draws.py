"""Draws of random numbers from many keys in a loop, compiled as one kernel like a rollout."""

import jax
import jax.numpy as jnp
from protocol import serve

import funcenv
from funcenv._compile.single_kernel import compile_single_kernel
from funcenv.random import find_impl


def scalar(key, number):
    """Draw one word from a key that differs at each step, at little cost."""
    data = jax.random.key_data(key) ^ number
    return jax.random.bits(jax.random.wrap_key_data(data, impl=jax.random.key_impl(key)))


def fold(key, number):
    data = jax.random.key_data(jax.random.fold_in(key, number))
    return data[0] ^ data[1]


def fold_then_split(key, number):
    first, second = map(jax.random.key_data, jax.random.split(jax.random.fold_in(key, number)))
    return (first[0] ^ first[1]) + (second[0] ^ second[1])


def fold_then_uniform_4(key, number):
    a, b, c, d = jax.random.uniform(jax.random.fold_in(key, number), (4,))
    return a + b * c + d


DRAWS = {draw.__name__: draw for draw in (scalar, fold, fold_then_split, fold_then_uniform_4)}


def prepare(options):
    draw, num_envs, num_steps = DRAWS[options["what"]], options["num_envs"], options["num_steps"]
    keys = jax.random.split(jax.random.key(0, impl=find_impl(options["generator"])), num_envs)

    def run(keys):
        def step(total, number):
            return total + jax.vmap(draw, (0, None))(keys, number).astype(jnp.float32), None

        return jax.lax.scan(step, jnp.zeros(num_envs), jnp.arange(num_steps, dtype=jnp.uint32))[0]

    program = compile_single_kernel(run, keys)
    if program is None:
        raise SystemExit("XLA does not compile the draws as one kernel; unset FUNCENV_NO_FAST_PATH")

    def work():
        program(keys).block_until_ready()

    return work, {"steps": num_envs * num_steps, "version": funcenv.__version__}


serve(prepare)
