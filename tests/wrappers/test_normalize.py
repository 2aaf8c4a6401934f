"""Normalized observations and rewards: as Gymnasium's, over episodes, over a batch, frozen, resumed, compiled."""

import pickle

import gymnasium
import gymnasium.wrappers as reference
import gymnasium.wrappers.vector as vector_reference
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
import funcenv.adapters
from funcenv.envs import CartPole, Pendulum
from funcenv.wrappers import (
    Autoreset,
    EpisodeStatistics,
    FlattenObservation,
    FrameStackObservation,
    NormalizeObservation,
    NormalizeReward,
    RandomizeParameters,
    RunningMoments,
    TimeAwareObservation,
    TimeLimit,
    freeze_moments,
    layers,
    share_moments,
)

PUSHES = np.arange(30) % 2
TORQUES = np.random.default_rng(0).uniform(-2, 2, (30, 1)).astype(np.float32)


def both(env, limit=5):
    return NormalizeReward(NormalizeObservation(TimeLimit(env, limit)))


def count_of(env_state):
    """Return how many observations the moments hold, the shared and the own ones."""
    moments = env_state.env_state.moments
    return np.asarray(moments.shared.count + moments.own.count).round()


@pytest.mark.parametrize("epsilon", [1e-8, 0.1])
def test_observations_as_gymnasium(compare_alike, epsilon):
    compare_alike(
        "CartPole",
        lambda wrappers, env: wrappers.NormalizeObservation(env, epsilon),
        PUSHES,
        atol=2e-3,  # Gymnasium's moments are float32, and a variance of 1e-4 or less is the difference of equal numbers
    )


@pytest.mark.parametrize("base", ["CartPole", "Pendulum"])
def test_rewards_as_gymnasium(compare_alike, base):
    compare_alike(
        base, lambda wrappers, env: wrappers.NormalizeReward(env, 0.9, 1e-3), PUSHES if base == "CartPole" else TORQUES
    )


def test_frozen_moments_as_gymnasium(compare):
    moments = RunningMoments(count=np.float32(9), mean=np.arange(4.0), variance=np.arange(1.0, 5))

    def theirs(env):
        env = reference.NormalizeObservation(env)
        env.obs_rms.mean, env.obs_rms.var = moments.mean, moments.variance
        env.update_running_mean = False
        return env

    compare(
        "CartPole", lambda env: NormalizeObservation(env, moments=moments, update_running_mean=False), theirs, PUSHES
    )


def test_the_moments_are_those_of_all_observations_across_episodes():
    """The observations of five short episodes, as NumPy sees them, against the moments in the last state."""
    env = both(CartPole())
    venv = funcenv.FuncVectorEnv(env, 3)
    vstate, _ = venv.reset(funcenv.key(0))
    plain = funcenv.FuncVectorEnv(TimeLimit(CartPole(), 5), 3)
    _, shown = plain.reset(funcenv.key(0))
    seen = [shown.observation]
    policy = funcenv.random_policy(env)
    last, timesteps, _ = funcenv.rollout(venv, policy, funcenv.key(1), 17, vstate=vstate)
    _, played, _ = funcenv.rollout(plain, policy, funcenv.key(1), 17, vstate=plain.reset(funcenv.key(0))[0])
    for step in range(17):
        done = played.timestep.done[step]
        for row in range(3):
            seen.append(played.timestep.final_observation[step, row][None])
            if done[row]:
                seen.append(played.timestep.observation[step, row][None])
    np.testing.assert_array_equal(timesteps.timestep.done, played.timestep.done)
    everything = np.concatenate(seen)
    assert len(everything) == 3 * 18 + int(played.timestep.done.sum())
    pooled = freeze_moments(env, last.env_state).env.moments
    np.testing.assert_allclose(pooled.mean, everything.mean(0), atol=1e-5)
    first_variance = 1e-4 / len(everything)  # what the moments begin with: 1, with a weight of 0.0001
    np.testing.assert_allclose(pooled.variance, everything.var(0) + first_variance, rtol=1e-4)


