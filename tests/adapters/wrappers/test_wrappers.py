"""The base classes of stateful wrappers, and the wrappers without rendering."""

import copy
import functools
import gc
import pickle
import subprocess
import sys
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv import adapters, spaces
from funcenv import wrappers as pure
from funcenv.adapters import FunctionalEnv, ResetNeeded, Space, gym
from funcenv.adapters.wrappers import (
    ActionWrapper,
    ObservationWrapper,
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    RewardWrapper,
    Wrapper,
)
from funcenv.envs import CartPole, Pendulum

FLAGS = {
    "return_two_dones": adapters.wrappers.StepCompatibility,
    "output_truncation_bool": adapters.wrappers.StepAPICompatibility,
    "disable_render_order_enforcing": OrderEnforcing,
    "warn": PassiveEnvChecker,
    "pop_frames": adapters.wrappers.RenderCollection,
    "reset_clean": adapters.wrappers.RenderCollection,
    "disable_logger": functools.partial(adapters.wrappers.RecordVideo, video_folder="videos"),
    "grayscale_obs": adapters.wrappers.AtariPreprocessing,
    "render_only": adapters.wrappers.AddRenderObservation,
    "is_noise_grayscale": functools.partial(adapters.wrappers.AddWhiteNoise, probability_of_noise_per_pixel=0.5),
    "lz4_compress": functools.partial(gym.wrappers.FrameStack, num_stack=2),
}


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_is_true_or_false(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TypeError, match=f"^{name} must be True or False, got 'yes'"):
        FLAGS[name](adapters.make("CartPole-v1", render_mode="rgb_array"), **{name: "yes"})


class Line(adapters.Env):
    """A handwritten environment: walk to 3."""

    metadata = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, render_mode=None):
        self.action_space, self.observation_space = Space(spaces.Discrete(2)), Space(spaces.Discrete(4))
        self.render_mode = render_mode
        self.closed = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.options = 0, options
        return self.place, {"start": True}

    def step(self, action):
        self.place = max(self.place + 2 * action - 1, 0)
        return self.place, float(self.place), self.place == 3, False, {}

    def render(self):
        return "." * self.place + "x"

    def close(self):
        self.closed += 1


@pytest.fixture
def line():
    return Line(render_mode="ansi")


class Named(Wrapper):
    name = "outer"


class Chain:
    """An environment in two wrappers, with the same attributes in either library."""

    def __init__(self, named, plain, bottom):
        self.bottom = bottom
        self.bottom.depth = 3
        self.env = plain(named(bottom))


class GymLine(gymnasium.Env):
    pass


class GymNamed(gymnasium.Wrapper):
    name = "outer"


def attribute_story(chain):
    env = chain.env
    rows = [env.has_wrapper_attr(name) for name in ("name", "depth", "nowhere")]
    rows += [env.get_wrapper_attr(name) for name in ("name", "depth")]
    rows += [env.set_wrapper_attr("name", "new"), env.env.name, "name" in vars(env)]
    rows += [env.set_wrapper_attr("depth", 4), chain.bottom.depth, "depth" in vars(env)]
    rows += [env.set_wrapper_attr("fresh", 5), "fresh" in vars(env), "fresh" in vars(chain.bottom)]
    rows += [env.set_wrapper_attr("nowhere", 6, force=False), env.has_wrapper_attr("nowhere")]
    return rows


def test_attributes_are_found_and_set_along_the_chain_as_in_gymnasium():
    ours = attribute_story(Chain(Named, Wrapper, Line()))
    assert ours == attribute_story(Chain(GymNamed, gymnasium.Wrapper, GymLine()))
    with pytest.raises(AttributeError, match="<Wrapper<Line instance>> nor an environment inside has .* 'nowhere'"):
        Wrapper(Line()).get_wrapper_attr("nowhere")


def test_the_chain_goes_on_into_the_pure_environment():
    env = Wrapper(adapters.make("CartPole-v1", gravity=1.6))
    assert env.has_wrapper_attr("max_episode_steps") and env.get_wrapper_attr("max_episode_steps") == 500
    assert env.get_wrapper_attr("gravity") == 1.6 and env.get_wrapper_attr("total_mass") == 1.1
    assert not env.has_wrapper_attr("nowhere")
    assert env.set_wrapper_attr("gravity", 9.8) and env.get_wrapper_attr("gravity") == 9.8
    with pytest.raises(AttributeError):
        env.get_wrapper_attr("nowhere")
    assert env.set_wrapper_attr("closed", False) and env.set_wrapper_attr("mark", 1) and env.mark == 1


