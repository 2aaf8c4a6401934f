"""What holds for every wrapper that `funcenv.wrappers` exports, alone around an environment."""

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import funcenv
from funcenv import wrappers
from funcenv.checker import find_problems
from funcenv.envs import CartPole, CoinGame, MountainCar, Pendulum, Taxi


class Mirrored(wrappers.ActionWrapper):
    """Pushes the other way."""

    def inner_action(self, action):
        return 1 - action


class Shooter(wrappers.Wrapper):
    """Names its actions as those of a game."""

    action_names = ("NOOP", "FIRE", "RIGHT")


class Halved(wrappers.ObservationWrapper):
    """Sees half of everything, which is in the same space."""

    def outer_observation(self, observation):
        return 0.5 * observation


class Doubled(wrappers.RewardWrapper):
    """Is paid twice."""

    def outer_reward(self, reward):
        return 2 * reward


class CountedState(funcenv.PyTreeNode):
    """The inner state and the number of steps."""

    env_state: Any
    count: jax.Array


class Counted(wrappers.StatefulWrapper):
    """Adds the number of steps to `info`."""

    def initial(self, key):
        return CountedState(env_state=self.env.initial(key), count=jnp.int32(0))

    def transition(self, state, action, key):
        return CountedState(env_state=self.env.transition(state.env_state, action, key), count=state.count + 1)

    def state_info(self, state):
        return {**self.env.state_info(state.env_state), "count": state.count}


def negated(x):
    return -x


def drawn(key, env):
    return {"gravity": env.gravity * jax.random.uniform(key, (), float, 0.5, 2.0)}


def adapted(parameters, outcome, key):
    return {"gravity": 0.5 * parameters["gravity"] + outcome.episode_return}


def limited(env):
    return wrappers.TimeLimit(env, 20)


def image():
    return wrappers.PixelObservation(CartPole(), 8, 12)


