"""Every item that the pages of the reference API document, as code that runs it, with the table of the guide.

The pages are those of Gymnasium on `Env` (1.4, 0.29, 0.26) and on what it links, the API page of old Gym (0.21 to
0.25), and articles on Gym's environments. In the code of new pages `gym` is `funcenv.adapters`; in that of old ones it
is `funcenv.adapters.gym`, named `old` here.

`python -m tests.support.documented_items` writes the table into the guide.
"""

import collections
import importlib
import io
import json
import os
import pathlib
import pickle
import tempfile
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

from funcenv import adapters as gym
from funcenv.adapters import gym as old
from funcenv.adapters import spaces
from funcenv.adapters.error import ClosedEnvironment, ResetNeeded
from funcenv.adapters.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from tests.support.documented_envs import GridWorldEnv, PointEnv

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "guides" / "reference_items.md"
ITEMS: list["Item"] = []

ENV, ENV29 = "Gymnasium: Env", "Gymnasium 0.26 to 0.29: Env"
MAKE, WRAP, SPACE = "Gymnasium: make and register", "Gymnasium: wrappers", "Gymnasium: spaces"
VECTOR, UTILS, CUSTOM = "Gymnasium: vector", "Gymnasium: utilities", "Gymnasium: create an environment"
GYM, ARTICLE = "Gym: API", "Articles on Gym"


class Item(NamedTuple):
    """A documented item: the page, its name there, the reason why it differs or None, and code that shows it."""

    page: str
    name: str
    differs: str | None
    run: Any


def item(page, name, differs=None):
    """Add an item, which the decorated function runs."""

    def add(run):
        ITEMS.append(Item(page, name, differs, run))
        return run

    return add


def made(id="CartPole-v1", **arguments):
    """Return an environment after `reset(seed=0)`."""
    env = gym.make(id, **arguments)
    env.reset(seed=0)
    return env


def ended(env):
    """Step an environment to the end of its episode."""
    while True:
        result = env.step(0)
        if result[2] or (len(result) == 5 and result[3]):
            return result


# Gymnasium: Env


@item(ENV, "`class MyEnv(gym.Env[ObsType, ActType])`")
def _():
    class MyEnv(gym.Env[np.ndarray, int]):
        action_space, observation_space = Discrete(2), Box(-1, 1, (2,))

    assert isinstance(MyEnv(), gym.Env) and isinstance(gym.make("CartPole-v1"), gym.Env)
    assert (
        gym.Env[np.ndarray].__args__ == (np.ndarray, Any)
        and gym.Wrapper[np.ndarray, int, np.ndarray, int].__args__[1] is int
    )
    assert gym.ObservationWrapper[np.ndarray, np.ndarray, int] and gym.ActionWrapper[np.ndarray, int, int]
    assert gym.RewardWrapper[np.ndarray, int]


@item(ENV, "the loop of the front page")
def _():
    env = gym.make("CartPole-v1", render_mode="human")
    observation, info = env.reset(seed=42)
    for _ in range(40):
        action = env.action_space.sample()
        observation, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            observation, info = env.reset()
    env.close()
    assert observation in env.observation_space


@item(ENV, "`step(action)` returns five values")
def _():
    assert len(made().step(1)) == 5


@item(ENV, "`observation` of `step`")
def _():
    env = made()
    observation = env.step(1)[0]
    assert isinstance(observation, np.ndarray) and observation in env.observation_space


@item(ENV, "`reward` of `step`")
def _():
    assert float(made().step(1)[1]) == 1.0


@item(ENV, "`terminated` of `step`")
def _():
    assert ended(made())[2] is True


@item(ENV, "`truncated` of `step`")
def _():
    assert made(max_episode_steps=1).step(1)[2:4] == (False, True)


@item(ENV, "`info` of `step`")
def _():
    assert made("FrozenLake-v1").step(1)[4]["prob"] > 0


@item(
    ENV,
    "`step` after the end",
    "it raises `ResetNeeded`; the page says that the results are undefined, and a forgotten `reset` spoils returns",
)
def _():
    env = made()
    ended(env)
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(0)


@item(ENV, "`reset()` returns observation and info")
def _():
    env = gym.make("CartPole-v1")
    observation, info = env.reset()
    assert observation in env.observation_space and info == {}


@item(ENV, "`reset(seed=...)`")
def _():
    env = gym.make("CartPole-v1")
    assert (env.reset(seed=5)[0] == env.reset(seed=5)[0]).all() and (env.reset(seed=6)[0] != env.reset(seed=5)[0]).any()


@item(ENV, "`reset()` goes on with the generator")
def _():
    env = made()
    first, second = env.reset()[0], env.reset()[0]
    assert (first != second).any() and env.np_random_seed == 0


@item(ENV, "`reset(options=...)`")
def _():
    observation, _ = gym.make("CartPole-v1").reset(seed=0, options={"low": -0.001, "high": 0.001})
    assert np.abs(observation).max() <= 0.001


@item(ENV, "`reset(options=...)` with an unknown name", "it raises `ValueError`, because it is usually a misspelling")
def _():
    with pytest.raises(ValueError, match="lwo"):
        gym.make("CartPole-v1").reset(options={"lwo": 0.0})


@item(ENV, "`super().reset(seed=seed)` in your own `reset`")
def _():
    env = GridWorldEnv()
    first = env.reset(seed=3)[0]
    assert (first["agent"] == env.reset(seed=3)[0]["agent"]).all() and env.np_random_seed == 3


@item(ENV, "`render()` without a mode")
def _():
    with pytest.warns(UserWarning, match="no render mode"):
        assert made().render() is None


@item(ENV, '`render_mode="human"`')
def _():
    env = made(render_mode="human")
    env.step(0)
    assert env.render() is None
    env.close()


@item(ENV, '`render_mode="rgb_array"`')
def _():
    frame = made(render_mode="rgb_array").render()
    assert isinstance(frame, np.ndarray) and frame.dtype == np.uint8 and frame.shape[2] == 3


@item(ENV, '`render_mode="ansi"` as a string')
def _():
    assert isinstance(made("FrozenLake-v1", render_mode="ansi").render(), str)


@item(ENV, '`render_mode="ansi"` as `StringIO`')
def _():
    class Written(PointEnv):
        metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

        def render(self):
            return io.StringIO("here")

    env = gym.wrappers.PassiveEnvChecker(Written(render_mode="ansi"))
    env.reset(seed=0)
    assert env.render().getvalue() == "here"


@item(ENV, '`render_mode="rgb_array_list"`')
def _():
    env = made(render_mode="rgb_array_list")
    env.step(0)
    assert len(env.render()) == 2 and env.render() == []


@item(ENV, '`render_mode="ansi_list"`')
def _():
    env = made("FrozenLake-v1", render_mode="ansi_list")
    env.step(0)
    assert [type(frame) for frame in env.render()] == [str, str]


@item(
    ENV,
    "`make` adds `RenderCollection` for a list",
    "a functional environment collects its frames itself, and draws them when asked; one of your own gets it",
)
def _():
    assert "RenderCollection" not in str(gym.make("CartPole-v1", render_mode="rgb_array_list"))
    gym.register("items/Point-v0", PointEnv)
    env = gym.make("items/Point-v0", render_mode="rgb_array_list")
    env.reset(seed=0)
    assert isinstance(env, gym.wrappers.RenderCollection) and len(env.render()) == 1


@item(
    ENV,
    "an unsupported render mode",
    "it raises `ValueError` with the list of modes; the reference warns, and a video is missing later",
)
def _():
    with pytest.raises(ValueError, match=r"render_mode must be one of \[None, 'human'"):
        gym.make("CartPole-v1", render_mode="rgb")


@item(ENV, "`close()`, also twice")
def _():
    env = made()
    env.close()
    env.close()


@item(
    ENV,
    "use after `close()`",
    "it raises `ClosedEnvironment`, because windows and files are gone; those of `gymnasium.make` go on as there",
)
def _():
    env = made()
    env.close()
    with pytest.raises(ClosedEnvironment, match="make a new one"):
        env.reset()


@item(ENV, "`action_space`")
def _():
    assert repr(made().action_space) == "Discrete(2)"


@item(ENV, "`observation_space`")
def _():
    space = made().observation_space
    assert isinstance(space, Box) and space.shape == (4,) and space.dtype == np.float32


@item(ENV, "`observation_space.high` and `.low`")
def _():
    space = made().observation_space
    assert space.high[0] == np.float32(4.8) and np.isinf(space.high[1]) and (space.low == -space.high).all()