def test_str_shows_the_chain_with_functional_wrappers():
    env = FunctionalEnv(pure.RescaleAction(pure.TimeLimit(Pendulum(), 9), -1.0, 1.0))
    assert str(Wrapper(env)) == "<Wrapper<RescaleAction<TimeLimit<Pendulum>>>>"
    assert repr(Named(adapters.make("CartPole-v1"))) == "<Named<TimeLimit<CartPole<CartPole-v1>>>>"
    assert str(Wrapper(Line())) == "<Wrapper<Line instance>>"


class Negative(ObservationWrapper):
    def observation(self, observation):
        return -observation


class Half(RewardWrapper):
    def reward(self, reward):
        return reward / 2


class Flip(ActionWrapper):
    def action(self, action):
        return 1 - action


def test_each_base_changes_one_thing(line):
    env, inside = Negative(Half(Flip(line))), Line()
    assert env.reset(seed=0)[0] == -inside.reset(seed=0)[0]
    for action in (0, 0, 1, 0, 0):
        observation, reward, *rest = inside.step(1 - action)
        assert env.step(action) == (-observation, reward / 2, *rest)
    assert Half(adapters.make("CartPole-v1")).reward_range == (-np.inf, np.inf)
    for base in (ObservationWrapper, RewardWrapper, ActionWrapper):
        unfinished = base(Line())
        with pytest.raises(NotImplementedError, match=f"{base.__name__} must define"):
            unfinished.reset()
            unfinished.step(0)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (CartPole(), "got the pure CartPole; make it one with FunctionalEnv"),
        (Line, "got the class Line: call it first"),
        (3, "got int"),
    ],
)
def test_only_a_stateful_environment_can_be_wrapped(env, message):
    with pytest.raises(TypeError, match=message):
        Wrapper(env)


def test_copies_of_a_wrapped_environment_go_on_alike():
    env = Half(RecordEpisodeStatistics(adapters.make("CartPole-v1")))
    env.reset(seed=0)
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        np.testing.assert_array_equal(copy.deepcopy(env).step(1)[0], other.step(1)[0])


def test_order_is_enforced():
    env = OrderEnforcing(Line(render_mode="ansi"))
    assert not env.has_reset
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(0)
    with pytest.raises(ResetNeeded, match="before render"):
        env.render()
    env.reset()
    assert env.has_reset and env.render() == "x"
    for _ in range(3):
        env.step(1)
    with pytest.raises(ResetNeeded, match="after an episode's end"):
        env.step(1)
    env.reset()
    env.step(1)
    free = OrderEnforcing(Line(render_mode="ansi"), disable_render_order_enforcing=True)
    free.unwrapped.place = 2
    assert free.render() == "..x"


def test_episodes_are_recorded_as_by_gymnasium():
    """Compare both wrappers on one environment, which Gymnasium accesses through a small `gymnasium.Env`."""

    class Bridge(gymnasium.Env):
        def __init__(self):
            self.inside = adapters.make("CartPole-v1", max_episode_steps=30)

        def reset(self, *, seed=None, options=None):
            return self.inside.reset(seed=seed, options=options)

        def step(self, action):
            return self.inside.step(action)

    ours = RecordEpisodeStatistics(adapters.make("CartPole-v1", max_episode_steps=30), buffer_length=2)
    theirs = gymnasium.wrappers.RecordEpisodeStatistics(Bridge(), buffer_length=2)
    actions = np.random.default_rng(0).integers(0, 2, 120)
    ours.reset(seed=1)
    theirs.reset(seed=1)
    for action in actions:
        *_, terminated, truncated, info = ours.step(int(action))
        *_, expected = theirs.step(int(action))
        assert info.keys() == expected.keys()
        if terminated or truncated:
            assert {**info["episode"], "t": 0} == {**expected["episode"], "t": 0}
            ours.reset()
            theirs.reset()
        assert (ours.episode_returns, ours.episode_lengths) == (theirs.episode_returns, theirs.episode_lengths)
    assert ours.episode_count == theirs.episode_count > 2
    assert list(ours.return_queue) == list(theirs.return_queue) and len(ours.return_queue) == 2
    assert list(ours.length_queue) == list(theirs.length_queue)


def test_episode_times_come_from_the_clock_and_names_must_not_clash():
    ticks = iter([0.0, 10.0, 12.5])
    env = RecordEpisodeStatistics(Line(), stats_key="start_", clock=lambda: next(ticks))
    env.reset()
    for _ in range(3):
        *_, info = env.step(1)
    assert info["start_"] == {"r": 6.0, "l": 3, "t": 2.5} and list(env.time_queue) == [2.5]
    twice = RecordEpisodeStatistics(RecordEpisodeStatistics(Line()))
    twice.reset()
    with pytest.raises(ValueError, match="already; pass another stats_key"):
        for _ in range(3):
            twice.step(1)
    with pytest.raises(ValueError, match="buffer_length must be at least 1"):
        RecordEpisodeStatistics(Line(), buffer_length=0)


