"""Gymnasium's wrappers and vector environments over funcenv's environments and over the originals."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.wrappers import (
    FrameStackObservation,
    NormalizeObservation,
    RecordEpisodeStatistics,
    TimeLimit,
    TransformReward,
)

import funcenv.adapters.gymnasium  # noqa: F401  (it registers)
from funcenv import spaces
from funcenv.adapters import ResetNeeded
from funcenv.adapters.gymnasium import GymnasiumEnv
from funcenv.envs import Blackjack, CartPole, CartPoleState
from funcenv.wrappers import FrameStackObservation as OurFrameStack
from funcenv.wrappers import RescaleAction
from tests.support.tiny_envs import Echo

ACTIONS = np.random.default_rng(0).integers(0, 2, 60)
START = {"low": 0.03, "high": 0.03}  # the same first state in either library

WRAPPERS = {
    "TimeLimit": lambda env: TimeLimit(env, 9),
    "RecordEpisodeStatistics": RecordEpisodeStatistics,
    "NormalizeObservation": NormalizeObservation,
    "FrameStackObservation": lambda env: FrameStackObservation(env, 3),
    "TransformReward": lambda env: TransformReward(env, lambda reward: 2 * reward - 1),
    "all": lambda env: FrameStackObservation(
        NormalizeObservation(RecordEpisodeStatistics(TransformReward(TimeLimit(env, 9), lambda reward: -reward))), 2
    ),
}


def trace(env, options=None):
    """Record the results of a few episodes, without clock times."""
    observation, info = env.reset(seed=0, options=options)
    rows = [(observation, 0.0, False, False, {})]
    for action in ACTIONS:
        observation, reward, terminated, truncated, info = env.step(action)
        info.get("episode", {}).pop("t", None)
        rows.append((observation, reward, terminated, truncated, info))
        if terminated or truncated:
            rows.append((env.reset(options=options)[0], 0.0, False, False, {}))
    return rows


def assert_alike(ours, theirs, tolerance=2e-5):
    """Assert equal structure and flags, and equal numbers up to rounding."""
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, tolerance, tolerance), ours, theirs)


@pytest.fixture(scope="module")
def base():
    return GymnasiumEnv(CartPole())


@pytest.mark.parametrize("name", WRAPPERS)
def test_gymnasiums_wrappers_do_the_same_as_around_the_original(base, name):
    theirs = WRAPPERS[name](gymnasium.make("CartPole-v1").unwrapped)
    ours = WRAPPERS[name](base)
    assert ours.observation_space == theirs.observation_space
    rows = trace(ours, START)
    assert_alike(rows, trace(theirs, START))
    assert any(row[2] or row[3] for row in rows)


def test_a_state_can_be_injected_through_wrappers():
    ours, theirs = gymnasium.make("funcenv/CartPole-v1"), gymnasium.make("CartPole-v1")
    ours.reset(seed=0), theirs.reset(seed=0)
    for x in np.random.default_rng(1).uniform(-0.2, 0.2, (20, 4)):
        parts = [jnp.asarray(part, float) for part in x]
        ours.unwrapped.state = ours.unwrapped.state._replace(env_state=CartPoleState(*parts))
        theirs.unwrapped.state = x
        theirs.unwrapped.steps_beyond_terminated = None
        a, b = ours.step(1), theirs.step(1)
        np.testing.assert_allclose(a[0], b[0], 1e-5, 1e-6)
        assert a[1:4] == b[1:4] == (1.0, False, False)


def vector_trace(venv):
    rows = [venv.reset(seed=0)]
    for _ in range(20):
        rows.append(venv.step(np.array([ACTIONS[len(rows)] + 1, 2])))
    venv.close()
    return rows


def lakes(prefix, n=2):
    """Deterministic FrozenLake environments, so that resets agree too."""
    return [lambda: gymnasium.make(f"{prefix}FrozenLake-v1", is_slippery=False, max_episode_steps=8)] * n


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_sync_vector_env(mode):
    mode = gymnasium.vector.AutoresetMode(mode)
    ours, theirs = (SyncVectorEnv(lakes(prefix), autoreset_mode=mode) for prefix in ("funcenv/", ""))
    assert ours.observation_space == theirs.observation_space
    rows, reference = vector_trace(ours), vector_trace(theirs)
    for row in (*rows, *reference):  # Gymnasium keeps these in arrays of objects
        for name in ("final_obs",):
            row[-1].pop(name, None)
    assert_alike(rows, reference)
    assert any(row[3].any() for row in rows[1:])


def test_async_vector_env():
    context = "spawn"  # JAX has threads, which a fork does not copy
    ours = AsyncVectorEnv(lakes("funcenv.adapters.gymnasium:funcenv/"), context=context)
    theirs = SyncVectorEnv(lakes(""))
    assert_alike(vector_trace(ours), vector_trace(theirs))


def test_blackjack_shows_tuples_of_ints():
    ours, theirs = gymnasium.make("funcenv/Blackjack-v1"), gymnasium.make("Blackjack-v1")
    for env in (ours, theirs):
        observation, _ = env.reset(seed=0)
        assert type(observation) is tuple and list(map(type, observation)) == [int] * 3
        assert observation in env.observation_space
    venv = SyncVectorEnv([lambda: gymnasium.make("funcenv/Blackjack-v1")] * 3)
    observation, _ = venv.reset(seed=0)
    assert [part.tolist() for part in observation] == np.transpose(
        [gymnasium.make("funcenv/Blackjack-v1").reset(seed=seed)[0] for seed in range(3)]
    ).tolist()
    assert observation in venv.observation_space
    venv.close()


def test_functional_wrappers_are_part_of_the_environment():
    env = GymnasiumEnv(RescaleAction(OurFrameStack(funcenv.make("Pendulum-v1"), 2), min_action=-1, max_action=1))
    assert env.observation_space.shape == (2, 3) and env.action_space == gymnasium.spaces.Box(-1, 1, (1,))
    assert str(env) == "<RescaleAction<FrameStackObservation<TimeLimit<Pendulum>>>>" and env.unwrapped is env
    check_env(env, skip_render_check=True)


def test_actions_outside_and_steps_after_the_end_are_refused(base):
    base.reset(seed=0)
    with pytest.raises(ValueError, match="is not in"):
        base.step(2)
    assert base.step(np.int64(1))[1] == 1.0
    while not base.step(1)[2]:
        pass
    with pytest.raises(ResetNeeded):
        base.step(1)


SPACES = [
    spaces.Text(6, min_length=0),
    spaces.Sequence(spaces.Discrete(3), max_length=3),
    spaces.Graph(spaces.Box(-1, 1, (2,)), spaces.Discrete(3), max_nodes=4, max_edges=5),
    spaces.OneOf([spaces.Discrete(3), spaces.Box(-1, 1, (2,))]),
    spaces.Dict(a=spaces.Tuple([spaces.Text(3), spaces.MultiDiscrete([2, 5])]), b=spaces.MultiBinary(3)),
]


@pytest.mark.parametrize("space", SPACES, ids=lambda space: type(space).__name__)
def test_members_are_gymnasiums_in_and_out(space):
    env = GymnasiumEnv(Echo(space))
    assert env.reset(seed=0)[0] in env.observation_space
    env.action_space.seed(0)
    for _ in range(10):
        action = env.action_space.sample()
        said = env.step(action)[0]
        assert said in env.observation_space
        assert jax.tree.structure(said) == jax.tree.structure(action)
        jax.tree.map(np.testing.assert_array_equal, said, action)


def test_blackjack_class_without_registration():
    assert GymnasiumEnv(Blackjack()).reset(seed=1)[0] in GymnasiumEnv(Blackjack()).observation_space
