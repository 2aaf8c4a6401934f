"""The same life for every environment, however a rollout is compiled: plain, as one function, in chunks, sharded."""

import itertools
import os
import pathlib
import subprocess
import sys
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import AutoresetMode, FuncVectorEnv
from funcenv._compile.chunks import Chunks
from funcenv._compile.rollout.play import verified_rollout
from funcenv._compile.verified import recorded_choices
from funcenv.envs import CartPole
from funcenv.wrappers import TimeLimit
from tests.support import environments

pytestmark = pytest.mark.fast_path

NUM_ENVS, NUM_STEPS = 10, 24
NEW_EPISODE = 9  # steps: every environment begins anew more than once

IDS = environments.kernel_ids()
ALWAYS = [id for id in environments.samples() if id in IDS]
SPREAD = ["CartPole-v0", "FrozenLake-v1"]


def in_chunks_of(size, monkeypatch):
    monkeypatch.setattr(Chunks, "fit", lambda num_envs, bytes_per_env: Chunks(num_envs, size))
    verified_rollout.cache_clear()


def plain(venv, num_steps=NUM_STEPS, **options):
    """Play by the plain program, compiled without optimization."""
    policy = funcenv.random_policy(venv)
    program = jax.jit(
        lambda key: funcenv.rollout(venv, policy, key, num_steps, **options),
        compiler_options={"xla_backend_optimization_level": 0},
    )
    with mock.patch.dict(os.environ, FUNCENV_NO_FAST_PATH="1"):
        return program(funcenv.key(0))


def as_one(venv, num_steps=NUM_STEPS, **options):
    """Play by a kernel."""
    with recorded_choices() as choices:
        result = funcenv.rollout(venv, funcenv.random_policy(venv), funcenv.key(0), num_steps, **options)
    assert choices == [("rollout", venv.num_envs, None)], "the kernel is not verified"
    return result


def assert_same(ours, theirs, floats_rounded=True):
    for a, b in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True):
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind == "f" and floats_rounded:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(a, b)


def in_modes(ids, always):
    """Return every environment in every mode; each of `always` runs in one of them, and the other cases rotate."""
    first = set(zip(always, itertools.cycle(AutoresetMode), strict=False))
    cases = itertools.product(ids, AutoresetMode)
    return [pytest.param(*case, marks=[] if case in first else pytest.mark.exhaustive) for case in cases]


@pytest.mark.parametrize(("id", "mode"), in_modes(IDS, ALWAYS))
def test_chunks_of_every_environment_are_the_plain_batch(id, mode, monkeypatch):
    in_chunks_of(4, monkeypatch)  # the third chunk reaches back into the second
    venv = FuncVectorEnv(funcenv.make(id, max_episode_steps=NEW_EPISODE), NUM_ENVS, mode)
    ours, theirs = as_one(venv), plain(venv)
    assert theirs[2].count >= NUM_ENVS * (1 if mode is AutoresetMode.DISABLED else 2)
    assert_same(ours, theirs)


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("size", [4, NUM_ENVS])
def test_parameters_follow_their_environments(mode, size, monkeypatch):
    in_chunks_of(size, monkeypatch)
    gravities = np.linspace(5, 15, NUM_ENVS, dtype=np.float32)
    venv = FuncVectorEnv(TimeLimit(CartPole(gravity=gravities), NEW_EPISODE), NUM_ENVS, mode)
    ours, theirs = as_one(venv), plain(venv)
    assert theirs[2].count >= NUM_ENVS
    assert_same(ours, theirs)


@pytest.mark.parametrize("strategy", ["select", "lazy"])
def test_every_strategy(strategy):
    venv = FuncVectorEnv(funcenv.make("FrozenLake-v1"), NUM_ENVS, reset_strategy=strategy)
    ours, theirs = as_one(venv), plain(venv)
    assert theirs[2].count > 0
    assert_same(ours, theirs, floats_rounded=False)


def test_an_environment_lives_alike_in_every_batch():
    keys, policy = jax.random.split(funcenv.key(5), 300), lambda observation, key: observation % 4
    kept = []
    for num_envs in (3, 300):
        venv = FuncVectorEnv(funcenv.make("FrozenLake-v1"), num_envs)
        vstate, _ = jax.jit(venv.reset)(keys[:num_envs])
        _, observations, _ = funcenv.rollout(venv, policy, funcenv.key(1), 40, vstate=vstate, collect=observation_of)
        kept.append(observations[:, :3])
    np.testing.assert_array_equal(*kept)


def observation_of(timestep, action):
    return timestep.observation


