"""Rollouts, evaluations, and the statistics of episodes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import AutoresetMode, FuncVectorEnv
from funcenv.envs import CartPole, Pendulum
from funcenv.random import indexed_key
from funcenv.statistics import Moments
from funcenv.wrappers import TimeLimit

ENV = TimeLimit(CartPole(), max_episode_steps=40)
POLICY = funcenv.random_policy(ENV)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_statistics_are_those_of_the_episodes_that_ended(mode):
    venv = FuncVectorEnv(ENV, 16, mode)
    vstate, (timestep, action), statistics = funcenv.rollout(venv, POLICY, funcenv.key(0), 120)
    assert timestep.observation.shape == (120, 16, 4) and action.shape == (120, 16)
    done = np.asarray(timestep.done)
    if mode is AutoresetMode.DISABLED:  # an environment that stays where it ended counts once
        done = done & (np.cumsum(done, axis=0) == 1)
    returns, lengths = np.asarray(timestep.episode_return)[done], np.asarray(timestep.episode_length)[done]
    assert statistics.count == len(returns) >= 16
    for name, values in (("return", returns), ("length", lengths)):
        for figure in ("mean", "std", "min", "max"):
            ours, theirs = getattr(statistics, f"{figure}_{name}"), getattr(np, figure)(values)
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_no_episode_gives_nan_rather_than_a_number():
    _, _, statistics = funcenv.rollout(
        FuncVectorEnv(Pendulum(), 2), funcenv.random_policy(Pendulum()), funcenv.key(0), 5
    )
    assert statistics.count == 0 and jnp.isnan(statistics.mean_return) and jnp.isnan(statistics.max_length)


def test_equal_returns_have_no_spread():
    moments = Moments.empty(jnp.zeros(3))
    for count in range(1000):
        moments = moments.add(jnp.int32(count), jnp.full(3, 500.3))
    mean, std, least, greatest = moments.combine(jnp.array([1000, 0, 1000]), missing=0.0)
    assert std == 0 and mean == least == greatest == jnp.float32(500.3)


def test_collect_chooses_what_is_kept():
    venv = FuncVectorEnv(ENV, 3)
    _, everything, _ = funcenv.rollout(venv, POLICY, funcenv.key(0), 7)
    _, rewards, _ = funcenv.rollout(venv, POLICY, funcenv.key(0), 7, collect=lambda timestep, action: timestep.reward)
    _, nothing, _ = funcenv.rollout(venv, POLICY, funcenv.key(0), 7, collect=None)
    np.testing.assert_array_equal(rewards, everything.timestep.reward)
    assert nothing is None


def test_a_rollout_goes_on_from_a_vector_state():
    venv = FuncVectorEnv(ENV, 3)

    def policy(observation, key):
        return (observation[2] > 0).astype(jnp.int32)

    whole_state, whole, _ = funcenv.rollout(venv, policy, funcenv.key(0), 60)
    vstate, first, _ = funcenv.rollout(venv, policy, funcenv.key(0), 25)
    vstate, second, _ = funcenv.rollout(venv, policy, funcenv.key(1), 35, vstate=vstate)
    for all_of_it, a, b in zip(*map(jax.tree.leaves, (whole, first, second)), strict=True):
        np.testing.assert_allclose(all_of_it, np.concatenate([a, b]), rtol=1e-5, atol=1e-6)


def test_the_policy_of_an_environment_does_not_depend_on_how_many_there_are():
    few = funcenv.rollout(FuncVectorEnv(ENV, 2), POLICY, funcenv.key(0), 20)[1]
    many = funcenv.rollout(FuncVectorEnv(ENV, 5), POLICY, funcenv.key(0), 20)[1]
    np.testing.assert_array_equal(few.action, many.action[:, :2])


def test_a_policy_may_say_how_its_keys_derive():
    def words(observation, key):
        return jax.random.key_data(key).sum(dtype=jnp.uint32)

    class Told(funcenv.PyTreeNode):
        def key_of_step(self, policy_key, number):
            return jax.random.fold_in(policy_key, number + 1)

        def __call__(self, observation, key):
            return words(observation, key)

    venv, key = FuncVectorEnv(ENV, 2), funcenv.key(4)
    policy_keys = jax.random.split(jax.random.split(key)[1], 2)
    folds = jax.vmap(lambda number: jax.vmap(lambda key: jax.random.fold_in(key, number))(policy_keys))(jnp.arange(6))
    expected = jax.random.key_data(folds).sum(axis=-1, dtype=jnp.uint32)
    for policy, numbers in ((words, slice(0, 5)), (Told(), slice(1, 6))):
        _, acted, _ = funcenv.rollout(venv, policy, key, 5, collect=lambda timestep, action: action)
        np.testing.assert_array_equal(acted, expected[numbers])


def test_the_random_policy_draws_with_numbered_keys():
    venv, key = FuncVectorEnv(ENV, 2), funcenv.key(4)
    _, (_, acted), _ = funcenv.rollout(venv, POLICY, key, 6)
    policy_keys = jax.random.split(jax.random.split(key)[1], 2)
    for number in range(6):
        keys = [indexed_key(policy_key, number) for policy_key in policy_keys]
        assert acted[number].tolist() == [int(ENV.action_space.sample(one)) for one in keys]


def test_the_policy_sees_what_the_environment_shows():
    venv = FuncVectorEnv(ENV, 4)
    _, (timestep, action), _ = funcenv.rollout(
        venv, lambda observation, key: (observation[0] > 0).astype(jnp.int32), funcenv.key(0), 50
    )
    np.testing.assert_array_equal(action[1:], (timestep.observation[:-1, :, 0] > 0).astype(jnp.int32))


def test_new_parameters_of_a_policy_do_not_compile_again():
    traces = []

    def apply(bias, observation, key):
        traces.append(1)
        return (observation[2] > bias).astype(jnp.int32)

    venv = FuncVectorEnv(ENV, 2)
    for bias in (0.0, 0.1, 0.2):
        funcenv.rollout(venv, jax.tree_util.Partial(apply, jnp.float32(bias)), funcenv.key(0), 5)
        assert len(traces) <= 2  # for the program, and for the plain one that it is compared with


def test_a_rollout_can_be_traced_and_differentiated():
    env = Pendulum()

    @jax.jit
    @jax.grad
    def slope(gravity):
        venv = FuncVectorEnv(env.replace(g=gravity), 2)
        collect = lambda timestep, action: timestep.reward  # noqa: E731
        return funcenv.rollout(venv, lambda observation, key: jnp.zeros(1), funcenv.key(0), 5, collect=collect)[
            1
        ].mean()

    assert jnp.isfinite(slope(10.0)) and slope(10.0) != 0


def test_evaluate_reports_each_episode_once():
    evaluation = funcenv.evaluate(ENV, POLICY, 50, funcenv.key(0))
    assert evaluation.finished.all()
    np.testing.assert_array_equal(evaluation.episode_return, evaluation.episode_length)  # one a step
    assert (evaluation.truncated == (evaluation.episode_length == 40)).all()
    assert (evaluation.terminated | evaluation.truncated).all()
    assert evaluation.mean_return == pytest.approx(float(np.mean(evaluation.episode_return)))


def test_evaluate_plays_the_same_episodes_whatever_their_number():
    few, many = (funcenv.evaluate(ENV, POLICY, n, funcenv.key(3)) for n in (3, 8))
    np.testing.assert_array_equal(few.episode_return, many.episode_return[:3])


def test_evaluate_stops_where_there_is_no_end():
    evaluation = funcenv.evaluate(Pendulum(), funcenv.random_policy(Pendulum()), 3, funcenv.key(0), max_steps=9)
    assert not evaluation.finished.any() and (evaluation.episode_length == 9).all()


def roll_out(policy=POLICY, num_steps=3, **options):
    return funcenv.rollout(FuncVectorEnv(ENV, 2), policy, funcenv.key(0), num_steps, **options)


def evaluate_for(max_steps):
    return funcenv.evaluate(ENV, POLICY, 2, funcenv.key(0), max_steps=max_steps)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: funcenv.rollout(FuncVectorEnv(ENV, 2), POLICY, funcenv.key(0), 0),
            ValueError,
            "num_steps must be at least 1",
        ),
        (lambda: funcenv.evaluate(ENV, POLICY, -1, funcenv.key(0)), ValueError, "num_episodes must be at least 1"),
        (
            lambda: funcenv.evaluate(ENV, POLICY, 2**31, funcenv.key(0)),
            ValueError,
            "num_episodes must be at most 214",
        ),
        (lambda: funcenv.evaluate(ENV, "x", 2, funcenv.key(0)), TypeError, "evaluate takes a policy.*, got 'x'"),
        (lambda: evaluate_for(2**32), ValueError, "max_steps must be at most 4294967295, got 4294967296"),
        (lambda: roll_out(num_steps=10**40), ValueError, "num_steps must be at most 4294967295, got 1000"),
        (lambda: roll_out(num_steps=None), TypeError, "num_steps must be an integer, got None"),
        (
            lambda: roll_out(policy="x"),
            TypeError,
            r"rollout takes a policy\(observation, key\) -> action, got 'x';",
        ),
        (lambda: roll_out(policy=None), TypeError, "rollout takes a policy.*, got None"),
        (lambda: roll_out(collect="x"), TypeError, r"collect is a function .*, or None to keep nothing, got 'x'"),
        (
            lambda: roll_out(vstate="x"),
            TypeError,
            "vstate must be what venv.reset .* returns first, got 'x'; reset",
        ),
        (lambda: roll_out(vstate=FuncVectorEnv(ENV, 2).reset(funcenv.key(0))[1]), TypeError, "got VectorTimestep; "),
        (
            lambda: roll_out(vstate=FuncVectorEnv(ENV, 3).reset(funcenv.key(0))[0]),
            ValueError,
            "vstate must hold the states of num_envs=2 environments, got those of 3; reset",
        ),
        (lambda: funcenv.rollout(FuncVectorEnv(ENV, 2), POLICY, jnp.zeros(2, jnp.uint32), 3), TypeError, "typed key"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_an_evaluation_warns_of_episodes_that_do_not_end(monkeypatch):
    import importlib

    monkeypatch.setattr(importlib.import_module("funcenv.rollout"), "MAX_EVALUATION_STEPS", 20)
    endless = funcenv.make("Pendulum-v1", max_episode_steps=None)
    policy = funcenv.random_policy(endless)
    with pytest.warns(RuntimeWarning, match="3 of 3 episodes had not ended after 20 steps.*max_steps"):
        evaluation = funcenv.evaluate(endless, policy, 3, funcenv.key(0))
    assert not evaluation.finished.any()
    funcenv.evaluate(endless, policy, 3, funcenv.key(0), max_steps=20)  # as asked for: no warning


@pytest.mark.fast_path
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Blackjack-v1"])
def test_a_key_is_used_once_whether_or_not_a_single_kernel_runs(env_id):
    env = funcenv.make(env_id)
    with jax.debug_key_reuse(True):
        key = funcenv.key(0)
        assert funcenv.evaluate(env, funcenv.random_policy(env), 4, key, max_steps=50).finished.shape == (4,)
        with pytest.raises(jax.errors.KeyReuseError):
            funcenv.evaluate(env, funcenv.random_policy(env), 4, key, max_steps=50)


def test_an_evaluation_of_a_batch_plays_one_episode_in_each():
    heavy = CartPole(masspole=jnp.array([0.1, 0.2, 0.3]))
    alone = funcenv.evaluate(CartPole(masspole=0.3), POLICY, 3, funcenv.key(0))
    batch = funcenv.evaluate(heavy, POLICY, 3, funcenv.key(0))
    assert batch.episode_return[2] == alone.episode_return[2]
    with pytest.raises(ValueError, match="one value for each of num_episodes=4, along the first axis"):
        funcenv.evaluate(heavy, POLICY, 4, funcenv.key(0))
