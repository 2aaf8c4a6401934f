"""Deep stacks: against Gymnasium's, and under every transformation."""

import gymnasium.wrappers as reference
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import wrappers
from funcenv.envs import CartPole, MountainCarContinuous, Pendulum
from tests.support.tiny_envs import Counter

UNIT = np.random.default_rng(0).uniform(-1, 1, (20, 1)).astype(np.float32)
PUSHES = np.random.default_rng(1).integers(0, 2, 20)


# The first argument is the module of wrappers: ours or Gymnasium's.


def stacked_time(kit, env):
    env = kit.TimeAwareObservation(kit.TimeLimit(env, 15), normalize_time=True)
    return kit.FlattenObservation(kit.FrameStackObservation(kit.RepeatAction(env, 2), 3))


def rescaled_and_clipped(kit, env):
    env = kit.RescaleAction(kit.ClipReward(env, -4, 0), 0, 1)
    env = kit.DelayObservation(kit.RescaleObservation(kit.ClipAction(env), 0, 1), 2)
    return kit.TimeLimit(kit.TransformReward(env, lambda reward: reward / 10), 12)


def skipped_frames(kit, env):
    env = kit.MaxAndSkipObservation(kit.StickyAction(kit.TimeLimit(env, 24), 0.0), 3)
    return kit.ReshapeObservation(kit.FrameStackObservation(env, 2, padding_type="zero"), (3, 2))


def binned(kit, env):
    env = kit.DiscretizeAction(kit.RescaleAction(env, -3, 3), 5)
    env = kit.TransformAction(kit.DiscretizeObservation(env, (4, 3), True), lambda action: 4 - action, None)
    return kit.FrameStackObservation(kit.TimeLimit(env, 18), 2)


def chosen_parts(kit, env):
    env = kit.TimeAwareObservation(kit.TimeLimit(env, 9), flatten=False)
    return kit.FlattenObservation(kit.FilterObservation(kit.DelayObservation(env, 1), ["time", "obs"]))


def drawn_and_sticky(kit, env):
    def sampler(key, env):
        return {"gravity": jax.random.uniform(key, (), float, 1.0, 20.0)}

    env = kit.StickyAction(kit.RandomizeParameters(env, sampler), 0.5, (1, 3))
    return kit.EpisodeStatistics(kit.RepeatAction(kit.TimeLimit(env, 7), 2))


def resets_itself(kit, env):
    env = kit.DtypeObservation(kit.TransformObservation(env, lambda observation: 2 * observation), np.float16)
    return kit.Autoreset(kit.FrameStackObservation(kit.EpisodeStatistics(kit.TimeLimit(env, 5)), 2))


@pytest.mark.parametrize(
    ("stack", "base", "actions"),
    [
        (stacked_time, "CartPole", PUSHES),
        (rescaled_and_clipped, "Pendulum", 2 * UNIT),
        (skipped_frames, "Pendulum", UNIT),
        (binned, "MountainCarContinuous", np.arange(20) % 5),
        (chosen_parts, "CartPole", PUSHES),
    ],
)
def test_as_gymnasium(compare, stack, base, actions):
    spaces = stack is not chosen_parts  # where Gymnasium flattens to float64
    compare(base, lambda env: stack(wrappers, env), lambda env: stack(reference, env), actions, spaces=spaces)


STACKS = {
    "stacked_time": lambda: stacked_time(wrappers, CartPole()),
    "rescaled_and_clipped": lambda: rescaled_and_clipped(wrappers, Pendulum()),
    "skipped_frames": lambda: skipped_frames(wrappers, Pendulum()),
    "binned": lambda: binned(wrappers, MountainCarContinuous()),
    "chosen_parts": lambda: chosen_parts(wrappers, CartPole()),
    "drawn_and_sticky": lambda: drawn_and_sticky(wrappers, CartPole()),
    "resets_itself": lambda: resets_itself(wrappers, CartPole()),
}


@pytest.fixture(autouse=True)
def no_key_twice():
    with jax.debug_key_reuse(True):  # beside what conftest.py is strict about
        yield


def assert_close(ours, other):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5), ours, other)


def check_all_ways(env, play):
    """Three streams in one compiled scan: the second as eager steps play it, and all in the declared spaces."""
    keys = jax.random.split(funcenv.key(6), 3)
    actions = jax.vmap(lambda key: jax.vmap(env.action_space.sample)(jax.random.split(key, 12)))(keys)
    states, timesteps = jax.vmap(play, in_axes=(None, 0, 0))(env, actions, jax.random.split(funcenv.key(7), 3))
    inside = jax.vmap(jax.vmap(env.observation_space.contains))(timesteps.observation)
    done = np.asarray(timesteps.done)
    ended_before = np.cumsum(done, axis=1) - done > 0
    assert (np.asarray(inside) | ended_before).all()

    key = jax.random.split(funcenv.key(7), 3)[1]
    state, timestep = env.reset(jax.random.fold_in(key, 0))
    for number in range(4):
        assert_close(timestep, jax.tree.map(lambda leaf, number=number: leaf[1, number], timesteps))
        action = jax.tree.map(lambda leaf, number=number: leaf[1, number], actions)
        state, timestep = env.step(state, action, jax.random.fold_in(key, number + 1))
    assert [leaf.dtype for leaf in jax.tree.leaves(state)] == [leaf.dtype for leaf in jax.tree.leaves(states)]
    return timesteps