@item(ENV, "`metadata`, by default")
def _():
    assert gym.Env.metadata == {"render_modes": []}


@item(ENV, '`metadata["render_modes"]` and `["render_fps"]`')
def _():
    assert "rgb_array" in made().metadata["render_modes"] and made().metadata["render_fps"] == 50


@item(ENV, '`metadata["jax"]` and `["torch"]`')
def _():
    class InJax(PointEnv):
        metadata = {"render_modes": [], "jax": True}  # noqa: RUF012

    env = gym.wrappers.PassiveEnvChecker(InJax())
    with pytest.raises(gym.EnvCheckError, match="must be an array"):
        env.reset(seed=0)


@item(ENV, "`render_mode`")
def _():
    assert gym.make("CartPole-v1").render_mode is None
    assert gym.make("CartPole-v1", render_mode="rgb_array").render_mode == "rgb_array"


@item(ENV, "`spec`")
def _():
    assert made().spec.id == "CartPole-v1" and made().spec.max_episode_steps == 500
    assert PointEnv().spec is None


@item(ENV, "`unwrapped`")
def _():
    env = GridWorldEnv()
    assert env.unwrapped is env and gym.wrappers.TimeLimit(env, 9).unwrapped is env
    env = made(max_episode_steps=1).unwrapped
    assert not env.step(0)[3] and type(env.unwrapped) is type(env)


@item(ENV, "`np_random`, also set")
def _():
    env = GridWorldEnv()
    assert isinstance(env.np_random, np.random.Generator)
    env.np_random = np.random.default_rng(4)
    assert env.np_random.random() == np.random.default_rng(4).random()


@item(ENV, "`np_random_seed`, -1 after `np_random` was set")
def _():
    env = made()
    assert env.np_random_seed == 0
    env.np_random = np.random.default_rng(4)
    assert env.np_random_seed == -1


@item(ENV, "the numbers of a seed", "the distributions are the reference's, the generators are JAX's")
def _():
    import gymnasium

    assert (gymnasium.make("CartPole-v1").reset(seed=0)[0] != made().reset(seed=0)[0]).any()


@item(ENV, "`with gym.make(id) as env:`")
def _():
    with gym.make("CartPole-v1") as env:
        env.reset(seed=0)
    with pytest.raises(ClosedEnvironment):
        env.step(0)


@item(ENV, "`str(env)`")
def _():
    assert str(GridWorldEnv()) == "<GridWorldEnv instance>" and str(made()) == "<TimeLimit<CartPole<CartPole-v1>>>"


@item(ENV, "`has_wrapper_attr(name)`")
def _():
    assert made().has_wrapper_attr("gravity") and not made().has_wrapper_attr("no_such")


@item(ENV, "`get_wrapper_attr(name)`")
def _():
    assert gym.wrappers.TimeLimit(made(), 9).get_wrapper_attr("gravity") == 9.8


@item(ENV, "`set_wrapper_attr(name, value, force=...)`")
def _():
    env = gym.wrappers.TimeLimit(made(), 9)
    assert env.set_wrapper_attr("gravity", 1.6) and env.unwrapped.gravity == 1.6
    assert not env.set_wrapper_attr("no_such", 1, force=False)


@item(ENV, "`env.action_space.seed(123)`")
def _():
    space = made().action_space
    draws = [(space.seed(123), [int(space.sample()) for _ in range(20)]) for _ in range(2)]
    assert draws[0] == draws[1]


@item(ENV, "`env.unwrapped.gravity = ...`")
def _():
    env = made()
    env.unwrapped.gravity = 1.6
    assert env.unwrapped.gravity == 1.6


@item(ENV29, "`reward_range` of an environment")
def _():
    assert gym.make("MountainCar-v0").reward_range == (-1.0, -1.0) and PointEnv().reward_range[1] == float("inf")


@item(ENV29, "`reward_range` set on a made environment")
def _():
    env = gym.make("CartPole-v1")
    env.reward_range = (0, 1)
    assert env.reward_range == env.unwrapped.reward_range == (0, 1)


@item(ENV29, "`reward_range` in a class")
def _():
    class Ranged(PointEnv):
        reward_range = (0.0, 1.0)

    assert Ranged().reward_range == gym.wrappers.TimeLimit(Ranged(), 5).reward_range == (0.0, 1.0)


@item(ENV29, "`reward_range` in a wrapper's class, and in its `__init__`")
def _():
    class Bounded(gym.RewardWrapper):
        reward_range = (-2.0, 2.0)

        def reward(self, reward):
            return reward

    class Clipped(Bounded):
        def __init__(self, env, low, high):
            super().__init__(env)
            self.reward_range = (low, high)

    assert Bounded(PointEnv()).reward_range == (-2.0, 2.0) and Clipped(PointEnv(), 0, 1).reward_range == (0, 1)


@item(
    ENV29,
    "attributes of the inner environment through a wrapper (`wrapped.size`)",
    "use `get_wrapper_attr`, as Gymnasium 1.0 asks; environments of `make` have the attributes of what is inside",
)
def _():
    assert made().gravity == 9.8
    wrapped = gym.wrappers.TimeLimit(GridWorldEnv(size=7), 9)
    assert not hasattr(wrapped, "size") and wrapped.get_wrapper_attr("size") == 7


@item(ENV29, "`gym.make(id, apply_api_compatibility=True)`")
def _():
    old.register("items/OldPoint-v0", OldPointEnv, max_episode_steps=5)
    env = gym.make("items/OldPoint-v0", apply_api_compatibility=True)
    observation, info = env.reset(seed=1)
    assert info == {} and len(env.step(0)) == 5


@item(ENV29, "`gym.wrappers.EnvCompatibility`")
def _():
    env = gym.EnvCompatibility(OldPointEnv(), render_mode="rgb_array")
    env.reset(seed=1)
    assert env.step(1)[1:] == (1.0, False, False, {}) and env.render().shape == (4, 6, 3)
    assert env.metadata == {"render_modes": ["human", "rgb_array"], "render_fps": 30}


@item(
    ENV29,
    "`gym.make(id, autoreset=True)`",
    "Gymnasium 1.0 has removed it; `make_vec` resets, and the functional wrapper `Autoreset` does",
)
def _():
    with pytest.raises(TypeError, match="autoreset"):
        gym.make("CartPole-v1", autoreset=True)
    import funcenv

    env = gym.FunctionalEnv(funcenv.wrappers.Autoreset(funcenv.make("CartPole-v1", max_episode_steps=2)))
    env.reset(seed=0)
    assert env.step(0)[3] is False


# Gymnasium: make and register


@item(MAKE, "`make(id)` with parameters of the environment")
def _():
    assert gym.make("CartPole-v1", gravity=1.6).unwrapped.gravity == 1.6


@item(MAKE, "`make(spec)`")
def _():
    assert gym.make(gym.spec("CartPole-v1")).spec.id == "CartPole-v1"


@item(MAKE, "`make(id, max_episode_steps=...)`, -1 for none")
def _():
    assert made(max_episode_steps=1).step(0)[3] and "TimeLimit" not in str(
        gym.make("CartPole-v1", max_episode_steps=-1)
    )


@item(MAKE, "`make(id, disable_env_checker=True)`")
def _():
    gym.register("items/Grid-v0", GridWorldEnv)
    assert "PassiveEnvChecker" in str(gym.make("items/Grid-v0"))
    assert "PassiveEnvChecker" not in str(gym.make("items/Grid-v0", disable_env_checker=True))
    gym.make("CartPole-v1", disable_env_checker=True)


@item(
    MAKE,
    "`make` around functional environments adds no checker and no `OrderEnforcing`",
    "they check actions and the order of calls themselves, and `funcenv.check_func_env` checks them",
)
def _():
    assert str(gym.make("CartPole-v1")) == "<TimeLimit<CartPole<CartPole-v1>>>"
    with pytest.raises(ResetNeeded):
        gym.make("CartPole-v1").step(0)


@item(MAKE, "`make` of an id that is out of date")
def _():
    with pytest.raises(ValueError, match="Taxi-v3 is deprecated .* use Taxi-v4"):
        gym.make("Taxi-v3")


@item(MAKE, "`make` of an unknown id")
def _():
    with pytest.raises(ValueError, match="did you mean CartPole-v1"):
        gym.make("CartPool-v1")


@item(MAKE, '`make("module:id")`')
def _():
    assert gym.make("funcenv.envs:CartPole-v1").spec.id == "CartPole-v1"


@item(MAKE, "`make_vec(id, num_envs=...)`")
def _():
    envs = gym.make_vec("CartPole-v1", num_envs=3)
    assert envs.reset(seed=0)[0].shape == (3, 4)


