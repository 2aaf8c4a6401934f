"""Vector environments against Gymnasium's `SyncVectorEnv` over single ones, step by step, infos included."""

import functools

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import AutoresetMode, spaces
from funcenv.adapters import FunctionalEnv
from funcenv.adapters.functional_vector_env import FunctionalVectorEnv
from funcenv.envs import CartPole
from funcenv.wrappers import TimeLimit
from tests.support.tiny_envs import Tiny

NUM_ENVS = 3


class Notes(Tiny):
    """A random walk with compound observations of small dtypes, and nested infos."""

    drift: float = 0.2
    observation_space = spaces.Dict(
        {"at": spaces.Box(-np.inf, np.inf, (2,)), "image": spaces.Box(0, 255, (3, 3), np.uint8)}
    )
    action_space = spaces.MultiDiscrete([2, 3])

    def initial(self, key):
        return jax.random.normal(key, (2,), float)

    def transition(self, state, action, key):
        return state + self.drift * (action - 1).astype(float) + jax.random.normal(key, (2,), float)

    def observation(self, state, key):
        image = jax.random.randint(key, (3, 3), 0, 256).astype(jnp.uint8)
        return {"at": state.astype(jnp.float32), "image": image}

    def reward(self, state, action, next_state):
        return next_state[0] - state[0]

    def terminal(self, state):
        return jnp.abs(state).max() > 2.5

    def state_info(self, state):
        return {"far": jnp.abs(state).max() > 1, "parts": {"first": state[0], "last": state[1]}}

    def transition_info(self, state, action, next_state):
        return {"cost": action.sum()}


ENVS = {
    "CartPole": TimeLimit(CartPole(), 12),
    "Pendulum": TimeLimit(funcenv.make("Pendulum-v1").unwrapped, 7),
    "Blackjack": funcenv.make("Blackjack-v1"),
    "FrozenLake": funcenv.make("FrozenLake-v1"),
    "Taxi": TimeLimit(funcenv.make("Taxi-v4").unwrapped, 9),
    "Notes": TimeLimit(Notes(), 8),
}


def gymnasium_space(space):
    if isinstance(space, spaces.Tuple):
        return gymnasium.spaces.Tuple([gymnasium_space(part) for part in space.spaces])
    if isinstance(space, spaces.Dict):
        return gymnasium.spaces.Dict({name: gymnasium_space(part) for name, part in space.spaces.items()})
    if isinstance(space, spaces.Discrete):
        return gymnasium.spaces.Discrete(space.n, start=space.start)
    if isinstance(space, spaces.MultiDiscrete):
        return gymnasium.spaces.MultiDiscrete(space.nvec)
    return gymnasium.spaces.Box(space.low, space.high, dtype=space.dtype)


class Single(gymnasium.Env):
    """A `FunctionalEnv` with the interface of Gymnasium."""

    def __init__(self, func_env):
        self.env = FunctionalEnv(func_env)
        self.observation_space = gymnasium_space(func_env.observation_space)
        self.action_space = gymnasium_space(func_env.action_space)

    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=seed, options=options)

    def step(self, action):
        return self.env.step(np.asarray(action))


def sync(func_envs, mode):
    functions = [functools.partial(Single, func_env) for func_env in func_envs]
    return gymnasium.vector.SyncVectorEnv(functions, autoreset_mode=gymnasium.vector.AutoresetMode(mode.value))


