"""Deep stacks: against Gymnasium's, and under every transformation."""

import gymnasium.wrappers as reference
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import wrappers
from funcenv.envs import CartPole, MountainCarContinuous, Pendulum

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


STACKS = [
    stacked_time(wrappers, CartPole()),
    rescaled_and_clipped(wrappers, Pendulum()),
    skipped_frames(wrappers, Pendulum()),
    binned(wrappers, MountainCarContinuous()),
    chosen_parts(wrappers, CartPole()),
    drawn_and_sticky(wrappers, CartPole()),
    resets_itself(wrappers, CartPole()),
]
NAMES = [
    "stacked_time",
    "rescaled_and_clipped",
    "skipped_frames",
    "binned",
    "chosen_parts",
    "drawn_and_sticky",
    "resets",
]
each_stack = pytest.mark.parametrize("env", STACKS, ids=NAMES)


@pytest.fixture(autouse=True)
def strictly():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"), jax.debug_key_reuse(True):
        yield


def actions_of(env, num_steps):
    return jax.vmap(env.action_space.sample)(jax.random.split(funcenv.key(5), num_steps))


def assert_close(ours, other):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5), ours, other)


@each_stack
def test_compiled_once_and_as_eager(env):
    compiled = []

    @jax.jit
    def step(env, state, action, key):
        compiled.append(None)
        return env.step(state, action, key)

    state, timestep = env.reset(funcenv.key(0))
    fast = state, timestep
    for count, action in enumerate(actions_of(env, 4)):
        state, timestep = env.step(state, action, funcenv.key(count))
        fast = step(env, fast[0], action, funcenv.key(count))
        assert_close(fast, (state, timestep))
    assert len(compiled) == 1


@each_stack
@pytest.mark.parametrize("x64", [False, True], ids=["float32", "float64"])
def test_scan_of_a_batch_as_single_runs(env, x64, play):
    """One program for three streams gives what each stream gives alone, in the types that the space declares."""
    with jax.enable_x64(x64):
        actions = jax.vmap(lambda key: jax.vmap(env.action_space.sample)(jax.random.split(key, 30)))(
            jax.random.split(funcenv.key(5), 3)
        )
        state, timesteps = jax.vmap(play, in_axes=(None, 0, 0))(env, actions, jax.random.split(funcenv.key(6), 3))
        alone = play(env, jax.tree.map(lambda leaf: leaf[1], actions), jax.random.split(funcenv.key(6), 3)[1])
        assert_close(jax.tree.map(lambda leaf: leaf[1], (state, timesteps)), alone)
        contains = jax.vmap(jax.vmap(env.observation_space.contains))
        assert contains(timesteps.observation).all()
        assert timesteps.reward.dtype == (np.float64 if x64 else np.float32)
        assert all(leaf.dtype != np.float32 or not x64 for leaf in jax.tree.leaves(state) if leaf.ndim == 1)


@pytest.mark.parametrize("stack", [stacked_time, chosen_parts, resets_itself])
def test_a_batch_of_environments(stack):
    """Batched inside, or mapped outside: the same batch, each row as it is alone."""
    gravities = jnp.array([1.0, 5.0, 9.8])
    inside = stack(wrappers, CartPole(gravity=gravities))
    venv = funcenv.FuncVectorEnv(inside, 3)
    outside = funcenv.FuncVectorEnv(jax.vmap(lambda gravity: stack(wrappers, CartPole(gravity=gravity)))(gravities), 3)
    alone = funcenv.FuncVectorEnv(stack(wrappers, CartPole(gravity=5.0)), 3)
    vstates = [jax.jit(each.reset)(funcenv.key(0))[0] for each in (venv, outside, alone)]
    for _ in range(4):
        results = [
            jax.jit(each.step)(vstate, jnp.ones(3, jnp.int32))
            for each, vstate in zip((venv, outside, alone), vstates, strict=True)
        ]
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