@item(MAKE, '`make_vec(id, vectorization_mode="sync")`, also as `VectorizeMode.SYNC`')
def _():
    for mode in "sync", gym.VectorizeMode.SYNC:
        envs = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode=mode)
        assert type(envs) is gym.vector.SyncVectorEnv and envs.reset(seed=0)[0].shape == (2, 4)


@item(
    MAKE,
    '`make_vec(id, vectorization_mode="async")`',
    "one compiled program takes the place of the processes; environments of your own step in one process",
)
def _():
    assert type(gym.make_vec("CartPole-v1", 2, vectorization_mode="async")) is gym.FunctionalVectorEnv
    gym.register("items/Grid-v0", GridWorldEnv)
    assert type(gym.make_vec("items/Grid-v0", 2, vectorization_mode="async")) is gym.vector.AsyncVectorEnv


@item(MAKE, "`make_vec(id, vector_kwargs=..., wrappers=...)`")
def _():
    statistics = gym.wrappers.RecordEpisodeStatistics
    envs = gym.make_vec("CartPole-v1", 2, wrappers=[statistics], vector_kwargs={"copy": True})
    assert type(envs.envs[0]) is statistics


@item(MAKE, "`make_vec` of your own environment")
def _():
    gym.register("items/Grid-v0", GridWorldEnv)
    envs = gym.make_vec("items/Grid-v0", num_envs=3)
    assert repr(envs) == "SyncVectorEnv(items/Grid-v0, num_envs=3)"
    assert envs.reset(seed=0)[0]["agent"].shape == (3, 2)


@item(MAKE, "`register(id, entry_point)` with a class or a string")
def _():
    gym.register(id="items/Grid-v1", entry_point=GridWorldEnv, max_episode_steps=300)
    gym.register(id="items/Grid-v2", entry_point="tests.support.documented_envs:GridWorldEnv")
    assert gym.make("items/Grid-v1", size=10).unwrapped.size == 10 and gym.make("items/Grid-v2")


@item(MAKE, "`register(reward_threshold=..., nondeterministic=..., kwargs=...)`")
def _():
    gym.register("items/Grid-v3", GridWorldEnv, reward_threshold=0.9, nondeterministic=True, kwargs={"size": 4})
    spec = gym.spec("items/Grid-v3")
    assert spec.reward_threshold == 0.9 and spec.nondeterministic and spec.make().unwrapped.size == 4


@item(MAKE, "`register(order_enforce=..., disable_env_checker=..., additional_wrappers=...)`")
def _():
    more = [gym.WrapperSpec("statistics", gym.wrappers.RecordEpisodeStatistics)]
    gym.register("items/Grid-v4", GridWorldEnv, order_enforce=False, disable_env_checker=True, additional_wrappers=more)
    assert str(gym.make("items/Grid-v4")) == "<RecordEpisodeStatistics<GridWorldEnv<items/Grid-v4>>>"


@item(MAKE, "`register(vector_entry_point=...)`")
def _():
    gym.register(
        "items/Grid-v5", GridWorldEnv, vector_entry_point=lambda num_envs: gym.SyncVectorEnv([GridWorldEnv] * num_envs)
    )
    assert gym.make_vec("items/Grid-v5", 2, vectorization_mode="vector_entry_point").num_envs == 2


@item(MAKE, "`register_envs(module)`")
def _():
    import funcenv.envs

    gym.register_envs(funcenv.envs)


@item(MAKE, "`spec(id)`")
def _():
    assert gym.spec("CartPole-v1").reward_threshold == 475.0


@item(MAKE, "`registry`")
def _():
    assert "CartPole-v1" in list(gym.registry.keys()) and gym.registry["CartPole-v1"].id == "CartPole-v1"


@item(MAKE, "`pprint_registry()` prints")
def _():
    assert "===== classic_control =====" in gym.pprint_registry(disable_print=True)
    assert gym.pprint_registry(exclude_namespaces=["classic_control"], num_cols=2) is None


@item(MAKE, "`EnvSpec`: `make`, `to_json`, `from_json`, `pprint`")
def _():
    spec = gym.EnvSpec.from_json(gym.spec("CartPole-v1").to_json())
    assert spec.make().spec.id == "CartPole-v1" and "CartPole-v1" in spec.pprint(disable_print=True)
    json.loads(spec.to_json())


@item(MAKE, "`from gymnasium.envs.registration import register, registry, spec, EnvSpec`")
def _():
    from funcenv.adapters.envs.registration import EnvSpec, register, registry, spec

    register("items/Grid-v6", GridWorldEnv)
    assert isinstance(spec("items/Grid-v6"), EnvSpec) and "items/Grid-v6" in registry
    assert gym.envs.registration.registry is registry


@item(MAKE, "`parse_env_id`, `get_env_id`, `find_highest_version`")
def _():
    from funcenv.adapters.envs.registration import find_highest_version, get_env_id, parse_env_id

    for id in "ALE/Pong-v5", "CartPole", "lab/Maze":
        assert get_env_id(*parse_env_id(id)) == id
    assert parse_env_id("ALE/Pong-v5") == ("ALE", "Pong", 5)
    assert find_highest_version(None, "CartPole") == 1 and find_highest_version("items", "CartPole") is None


@item(
    MAKE, "`registration.namespace`, `.load_env_creator`", "`EnvSpec.load` imports the class; ids are written in full"
)
def _():
    assert gym.spec("CartPole-v1").load().__name__ == "CartPole"
    assert not hasattr(gym.envs.registration, "namespace")


# Gymnasium: wrappers


@item(WRAP, "`Wrapper(env)` and `.env`")
def _():
    env = GridWorldEnv()
    outer = gym.Wrapper(env)
    assert outer.env is env and outer.unwrapped is env and gym.Wrapper(outer).unwrapped is env
    for name in "action_space", "observation_space", "metadata", "spec", "render_mode", "reward_range":
        assert getattr(outer, name) is getattr(env, name)


@item(WRAP, "`Wrapper.step`, `.reset`, `.render`, `.close`")
def _():
    inner = gym.make("CartPole-v1", render_mode="rgb_array")
    with gym.Wrapper(inner) as env:
        assert (env.reset(seed=0, options={"low": 0.0, "high": 0.0})[0] == 0).all()
        assert len(env.step(0)) == 5 and env.render().ndim == 3
    assert inner.closed


@item(WRAP, "`action_space`, `observation_space` and `metadata` set on a wrapper")
def _():
    class Narrow(gym.Wrapper):
        def __init__(self, env):
            super().__init__(env)
            self.action_space, self.observation_space, self.metadata = (
                Discrete(1),
                Box(-9, 9, (4,)),
                {"render_modes": []},
            )

    env = Narrow(made())
    assert env.action_space.n == 1 and env.env.action_space.n == 2 and env.metadata != env.env.metadata
    for name in "spec", "render_mode":
        with pytest.raises(AttributeError):
            setattr(env, name, None)


@item(WRAP, "`Wrapper.np_random`, `.np_random_seed`, `.render_mode` of the inner environment")
def _():
    env = gym.Wrapper(made())
    assert env.np_random is env.env.np_random
    assert env.np_random_seed == 0 and env.render_mode is None
    env.np_random = generator = np.random.default_rng(0)
    assert env.env.np_random is generator and env.np_random_seed == -1


@item(
    WRAP,
    "`Wrapper.spec` lists the wrapper, `gym.make(env.spec)` makes it again, `Wrapper.wrapper_spec(...)`",
)
def _():
    env = gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1"), buffer_length=17)
    assert env.env.spec.additional_wrappers == ()
    assert env.spec.additional_wrappers == (gym.wrappers.RecordEpisodeStatistics.wrapper_spec(buffer_length=17),)
    assert gym.make(env.spec).length_queue.maxlen == 17


@item(WRAP, "only an `Env` can be wrapped")
def _():
    with pytest.raises(TypeError, match="wraps a stateful Env"):
        gym.Wrapper(object())


@item(WRAP, "`ObservationWrapper`: `RelativePosition`")
def _():
    class RelativePosition(gym.ObservationWrapper):
        def __init__(self, env):
            super().__init__(env)
            self.observation_space = Box(shape=(2,), low=-np.inf, high=np.inf)

        def observation(self, obs):
            return obs["target"] - obs["agent"]

    env = RelativePosition(GridWorldEnv())
    assert env.reset(seed=0)[0].shape == env.step(0)[0].shape == env.observation_space.shape == (2,)


