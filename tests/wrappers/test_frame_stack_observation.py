"""Stacked frames against Gymnasium's, and that noise is drawn once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole, Pendulum
from funcenv.spaces import Box, Graph
from funcenv.wrappers import FrameStackObservation
from tests.support.tiny_envs import Counter

PUSHES = np.arange(20) % 2
CUSTOM = np.float32([1, -1, 0, 2])


@pytest.mark.parametrize("padding_type", ["reset", "zero", CUSTOM])
@pytest.mark.parametrize("stack_size", [1, 3])
def test_as_gymnasium(compare_alike, stack_size, padding_type):
    compare_alike(
        "CartPole",
        lambda wrappers, env: wrappers.FrameStackObservation(env, stack_size, padding_type=padding_type),
        PUSHES,
    )


def test_of_a_dict_as_gymnasium(compare_alike):
    compare_alike(
        "CartPole",
        lambda wrappers, env: wrappers.FrameStackObservation(
            wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 12), flatten=False), 3
        ),
        PUSHES,
    )


def test_a_noisy_frame_is_drawn_once(play):
    """The newest frame is drawn with an extra key of the key that is passed on, and it does not change with age."""
    plain, stacked = Counter(noise=1.0), FrameStackObservation(Counter(noise=1.0), 3)
    key, step_key = jax.random.split(funcenv.key(3))
    state, timestep = stacked.reset(key)
    shown = plain.observation(state.env_state, stacked.extra_key(jax.random.split(key)[0]))
    np.testing.assert_array_equal(timestep.observation, jnp.stack([shown] * 3))
    state, timestep = stacked.step(state, 1, step_key)
    then_shown = plain.observation(state.env_state, stacked.extra_key(jax.random.split(step_key)[0]))
    np.testing.assert_array_equal(timestep.observation[1:], jnp.stack([shown, then_shown]))

    _, timesteps = play(stacked, jnp.ones(6, jnp.int32), funcenv.key(4))
    frames = np.asarray(timesteps.observation)
    np.testing.assert_array_equal(frames[1:, :-1], frames[:-1, 1:])
    assert len(np.unique(frames[:, -1, 0])) == 7


def test_zero_padding_lies_in_the_space():
    class Above(funcenv.Wrapper):
        @property
        def observation_space(self):
            return Box(2, 5, (4,))

    env = FrameStackObservation(Above(CartPole()), 2, padding_type="zero")
    np.testing.assert_array_equal(env.reset(funcenv.key(0))[1].observation[0], [2, 2, 2, 2])


def test_a_frame_of_ones_own_is_a_compile_time_choice():
    one, same, other = (
        FrameStackObservation(CartPole(), 2, padding_type=frame) for frame in (CUSTOM, CUSTOM.copy(), -CUSTOM)
    )
    assert jax.tree.structure(one) == jax.tree.structure(same) == jax.tree.structure(one.replace(env=CartPole()))
    assert hash(jax.tree.structure(one)) == hash(jax.tree.structure(same))
    assert jax.tree.structure(one) != jax.tree.structure(other)
    assert " ".join(repr(CUSTOM).split()) in repr(one)


class Network(funcenv.Wrapper):
    """Shows graphs."""

    @property
    def observation_space(self):
        return Graph(Box(-1, 1, (2,)), None, max_nodes=3, max_edges=4)

    def observation(self, state, key):
        return self.observation_space.sample(key)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: FrameStackObservation(CartPole(), 0), ValueError, r"stack_size must be at least 1, got 0"),
        (lambda: FrameStackObservation(CartPole(), 2.0), TypeError, r"stack_size must be an integer, got 2.0"),
        (lambda: FrameStackObservation(CartPole(), 2, padding_type="none"), ValueError, r'"reset", "zero" or an obs'),
        (
            lambda: FrameStackObservation(CartPole(), 2, padding_type=np.zeros(3)),
            ValueError,
            r"must be a member of Box",
        ),
        (lambda: FrameStackObservation(Network(Pendulum()), 2, padding_type="zero"), TypeError, r"no member of Graph"),
    ],
)
def test_wrong_arguments_are_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()