@pytest.mark.parametrize("mode", [funcenv.AutoresetMode.SAME_STEP, funcenv.AutoresetMode.NEXT_STEP])
@pytest.mark.parametrize("strategy", ["select", "lazy"])
def test_moments_go_on_after_an_automatic_reset(mode, strategy):
    """A plain loop, which resets with `after`, gives the same states."""
    env = both(CartPole(), limit=3)
    venv = funcenv.FuncVectorEnv(env, 2, mode, strategy)
    keys = jax.random.split(funcenv.key(0), 2)
    vstate, _ = venv.reset(keys)
    step, reset, plain_step = jax.jit(venv.step), jax.jit(env.reset), jax.jit(env.step)
    state, _ = reset(funcenv.vector.call_key(keys[1], 0))
    calls, done = 1, False
    for number in range(8):
        vstate, timestep = step(vstate, jnp.array([1, number % 2]))
        if mode is funcenv.AutoresetMode.NEXT_STEP and done:
            state, shown = reset(funcenv.vector.call_key(keys[1], calls), after=state)
            done, calls = False, calls + 1
        else:
            state, shown = plain_step(state, number % 2, funcenv.vector.call_key(keys[1], calls))
            calls, done = calls + 1, bool(shown.done)
            np.testing.assert_allclose(timestep.reward[1], shown.reward, rtol=1e-5)
            if mode is funcenv.AutoresetMode.SAME_STEP and done:
                state, shown = reset(funcenv.vector.call_key(keys[1], calls), after=state)
                calls += 1
        np.testing.assert_allclose(timestep.observation[1], shown.observation, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(vstate.env_state.moments.own.mean[1], state.moments.own.mean, rtol=1e-5)
    assert count_of(vstate.env_state)[1] == count_of(state) >= 9


def test_a_reset_without_the_last_state_begins_anew():
    env = both(CartPole())
    state, _ = env.reset(funcenv.key(0))
    state, _ = env.step(state, 1, funcenv.key(1))
    assert count_of(env.reset(funcenv.key(2))[0]) == 1
    assert count_of(env.reset(funcenv.key(2), after=state)[0]) == 3
    assert not CartPole().remembers and env.remembers


def test_a_vector_reset_goes_on_unless_it_has_new_keys():
    venv = funcenv.FuncVectorEnv(both(CartPole()), 3)
    vstate, _ = venv.reset(funcenv.key(0))
    mask = jnp.array([True, False, True])
    assert count_of(venv.reset(vstate=vstate)[0].env_state).tolist() == [2, 2, 2]
    assert count_of(venv.reset(vstate=vstate, mask=mask)[0].env_state).tolist() == [2, 1, 2]
    assert count_of(venv.reset(funcenv.key(1), vstate=vstate)[0].env_state).tolist() == [1, 1, 1]


def drawn(key, env):
    return {"length": env.length * jax.random.uniform(key, (), float, 0.5, 2.0)}


@pytest.mark.parametrize(
    "wrap",
    [
        Autoreset,
        lambda env: Autoreset(EpisodeStatistics(FrameStackObservation(env, 2))),
        lambda env: Autoreset(RandomizeParameters(env, drawn)),
    ],
)
def test_wrappers_outside_let_moments_go_on(wrap, play):
    env = wrap(both(CartPole(), limit=3))
    state, timesteps = play(env, jnp.ones(9, jnp.int32), funcenv.key(0))
    for layer in layers(env):
        if isinstance(layer, NormalizeReward):
            assert count_of(state) == 10
            break
        state = layer.inner(state)
    assert jnp.isfinite(timesteps.observation).all()


def test_frames_are_normalized_by_the_moments_of_all_episodes():
    """The first frame of a second episode is not 0, as it is when the moments know nothing else."""
    env = FrameStackObservation(NormalizeObservation(CartPole()), 2)
    state, first = env.reset(funcenv.key(0))
    state, _ = env.step(state, 1, funcenv.key(1))
    _, second = env.reset(funcenv.key(2), after=state)
    assert jnp.abs(first.observation).max() < 0.1 < jnp.abs(second.observation).max()


def test_sharing_after_every_step_is_gymnasiums_vector_wrapper():
    """With the inner observations of ours in a vector environment of Gymnasium's."""
    num_envs, env = 4, NormalizeObservation(CartPole())
    venv = funcenv.FuncVectorEnv(env, num_envs, funcenv.AutoresetMode.NEXT_STEP)
    seen = []

    class Seen(gymnasium.vector.VectorEnv):
        def __init__(self):
            self.num_envs, self.metadata = num_envs, {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}
            self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)

        def reset(self, *, seed=None, options=None):
            return seen[-1], {}

        def step(self, actions):
            return seen[-1], np.zeros(num_envs), *(np.zeros(num_envs, bool) for _ in range(2)), {}

    theirs = vector_reference.NormalizeObservation(Seen())

    @jax.jit
    def share_and_show(vstate):
        vstate = share_moments(vstate)
        return vstate, venv.observation(vstate)

    vstate, _ = venv.reset(funcenv.key(0))
    for number in range(20):
        vstate, observation = share_and_show(vstate)
        seen.append(np.asarray(vstate.env_state.inner_observation))
        expected = theirs.reset()[0] if number == 0 else theirs.step(None)[0]
        np.testing.assert_allclose(observation, expected, atol=2e-3, rtol=1e-3)
        vstate, _ = jax.jit(venv.step)(vstate, jnp.arange(num_envs) % 2)