@item(WRAP, "`ActionWrapper`: `DiscreteActions`")
def _():
    class DiscreteActions(gym.ActionWrapper):
        def __init__(self, env, disc_to_cont):
            super().__init__(env)
            self.disc_to_cont = disc_to_cont
            self.action_space = Discrete(len(disc_to_cont))

        def action(self, act):
            return self.disc_to_cont[act]

    env = DiscreteActions(gym.make("Pendulum-v1"), [np.array([-2.0]), np.array([2.0])])
    env.reset(seed=0)
    assert env.action_space == Discrete(2) and len(env.step(env.action_space.sample())) == 5


@item(WRAP, "`RewardWrapper`: `ClipReward`")
def _():
    class ClipReward(gym.RewardWrapper):
        def __init__(self, env, min_reward, max_reward):
            super().__init__(env)
            self.min_reward, self.max_reward = min_reward, max_reward
            self.reward_range = (min_reward, max_reward)

        def reward(self, r):
            return np.clip(r, self.min_reward, self.max_reward)

    env = ClipReward(made("Pendulum-v1"), -1, -0.5)
    assert env.step(np.array([0.0]))[1] >= -1 and env.reward_range == (-1, -0.5)


@item(WRAP, "`TimeLimit(env, max_episode_steps)` around any environment")
def _():
    for env in GridWorldEnv(), gym.make("Pendulum-v1"):
        env = gym.wrappers.TimeLimit(env, max_episode_steps=2)
        for _ in range(2):
            env.reset(seed=0)
            assert [env.step(env.action_space.sample())[3] for _ in range(2)] == [False, True]
    with pytest.raises(ValueError, match="max_episode_steps must be at least 1"):
        gym.wrappers.TimeLimit(env, 0)


@item(WRAP, "`ClipAction(env)` around any environment")
def _():
    for inner in PointEnv(), gym.make("Pendulum-v1"):
        env = gym.wrappers.ClipAction(inner)
        env.reset(seed=0)
        assert env.action_space.high == np.inf and env.action(np.array([9.0])) == inner.action_space.high
        env.step(np.array([9.0]))


@item(WRAP, "`RescaleAction(env, min_action=0, max_action=1)` around any environment")
def _():
    for inner in PointEnv(), gym.make("Pendulum-v1"):
        env = gym.wrappers.RescaleAction(inner, min_action=0, max_action=1)
        env.reset(seed=0)
        assert repr(env.action_space) == "Box(0.0, 1.0, (1,), float32)"
        assert env.action(np.array([1.0])) == inner.action_space.high and len(env.step(env.action_space.sample())) == 5


@item(WRAP, "`TimeAwareObservation(env)` around any environment")
def _():
    for inner in gym.wrappers.TimeLimit(PointEnv(), 9), gym.make("Pendulum-v1"):
        env = gym.wrappers.TimeAwareObservation(inner)
        env.reset(seed=0)
        observation = env.step(env.action_space.sample())[0]
        assert observation[-1] == 1 and observation in env.observation_space


@item(WRAP, "`FlattenObservation(env)` around any environment")
def _():
    env = gym.wrappers.FlattenObservation(GridWorldEnv())
    observation, _ = env.reset(seed=0)
    assert observation.shape == (4,) and repr(env.observation_space) == "Box(0, 4, (4,), int64)"
    assert observation in env.observation_space


@item(WRAP, "`TransformObservation`, `TransformAction`, `TransformReward`, `ClipReward`")
def _():
    wrappers = gym.wrappers
    env = wrappers.ClipReward(wrappers.TransformReward(PointEnv(), lambda reward: 5 * reward), max_reward=2.0)
    env = wrappers.TransformAction(
        wrappers.TransformObservation(env, lambda seen: seen * 2, Box(-2, 2, (2,))), np.negative
    )
    env.reset(seed=0)
    assert env.step(np.array([0.1], np.float32))[1] == 2.0


@item(WRAP, "`OrderEnforcing`, `PassiveEnvChecker`")
def _():
    env = gym.wrappers.OrderEnforcing(gym.wrappers.PassiveEnvChecker(PointEnv()))
    with pytest.raises(ResetNeeded):
        env.step(np.array([0.0]))


@item(WRAP, "`RecordEpisodeStatistics(env, buffer_length=...)`")
def _():
    env = gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1", max_episode_steps=3), buffer_length=2)
    env.reset(seed=0)
    assert ended(env)[4]["episode"]["l"] == 3 and list(env.return_queue) == [3.0]


@item(WRAP, "`RecordVideo(env, video_folder=..., name_prefix=..., episode_trigger=...)`")
def _():
    with tempfile.TemporaryDirectory() as folder:
        env = gym.make("CartPole-v1", render_mode="rgb_array", render_width=64)
        env = gym.wrappers.RecordVideo(env, video_folder=folder, name_prefix="eval", episode_trigger=lambda x: True)
        env.reset(seed=0)
        env.step(0)
        env.close()
        assert os.listdir(folder) == ["eval-episode-0.mp4"]


@item(WRAP, "`HumanRendering(env)`, also by `make`")
def _():
    env = gym.wrappers.HumanRendering(gym.make("CartPole-v1", render_mode="rgb_array"))
    env.reset(seed=0)
    env.close()
    gym.register("items/Point-v0", PointEnv)
    env = gym.make("items/Point-v0", render_mode="human")
    assert env.render_mode == "human"
    env.close()


@item(WRAP, "`FrameStackObservation(env, stack_size)` around any environment")
def _():
    env = gym.wrappers.FrameStackObservation(GridWorldEnv(), 3, padding_type="zero")
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space and not observation["agent"][:2].any()
    assert gym.wrappers.FrameStackObservation(gym.make("FrozenLake-v1"), 2).reset(seed=0)[0].tolist() == [0, 0]


@item(WRAP, "`NormalizeObservation(env)`, `NormalizeReward(env)` around any environment")
def _():
    env = gym.wrappers.NormalizeReward(gym.wrappers.NormalizeObservation(PointEnv()))
    env.reset(seed=0)
    env.step(env.action_space.sample())
    assert round(env.env.obs_rms.count) == 2 and round(env.return_rms.count) == 1


@item(
    WRAP,
    "`AddRenderObservation`, `GrayscaleObservation`, `DelayObservation` and the others around any environment",
)
def _():
    env = gym.wrappers.DelayObservation(gym.wrappers.StickyAction(PointEnv(), 0.25), 1)
    first = PointEnv().reset(seed=0)[0]
    assert not env.reset(seed=0)[0].any() and (env.step(env.action_space.sample())[0] == first).all()
    env = gym.wrappers.AddRenderObservation(gym.make("CartPole-v1", render_mode="rgb_array"))
    env = gym.wrappers.ResizeObservation(gym.wrappers.GrayscaleObservation(env), (26, 60))
    assert env.reset(seed=0)[0].shape == (26, 60)


# Gymnasium: spaces


def drawn(space):
    """Seed a space, draw a member, and check it."""
    assert space.seed(7) is not None
    member = space.sample()
    assert member in space and space.contains(member)
    return member


@item(SPACE, "`Box(low=..., high=..., shape=..., dtype=...)`")
def _():
    assert drawn(Box(low=-1.0, high=2.0, shape=(3,), dtype=np.float32)).dtype == np.float32
    assert repr(Box(0, 4, shape=(2,), dtype=int)) == "Box(0, 4, (2,), int64)"
    assert drawn(Box(low=np.array([-1.0, -2.0]), high=np.array([2.0, 4.0]), dtype=np.float32)).shape == (2,)


@item(SPACE, "`Discrete(n)`, `Discrete(n, start=...)`")
def _():
    assert drawn(Discrete(4)) in range(4) and drawn(Discrete(5, start=-2)) in range(-2, 3)


@item(SPACE, "`MultiBinary(n)`, also with a list")
def _():
    assert drawn(MultiBinary(5)).shape == (5,) and drawn(MultiBinary([3, 2])).shape == (3, 2)


@item(SPACE, "`MultiDiscrete(nvec)`")
def _():
    assert (drawn(MultiDiscrete([5, 2, 2])) < [5, 2, 2]).all()


@item(SPACE, "`Dict(...)`")
def _():
    assert set(drawn(Dict({"position": Discrete(2), "velocity": Discrete(3)}))) == {"position", "velocity"}
    assert drawn(Dict(a=Discrete(2), seed=42))["a"] in (0, 1)


@item(SPACE, "`Tuple(...)`")
def _():
    assert len(drawn(Tuple((Discrete(2), Discrete(3))))) == 2