def test_the_passive_checker_looks_at_first_results_only():
    class Late(Line):
        def step(self, action):
            place, reward, terminated, truncated, info = super().step(action)
            return place, reward, np.bool_(terminated) if place < 2 else 3, truncated, info

    env = PassiveEnvChecker(Late(render_mode="ansi"))
    env.reset()
    with pytest.warns(UserWarning, match="terminated of step.. is a numpy bool"):
        env.step(1)
    env.step(1)  # a fault that comes later is not seen
    assert env.render() == "..x"

    class Wrong(Line):
        def reset(self, *, seed=None, options=None):
            return 9, {}

        def render(self):
            return 3

    wrong = PassiveEnvChecker(Wrong(render_mode="ansi"))
    with pytest.raises(adapters.EnvCheckError, match="not in Discrete"):
        wrong.reset()
    with pytest.raises(adapters.EnvCheckError, match="must give a string"):
        wrong.render()


def test_an_environment_closes_itself_when_it_is_collected():
    log = []

    class Logging(Line):
        def close(self):
            log.append("closed")

    env = Logging()
    del env
    gc.collect()
    assert log == []  # nothing was begun
    inside = Logging()
    wrapped = Wrapper(inside)
    wrapped.reset()
    del wrapped
    gc.collect()
    assert log == []  # the wrapper is gone, the environment in use
    del inside
    gc.collect()
    assert log == ["closed"]


def test_environments_close_themselves_at_exit_even_where_one_fails():
    code = """
from funcenv import adapters, spaces
class Loud(adapters.Env):
    def __init__(self, name): self.name = name
    def reset(self, *, seed=None, options=None): return super().reset(seed=seed)
    def close(self):
        print("closing", self.name)
        if self.name == "b": raise RuntimeError("stuck")
envs = [Loud(name) for name in "abcd"]
for env in envs[:3]: env.reset()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == ["a", "b", "c", "closing", "closing", "closing"]
    assert "stuck" in done.stderr


def test_a_functional_wrapper_around_a_stateful_environment_says_where_to_put_it():
    message = (
        r"TimeLimit wraps a FuncEnv.* got FunctionalEnv; .* adapters.FunctionalEnv\(TimeLimit\(env.func_env, ...\)\)"
    )
    with pytest.raises(TypeError, match=message):
        pure.TimeLimit(adapters.make("Pendulum-v1"), 9)
    with pytest.raises(TypeError, match="got Line; around a stateful environment .* goes a class of funcenv.adapters"):
        pure.ClipAction(Line())
    with pytest.raises(TypeError, match="a vector environment is built last"):
        pure.ClipAction(adapters.make_vec("Pendulum-v1", 2))


def test_the_passive_checker_finds_bad_spaces():
    env = Line()
    env.action_space = 3
    with pytest.raises(adapters.EnvCheckError, match="action_space must be a stateful space, got int"):
        adapters.wrappers.PassiveEnvChecker(env)


def test_a_functional_wrapper_is_pointed_to():
    with pytest.raises(AttributeError, match=r"goes inside: adapters.FunctionalEnv\(funcenv.wrappers.DelayAction"):
        _ = adapters.wrappers.DelayAction
    with pytest.raises(AttributeError, match="no attribute 'Nothing'; the stateful wrappers are: .*RecordVideo"):
        _ = adapters.wrappers.Nothing


def test_an_environment_that_computes_with_jax_has_an_interface_of_numpy():
    class Grid(NamedTuple):
        cells: Any

    class Drift(adapters.Env):
        observation_space = spaces.Dict(z=spaces.Box(-1, 1, (2,)), a=spaces.Discrete(2))
        action_space = spaces.Box(-1, 1, (2,))

        def reset(self, *, seed=None, options=None):
            return {"z": jnp.zeros(2), "a": jnp.int32(1)}, {"name": "left", "grid": Grid(jnp.zeros((2, 2)))}

        def step(self, action):
            assert isinstance(action, jax.Array)
            return {"z": action, "a": jnp.int32(0)}, action.sum(), action[0] > 0, jnp.array(False), {"list": [action]}

        def render(self):
            return jnp.zeros((4, 4, 3), jnp.uint8)

    env = adapters.wrappers.JaxToNumpy(Drift())
    observation, info = env.reset()
    assert list(observation) == ["z", "a"] and all(type(part).__module__ == "numpy" for part in observation.values())
    assert info["name"] == "left" and isinstance(info["grid"], Grid) and isinstance(info["grid"].cells, np.ndarray)
    observation, reward, terminated, truncated, info = env.step(np.float32([0.5, 1.0]))
    assert (reward, terminated, truncated) == (1.5, True, False) and type(reward) is float and type(terminated) is bool
    assert isinstance(info["list"][0], np.ndarray) and isinstance(env.render(), np.ndarray)