SHARDED = """
import sys, jax, numpy as np, funcenv
from jax.sharding import AxisType, NamedSharding, PartitionSpec

assert len(jax.devices()) == 8
mesh = jax.make_mesh((8,), ("env",), axis_types=(AxisType.Auto,))
for id in sys.argv[1:]:
    env = funcenv.make(id, max_episode_steps=9)
    policy = funcenv.random_policy(env)
    for strategy in ("select", "lazy") if id == "FrozenLake-v1" else ("auto",):
        venv = funcenv.FuncVectorEnv(env, 16, reset_strategy=strategy)
        alone, _ = jax.jit(venv.reset)(jax.random.split(funcenv.key(0), 16))
        spread = jax.device_put(alone, NamedSharding(mesh, PartitionSpec("env")))
        assert len(spread.num_calls.devices()) == 8
        results = [funcenv.rollout(venv, policy, funcenv.key(1), 24, vstate=vstate) for vstate in (alone, spread)]
        with jax.set_mesh(mesh):
            results.append(funcenv.rollout(venv, policy, funcenv.key(1), 24, vstate=spread))
            actions = jax.tree.map(lambda leaf: leaf[0], results[0][1].action)
            program = jax.jit(venv.step).lower(spread, actions).compile().as_text()
        assert not any(name in program for name in ("all-reduce", "all-gather", "all-to-all", "collective-permute"))
        assert results[0][2].count > 16
        assert all(not leaf.sharding.is_fully_replicated for leaf in jax.tree.leaves(results[1][:2])), "all is spread"
        for a, *others in zip(*map(jax.tree.leaves, [(kept, vstate.replace(key=None)) for vstate, kept, _ in results])):
            for b in others:
                if a.dtype.kind == "f" and id != "FrozenLake-v1":
                    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
                else:
                    np.testing.assert_array_equal(a, b)
"""

MAPPED = """
import sys, jax, jax.numpy as jnp, numpy as np, funcenv
from jax.sharding import AxisType, NamedSharding, PartitionSpec

assert len(jax.devices()) == 8
for id in sys.argv[1:]:
    env = funcenv.make(id, max_episode_steps=3)
    policy = funcenv.random_policy(env)
    venv = funcenv.FuncVectorEnv(env, 2)

    def play(keys):  # by a rollout, an evaluation, and a loop of the user's own, on one device
        def step(carry, action):
            vstate, timestep = venv.step(carry, action)
            return vstate, timestep.reward

        rewards = funcenv.rollout(venv, policy, keys[0], 5)[1].timestep.reward
        returns = funcenv.evaluate(env, policy, 2, keys[0], max_steps=4).episode_return
        actions = jax.vmap(env.action_space.sample)(jax.random.split(funcenv.key(0), (5, 2)).reshape(-1))
        actions = jax.tree.map(lambda leaf: leaf.reshape((5, 2, *leaf.shape[1:])), actions)
        own = jax.lax.scan(step, venv.reset(keys[0])[0], actions)[1]
        single = env.step(env.reset(keys[0])[0], jax.tree.map(lambda leaf: leaf[0, 0], actions), keys[0])[1].reward
        return jax.tree.map(lambda leaf: leaf[None], (rewards, returns, own, single))

    keys = jax.random.split(funcenv.key(0), 8)
    mesh = jax.make_mesh((8,), ("seed",), axis_types=(AxisType.Auto,))
    spec = PartitionSpec("seed")
    mapped = jax.jit(jax.shard_map(play, mesh=mesh, in_specs=spec, out_specs=spec))(keys)
    for a, b in zip(*map(jax.tree.leaves, (mapped, jax.jit(jax.vmap(lambda key: play(key[None])))(keys)))):
        np.testing.assert_allclose(a, b.reshape(a.shape), rtol=1e-5, atol=1e-5)

    mesh = jax.make_mesh((8,), ("env",), axis_types=(AxisType.Explicit,))
    spread = NamedSharding(mesh, PartitionSpec("env"))
    wide = funcenv.FuncVectorEnv(env, 16)
    keys = jax.random.split(funcenv.key(0), 16)
    alone = wide.reset(keys)[0]
    with jax.set_mesh(mesh):
        vstate, _ = wide.reset(jax.device_put(keys, spread))
        ours = funcenv.rollout(wide, policy, funcenv.key(1), 5, vstate=vstate)
    assert all(leaf.sharding.spec[:1] == ("env",) for leaf in jax.tree.leaves(ours[0]))
    theirs = funcenv.rollout(wide, policy, funcenv.key(1), 5, vstate=alone)
    for a, b in zip(jax.tree.leaves(ours[1]), jax.tree.leaves(theirs[1])):
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-5, atol=1e-5)
"""


@pytest.mark.dear
@pytest.mark.parametrize("program", [SHARDED, MAPPED], ids=["sharded", "mapped"])
@pytest.mark.parametrize(
    "ids", [SPREAD, pytest.param([id for id in IDS if id not in SPREAD], marks=pytest.mark.exhaustive)], ids=len
)
def test_environments_on_eight_devices(ids, program):
    flags = {
        "XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=8",
        "FUNCENV_NO_FAST_PATH": "1",  # what is spread is; so half as much is compiled
    }
    command, folder = [sys.executable, "-c", program, *ids], pathlib.Path(__file__).parents[2]
    subprocess.run(command, check=True, env={**os.environ, **flags}, cwd=folder)