@item(SPACE, "`Text`, `Sequence`, `Graph`, `OneOf`", "members have a capacity: a longer value is not a member")
def _():
    assert isinstance(drawn(spaces.Text(5)), str) and drawn(spaces.OneOf([Discrete(2), Discrete(3)]))[0] in (0, 1)
    assert spaces.Sequence(Discrete(2), max_length=3).sample() is not None


@item(SPACE, "your own subclass of `Space`")
def _():
    class Even(spaces.Space):
        def __init__(self, seed=None):
            super().__init__((), np.int64, seed)

        def sample(self, mask=None, probability=None):
            return np.int64(2 * self.np_random.integers(5))

        def contains(self, x):
            return int(x) % 2 == 0 and 0 <= x < 10

    class Evens(PointEnv):
        def __init__(self):
            super().__init__()
            self.action_space = Even()

        def step(self, action):
            assert action in self.action_space
            return super().step(np.zeros(1, np.float32))

    gym.register("items/Evens-v0", Evens, max_episode_steps=9)
    env = gym.make("items/Evens-v0")
    env.reset(seed=0)
    assert env.action_space.seed(1) == 1 and drawn(env.action_space) % 2 == 0
    env.step(env.action_space.sample())
    gym.check_env(Evens(), warn=False)


@item(SPACE, "`sample(mask=...)`, `sample(probability=...)`")
def _():
    assert Discrete(3).sample(mask=np.array([0, 1, 0], np.int8)) == 1
    assert Discrete(3).sample(probability=np.array([0.0, 0.0, 1.0])) == 2


@item(SPACE, "`seed`, `shape`, `dtype`, `np_random`, `is_np_flattenable`")
def _():
    space = Box(-1, 1, (2,), seed=3)
    assert space.shape == (2,) and space.dtype == np.float32 and space.is_np_flattenable
    assert isinstance(space.np_random, np.random.Generator)


@item(SPACE, "`to_jsonable`, `from_jsonable`")
def _():
    space = Discrete(3)
    assert space.from_jsonable(json.loads(json.dumps(space.to_jsonable([np.int64(2)])))) == [2]


@item(SPACE, "`flatdim`, `flatten`, `unflatten`, `flatten_space`")
def _():
    space = Dict(a=Discrete(2), b=Box(0, 1, (2,)))
    member = space.sample()
    flat = spaces.flatten(space, member)
    assert spaces.flatdim(space) == 4 and flat in spaces.flatten_space(space)
    assert spaces.unflatten(space, flat)["a"] == member["a"]


@item(SPACE, "`from gymnasium.spaces.utils import ...`")
def _():
    from funcenv.adapters.spaces.utils import flatdim, flatten, flatten_space, unflatten

    space = Dict(a=Discrete(3), b=Box(0, 1, (2,)))
    member = space.sample()
    assert flatdim(space) == 5 and flatten(space, member) in flatten_space(space)
    assert unflatten(space, flatten(space, member)) in space


# Gymnasium: create an environment


@item(CUSTOM, "`GridWorldEnv`: `reset` and `step`")
def _():
    env = GridWorldEnv(size=3)
    observation, info = env.reset(seed=42)
    assert info["distance"] == np.abs(observation["agent"] - observation["target"]).sum()
    for _ in range(200):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert reward == int(terminated) and not truncated
        if terminated:
            break
    assert terminated and info["distance"] == 0


@item(CUSTOM, "registered, with a time limit and a parameter")
def _():
    gym.register(id="items/GridWorld-v0", entry_point=GridWorldEnv, max_episode_steps=1)
    env = gym.make("items/GridWorld-v0", size=10)
    assert str(env) == "<TimeLimit<OrderEnforcing<PassiveEnvChecker<GridWorldEnv<items/GridWorld-v0>>>>>"
    env.reset(seed=0)
    assert env.unwrapped.size == 10 and env.step(env.action_space.sample())[3]


@item(
    CUSTOM,
    "`check_env(env)` of the environment as printed",
    "it finds that the target is returned without a copy, as Gymnasium 1.4's checker does",
)
def _():
    with pytest.raises(gym.EnvCheckError, match="share memory"):
        gym.check_env(GridWorldEnv(), warn=False)


@item(CUSTOM, "`FlattenObservation(gym.make(id))`")
def _():
    gym.register(id="items/GridWorld-v0", entry_point=GridWorldEnv, max_episode_steps=1)
    env = gym.wrappers.FlattenObservation(gym.make("items/GridWorld-v0"))
    assert env.reset(seed=0)[0].shape == (4,)


@item(CUSTOM, "in a vector, in threes")
def _():
    envs = gym.vector.SyncVectorEnv([GridWorldEnv] * 3)
    envs.reset(seed=0)
    observations, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())
    assert observations["target"].shape == (3, 2) and infos["distance"].shape == (3,) and infos["_distance"].all()


# Gymnasium: vector


@item(WRAP, "`from gymnasium.wrappers.jax_to_numpy import JaxToNumpy`")
def _():
    from funcenv.adapters.wrappers.jax_to_numpy import JaxToNumpy

    assert isinstance(JaxToNumpy(PointEnv()).reset(seed=0)[0], np.ndarray)


@item(VECTOR, "`VectorEnv.reset(seed=..., options=...)`")
def _():
    envs = gym.make_vec("CartPole-v1", num_envs=3)
    observations, infos = envs.reset(seed=[1, 2, 3])
    assert (observations[1] == gym.make("CartPole-v1").reset(seed=2)[0]).all() and infos == {}


@item(VECTOR, "`VectorEnv.step(actions)`")
def _():
    envs = gym.make_vec("CartPole-v1", num_envs=3)
    envs.reset(seed=0)
    observations, rewards, terminations, truncations, infos = envs.step(np.array([1, 0, 1]))
    assert observations.shape == (3, 4) and (rewards == 1).all() and not (terminations | truncations).any()


@item(VECTOR, "`VectorEnv.render()`, `.close()`, `.closed`")
def _():
    envs = gym.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
    envs.reset(seed=0)
    assert len(envs.render()) == 2
    envs.close()
    assert envs.closed


@item(VECTOR, "`num_envs`, `action_space`, `observation_space`, `single_action_space`, `single_observation_space`")
def _():
    envs = gym.make_vec("CartPole-v1", num_envs=3)
    assert envs.num_envs == 3 and repr(envs.action_space) == "MultiDiscrete([2 2 2])"
    assert envs.observation_space.shape == (3, 4)
    assert repr(envs.single_action_space) == "Discrete(2)" and envs.single_observation_space.shape == (4,)


@item(VECTOR, "`spec`, `metadata`, `render_mode`, `unwrapped`, `np_random`, `np_random_seed`")
def _():
    envs = gym.make_vec("CartPole-v1", num_envs=3)
    envs.reset(seed=5)
    assert envs.spec.id == "CartPole-v1" and envs.metadata["autoreset_mode"] == gym.vector.AutoresetMode.NEXT_STEP
    assert envs.render_mode is None and envs.unwrapped is envs and envs.np_random_seed == 5
    assert isinstance(envs.np_random, np.random.Generator)


@item(VECTOR, "`SyncVectorEnv(env_fns)` in each autoreset mode")
def _():
    for mode in gym.vector.AutoresetMode:
        envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1", max_episode_steps=2)] * 2, autoreset_mode=mode)
        envs.reset(seed=0)
        envs.step([0, 1])
        *_, truncations, infos = envs.step([0, 1])
        assert truncations.all() and ("final_obs" in infos) == (mode == gym.vector.AutoresetMode.SAME_STEP)


@item(VECTOR, "environments with other parameters in one vector")
def _():
    envs = gym.vector.SyncVectorEnv(
        [lambda: gym.make("CartPole-v1", gravity=9.8), lambda: gym.make("CartPole-v1", gravity=1.6)]
    )
    assert envs.get_attr("gravity") == (9.8, 1.6)
    assert gym.make_vec("CartPole-v1", 2, gravity=np.array([9.8, 1.6])).num_envs == 2


@item(VECTOR, "environments with different spaces")
def _():
    with pytest.raises(ValueError, match="must have one observation_space"):
        gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1"), lambda: gym.make("MountainCar-v0")])


@item(VECTOR, "`call`, `get_attr`, `set_attr`")
def _():
    for envs in gym.make_vec("CartPole-v1", 2), gym.make_vec("CartPole-v1", 2, vectorization_mode="sync"):
        envs.set_attr("gravity", [1.6, 3.7])
        assert envs.get_attr("gravity") == (1.6, 3.7) == envs.call("gravity")


