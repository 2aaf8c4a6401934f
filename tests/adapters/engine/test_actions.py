"""What the stateful interfaces do with actions beyond the bounds of a box: what Gymnasium's environments do."""

import warnings

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv.adapters.gymnasium  # noqa: F401  (it registers)
from funcenv import adapters, spaces
from funcenv.adapters.engine.actions import array_encoder
from tests.support.tiny_envs import Tiny

BEYOND = "beyond the bounds"


class Slider(Tiny):
    """An environment that remembers the last action as it was given."""

    observation_space = spaces.Box(-jnp.inf, jnp.inf, (1,))
    action_space = spaces.Box(-0.3, 0.9, (1,))

    def initial(self, key):
        return jnp.zeros(1, jnp.float32)

    def transition(self, state, action, key):
        return action


def encode(low, high, action, shape=(1,), dtype=np.float32):
    return array_encoder(spaces.Box(low, high, shape, dtype), "sample()")(np.asarray(action))


@pytest.mark.filterwarnings("ignore:.*beyond the bounds")
@pytest.mark.parametrize("id", ["Pendulum-v1", "MountainCarContinuous-v0"])
@pytest.mark.parametrize("kind", ["adapters", "gymnasium", "vector"])
def test_actions_beyond_the_bounds_do_what_they_do_in_gymnasium(id, kind):
    theirs = gymnasium.make(id).unwrapped
    theirs.reset(seed=0)
    envs = adapters.make_vec(id, 1) if kind == "vector" else None
    ours = adapters.make(id) if kind == "adapters" else gymnasium.make(f"funcenv/{id}")
    (envs or ours).reset(seed=0)
    for action in (3.5, -7.25, 1.0, -1e3):
        if kind == "vector":
            state, given = envs.state.env_state, np.full((1, 1), action, np.float32)
            observation, reward = (leaf[0] for leaf in envs.step(given)[:2])
        else:
            state, given = ours.unwrapped.state.env_state, np.full(1, action, np.float32)
            observation, reward, *_ = ours.step(given)
        state = getattr(state, "env_state", state)  # without the time limit
        theirs.state = np.array(
            [state.theta, state.theta_dot] if id == "Pendulum-v1" else [state.position, state.velocity]
        ).reshape(-1)
        expected, expected_reward, *_ = theirs.step(np.full(1, action, np.float32))
        np.testing.assert_allclose(observation, np.ravel(expected), 1e-5, 1e-6)
        np.testing.assert_allclose(reward, float(expected_reward), 1e-4)


@pytest.mark.parametrize("make", [adapters.FunctionalEnv, lambda env: adapters.FunctionalVectorEnv(env, 1)])
def test_they_reach_the_environment_unchanged_with_one_warning(make):
    env = make(Slider())
    env.reset(seed=0)
    action = np.full(env.action_space.shape, 5.0)
    with pytest.warns(UserWarning, match=BEYOND) as caught:
        for _ in range(3):
            np.testing.assert_array_equal(env.step(action)[0], action)
    assert len(caught) == 1
    for bad, message in ((np.full_like(action, np.nan), "nan"), (np.zeros((7, 1)), "shape"), (action + 1j, "complex")):
        with pytest.raises(ValueError, match=message):
            env.step(bad)


def test_the_rounding_of_clients_is_neither_refused_nor_reported():
    env = gymnasium.make("funcenv/Pendulum-v1")
    rescaled = gymnasium.wrappers.RescaleAction(env, np.float32(0.05), np.float32(0.35))
    rescaled.reset(seed=0)
    for bound in (rescaled.action_space.high, rescaled.action_space.low):
        rescaled.step(bound)
    space = Slider().action_space
    unscaled = space.low + (0.5 * (np.ones(1, np.float32) + 1.0) * (space.high - space.low))  # as SB3 computes it
    assert unscaled > space.high
    slider = adapters.FunctionalEnv(Slider())
    slider.reset(seed=0)
    slider.step(unscaled)
    for low, high in ((-1e-3, 1e6), (0.0, 0.25), (-np.inf, 1.0), (-2.0, 0.0)):
        for bound, away in ((low, -np.inf), (high, np.inf)):
            bound = np.float32(bound)
            assert encode(low, high, [np.nextafter(bound, np.float32(away))]).shape == (1,)


def test_what_rounding_does_not_explain_is_reported():
    for low, high, action in ((-1.0, 1.0, 1.00001), (-np.inf, 1.0, 1.00001), (0.0, np.inf, -0.00001), (-1, 1, np.inf)):
        with pytest.warns(UserWarning, match=BEYOND):
            encode(low, high, [action])


def test_integers_beyond_the_bounds_are_refused():
    for dtype, action in ((np.uint8, 300), (np.int32, 11), (np.int32, -1)):
        with pytest.raises(ValueError, match=f"action .{action}. is not in Box"):
            encode(0, 10, [action], dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encode(0, 10, [10], dtype=np.uint8).dtype == np.uint8
        assert encode(False, True, [True], dtype=bool).dtype == bool


def test_parts_of_compound_actions():
    space = spaces.Dict(a=spaces.Box(-1.0, 1.0, (1,)), b=spaces.Tuple([spaces.Discrete(2)]))
    encode = adapters.engine.single_actions.action_encoder(space)
    with pytest.warns(UserWarning, match=BEYOND):
        assert encode({"a": [2.0], "b": (1,)})["a"] == 2.0
    for bad in ({"a": [0.0]}, {"a": [0.0], "b": (2,)}, {"a": [0.0], "b": ()}, {"a": [np.nan], "b": (1,)}, 3):
        with pytest.raises(ValueError):
            encode(bad)
