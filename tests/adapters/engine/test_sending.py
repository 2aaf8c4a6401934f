"""EnvPool's interface: its loops give the results of `step`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.adapters import make_vec
from funcenv.adapters.gymnasium import GymnasiumVectorEnv

NUM_STEPS = 30


@pytest.fixture
def expected():
    """Return the results of a loop with `reset` and `step`; CartPole's episodes end within it."""
    envs = make_vec("CartPole-v1", num_envs=3)
    observation, info = envs.reset(seed=5)
    rows = [(observation, np.zeros(3), np.zeros(3, bool), np.zeros(3, bool))]
    for _ in range(NUM_STEPS):
        rows.append(envs.step(np.ones(3, int))[:4])
    return rows


def assert_equal(ours, theirs):
    for a, b in zip(ours[:4], theirs, strict=True):
        np.testing.assert_allclose(a, b, 1e-5, 1e-6)  # programs may round differently


@pytest.mark.parametrize("output", ["numpy", "jax"])
def test_a_loop_of_recv_and_send(expected, output):
    envs = make_vec("CartPole-v1", num_envs=3, output=output)
    envs.reset(seed=5)
    state = envs.state
    envs.async_reset()
    envs.recv()
    envs.state = state
    rows = []
    envs.send(np.ones(3, int))
    for _ in range(NUM_STEPS):
        rows.append(envs.recv())
        assert rows[-1][4]["env_id"].tolist() == [0, 1, 2]
        envs.send(np.ones(3, int), rows[-1][4]["env_id"])
    for ours, theirs in zip(rows, expected[1:], strict=True):
        assert_equal(ours, theirs)


def test_async_reset_is_a_reset():
    one, other = (make_vec("CartPole-v1", num_envs=3) for _ in range(2))
    for envs in (one, other):
        envs.reset(seed=5)
    observation, _ = one.reset()
    other.async_reset()
    assert_equal(other.recv(), (observation, np.zeros(3), np.zeros(3, bool), np.zeros(3, bool)))
    gymnasium_envs = GymnasiumVectorEnv(funcenv.make("CartPole-v1"), 3)
    gymnasium_envs.reset(seed=5)
    gymnasium_envs.async_reset()
    np.testing.assert_array_equal(gymnasium_envs.recv()[0], observation)


def test_actions_go_to_the_environments_that_are_named():
    envs = make_vec("CartPole-v1", num_envs=3)
    envs.reset(seed=0)
    state = envs.state
    envs.send(np.array([0, 1, 1]), env_id=np.array([2, 0, 1]))
    received = envs.recv()
    envs.state = state
    assert_equal(received, envs.step(np.array([1, 1, 0]))[:4])
    for wrong in ([0, 1], [0, 0, 1], [1, 2, 3]):
        with pytest.raises(ValueError, match="env_id must name each of the 3 environments once"):
            envs.send(np.zeros(len(wrong), int), env_id=wrong)


def test_a_compiled_loop_over_the_handle(expected):
    envs = make_vec("CartPole-v1", num_envs=3)
    envs.reset(seed=5)
    handle, recv, send, step = envs.xla()

    def one_step(handle, _):
        handle, results = step(handle, jnp.ones(3, int), jnp.array([2, 1, 0]))
        return handle, results[:4]

    handle, first = recv(handle)
    _, rows = jax.jit(lambda handle: jax.lax.scan(one_step, handle, None, NUM_STEPS))(handle)
    assert_equal(first, expected[0])
    for i in range(NUM_STEPS):
        assert_equal([column[i] for column in rows], expected[i + 1])
    assert_equal(jax.jit(recv)(send(handle, jnp.ones(3, int)))[1], expected[1])
    assert_equal(envs.step(np.ones(3, int)), expected[1])  # it was not moved


def test_calls_out_of_order_are_errors():
    envs = make_vec("CartPole-v1", num_envs=2)
    with pytest.raises(RuntimeError, match="nothing to wait for"):
        envs.recv()
    envs.async_reset()
    for call in (envs.async_reset, envs.xla, lambda: envs.send(np.zeros(2, int))):
        with pytest.raises(RuntimeError, match=r"call step_wait\(\) or recv\(\) before"):
            call()
    envs.recv()
    envs.reset(options={"gravity": 1.6})
    with pytest.raises(RuntimeError, match="present episodes have others"):
        envs.xla()


def test_step_takes_actions_in_any_order_and_returns_the_same_order():
    one, other = (make_vec("CartPole-v1", num_envs=4, max_episode_steps=2) for _ in range(2))
    for envs in one, other:
        envs.reset(seed=3)
    ids, actions = np.array([3, 1, 0, 2]), np.array([1, 0, 1, 0])
    for step in range(1, 4):
        ours, theirs = one.step(actions[ids], ids), other.step(actions)
        for a, b in zip(ours[:4], theirs[:4], strict=True):
            np.testing.assert_array_equal(a, b[ids])
        infos = ours[4]
        assert infos["env_id"].tolist() == infos["players"]["env_id"].tolist() == ids.tolist()
        assert infos["elapsed_step"].tolist() == [step % 3] * 4  # the third call resets
    with pytest.raises(ValueError, match=r"env_id must name each of the 4 environments once"):
        one.step(actions[:2], np.array([0, 1]))


def test_reset_takes_numbers_of_environments_and_returns_their_rows():
    envs, other = (make_vec("CartPole-v1", num_envs=4) for _ in range(2))
    for one in envs, other:
        one.reset(seed=3)
        one.step(np.ones(4, int))
    observation, infos = envs.reset(np.array([2, 1]))
    expected, _ = other.reset(options={"reset_mask": np.array([False, True, True, False])})
    np.testing.assert_array_equal(observation, expected[[2, 1]])
    np.testing.assert_array_equal(envs.step(np.ones(4, int))[0], other.step(np.ones(4, int))[0])
    assert infos["env_id"].tolist() == [2, 1] and infos["elapsed_step"].tolist() == [0, 0]
    for wrong in [], [0, 0], [4], [-1], [0.5]:
        with pytest.raises(ValueError, match="env_id must"):
            envs.reset(np.array(wrong))


def test_settings_and_numbers_are_envpools():
    envs = make_vec("CartPole-v1", num_envs=4)
    envs.async_reset()
    infos = envs.recv()[4]
    assert len(envs) == 4 and envs.all_env_ids.tolist() == infos["players"]["env_id"].tolist() == [0, 1, 2, 3]
    assert infos["elapsed_step"].tolist() == [0] * 4 and infos["elapsed_step"].dtype == np.int32
    config = envs.config
    assert (config["num_envs"], config["batch_size"], config["max_episode_steps"]) == (4, 4, 500)
    assert config["reward_threshold"] == 475.0