# How to build each wrapper around an environment that it suits; keys are classes of `funcenv.wrappers`.
BUILDERS = {
    wrappers.ActionMaskObservation: lambda: wrappers.ActionMaskObservation(Taxi()),
    wrappers.ActionWrapper: lambda: Mirrored(CartPole()),
    wrappers.AdaptParameters: lambda: wrappers.AdaptParameters(CartPole(), adapted, ("gravity",)),
    wrappers.AddGaussianNoise: lambda: wrappers.AddGaussianNoise(CartPole(), 0.25),
    wrappers.AddRenderObservation: lambda: wrappers.AddRenderObservation(
        CartPole(), render_only=False, height=8, width=12
    ),
    wrappers.AddWhiteNoise: lambda: wrappers.AddWhiteNoise(image(), 0.25),
    wrappers.AtariPreprocessing: lambda: wrappers.AtariPreprocessing(image(), 0, frame_skip=3, screen_size=(6, 8)),
    wrappers.Autoreset: lambda: wrappers.Autoreset(limited(CartPole())),
    wrappers.ClipAction: lambda: wrappers.ClipAction(Pendulum()),
    wrappers.ClipReward: lambda: wrappers.ClipReward(Pendulum(), -1.0, 1.0),
    wrappers.CriticObservation: lambda: wrappers.CriticObservation(limited(Pendulum()), "state"),
    wrappers.DelayAction: lambda: wrappers.DelayAction(Pendulum(), (0, 2), each_step=True),
    wrappers.DelayObservation: lambda: wrappers.DelayObservation(CartPole(), 2),
    wrappers.DiscretizeAction: lambda: wrappers.DiscretizeAction(Pendulum(), 5),
    wrappers.DiscretizeObservation: lambda: wrappers.DiscretizeObservation(Pendulum(), 5),
    wrappers.DtypeObservation: lambda: wrappers.DtypeObservation(Pendulum(), "float16"),
    wrappers.EpisodeStatistics: lambda: wrappers.EpisodeStatistics(CartPole()),
    wrappers.FilterObservation: lambda: wrappers.FilterObservation(
        wrappers.TimeAwareObservation(limited(CartPole()), flatten=False), ["time"]
    ),
    wrappers.FiniteLevels: lambda: wrappers.FiniteLevels(
        CartPole(), jax.random.split(funcenv.key(0), 2), jnp.array([0.25, 0.75])
    ),
    wrappers.FireReset: lambda: wrappers.FireReset(Shooter(MountainCar())),
    wrappers.FlattenObservation: lambda: wrappers.FlattenObservation(wrappers.FrameStackObservation(Pendulum(), 2)),
    wrappers.FrameStackObservation: lambda: wrappers.FrameStackObservation(Pendulum(), 3),
    wrappers.GrayscaleObservation: lambda: wrappers.GrayscaleObservation(image()),
    wrappers.HistoryObservation: lambda: wrappers.HistoryObservation(CartPole(), 3),
    wrappers.MaxAndSkipObservation: lambda: wrappers.MaxAndSkipObservation(limited(CartPole()), 3),
    wrappers.NormalizeObservation: lambda: wrappers.NormalizeObservation(CartPole()),
    wrappers.NormalizeReward: lambda: wrappers.NormalizeReward(Pendulum()),
    wrappers.ObservationWrapper: lambda: Halved(CartPole()),
    wrappers.ObstructView: lambda: wrappers.ObstructView(image(), 0.25, 3),
    wrappers.OneAgent: lambda: wrappers.OneAgent(CoinGame(), "red"),
    wrappers.PixelObservation: lambda: wrappers.PixelObservation(CartPole(), 8, 12),
    wrappers.PolicyMemory: lambda: wrappers.PolicyMemory(Pendulum(), 3),
    wrappers.StateObservation: lambda: wrappers.StateObservation(limited(CartPole())),
    wrappers.RandomDelayObservation: lambda: wrappers.RandomDelayObservation(CartPole(), (1, 3)),
    wrappers.RandomizeParameters: lambda: wrappers.RandomizeParameters(CartPole(), drawn),
    wrappers.RepeatAction: lambda: wrappers.RepeatAction(limited(CartPole()), 3),
    wrappers.RescaleAction: lambda: wrappers.RescaleAction(Pendulum(), -1.0, 1.0),
    wrappers.RescaleObservation: lambda: wrappers.RescaleObservation(Pendulum(), 0.0, 1.0),
    wrappers.ReshapeObservation: lambda: wrappers.ReshapeObservation(CartPole(), (2, 2)),
    wrappers.ResizeObservation: lambda: wrappers.ResizeObservation(image(), (5, 4)),
    wrappers.RewardWrapper: lambda: Doubled(Pendulum()),
    wrappers.StatefulWrapper: lambda: Counted(CartPole()),
    wrappers.StickyAction: lambda: wrappers.StickyAction(CartPole(), 0.25),
    wrappers.TimeAwareObservation: lambda: wrappers.TimeAwareObservation(limited(CartPole())),
    wrappers.TimeLimit: lambda: limited(Pendulum()),
    wrappers.TransformAction: lambda: wrappers.TransformAction(Pendulum(), negated),
    wrappers.TransformObservation: lambda: wrappers.TransformObservation(CartPole(), negated),
    wrappers.TransformReward: lambda: wrappers.TransformReward(Pendulum(), negated),
    wrappers.Wrapper: lambda: wrappers.Wrapper(CartPole()),
}

WRAPPERS = [
    value
    for name, value in sorted(vars(wrappers).items())
    if inspect.isclass(value) and issubclass(value, wrappers.Wrapper)
]


def marked(wrapper):
    """Return a wrapper as a parameter, with the mark `dear` if it draws several frames in a step."""
    marks = [pytest.mark.dear] if wrapper is wrappers.AtariPreprocessing else []
    return pytest.param(wrapper, id=wrapper.__name__, marks=marks)


@pytest.fixture(params=map(marked, WRAPPERS))
def wrapped(request):
    wrapper = request.param
    assert wrapper in BUILDERS, (
        f"funcenv.wrappers exports {wrapper.__name__}, which no contract test covers: add a line for it to BUILDERS in "
        "tests/contract/test_wrappers.py"
    )
    env = BUILDERS[wrapper]()
    assert isinstance(env, wrapper)
    return env


def test_tracing_finds_nothing(wrapped):
    """Key reuse, strict promotion, 64 bits, kinds that scan can carry, parameters in batches, the scene, pickling."""
    assert find_problems(wrapped, funcenv.key(0), run=False) == []