def test_shared_moments_are_those_of_all_rows_and_sharing_twice_changes_nothing():
    venv = funcenv.FuncVectorEnv(both(Pendulum(), 7), 5)
    policy = funcenv.random_policy(venv)
    vstate, *_ = funcenv.rollout(venv, policy, funcenv.key(0), 20, collect=None)
    pooled = freeze_moments(venv.env, vstate.env_state)
    shared = jax.jit(share_moments)(vstate)
    assert count_of(shared.env_state).tolist() == [5 * (20 + 1 + 2)] * 5
    again = freeze_moments(venv.env, share_moments(shared).env_state)
    for one, other in zip(jax.tree.leaves(pooled), jax.tree.leaves(again), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    assert jax.tree.structure(shared) == jax.tree.structure(vstate)


def test_training_goes_on_from_a_pickle_and_evaluation_does_not_compile_again():
    env = both(Pendulum())
    venv = funcenv.FuncVectorEnv(env, 4)
    policy = funcenv.random_policy(env)

    def update(vstate, number):
        vstate, *_ = funcenv.rollout(venv, policy, funcenv.key(number), 10, vstate=vstate, collect=None)
        return share_moments(vstate)

    vstate = update(venv.reset(funcenv.key(0))[0], 0)
    saved = pickle.loads(pickle.dumps(jax.device_get(vstate.replace(key=jax.random.key_data(vstate.key)))))
    saved = saved.replace(key=jax.random.wrap_key_data(saved.key, impl=jax.random.key_impl(vstate.key)))
    one, other = update(vstate, 1), update(saved, 1)
    assert all(map(np.array_equal, *(jax.tree.leaves(each.replace(key=None)) for each in (one, other))))
    frozen, later = freeze_moments(env, vstate.env_state), freeze_moments(env, one.env_state)
    assert jax.tree.structure(frozen) == jax.tree.structure(later)
    evaluation = funcenv.evaluate(frozen, policy, 3, funcenv.key(5))
    assert evaluation.finished.all()
    state, _ = frozen.reset(funcenv.key(0))
    state, _ = frozen.step(state, jnp.zeros(1), funcenv.key(1))
    np.testing.assert_array_equal(state.moments.total.mean, frozen.moments.mean)


@pytest.mark.fast_path
@pytest.mark.dear
def test_the_fast_path_gives_the_same():
    venv = funcenv.FuncVectorEnv(both(CartPole()), 16)
    policy = funcenv.random_policy(venv)
    fast, kept, _ = funcenv.rollout(venv, policy, funcenv.key(0), 40)
    plain, expected, _ = jax.jit(lambda key: funcenv.rollout(venv, policy, key, 40))(funcenv.key(0))
    np.testing.assert_array_equal(kept.timestep.done, expected.timestep.done)
    np.testing.assert_allclose(kept.timestep.observation, expected.timestep.observation, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(count_of(fast.env_state), count_of(plain.env_state))


@pytest.mark.parametrize("fast", [False, pytest.param(True, marks=pytest.mark.fast_path)])
def test_the_stateful_interfaces_remember_and_a_seed_begins_anew(fast):
    del fast
    env = both(CartPole(), limit=4)
    face = funcenv.adapters.FunctionalEnv(env)
    first, _ = face.reset(seed=3)
    for _ in range(4):
        face.step(1)
    second, _ = face.reset()
    assert np.abs(first).max() < 0.1 < np.abs(second).max()
    np.testing.assert_array_equal(face.reset(seed=3)[0], first)

    faces = funcenv.adapters.FunctionalVectorEnv(env, 3)
    first, _ = faces.reset(seed=3)
    for _ in range(4):
        shown, *_ = faces.step(np.ones(3, int))
    assert np.abs(first).max() < 0.1 < np.abs(shown).max(1).min()
    np.testing.assert_array_equal(faces.reset(seed=3)[0], first)


def test_under_64_bits_and_checks_of_keys():
    with jax.enable_x64(True), jax.debug_key_reuse(True):
        env = both(CartPole())
        venv = funcenv.FuncVectorEnv(env, 3)
        vstate, timestep = jax.jit(venv.reset)(funcenv.key(0))
        for _ in range(6):
            vstate, timestep = jax.jit(venv.step)(vstate, jnp.ones(3, int))
        assert timestep.observation.dtype == jnp.float32 and timestep.reward.dtype == jnp.float64
        assert vstate.env_state.moments.own.mean.dtype == jnp.float64


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="epsilon must be a finite number above 0, got 0"):
        NormalizeObservation(CartPole(), 0)
    with pytest.raises(ValueError, match=r"gamma must lie in \[0, 1\], got 1.5"):
        NormalizeReward(CartPole(), 1.5)
    timed = TimeAwareObservation(TimeLimit(CartPole(), 5), flatten=False)
    with pytest.raises(ValueError, match=r"needs observations that are one array, got Dict.*FlattenObservation inside"):
        NormalizeObservation(timed)
    assert NormalizeObservation(FlattenObservation(timed)).observation_space.shape == (5,)
    with pytest.raises(ValueError, match="no layer of CartPole normalizes; wrap it in NormalizeObservation first"):
        freeze_moments(CartPole(), CartPole().initial(funcenv.key(0)))


def test_parameters_do_not_compile_again_and_form_batches():
    traces = []

    @jax.jit
    def first(env):
        traces.append(env)
        return env.reset(funcenv.key(0))[1].observation

    env = NormalizeObservation(CartPole(), moments=RunningMoments.empty((4,), 2.0))
    first(env), first(env.replace(epsilon=0.5)), first(env.replace(moments=RunningMoments.empty((4,), 5.0)))
    assert len(traces) == 1
    venv = funcenv.FuncVectorEnv(env.replace(gravity=jnp.array([9.8, 1.6])), 2)
    assert venv.reset(funcenv.key(0))[1].observation.shape == (2, 4)