@pytest.mark.parametrize("name", STACKS)
def test_compiled_batched_and_scanned_as_eager(name, play):
    check_all_ways(STACKS[name](), play)


@pytest.mark.parametrize("name", ["drawn_and_sticky", "resets_itself"])
def test_in_float64(name, play):
    """The others run in float64 against Gymnasium."""
    with jax.enable_x64(True):
        timesteps = check_all_ways(STACKS[name](), play)
        assert timesteps.reward.dtype == timesteps.info["episode_return"].dtype == np.float64


def test_compiles_once():
    compiled = []

    @jax.jit
    def step(env, state, key):
        compiled.append(None)
        return env.step(state, 1, key)

    for env in (stacked_time(wrappers, CartPole(gravity=gravity)) for gravity in (1.0, 9.8)):
        state, _ = env.reset(funcenv.key(0))
        for count in range(3):
            state, _ = step(env, state, funcenv.key(count))
    assert len(compiled) == 1


@pytest.mark.parametrize("stack", [stacked_time, resets_itself])
def test_a_batch_of_environments(stack):
    """Batched inside, or mapped outside: the same batch, each row as it is alone."""
    gravities = jnp.array([1.0, 5.0, 9.8])
    inside = stack(wrappers, CartPole(gravity=gravities))
    venv = funcenv.FuncVectorEnv(inside, 3)
    outside = funcenv.FuncVectorEnv(jax.vmap(lambda gravity: stack(wrappers, CartPole(gravity=gravity)))(gravities), 3)
    alone = funcenv.FuncVectorEnv(stack(wrappers, CartPole(gravity=5.0)), 3)
    venvs = venv, outside, alone
    reset, step = jax.jit(funcenv.FuncVectorEnv.reset), jax.jit(funcenv.FuncVectorEnv.step)
    vstates = [reset(each, funcenv.key(0))[0] for each in venvs]
    for _ in range(4):
        results = [step(each, vstate, jnp.ones(3, jnp.int32)) for each, vstate in zip(venvs, vstates, strict=True)]
        vstates = [vstate for vstate, _ in results]
        one, two, row = (timestep.observation for _, timestep in results)
        assert_close(one, two)
        assert_close(one[1], row[1])
    assert venv.single_observation_space == alone.single_observation_space


def test_rows_of_a_batch_with_other_bounds():
    torques = jnp.array([1.0, 2.0, 4.0])
    venv = funcenv.FuncVectorEnv(rescaled_and_clipped(wrappers, Pendulum(max_torque=torques)), 3)
    vstate, _ = venv.reset(funcenv.key(0))
    before = vstate.env_state.env_state.env_state
    vstate, timestep = jax.jit(venv.step)(vstate, jnp.ones((3, 1)))
    angle = (before.theta + np.pi) % (2 * np.pi) - np.pi
    cost = angle**2 + 0.1 * before.theta_dot**2 + 0.001 * torques**2
    np.testing.assert_allclose(timestep.reward, -jnp.minimum(cost, 4) / 10, rtol=1e-4)


@pytest.mark.parametrize(
    ("wrap", "looks_at", "shown_inside", "shown_outside"),
    [
        (lambda env: wrappers.FrameStackObservation(env, 2), "observation", [2, 3], [0, 3]),
        (lambda env: wrappers.DelayObservation(env, 1), "observation", 2, 0),
        (lambda env: wrappers.ClipReward(env, max_reward=2.0), "reward", 1 + 2 + 2, 2),
        (lambda env: wrappers.TransformReward(env, lambda reward: reward**2), "reward", 1 + 4 + 9, 36),
    ],
    ids=["frames", "delay", "clipped reward", "squared reward"],
)
def test_what_the_order_with_repeats_changes(wrap, looks_at, shown_inside, shown_outside):
    """Three repeats of counting up by one: the wrapper inside sees each of them, the one outside their outcome."""
    for env, expected in (
        (wrappers.RepeatAction(wrap(Counter()), 3), shown_inside),
        (wrap(wrappers.RepeatAction(Counter(), 3)), shown_outside),
    ):
        state, _ = env.reset(funcenv.key(0))
        _, timestep = env.step(state, 1, funcenv.key(1))
        shown = timestep.reward if looks_at == "reward" else timestep.observation[..., 0]
        np.testing.assert_array_equal(shown, expected)