@pytest.mark.exhaustive
def test_checker_finds_nothing(wrapped):
    findings = find_problems(wrapped, funcenv.key(0))
    assert findings == [], "\n".join(map(str, findings))


def test_innermost_environment_shows_through(wrapped):
    assert wrapped.unwrapped == wrapped.env.unwrapped
    assert not isinstance(wrapped.unwrapped, wrappers.Wrapper)


def test_replacing_what_is_inside(wrapped):
    """A wrapper is built from its fields alone: with another environment inside, only that one changes."""
    again = wrapped.replace(env=wrapped.env)
    assert jax.tree.structure(again) == jax.tree.structure(wrapped)
    assert all(map(jnp.array_equal, jax.tree.leaves(again), jax.tree.leaves(wrapped)))


class RecordedState(funcenv.PyTreeNode):
    """The inner state and the keys of its calls so far."""

    env_state: Any
    keys: jax.Array
    count: jax.Array


class Recorded(wrappers.StatefulWrapper):
    """Keeps the keys that `initial` and `transition` receive."""

    def initial(self, key):
        keys = jnp.zeros((32, 2), jnp.uint32).at[0].set(jax.random.key_data(key))
        return RecordedState(env_state=self.env.initial(key), keys=keys, count=jnp.int32(1))

    def transition(self, state, action, key):
        keys = state.keys.at[state.count].set(jax.random.key_data(key))
        return RecordedState(self.env.transition(state.env_state, action, key), keys, state.count + 1)


def with_recorder(env):
    """Put a recorder directly around the innermost environment."""
    return env.replace(env=with_recorder(env.env)) if isinstance(env, wrappers.Wrapper) else Recorded(env)


@jax.jit
def keys_received(env, key):
    """Return the keys of three calls, those that the environment inside received, and how many by the reset and all."""
    first_key, *keys = jax.random.split(key, 3)
    state, action = env.initial(first_key), jax.tree.map(jnp.zeros_like, env.action_space.abstract_member())
    num_at_reset = recorded(env, state).count
    for step_key in keys:
        state = env.transition(state, action, step_key)
    last = recorded(env, state)
    return jax.random.key_data(jnp.stack([first_key, *keys])), last.keys, num_at_reset, last.count


def recorded(env, state):
    """Return the state of the recorder."""
    for layer in wrappers.layers(env):
        if isinstance(layer, Recorded):
            return state
        state = layer.inner(state)


def test_a_wrapper_keeps_the_episode_of_a_seed(wrapped):
    """The environment inside receives the keys that the wrapper receives; a repeat has a key of its own."""
    given, received, first, count = keys_received(with_recorder(wrapped), funcenv.key(0))
    repeats = int(count - first) // 2
    assert count == first + 2 * repeats and repeats in (1, 3)
    assert jnp.array_equal(received[jnp.array([0, first, first + repeats])], given)
    assert len(jnp.unique(received[:count], axis=0)) == count


def test_repeats_in_repeats_have_different_keys():
    env = wrappers.RepeatAction(wrappers.MaxAndSkipObservation(wrappers.RepeatAction(Pendulum(), 2), 2), 3)
    _, received, _, count = keys_received(with_recorder(wrappers.FrameStackObservation(env, 2)), funcenv.key(0))
    assert count == 1 + 2 * 3 * 2 * 2
    assert len(jnp.unique(received[:count], axis=0)) == count


@pytest.mark.dear
def test_all_at_once():
    """Loops inside loops, draws, frames and resets: the stack that is hardest to get right."""
    env = wrappers.StickyAction(wrappers.EpisodeStatistics(limited(CartPole())), 0.25)
    env = wrappers.TimeAwareObservation(wrappers.RepeatAction(env, 2))
    env = wrappers.Autoreset(wrappers.DelayObservation(wrappers.FrameStackObservation(env, 2), 1))
    findings = find_problems(wrappers.TransformReward(env, negated), funcenv.key(0))
    assert findings == [], "\n".join(map(str, findings))


def test_every_builder_is_of_an_exported_wrapper():
    assert set(BUILDERS) <= set(WRAPPERS)
