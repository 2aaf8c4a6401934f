"""Many environments at once: the law of keys, independence, autoreset, batches of environments."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import AutoresetMode, FuncVectorEnv
from funcenv.envs import CartPole, Pendulum
from funcenv.spaces import Box, Discrete
from funcenv.wrappers import TimeLimit
from tests.support.tiny_envs import Tiny

NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
NUM_STEPS = 30


class DiceState(funcenv.PyTreeNode):
    total: jax.Array
    roll: jax.Array


class Dice(Tiny):
    """All integers, random throughout: ends when the total exceeds 20, or is cut off when a 6 is rolled."""

    observation_space = Discrete(1000)
    action_space = Discrete(3)

    def initial(self, key):
        return DiceState(total=jax.random.randint(key, (), 0, 3), roll=jnp.int32(0))

    def transition(self, state, action, key):
        roll = jax.random.randint(key, (), 1, 7)
        return DiceState(total=state.total + roll + action, roll=roll)

    def observation(self, state, key):
        return state.total + 100 * jax.random.randint(key, (), 0, 10)

    def reward(self, state, action, next_state):
        return next_state.roll.astype(float)

    def terminal(self, state):
        return state.total > 20

    def truncated(self, state):
        return state.roll == 6

    def state_info(self, state):
        return {"total": state.total}

    def transition_info(self, state, action, next_state):
        return {"rolled": next_state.roll}


def actions_for(num_envs):
    """Return the actions of every environment, which do not depend on how many there are."""
    return np.random.default_rng(0).integers(0, 2, (NUM_STEPS, 64))[:, :num_envs].astype(np.int32)


@functools.cache
def played(env, num_envs, mode):
    """Time steps of a vector environment, first the reset's, stacked."""
    venv = FuncVectorEnv(env, num_envs, mode)
    vstate, first = jax.jit(venv.reset)(funcenv.key(0))
    vstate, rest = jax.jit(lambda vstate, actions: jax.lax.scan(venv.step, vstate, actions))(
        vstate, actions_for(num_envs)
    )
    return jax.device_get(jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, rest))


@functools.cache
def compiled(env):
    return jax.jit(env.reset), jax.jit(env.step)


