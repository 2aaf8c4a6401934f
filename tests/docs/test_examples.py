"""The scripts of docs/examples do their work, in small."""

import jax
import numpy as np

import funcenv


def test_the_gymnax_style_loop_learns(example):
    loop = example("gymnax_style_loop")
    config = loop.Config(num_updates=100)
    _, returns = jax.jit(jax.vmap(loop.make_train(config)))(jax.random.split(funcenv.key(0), 2))
    assert returns.shape == (2, 100)
    assert returns[:, -20:].mean() > 1.5 * returns[:, :5].mean()


def test_a_gymnasium_script_learns_the_same_task_on_both(example):
    script = example("gymnasium_style_script")
    for env_id in "FrozenLake-v1", "funcenv/FrozenLake-v1":
        returns = script.train(env_id, num_episodes=200)
        assert np.mean(returns[-100:]) > 0.6 > np.mean(returns[:20])