@item(VECTOR, "`AsyncVectorEnv(env_fns)`", "it steps in one process; `make_vec` is faster, as one compiled program")
def _():
    envs = gym.vector.AsyncVectorEnv([PointEnv] * 2)
    envs.reset(seed=0)
    envs.step_async(envs.action_space.sample())
    assert envs.step_wait()[1].tolist() == [1, 1]


@item(VECTOR, '`SyncVectorEnv(env_fns, observation_mode="different")`, `batch_differing_spaces`')
def _():
    made = [lambda: gym.make("CartPole-v1"), lambda: gym.make("CartPole-v1", x_threshold=1.0)]
    envs = gym.vector.SyncVectorEnv(made, observation_mode="different")
    highs = [make().observation_space.high for make in made]
    assert (envs.observation_space.high == np.stack(highs)).all() and envs.reset(seed=0)[0].shape == (2, 4)


@item(VECTOR, "`gymnasium.wrappers.vector`: wrappers around a vector environment")
def _():
    envs = gym.wrappers.vector.RecordEpisodeStatistics(gym.make_vec("CartPole-v1", 2, max_episode_steps=2))
    envs = gym.wrappers.vector.NormalizeObservation(envs)
    envs.reset(seed=0)
    envs.step(np.array([0, 1]))
    assert envs.step(np.array([0, 1]))[4]["episode"]["r"].tolist() == [2, 2] and round(envs.obs_rms.count) == 6


@item(
    VECTOR,
    "`gymnasium.vector.utils`: `create_shared_memory` and others for processes",
    "there are no worker processes; `batch_space`, `concatenate`, `iterate` and others work",
)
def _():
    from funcenv.adapters.vector import utils

    assert utils.batch_space(Discrete(2), 3) == MultiDiscrete([2, 2, 2])
    assert not hasattr(utils, "create_shared_memory")


# Gymnasium: utilities