def assert_close(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    if ours.dtype.kind == "f":
        np.testing.assert_allclose(ours, theirs.astype(ours.dtype), atol=2e-5)
    else:
        np.testing.assert_array_equal(ours, theirs)


def assert_same_infos(ours, theirs):
    assert sorted(ours) == sorted(theirs)
    for name, value in theirs.items():
        if isinstance(value, dict):
            assert_same_infos(ours[name], value)
        elif name.startswith("_"):
            assert ours[name].dtype == bool
            np.testing.assert_array_equal(ours[name], value)
        elif value.dtype == object:  # Gymnasium's for what has no array of its own
            for i in np.flatnonzero(theirs[f"_{name}"]):
                jax.tree.map(assert_close, ours[name][i], value[i])
        else:
            assert_close(ours[name], value)


def assert_same(ours, theirs):
    *ours, our_infos = ours
    *theirs, their_infos = theirs
    for a, b in zip(ours, theirs, strict=True):
        jax.tree.map(assert_close, a, b)
    assert_same_infos(our_infos, their_infos)


def play_both(ours, theirs, mode, num_steps):
    """Take the same actions in both, and return how many episodes ended."""
    ended = 0
    for _ in range(num_steps):
        actions = theirs.action_space.sample()
        mine = ours.step(actions)
        assert_same(mine, theirs.step(actions))
        over = mine[2] | mine[3]
        ended += over.sum()
        if mode is AutoresetMode.DISABLED and over.any():
            pair = [envs.reset(options={"reset_mask": over.copy()}) for envs in (ours, theirs)]
            assert_same(*pair)
    return ended


CASES = [(name, mode) for name in ("CartPole", "Blackjack", "Taxi", "Notes") for mode in AutoresetMode]
CASES += [("Pendulum", AutoresetMode.NEXT_STEP), ("FrozenLake", AutoresetMode.SAME_STEP)]


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_traces_equal_gymnasiums_over_the_single_environments(name, mode):
    ours = FunctionalVectorEnv(ENVS[name], NUM_ENVS, autoreset_mode=mode)
    theirs = sync([ENVS[name]] * NUM_ENVS, mode)
    assert ours.metadata["autoreset_mode"].value == theirs.metadata["autoreset_mode"].value
    theirs.action_space.seed(0)
    assert_same(ours.reset(seed=5), theirs.reset(seed=5))
    assert play_both(ours, theirs, mode, 45) >= 3
    mask = np.array([True, False, True])
    if mode is not AutoresetMode.DISABLED:
        assert_same(ours.reset(options={"reset_mask": mask}), theirs.reset(options={"reset_mask": mask.copy()}))
        play_both(ours, theirs, mode, 15)
    assert_same(ours.reset(), theirs.reset())
    assert_same(
        ours.reset(seed=[4, None, 9], options={"reset_mask": mask}),
        theirs.reset(seed=[4, None, 9], options={"reset_mask": mask.copy()}),
    )
    play_both(ours, theirs, mode, 10)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_options_last_for_the_episodes_that_they_began(mode):
    ours = FunctionalVectorEnv(ENVS["CartPole"], NUM_ENVS, autoreset_mode=mode)
    theirs = sync([ENVS["CartPole"]] * NUM_ENVS, mode)
    theirs.action_space.seed(0)
    options = {"low": 0.1, "high": 0.19, "gravity": 30.0}
    assert_same(ours.reset(seed=1, options=dict(options)), theirs.reset(seed=1, options=dict(options)))
    assert play_both(ours, theirs, mode, 15) >= 3
    mask = np.array([False, True, False])
    heavier = {"reset_mask": mask, "gravity": 90.0}
    assert_same(ours.reset(options=dict(heavier)), theirs.reset(options=dict(heavier)))
    play_both(ours, theirs, mode, 15)
    plain = {"reset_mask": mask}
    assert_same(ours.reset(options=dict(plain)), theirs.reset(options=dict(plain)))
    play_both(ours, theirs, mode, 5)
    assert_same(ours.reset(), theirs.reset())
    play_both(ours, theirs, mode, 15)


def test_a_batch_of_parameters_equals_single_environments_with_each():
    gravities = np.array([1.6, 9.8, 40.0], np.float32)
    limits = np.array([5, 9, 30])
    ours = FunctionalVectorEnv(TimeLimit(CartPole(gravity=gravities), limits), NUM_ENVS)
    singles = [TimeLimit(CartPole(gravity=float(g)), int(limit)) for g, limit in zip(gravities, limits, strict=True)]
    theirs = sync(singles, AutoresetMode.NEXT_STEP)
    theirs.action_space.seed(0)
    assert_same(ours.reset(seed=5), theirs.reset(seed=5))
    assert play_both(ours, theirs, AutoresetMode.NEXT_STEP, 40) > 5
    per_env = [0.0, 0.1, 0.15]
    observations, _ = ours.reset(seed=0, options={"low": np.array(per_env), "high": np.array(per_env)})
    np.testing.assert_allclose(observations, np.repeat(np.array(per_env, np.float32)[:, None], 4, axis=1), atol=1e-7)
