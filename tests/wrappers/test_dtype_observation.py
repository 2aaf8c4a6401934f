"""Cast observations against Gymnasium's."""

import gymnasium
import gymnasium.wrappers as reference
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import spaces
from funcenv.envs import CartPole
from funcenv.wrappers import DtypeObservation

PUSHES = np.arange(20) % 2
SPACES = {
    "Box": (spaces.Box(-1, 3, (2,)), gymnasium.spaces.Box(-1, 3, (2,))),
    "Discrete": (spaces.Discrete(5, start=-2), gymnasium.spaces.Discrete(5, start=-2)),
    "MultiDiscrete": (spaces.MultiDiscrete([3, 4]), gymnasium.spaces.MultiDiscrete([3, 4])),
    "MultiBinary": (spaces.MultiBinary(3), gymnasium.spaces.MultiBinary(3)),
    "Dict": (spaces.Dict(a=spaces.Discrete(2)), gymnasium.spaces.Dict(a=gymnasium.spaces.Discrete(2))),
}


class Shows(funcenv.Wrapper):
    """Shows members of a space."""

    space: spaces.Space = funcenv.field(pytree_node=False)

    @property
    def observation_space(self):
        return self.space

    def observation(self, state, key):
        return self.space.sample(key)


class Reference(gymnasium.Env):
    """Has an observation space."""

    def __init__(self, space):
        self.observation_space = space


def test_as_gymnasium(compare_alike):
    compare_alike("CartPole", lambda wrappers, env: wrappers.DtypeObservation(env, np.float64), PUSHES)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("Box", "int16"),
        ("Box", np.float32),
        ("Discrete", "int16"),
        ("Discrete", np.float32),
        ("MultiDiscrete", "int16"),
        ("MultiBinary", np.float32),
    ],
)
def test_spaces_as_gymnasium(kind, dtype, same_space):
    ours, theirs = SPACES[kind]
    env = DtypeObservation(Shows(CartPole(), ours), dtype)
    same_space(env.observation_space, reference.DtypeObservation(Reference(theirs), dtype).observation_space)
    assert env.observation_space.dtype == np.dtype(dtype)
    observation = env.reset(funcenv.key(0))[1].observation
    assert bool(env.observation_space.contains(observation))


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match=r"needs observations that are one array, got Dict.*put FlattenObservation"):
        DtypeObservation(Shows(CartPole(), SPACES["Dict"][0]), np.float32)
    with pytest.raises((TypeError, ValueError), match=r"MultiDiscrete needs an integer dtype, got float32"):
        DtypeObservation(Shows(CartPole(), SPACES["MultiDiscrete"][0]), np.float32)
    with pytest.raises(TypeError, match="dtype of DtypeObservation must name a dtype, got inf"):
        DtypeObservation(CartPole(), float("inf"))
    with pytest.raises(ValueError, match=r"float64 needs .*jax_enable_x64"):
        DtypeObservation(CartPole(), np.float64)
    with jax.enable_x64(True):
        env = DtypeObservation(CartPole(), np.float64)
        assert env.reset(funcenv.key(0))[1].observation.dtype == jnp.float64
