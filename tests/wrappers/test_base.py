"""What every wrapper forwards, refuses and leaves alone."""

import inspect
import pickle

import gymnasium.wrappers
import jax
import jax.numpy as jnp
import pytest

import funcenv
from funcenv import wrappers
from funcenv.envs import CartPole
from funcenv.wrappers import TimeLimit, Wrapper, layers


class Pictured(CartPole):
    """Draws a word."""

    def scene(self, state):
        del state
        return "a picture"


def test_forwards_everything(Counter):
    plain, wrapped = Counter(goal=2), TimeLimit(Counter(goal=2), 9)
    state, inner = wrapped.reset(funcenv.key(0))[0], plain.reset(funcenv.key(0))[0]
    for number in range(3):
        key = funcenv.key(number)
        state, timestep = wrapped.step(state, 1, key)
        inner, expected = plain.step(inner, 1, key)
        assert jax.tree.all(jax.tree.map(lambda a, b: jnp.array_equal(a, b), timestep, expected))
    assert wrapped.observation_space == plain.observation_space
    assert wrapped.action_space == plain.action_space
    assert wrapped.unwrapped is wrapped.env
    assert TimeLimit(Pictured(), 9).scene(wrapped.initial(funcenv.key(0))) == "a picture"


def test_hides_nothing_behind_attributes():
    with pytest.raises(AttributeError):
        TimeLimit(CartPole(), 9).gravity  # noqa: B018  (the access is the test)


def test_layers_from_the_outside_in():
    env = TimeLimit(Wrapper(CartPole()), 9)
    assert [type(layer).__name__ for layer in layers(env)] == ["TimeLimit", "Wrapper", "CartPole"]


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (CartPole, r"TimeLimit wraps an environment, got the class CartPole: call it first"),
        ("CartPole-v1", r"TimeLimit wraps a FuncEnv, such as funcenv.make gives, got str"),
        (funcenv.FuncVectorEnv(CartPole(), 2), r"got FuncVectorEnv; a vector environment is built last"),
        (gymnasium.Env(), r"TimeLimit wraps a FuncEnv, .* got Env"),
    ],
)
def test_what_is_no_environment_is_refused(env, message):
    with pytest.raises(TypeError, match=message):
        TimeLimit(env, 9)


def test_every_public_wrapper_documents_its_place():
    """The docstring of each says where in a stack it goes, or that it may stand anywhere."""
    for name in wrappers.__all__:
        kind = getattr(wrappers, name)
        if isinstance(kind, type) and issubclass(kind, Wrapper) and kind is not Wrapper:
            said = " ".join((kind.__doc__ or "").split())
            places = ("nside", "utside", "anywhere", "outermost", "hooks", "a subclass defines")
            assert any(place in said for place in places), name


@pytest.mark.parametrize("name", sorted(set(wrappers.__all__) & set(gymnasium.wrappers.__all__)))
def test_arguments_are_gymnasiums(name):
    ours, theirs = (inspect.signature(getattr(module, name)).parameters for module in (wrappers, gymnasium.wrappers))
    assert [(each.name, each.kind) for each in ours.values()] == [(each.name, each.kind) for each in theirs.values()]
    for given, wanted in zip(ours.values(), theirs.values(), strict=True):
        if wanted.default is not inspect.Parameter.empty:
            assert given.default == wanted.default


def test_pickles_with_its_parameters():
    env = funcenv.wrappers.RescaleAction(funcenv.make("Pendulum-v1", g=3.0), -1.0, 1.0)
    again = pickle.loads(pickle.dumps(env))
    assert again.unwrapped.g == 3.0
    assert again.action_space == env.action_space