def lived(env, key, actions, mode):
    """Play one environment in a plain loop, by the law of keys."""
    reset, step = compiled(env)
    calls, done, episode_return = 0, True, 0.0
    for action in [None, *actions]:
        if action is None or (done and mode is NEXT_STEP):
            state, shown = reset(jax.random.fold_in(key, calls))
            final, done, episode_return = shown, False, 0.0
        else:
            state, shown = step(state, action, jax.random.fold_in(key, calls))
            final, done, episode_return = shown, bool(shown.done), episode_return + float(shown.reward)
        calls += 1
        reported = episode_return
        if done and mode is SAME_STEP:
            state, fresh = reset(jax.random.fold_in(key, calls))
            shown = shown.replace(observation=fresh.observation, info=fresh.info)
            calls, episode_return = calls + 1, 0.0
        yield shown, final, reported


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("num_envs", [1, 7, 64])
@pytest.mark.parametrize("env", [Dice(), TimeLimit(CartPole(), max_episode_steps=13)], ids=["dice", "cartpole"])
def test_every_environment_lives_as_the_single_one_with_its_key(env, num_envs, mode):
    vector = played(env, num_envs, mode)
    exact = isinstance(env, Dice)
    ends = 0
    for i in {0, num_envs // 2, num_envs - 1}:
        key = jax.random.split(funcenv.key(0), num_envs)[i]
        for t, (shown, final, total) in enumerate(lived(env, key, actions_for(num_envs)[:, i], mode)):
            row = jax.tree.map(lambda leaf, t=t, i=i: leaf[t, i], vector)
            expected = jax.device_get((shown, final))
            actual = (
                row.replace(observation=row.observation),
                row.replace(observation=row.final_observation, info=row.final_info),
            )
            for ours, theirs in zip(actual, expected, strict=True):
                for name in ("observation", "reward", "terminated", "truncated", "info"):
                    pairs = zip(
                        jax.tree.leaves(getattr(ours, name)), jax.tree.leaves(getattr(theirs, name)), strict=True
                    )
                    for a, b in pairs:
                        if exact or b.dtype.kind != "f":
                            np.testing.assert_array_equal(a, b)
                        else:
                            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(row.episode_return, total, rtol=1e-6)
            ends += int(row.done)
    assert ends >= 1


@pytest.mark.parametrize("mode", AutoresetMode)
def test_the_same_life_whatever_the_number_of_environments(mode):
    few, many = played(Dice(), 7, mode), played(Dice(), 64, mode)
    for a, b in zip(jax.tree.leaves(few), jax.tree.leaves(many), strict=True):
        np.testing.assert_array_equal(a, b[:, :7])


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("env", [Dice(), CartPole(theta_threshold_radians=0.1)], ids=["dice", "cartpole"])
def test_an_environment_that_resets_does_not_disturb_its_neighbours(env, mode):
    venv = FuncVectorEnv(env, 7, mode)
    run = jax.jit(lambda vstate, actions: jax.lax.scan(venv.step, vstate, actions))
    vstate, _ = jax.jit(venv.reset)(funcenv.key(0))
    actions = actions_for(7)
    changed = actions.copy()
    changed[:, 3] = 1 - changed[:, 3]
    before, after = run(vstate, actions)[1], run(vstate, changed)[1]
    if mode is not DISABLED:
        assert (before.done[:, 3] != after.done[:, 3]).any()  # it does reset at other times
    others = np.delete(np.arange(7), 3)
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        np.testing.assert_array_equal(a[:, others], b[:, others])


def test_a_step_that_terminates_at_the_limit_reports_both():
    env = TimeLimit(CartPole(x_threshold=1e-3, low=0.01, high=0.02), max_episode_steps=1)
    venv = FuncVectorEnv(env, 2)
    vstate, _ = venv.reset(funcenv.key(0))
    _, timestep = venv.step(vstate, jnp.array([0, 1]))
    assert timestep.terminated.all() and timestep.truncated.all()


def test_next_step_ignores_the_action_of_the_reset_step_and_pays_nothing():
    rows = played(Dice(), 64, NEXT_STEP)
    after_the_end = np.roll(rows.done, 1, axis=0)
    after_the_end[0] = False
    assert after_the_end.any()
    for name in ("reward", "episode_return", "episode_length"):
        assert (getattr(rows, name)[after_the_end] == 0).all()
    assert not rows.done[after_the_end].any()
    assert (rows.info["rolled"][after_the_end] == 0).all()


def test_same_step_shows_the_new_episode_and_keeps_the_end_of_the_old():
    rows = played(Dice(), 64, SAME_STEP)
    assert (rows.info["total"][rows.done] < 3).all()
    assert (rows.observation[rows.done] % 100 < 3).all()
    ended = rows.final_info["total"][rows.done]
    assert ((ended > 20) == rows.terminated[rows.done]).all()
    for a, b in ((rows.final_observation, rows.observation), (rows.final_info["total"], rows.info["total"])):
        np.testing.assert_array_equal(a[~rows.done], b[~rows.done])


def test_running_totals_are_final_where_an_episode_ends():
    rows = played(Dice(), 64, SAME_STEP)
    for i in range(64):
        total, length = 0.0, 0
        for t in range(1, NUM_STEPS + 1):
            total, length = total + rows.reward[t, i], length + 1
            assert rows.episode_return[t, i] == pytest.approx(total)
            assert rows.episode_length[t, i] == length
            if rows.done[t, i]:
                total, length = 0.0, 0


def test_reset_by_mask_leaves_the_others_as_they_are():
    venv = FuncVectorEnv(Dice(), 7, DISABLED)
    vstate, _ = venv.reset(funcenv.key(0))
    for actions in actions_for(7)[:3]:
        vstate, timestep = venv.step(vstate, actions)
    mask = jnp.arange(7) % 2 == 0
    after, shown = jax.jit(venv.reset)(funcenv.key(9), vstate=vstate, mask=mask)
    _, anew = venv.reset(funcenv.key(9))
    kept = ~np.asarray(mask)
    np.testing.assert_array_equal(shown.observation[kept], timestep.observation[kept])
    np.testing.assert_array_equal(shown.episode_return[kept], timestep.episode_return[kept])
    np.testing.assert_array_equal(shown.observation[mask], anew.observation[mask])
    for a, b in zip(jax.tree.leaves(after.replace(key=None)), jax.tree.leaves(vstate.replace(key=None)), strict=True):
        np.testing.assert_array_equal(a[kept], b[kept])
    assert (shown.reward == 0).all()


def test_reset_without_a_key_goes_on_with_every_stream():
    modes = {mode: FuncVectorEnv(Dice(), 5, mode) for mode in (DISABLED, SAME_STEP)}
    (by_hand, _), (automatic, _) = (venv.reset(funcenv.key(0)) for venv in modes.values())
    resets = 0
    for actions in actions_for(5):
        by_hand, ours = modes[DISABLED].step(by_hand, actions)
        resets += int(ours.done.sum())
        by_hand, shown = modes[DISABLED].reset(vstate=by_hand, mask=ours.done)
        automatic, theirs = modes[SAME_STEP].step(automatic, actions)
        np.testing.assert_array_equal(shown.observation, theirs.observation)
        np.testing.assert_array_equal(ours.observation, theirs.final_observation)
    assert resets > 3


def test_given_keys_are_used_as_they_are():
    venv = FuncVectorEnv(Dice(), 4)
    keys = jax.random.split(funcenv.key(0), 4)
    (from_keys, a), (from_key, b) = venv.reset(keys), venv.reset(funcenv.key(0))
    assert (from_keys.key == from_key.key).all() and (from_keys.key == keys).all()
    np.testing.assert_array_equal(a.observation, b.observation)


def test_observation_draws_what_was_shown_last():
    venv = FuncVectorEnv(Dice(), 7)
    vstate, timestep = venv.reset(funcenv.key(0))
    np.testing.assert_array_equal(venv.observation(vstate), timestep.observation)
    for actions in actions_for(7)[:8]:
        vstate, timestep = venv.step(vstate, actions)
        np.testing.assert_array_equal(venv.observation(vstate), timestep.observation)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_step_compiles_once_and_its_state_is_stable(mode):
    venv, traces = FuncVectorEnv(TimeLimit(Pendulum(), 5), 3, mode), []

    @jax.jit
    def step(vstate, actions):
        traces.append(1)
        return venv.step(vstate, actions)

    vstate, _ = jax.jit(venv.reset)(funcenv.key(0))
    for _ in range(12):
        vstate, _ = step(vstate, jnp.zeros((3, 1), jnp.float32))
    assert len(traces) == 1


def test_no_key_is_used_twice():
    with jax.debug_key_reuse(True):
        for mode in AutoresetMode:
            venv = FuncVectorEnv(Dice(), 3, mode)
            vstate, _ = jax.jit(venv.reset)(funcenv.key(0))
            vstate, _ = jax.jit(venv.step)(vstate, actions_for(3)[0])
            jax.jit(venv.step)(vstate, actions_for(3)[1])
            venv.observation(vstate)


GRAVITIES = np.array([1.6, 9.8, 25.0], np.float32)


@pytest.mark.parametrize(
    "batch",
    [
        jax.vmap(lambda gravity: TimeLimit(CartPole(gravity=gravity), 50))(GRAVITIES),
        TimeLimit(CartPole(gravity=GRAVITIES), 50),
    ],
    ids=["vmapped", "one field"],
)
def test_a_batch_of_environments(batch):
    venv = FuncVectorEnv(batch, 3)
    vstate, _ = venv.reset(funcenv.key(0))
    vstate, timestep = jax.jit(lambda venv, vstate, actions: jax.lax.scan(venv.step, vstate, actions))(
        venv, vstate, actions_for(3)
    )
    for i, gravity in enumerate(GRAVITIES):
        env = TimeLimit(CartPole(gravity=float(gravity)), 50)
        key = jax.random.split(funcenv.key(0), 3)[i]
        rows = list(lived(env, key, actions_for(3)[:, i], SAME_STEP))[1:]
        for t, (shown, _, _) in enumerate(rows):
            np.testing.assert_allclose(timestep.observation[t, i], shown.observation, rtol=1e-5, atol=1e-6)


def test_the_space_of_a_batch_is_the_loosest():
    venv = FuncVectorEnv(Pendulum(max_torque=np.array([1.0, 3.0, 2.0]), max_speed=np.array([8.0, 4.0, 2.0])), 3)
    assert venv.single_action_space == Box(-3.0, 3.0, (1,))
    assert venv.single_observation_space == Pendulum(max_speed=8.0).observation_space
    assert FuncVectorEnv(Pendulum(), 3).single_action_space == Pendulum().action_space


class Table(funcenv.FuncEnv):
    entries: jax.Array = funcenv.field(ndim=1)


def test_an_array_valued_parameter_is_not_a_batch():
    from funcenv.parameters import parameter_axes

    assert parameter_axes(Table(np.zeros(5)), 3).entries is None
    assert parameter_axes(Table(np.zeros((3, 5))), 3).entries == 0
    with pytest.raises(ValueError, match=r"parameter \.entries has shape \(4, 5\).*num_envs=3"):
        parameter_axes(Table(np.zeros((4, 5))), 3)


def test_x64_keeps_the_dtypes_that_the_spaces_declare():
    with jax.enable_x64(True):
        venv = FuncVectorEnv(TimeLimit(Pendulum(), 5), 2)
        vstate, timestep = venv.reset(funcenv.key(0))
        vstate, timestep = jax.jit(venv.step)(vstate, jnp.zeros((2, 1), jnp.float32))
        assert timestep.observation.dtype == jnp.float32
        assert vstate.env_state.env_state.theta.dtype == jnp.float64


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: FuncVectorEnv(Dice(), 0), ValueError, "num_envs must be at least 1, got 0"),
        (lambda: FuncVectorEnv(Dice(), 2.5), TypeError, "num_envs must be an integer"),
        (lambda: FuncVectorEnv(Dice(), 10**40), ValueError, "num_envs must be at most 2147483647, got 1000"),
        (
            lambda: TimeLimit(Dice(), 2**31),
            ValueError,
            "max_episode_steps must be at most 2147483647, got 2147483648",
        ),
        (lambda: FuncVectorEnv(Dice(), 2, "same_step"), TypeError, "autoreset_mode must be one of"),
        (lambda: FuncVectorEnv(CartPole(gravity=GRAVITIES), 2), ValueError, "one value for each of num_envs=2"),
        (lambda: FuncVectorEnv(Dice(), 2).reset(), TypeError, "reset needs a key"),
        (lambda: FuncVectorEnv(Dice(), 2).reset(jnp.zeros(2, jnp.uint32)), TypeError, "typed key"),
        (
            lambda: FuncVectorEnv(Dice(), 2).reset(jax.random.split(funcenv.key(0), 3)),
            ValueError,
            "one key or 2 of them",
        ),
        (lambda: FuncVectorEnv(Dice(), 2).reset(funcenv.key(0), mask=jnp.ones(2, bool)), TypeError, "needs vstate"),
        (lambda: reset_by(jnp.ones(3, bool)), ValueError, r"mask must have shape \(2,\)"),
        (lambda: reset_by(jnp.ones(2)), TypeError, "mask must be a bool array"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def reset_by(mask):
    venv = FuncVectorEnv(Dice(), 2, DISABLED)
    vstate, _ = venv.reset(funcenv.key(0))
    return venv.reset(funcenv.key(1), vstate=vstate, mask=mask)


class Drifting(Dice):
    def transition(self, state, action, key):
        return super().transition(state, action, key).replace(total=jnp.zeros((2,)))

    def observation(self, state, key):
        return state.total.sum()

    def terminal(self, state):
        return (state.total > 20).all()


def test_a_state_that_changes_shape_is_named():
    venv = FuncVectorEnv(Drifting(), 2)
    vstate, _ = venv.reset(funcenv.key(0))
    with pytest.raises(ValueError, match="the same shapes and dtypes"):
        venv.step(vstate, jnp.zeros(2, jnp.int32))
