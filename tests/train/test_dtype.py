"""Hidden layers in bfloat16: what they compute with, what stays float32, and that agents learn."""

import dataclasses

import jax
import jax.numpy as jnp
import pytest

import funcenv
from funcenv._compile.options import default_promotion
from funcenv.train import dqn, ppo, pqn, recurrent_ppo, sac, simba, td3, tqc
from funcenv.train.loop import Learner

OFF_POLICY = {"num_envs": 2, "total_timesteps": 64, "hidden_sizes": (8, 8), "learning_starts": 8, "buffer_size": 64}
CONFIGS = {
    "dqn": dqn.Config(**OFF_POLICY),
    "ppo": ppo.Config(num_envs=2, num_steps=8, num_minibatches=2, total_timesteps=64, hidden_sizes=(8, 8)),
    "pqn": pqn.Config(num_envs=2, num_steps=8, num_minibatches=2, total_timesteps=64, hidden_sizes=(8, 8)),
    "recurrent_ppo": recurrent_ppo.Config(
        num_envs=2, num_steps=8, num_minibatches=2, total_timesteps=64, hidden_sizes=(8, 8), memory_size=8
    ),
    "sac": sac.Config(**OFF_POLICY, env_id="Pendulum-v1"),
    "simba": simba.Config(**OFF_POLICY, env_id="Pendulum-v1", residual_width=8),
    "tqc": tqc.Config(**OFF_POLICY, env_id="Pendulum-v1"),
    "td3": td3.Config(**OFF_POLICY, env_id="Pendulum-v1"),
}


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_hidden_layers_alone_are_bfloat16(name):
    """The train state and what an agent returns have the dtypes of a run in float32; two hidden products differ."""
    config = CONFIGS[name]
    low = dataclasses.replace(config, dtype="bfloat16")
    shapes = [Learner(name, one).template(funcenv.key(0)) for one in (config, low)]
    assert jax.tree.map(lambda leaf: leaf.dtype, shapes[0]) == jax.tree.map(lambda leaf: leaf.dtype, shapes[1])
    learner = Learner(name, low)
    agent = jax.eval_shape(lambda key: learner.agent(learner.init(key)), funcenv.key(0))
    observation = learner.env.observation_space.abstract_member()
    with default_promotion():
        program = str(jax.make_jaxpr(lambda agent, observation: agent(observation, funcenv.key(0)))(agent, observation))
    products = [line.split("=")[0] for line in program.splitlines() if "dot_general[" in line]
    assert sum("bf16" in line for line in products) >= 2, products
    assert any("f32" in line for line in products), products


def test_an_agent_learns_in_bfloat16():
    settings = {"total_timesteps": 60_000, "stop_at_threshold": False}
    config = ppo.Config(dtype="bfloat16", **settings)
    learner = Learner("ppo", config)
    state, metrics = learner.advance_to(learner.init(funcenv.key(0)), config.num_updates)
    assert metrics["mean_return"][-1, 0] > 150
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(learner.agent(state).params))


def test_another_dtype_is_refused():
    with pytest.raises(ValueError, match="dtype must be one of"):
        ppo.Config(dtype="float16")
