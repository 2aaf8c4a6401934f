"""What every wrapper forwards, refuses and leaves alone."""

import copy
import inspect
import pickle

import gymnasium.wrappers
import jax
import jax.numpy as jnp
import pytest

import funcenv
from funcenv import wrappers
from funcenv.drawable import Drawable
from funcenv.envs import CartPole, CliffWalking
from funcenv.traits import Traits
from funcenv.wrappers import TimeLimit, Wrapper, layers
from tests.support.tiny_envs import Counter


class Pictured(CartPole):
    """Draws a word."""

    def scene(self, state):
        del state
        return "a picture"


class Hidden(CartPole):
    """Has a private attribute."""

    _secret = 1


def test_forwards_everything():
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


@pytest.mark.parametrize("name", [name for name in {**vars(Traits), **vars(Drawable)} if not name.startswith("_")])
def test_every_optional_member_is_forwarded(name):
    assert name in vars(Wrapper)


def test_traits_are_those_of_the_environment_inside():
    cartpole, cliff = TimeLimit(CartPole(), 9), TimeLimit(CliffWalking(), 9)
    assert (cartpole.differentiable, cartpole.fixed_start) == (True, False)
    assert (cliff.differentiable, cliff.fixed_start, cliff.reward_range) == (None, True, (-100.0, -1.0))


def test_what_is_drawn_is_that_of_the_environment_inside():
    plain, wrapped = CliffWalking(), Wrapper(CliffWalking())
    state = jax.device_get(plain.initial(funcenv.key(0)))
    assert wrapped.text(state) == plain.text(state) and wrapped.host_image(state, (4, 4)) is None
    for name in "render_fps", "action_names", "image_size":
        assert getattr(wrapped, name) == getattr(plain, name)
    assert wrapped.get_keys_to_action() == plain.get_keys_to_action() != {}


def test_parameters_are_read_through_wrappers():
    env = Wrapper(TimeLimit(CartPole(gravity=1.6), 9))
    assert env.gravity == 1.6 and env.max_episode_steps == 9
    assert env.total_mass == env.unwrapped.total_mass  # a property
    assert env.get_keys_to_action() == env.unwrapped.get_keys_to_action()  # a method
    assert funcenv.make("FrozenLake-v1").P.reward.shape == (16, 4, 3)
    assert {"gravity", "max_episode_steps", "replace"} <= set(dir(env))


def test_the_outermost_layer_with_a_name_counts():
    env = TimeLimit(Wrapper(TimeLimit(CartPole(), 9)), 5)
    assert env.max_episode_steps == 5 and Wrapper(env.env).max_episode_steps == 9
    changed = Wrapper(env).replace(max_episode_steps=7)
    assert (changed.env.max_episode_steps, changed.env.env.max_episode_steps) == (7, 9)


def test_parameters_are_replaced_through_wrappers():
    env = Wrapper(TimeLimit(CartPole(), 9))
    assert env.replace(gravity=1.6) == Wrapper(TimeLimit(CartPole(gravity=1.6), 9))
    other = env.replace(env=TimeLimit(CartPole(length=2.0), 3), gravity=1.6, max_episode_steps=4)
    assert other == Wrapper(TimeLimit(CartPole(gravity=1.6, length=2.0), 4))
    assert jax.jit(lambda gravity: env.replace(gravity=gravity).gravity + 1.0)(2.0) == 3.0
    with pytest.raises(ValueError, match="masscart must be a finite number above 0"):
        env.replace(masscart=-1.0)


def test_a_batch_is_made_through_wrappers():
    gravities = jnp.array([9.8, 1.6])
    env = wrappers.RescaleObservation(funcenv.make("Pendulum-v1"), -1.0, 1.0).replace(max_speed=gravities)
    first, second = jax.vmap(lambda speed: env.replace(max_speed=speed).reset(funcenv.key(0))[1].observation)(gravities)
    venv = funcenv.FuncVectorEnv(env, 2)
    _, timestep = venv.reset(jnp.stack([funcenv.key(0)] * 2))
    assert timestep.observation.shape == (2, 3) and not jnp.array_equal(first, second)
    assert venv.subset(1, lambda values: values[1:]).env.max_speed == gravities[1:]
    mapped = jax.vmap(lambda gravity: funcenv.make("CartPole-v1").replace(gravity=gravity))(gravities)
    assert jnp.array_equal(mapped.gravity, gravities)


def test_an_unknown_name_lists_what_each_layer_has():
    env = TimeLimit(CartPole(), 9)
    message = (
        r"no layer of TimeLimit has a field 'gravty'; did you mean 'gravity'\? "
        r"TimeLimit has env, max_episode_steps; CartPole has gravity, masscart, "
    )
    with pytest.raises(TypeError, match=message):
        env.replace(gravty=1.6)
    with pytest.raises(AttributeError, match=r"^no layer of TimeLimit has 'gravty'; did you mean 'gravity'\?$"):
        env.gravty  # noqa: B018  (the access is the test)
    assert not hasattr(env, "wind") and getattr(env, "wind", None) is None


def test_private_names_and_failing_properties_are_not_looked_up_inside():
    class Broken(Wrapper):
        @property
        def observation_space(self):
            return self.action_space.shapes

    with pytest.raises(AttributeError, match="Discrete has no attribute 'shapes'"):
        Broken(CartPole()).observation_space  # noqa: B018  (the access is the test)
    env = Wrapper(Hidden())
    assert env.unwrapped._secret == 1 and not hasattr(env, "_secret")


def test_copies_and_half_built_wrappers_work():
    env = TimeLimit(CartPole(gravity=1.6), 9)
    for twin in (copy.copy(env), copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert twin == env and twin.gravity == 1.6
    with pytest.raises(AttributeError, match="no layer of TimeLimit has 'gravity'"):
        object.__new__(TimeLimit).gravity  # noqa: B018  (the access is the test)
    placeholders = jax.tree.map(lambda leaf: None, env)
    assert placeholders.gravity is None and not hasattr(placeholders, "shape")


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
    ours, more = list(ours.values())[: len(theirs)], list(ours.values())[len(theirs) :]
    assert [(each.name, each.kind) for each in ours] == [(each.name, each.kind) for each in theirs.values()]
    assert all(each.kind is each.KEYWORD_ONLY and each.default is not each.empty for each in more)
    for given, wanted in zip(ours, theirs.values(), strict=True):
        if wanted.default is not inspect.Parameter.empty:
            assert given.default == wanted.default


def test_pickles_with_its_parameters():
    env = funcenv.wrappers.RescaleAction(funcenv.make("Pendulum-v1", g=3.0), -1.0, 1.0)
    again = pickle.loads(pickle.dumps(env))
    assert again.unwrapped.g == 3.0
    assert again.action_space == env.action_space
