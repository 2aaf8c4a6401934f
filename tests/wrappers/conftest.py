"""Play the same actions from the same state through a stack of ours and a stack of Gymnasium's, and compare."""

import functools

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from gymnasium.envs.classic_control.continuous_mountain_car import Continuous_MountainCarEnv
from gymnasium.envs.classic_control.pendulum import PendulumEnv

import funcenv
from funcenv.envs import CartPole, MountainCarContinuous, Pendulum

BASES = {
    "CartPole": (CartPole, CartPoleEnv),
    "Pendulum": (Pendulum, PendulumEnv),
    "MountainCarContinuous": (MountainCarContinuous, Continuous_MountainCarEnv),
}


class StartAt(funcenv.Wrapper):
    """Begins every episode in a given state."""

    start: object

    def initial(self, key):
        del key
        return self.start


@jax.jit
def play(env, actions, key):
    """Return the time steps of a reset and of one step for each action, stacked; all in one scan."""
    state, first = env.reset(jax.random.fold_in(key, 0))

    def step(state, action_and_number):
        action, number = action_and_number
        return env.step(state, action, jax.random.fold_in(key, number))

    numbers = jnp.arange(1, 1 + len(jax.tree.leaves(actions)[0]))
    state, rest = jax.lax.scan(step, state, (actions, numbers))
    return state, jax.tree.map(lambda one, many: jnp.concatenate([one[None], many]), first, rest)


def compare(base, ours, theirs, actions, seed=0, atol=1e-6, spaces=True):
    """Wrap both bases, play until Gymnasium's episode ends, and return how many steps that took.

    `ours` and `theirs` take an environment and wrap it. Runs in float64, as Gymnasium does.
    """
    build, reference = BASES[base]
    gym_env = theirs(reference())
    expected, _ = gym_env.reset(seed=seed)
    with jax.enable_x64(True):
        bare, numbers = build(), np.asarray(gym_env.unwrapped.state, np.float64)
        start = bare.initial(jax.random.key(0))
        names = list(start.__dict__)[: len(numbers)]  # what ours keeps besides is drawn only
        start = start.replace(**{name: jnp.asarray(number) for name, number in zip(names, numbers, strict=True)})
        env = ours(StartAt(bare, start))
        _, timesteps = play(env, jnp.asarray(actions), jax.random.key(0))
        timesteps = jax.device_get(timesteps)
    if spaces:
        same_space(env.observation_space, gym_env.observation_space)
        same_space(env.action_space, gym_env.action_space)
    same(jax.tree.map(lambda leaf: leaf[0], timesteps.observation), expected, atol)
    for t, action in enumerate(actions, start=1):
        expected, reward, terminated, truncated, _ = gym_env.step(action)
        same(jax.tree.map(lambda leaf, t=t: leaf[t], timesteps.observation), expected, atol)
        np.testing.assert_allclose(timesteps.reward[t], reward, atol=max(atol, 1e-9), rtol=1e-6)
        assert timesteps.terminated[t] == terminated
        assert timesteps.truncated[t] == truncated
        if terminated or truncated:
            return t
    return len(actions)


def same(ours, theirs, atol):
    """Assert equal structure, shapes and values; floats to `atol`."""
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs)
        for key in theirs:
            same(ours[key], theirs[key], atol)
    elif isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            same(mine, other, atol)
    else:
        assert ours.shape == np.shape(theirs)
        assert ours.dtype.kind == np.asarray(theirs).dtype.kind
        np.testing.assert_allclose(ours, theirs, atol=atol, rtol=1e-6)


def same_space(ours, theirs):
    """Assert the same kind of space with the same shape and bounds; integers and floats may have fewer bits."""
    assert type(ours).__name__ == type(theirs).__name__
    assert ours.shape == theirs.shape
    if isinstance(theirs, gymnasium.spaces.Dict):
        assert list(ours.spaces) == list(theirs.spaces)
        for key in theirs.spaces:
            same_space(ours.spaces[key], theirs.spaces[key])
    elif isinstance(theirs, gymnasium.spaces.Tuple):
        for mine, other in zip(ours.spaces, theirs.spaces, strict=True):
            same_space(mine, other)
    elif isinstance(theirs, gymnasium.spaces.Box):
        assert ours.dtype.kind == theirs.dtype.kind
        np.testing.assert_allclose(ours.low, theirs.low, rtol=1e-6)
        np.testing.assert_allclose(ours.high, theirs.high, rtol=1e-6)
    elif isinstance(theirs, gymnasium.spaces.Discrete):
        assert (ours.n, ours.start) == (theirs.n, theirs.start)
    else:
        np.testing.assert_array_equal(ours.nvec, theirs.nvec)


@pytest.fixture(autouse=True)
def strictly():
    """No implicit promotion of dtypes or ranks anywhere in these tests."""
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def compare_alike(base, wrap, actions, **options):
    """Compare wrappers of the same name: `wrap` takes our module or Gymnasium's, and an environment."""
    ours, theirs = (functools.partial(wrap, module) for module in (funcenv.wrappers, gymnasium.wrappers))
    return compare(base, ours, theirs, actions, **options)


@pytest.fixture(name="compare", scope="session")
def compare_fixture():
    return compare


@pytest.fixture(name="compare_alike", scope="session")
def compare_alike_fixture():
    return compare_alike


@pytest.fixture(name="play", scope="session")
def play_fixture():
    return play


@pytest.fixture(name="same_space", scope="session")
def same_space_fixture():
    return same_space