@item(UTILS, "`from gymnasium.utils.env_checker import check_env`")
def _():
    from funcenv.adapters.utils.env_checker import check_env

    check_env(PointEnv(), warn=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(gym.wrappers.TimeLimit(PointEnv(), 9))
    assert any("wrappers" in str(one.message) for one in caught)


@item(UTILS, "`check_env(env, skip_render_check=False)`")
def _():
    gym.check_env(PointEnv(render_mode="rgb_array"), warn=False, skip_render_check=False)


@item(UTILS, "`from gymnasium.utils.play import play, PlayPlot`")
def _():
    from funcenv.adapters.utils.play import PlayPlot, play

    assert callable(play) and callable(PlayPlot)


@item(UTILS, "`gymnasium.utils.play.PlayableGame`", "the window of `play` is not part of the interface")
def _():
    assert not hasattr(gym.utils.play, "PlayableGame")


@item(UTILS, "`from gymnasium.utils.save_video import save_video`")
def _():
    from funcenv.adapters.utils.save_video import save_video

    env = made(render_mode="rgb_array_list", render_width=64)
    env.step(0)
    with tempfile.TemporaryDirectory() as folder:
        save_video(
            env.render(), folder, step_trigger=lambda step: step == 1, video_length=1, fps=env.metadata["render_fps"]
        )
        assert os.listdir(folder) == ["rl-video-step-1.mp4"]


@item(UTILS, "`from gymnasium.utils.step_api_compatibility import ...`")
def _():
    from funcenv.adapters.utils.step_api_compatibility import (
        convert_to_done_step_api,
        convert_to_terminated_truncated_step_api,
    )

    assert convert_to_done_step_api((0, 1.0, False, True, {}))[3] == {"TimeLimit.truncated": True}
    assert convert_to_terminated_truncated_step_api((0, 1.0, True, {"TimeLimit.truncated": True}))[2:4] == (False, True)


@item(UTILS, "`from gymnasium.utils import seeding`")
def _():
    from funcenv.adapters.utils import seeding

    generator, seed = seeding.np_random(7)
    assert seed == 7 and 0 <= generator.random() < 1


class PickledGrid(gym.utils.EzPickle, GridWorldEnv):
    """An environment that is pickled by its arguments."""

    def __init__(self, size):
        gym.utils.EzPickle.__init__(self, size=size)
        GridWorldEnv.__init__(self, size=size)


@item(UTILS, "`from gymnasium.utils import EzPickle`, `from gymnasium.utils.ezpickle import EzPickle`")
def _():
    assert pickle.loads(pickle.dumps(PickledGrid(7))).size == 7
    assert importlib.import_module("funcenv.adapters.utils.ezpickle").EzPickle is gym.utils.EzPickle


class Shifted(gym.RewardWrapper, gym.utils.RecordConstructorArgs):
    """A wrapper that records its argument."""

    def __init__(self, env, by):
        gym.utils.RecordConstructorArgs.__init__(self, by=by)
        gym.RewardWrapper.__init__(self, env)
        self.by = by

    def reward(self, reward):
        return reward + self.by


@item(UTILS, "`RecordConstructorArgs`")
def _():
    env = Shifted(gym.make("CartPole-v1"), 2.0)
    assert env._saved_kwargs == {"by": 2.0} and gym.make(env.spec).by == 2.0


@item(UTILS, "`from gymnasium import error, logger`")
def _():
    from funcenv.adapters import error, logger

    with pytest.raises(error.NameNotFound, match="did you mean CartPole-v1"):
        gym.make("CartPoel-v1")
    with pytest.raises(error.ResetNeeded):
        gym.make("CartPole-v1").step(0)
    with pytest.warns(UserWarning, match="WARN: 3 steps"):
        logger.warn("%d steps", 3)


@item(UTILS, "`logger.set_level(logger.ERROR)`, `.deprecation`, `.error`")
def _():
    logger = gym.logger
    logger.set_level(logger.ERROR)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for show in logger.debug, logger.info, logger.warn, logger.deprecation, logger.error:
                show("one")
        assert ["ERROR: one" in str(one.message) for one in caught] == [True]
        assert caught[0].filename == __file__
    finally:
        logger.set_level(logger.WARN)


@item(UTILS, "`from gymnasium.utils.performance import benchmark_step, benchmark_init, benchmark_render`")
def _():
    from funcenv.adapters.utils.performance import benchmark_init, benchmark_render, benchmark_step

    env = made(render_mode="rgb_array")
    rates = benchmark_step(env, 0.01, seed=0), benchmark_init(PointEnv, 0.01), benchmark_render(env, 0.01)
    assert min(rates) > 0


# Gym: API


class OldPointEnv(old.Env):
    """An environment of twenty lines as people wrote them for Gym 0.21."""

    metadata = {"render.modes": ["human", "rgb_array"], "video.frames_per_second": 30}  # noqa: RUF012

    def __init__(self):
        self.action_space = old.spaces.Discrete(2)
        self.observation_space = old.spaces.Box(low=-1.0, high=1.0, shape=(2,), dtype=np.float32)
        self.seed()

    def seed(self, seed=None):
        self.generator = np.random.RandomState(seed)
        return [seed]

    def reset(self):
        self.state = self.generator.uniform(-0.1, 0.1, 2).astype(np.float32)
        return self.state.copy()

    def step(self, action):
        self.state = np.clip(self.state + (0.1 if action else -0.1), -1, 1).astype(np.float32)
        return self.state.copy(), 1.0, bool(abs(self.state[0]) > 0.9), {}

    def render(self, mode="human"):
        return np.zeros((4, 6, 3), np.uint8) if mode == "rgb_array" else None


@item(GYM, "`import gym`, as `from funcenv.adapters import gym`")
def _():
    assert old.make("CartPole-v0").spec.id == "CartPole-v0"


@item(GYM, "`from gym import error, spaces, utils` and `from gym.utils import seeding`")
def _():
    from funcenv.adapters.gym import error, utils
    from funcenv.adapters.gym import spaces as old_spaces
    from funcenv.adapters.gym.spaces import Box as OldBox
    from funcenv.adapters.gym.spaces.utils import flatdim
    from funcenv.adapters.gym.utils import EzPickle, colorize, seeding

    assert old_spaces.Box is OldBox is Box and flatdim(OldBox(0, 1, (2,))) == 2
    assert error.ResetNeeded is ResetNeeded and utils.seeding is seeding and seeding.np_random(1)[1] == 1
    assert EzPickle is gym.utils.EzPickle and "step" in colorize("step", "green")


@item(GYM, "`from gym.envs.registration import register`")
def _():
    from funcenv.adapters.gym.envs.registration import register, spec

    register(id="items/OldPoint-v1", entry_point=OldPointEnv, max_episode_steps=3)
    assert spec("items/OldPoint-v1").max_episode_steps == 3
    assert len(old.envs.registration.make("CartPole-v1").reset()) == 4


@item(GYM, "`from gym import logger, wrappers, vector`; `from gym.wrappers import ...`")
def _():
    from funcenv.adapters.gym import logger, vector, wrappers
    from funcenv.adapters.gym.wrappers import FrameStack, RecordVideo, TimeLimit

    assert TimeLimit is gym.wrappers.TimeLimit is wrappers.TimeLimit and RecordVideo is gym.wrappers.RecordVideo
    assert issubclass(FrameStack, gym.wrappers.FrameStackObservation) and vector.SyncVectorEnv is gym.SyncVectorEnv
    assert logger.set_level is gym.logger.set_level


@item(GYM, "`from gym.utils.env_checker import check_env`, of an environment of `gym.make` and of one's own")
def _():
    from funcenv.adapters.gym.utils.env_checker import check_env

    for env in old.make("CartPole-v1"), OldPointEnv(), PointEnv():
        check_env(env, warn=False)
    with pytest.raises(gym.EnvCheckError, match="observation of reset"):
        check_env(gym.wrappers.TransformObservation(OldPointEnv(), lambda observation: observation + 9), warn=False)
    assert old.check_env is check_env


@item(GYM, "`env._max_episode_steps`, read and set")
def _():
    for make in old.make, gym.make:
        env = make("CartPole-v1")
        assert env._max_episode_steps == 500
        env._max_episode_steps = 2
        env.reset()
        env.step(0)
        assert True in env.step(0)[2:4]
    assert not hasattr(gym.make("Blackjack-v1"), "_max_episode_steps")


@item(GYM, "`env.unwrapped.reward_range = ...`")
def _():
    for make in old.make, gym.make:
        env = make("CartPole-v1")
        env.unwrapped.reward_range = (-2.0, 2.0)
        assert env.reward_range == env.unwrapped.reward_range == (-2.0, 2.0)


@item(GYM, "`FrameStack(env, 4)`, `NormalizeObservation(env)`, `NormalizeReward(env)` around old environments")
def _():
    for env in old.make("CartPole-v1"), OldPointEnv():
        env = old.wrappers.NormalizeReward(old.wrappers.NormalizeObservation(env))
        stacked = old.wrappers.FrameStack(env, 4)
        assert stacked.reset() in stacked.observation_space
        observation, reward, done, info = stacked.step(1)
        assert observation in stacked.observation_space and not done and reward > 0


@item(GYM, "`RecordVideo(env, folder)` around `render(mode)`")
def _():
    for env in old.make("CartPole-v1", render_width=64), OldPointEnv():
        with tempfile.TemporaryDirectory() as folder:
            env = old.wrappers.RecordVideo(env, folder)
            env.reset()
            env.step(0)
            env.close()
            assert os.listdir(folder) == ["rl-video-episode-0.mp4"]


@item(GYM, "the agent-environment loop with `return_info=True`")
def _():
    env = old.make("MountainCar-v0")
    env.action_space.seed(42)
    observation, info = env.reset(seed=42, return_info=True)
    for _ in range(20):
        env.render()
        observation, reward, done, info = env.step(env.action_space.sample())
        if done:
            observation, info = env.reset(return_info=True)
    env.close()
    assert observation in env.observation_space


@item(
    GYM,
    "`LunarLander-v2`, `BipedalWalker-v3`, `Pong-v0` of the examples",
    "an old version is refused, with the one to use; Atari games need the extra `atari`",
)
def _():
    with pytest.raises(ValueError, match="LunarLander-v2"):
        old.make("LunarLander-v2")
    assert old.make("Pong-v0").action_space.n == 6


@item(
    GYM,
    "the first loop, 1000 steps without a look at `done`",
    "a step after the end raises `ResetNeeded`, as above; add `if done: env.reset()`",
)
def _():
    env = old.make("CartPole-v0")
    env.reset()
    with pytest.raises(ResetNeeded):
        for _ in range(1000):
            env.step(env.action_space.sample())


@item(GYM, "`reset()` returns the observation")
def _():
    env = old.make("CartPole-v1")
    assert env.reset() in env.observation_space


@item(GYM, "`reset(seed=..., return_info=..., options=...)`")
def _():
    env = old.make("CartPole-v1")
    observation, info = env.reset(seed=1, return_info=True, options={"low": 0.0})
    assert (observation >= 0).all() and info == {} and env.reset(seed=1, return_info=False).shape == (4,)


@item(GYM, "`step` returns four values")
def _():
    env = old.make("CartPole-v1")
    env.reset()
    observation, reward, done, info = env.step(env.action_space.sample())
    assert (reward, done, info) == (1.0, False, {})


@item(GYM, '`info["TimeLimit.truncated"]`')
def _():
    env = old.make("CartPole-v1", max_episode_steps=1)
    env.reset()
    assert env.step(0)[2:] == (True, {"TimeLimit.truncated": True})


@item(GYM, '`render(mode="rgb_array")`, `"ansi"`, `"human"`')
def _():
    env = old.make("FrozenLake-v1")
    env.reset(seed=0)
    assert env.render(mode="rgb_array").ndim == 3 and isinstance(env.render(mode="ansi"), str)
    assert env.render(mode="human") is None and env.render() is None and env.render_mode is None
    env.close()


@item(GYM, "`render(mode=...)` of an unsupported mode")
def _():
    env = old.make("CartPole-v1")
    env.reset()
    for mode in "hologram", "rgb_array_list":
        with pytest.raises(ValueError, match=f"mode must be one of .* got '{mode}'"):
            env.render(mode=mode)


@item(GYM, "`seed(seed)`")
def _():
    env = old.make("CartPole-v1")
    assert env.seed(3) == [3]
    first = env.reset()
    env.seed(3)
    assert (env.reset() == first).all()


@item(GYM, "`env.seed(seed)` of `funcenv.adapters.make`")
def _():
    env = gym.make("CartPole-v1")
    with pytest.warns(DeprecationWarning, match="reset"):
        assert env.seed(3) == [3]
    assert (env.reset()[0] == env.reset(seed=3)[0]).all()


@item(GYM, "`action_space`, `observation_space`, `.high`, `.low`")
def _():
    env = old.make("CartPole-v1")
    assert repr(env.action_space) == "Discrete(2)" and env.observation_space.high.shape == (4,)


@item(GYM, "`reward_range`, also set")
def _():
    env = old.make("MountainCar-v0")
    assert env.reward_range == (-1.0, -1.0)
    env.reward_range = (-1, 0)
    assert env.reward_range == (-1, 0)


@item(GYM, "`close()`")
def _():
    old.make("CartPole-v1").close()


@item(GYM, "`base_env = env.unwrapped`, with the old interface")
def _():
    env = old.make("MountainCar-v0").unwrapped
    env.reset()
    for _ in range(201):
        s, r, done, info = env.step(1)
    assert not done and r == -1.0 and info == {} and s in env.observation_space
    env.gravity, env.state, steps = 0.0, [0.4, 0.05], 1
    while not env.step(2)[2]:
        steps += 1
    assert steps < 5 and env.gravity == 0.0 and env.unwrapped is env


@item(GYM, "`from gym.utils.env_checker import check_env`, `warn=False`")
def _():
    env = gym.make("Pendulum-v1")
    with pytest.warns(UserWarning, match="action_space is not"):
        old.utils.env_checker.check_env(env)
    old.utils.env_checker.check_env(env, warn=False)


@item(GYM, "`check_env` warns of an image space of a wrong dtype")
def _():
    class Picture(PointEnv):
        def __init__(self):
            super().__init__()
            self.observation_space = Box(0.0, 255.0, (8, 8, 3))

        def reset(self, seed=None, options=None):
            super().reset(seed=seed)
            return np.zeros((8, 8, 3), np.float32), {}

        def step(self, action):
            return np.zeros((8, 8, 3), np.float32), 0.0, False, False, {}

    with pytest.warns(UserWarning, match="looks like an image"):
        gym.check_env(Picture())


@item(GYM, "`from gym.spaces import Box, Discrete, Dict, ...`, sampled without a key")
def _():
    for space in (old.spaces.Box(low=-1.0, high=2.0, shape=(3,), dtype=np.float32), old.spaces.Discrete(5, start=-2)):
        assert space.sample() in space


@item(GYM, "`from gym.wrappers import RescaleAction`")
def _():
    base_env = old.make("Pendulum-v1")
    wrapped_env = old.wrappers.RescaleAction(base_env, min_action=0, max_action=1)
    wrapped_env.reset()
    assert repr(wrapped_env.action_space) == "Box(0.0, 1.0, (1,), float32)"
    assert len(wrapped_env.step(wrapped_env.action_space.sample())) == 4
    assert str(wrapped_env).startswith("<RescaleAction<") and wrapped_env.env is base_env


@item(GYM, "`TimeLimit`, `ClipAction`, `TimeAwareObservation`")
def _():
    env = old.wrappers.TimeLimit(old.wrappers.ClipAction(old.make("Pendulum-v1")), 1)
    env = old.wrappers.TimeAwareObservation(env)
    assert env.reset().shape == (4,)
    assert env.step(np.array([9.0]))[2:] == (True, {"TimeLimit.truncated": True})


@item(GYM, "`gym.wrappers.StepAPICompatibility`")
def _():
    env = gym.wrappers.StepAPICompatibility(gym.make("CartPole-v1"), output_truncation_bool=False)
    env.reset()
    assert len(env.step(0)) == 4


@item(GYM, "an old environment in an old script")
def _():
    old.register("items/OldPoint-v0", OldPointEnv, max_episode_steps=5)
    env = old.make("items/OldPoint-v0")
    env.seed(1)
    first, done = env.reset(), False
    while not done:
        observation, reward, done, info = env.step(env.action_space.sample())
    env.seed(1)
    assert info["TimeLimit.truncated"] and (env.reset() == first).all()
    assert env.render(mode="rgb_array").shape == (4, 6, 3) and env.unwrapped.spec.id == "items/OldPoint-v0"


@item(GYM, "`play(gym.make(id))` without a render mode")
def _():
    frames = played(old.make("CartPole-v0", render_width=60))
    assert frames and frames[0].shape[1] == 60


@item(GYM, "`play(env, keys_to_action={(ord('w'), ord(' ')): 1, ...})`")
def _():
    import pygame

    assert played(old.make("CartPole-v0", render_width=60), {(pygame.K_LEFT,): 0, (ord("w"), ord(" ")): 1})


@item(GYM, "`PlayPlot` and a callback of `obs_t, obs_tp1, action, rew, done, info`")
def _():
    steps = []

    def callback(obs_t, obs_tp1, action, rew, done, info):
        steps.append((rew, done))
        return [rew]

    import matplotlib

    matplotlib.use("agg")
    plotter = gym.PlayPlot(callback, 30 * 5, ["reward"])
    played(old.make("CartPole-v0", render_width=60), callback=plotter.callback)
    plotter.close()
    assert steps[0] == (1.0, False)


@item(GYM, "`gym.vector.make(id, num_envs=3)`", "`step` returns five values, and `reset` an info, as in Gym 0.26")
def _():
    envs = old.vector.make("CartPole-v1", num_envs=3, wrappers=gym.wrappers.RecordEpisodeStatistics)
    assert envs.reset(seed=0)[0].shape == (3, 4) and len(envs.step([0, 1, 0])) == 5


# Articles on Gym


@item(ARTICLE, "`MountainCar-v0`: spaces, `reset`, `step`")
def _():
    env = old.make("MountainCar-v0")
    assert env.observation_space.shape == (2,) and repr(env.action_space) == "Discrete(3)"
    assert env.reset().shape == (2,)
    new_obs, reward, done, info = env.step(env.action_space.sample())
    assert reward == -1.0 and not done and new_obs in env.observation_space


@item(ARTICLE, 'the loop with `render(mode="human")` and `env.reset()` at the end')
def _():
    env = old.make("MountainCar-v0")
    obs = env.reset()
    for _ in range(5):
        obs, reward, done, info = env.step(env.action_space.sample())
        env.render(mode="human")
        if done:
            env.reset()
    env.close()
    assert obs in env.observation_space


@item(ARTICLE, '`env.render(mode="rgb_array")`')
def _():
    env = old.make("MountainCar-v0")
    env.reset()
    env_screen = env.render(mode="rgb_array")
    env.close()
    assert env_screen.dtype == np.uint8


@item(ARTICLE, "`ConcatObs(gym.Wrapper)`, with `gym.Wrapper.__init__(self, env)`")
def _():
    class ConcatObs(old.Wrapper):
        def __init__(self, env, k):
            old.Wrapper.__init__(self, env)
            self.k = k
            self.frames = collections.deque([], maxlen=k)
            shp = env.observation_space.shape
            self.observation_space = spaces.Box(low=-10, high=10, shape=((k, *shp)), dtype=env.observation_space.dtype)

        def reset(self):
            ob = self.env.reset()
            for _ in range(self.k):
                self.frames.append(ob)
            return np.array(self.frames)

        def step(self, action):
            ob, reward, done, info = self.env.step(action)
            self.frames.append(ob)
            return np.array(self.frames), reward, done, info

    env = ConcatObs(old.make("CartPole-v1"), 4)
    assert env.reset().shape == env.step(0)[0].shape == env.observation_space.shape == (4, 4)


@item(ARTICLE, "`ObservationWrapper`, `RewardWrapper`, `ActionWrapper` chained, old interface")
def _():
    class ObservationWrapper(old.ObservationWrapper):
        def observation(self, obs):
            return obs / 255.0

    class RewardWrapper(old.RewardWrapper):
        def reward(self, reward):
            return np.clip(reward, 0, 0.5)

    class ActionWrapper(old.ActionWrapper):
        def action(self, action):
            return 1 - action

    wrapped_env = ObservationWrapper(RewardWrapper(ActionWrapper(old.make("CartPole-v1"))))
    plain = old.make("CartPole-v1")
    assert (wrapped_env.reset(seed=1) == plain.reset(seed=1) / 255.0).all()
    obs, reward, done, info = wrapped_env.step(0)
    assert (obs == plain.step(1)[0] / 255.0).all() and reward == 0.5
    assert len(wrapped_env.unwrapped.step(0)) == 4


@item(ARTICLE, "`class ChopperScape(Env)`: `from gym import Env, spaces`, images, `render` with a mode")
def _():
    from funcenv.adapters.gym import Env, spaces

    class Chopper(Env):
        def __init__(self):
            super().__init__()
            self.observation_shape = (6, 8, 3)
            self.observation_space = spaces.Box(
                low=np.zeros(self.observation_shape), high=np.ones(self.observation_shape), dtype=np.float16
            )
            self.action_space = spaces.Discrete(6)

        def reset(self):
            self.fuel_left = 3
            self.canvas = np.ones(self.observation_shape)
            return self.canvas

        def step(self, action):
            assert self.action_space.contains(action), "Invalid Action"
            self.fuel_left -= 1
            return self.canvas, 1, self.fuel_left == 0, []

        def render(self, mode="human"):
            assert mode in ["human", "rgb_array"]
            return self.canvas if mode == "rgb_array" else None

    env = Chopper()
    obs = env.reset()
    while True:
        obs, reward, done, info = env.step(env.action_space.sample())
        if done:
            break
    assert obs.shape == env.render(mode="rgb_array").shape
    env.close()


def played(env, keys_to_action=None, callback=None):
    """Play three frames on a scripted screen in the place of the window, and return the frames."""
    module = importlib.import_module("funcenv.adapters.playing.play")  # the package has a function of this name
    from funcenv.adapters.playing.loop import Pressed

    class Screen:
        is_open = True
        is_late = False

        def __init__(self):
            self.frames = []

        def show(self, frame, score):
            self.frames.append(frame)

        def pressed(self):
            self.is_open = len(self.frames) < 3
            return Pressed(frozenset(), frozenset())

        def close(self):
            pass

    screen = Screen()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PlayWindow", lambda *_: screen)
        gym.utils.play.play(env, keys_to_action, callback=callback, seed=0)
    return screen.frames


def table():
    """Return the table of the guide."""
    counts = collections.Counter("works" if one.differs is None else "differs" for one in ITEMS)
    lines = [
        f"Of {len(ITEMS)} items {counts['works']} work as printed, and {counts['differs']} differ, with the reason."
    ]
    for page in dict.fromkeys(one.page for one in ITEMS):
        lines += ["", f"## {page}", "", "| item | here |", "|---|---|"]
        lines += [
            f"| {one.name} | {'works' if one.differs is None else f'differs: {one.differs}'} |"
            for one in ITEMS
            if one.page == page
        ]
    return "\n".join(lines) + "\n"


def page_text(text, rows):
    """Return the text of the page with the table between its markers."""
    before, begin, rest = text.partition("<!-- items -->\n")
    _, end, after = rest.partition("<!-- end of items -->\n")
    assert begin and end
    return f"{before}{begin}\n{rows}\n{end}{after}"


if __name__ == "__main__":
    PAGE.write_text(page_text(PAGE.read_text(), table()))
