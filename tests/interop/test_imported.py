"""Environments of other libraries, by a stand-in with all their habits; `benchmarks/studies/interop.py` runs them."""

import dataclasses
import importlib.metadata
import sys
import types
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import FuncVectorEnv, spaces
from funcenv.adapters import FunctionalEnv
from funcenv.interop import ImportedEnv
from funcenv.interop.envelope import _envelope_class, space_from_envelope, space_to_envelope
from funcenv.interop.gymnax import space_from_gymnax
from funcenv.interop.imported import Outcome, Source, import_library, scaled
from funcenv.interop.jumanji import plain_observation, space_from_spec
from funcenv.spaces import Box, Discrete


class Walk(Source):
    """A walk whose states start as Python numbers, hold a random key, and mix integers and floats."""

    def reset(self, params, key):
        state = {"position": 0, "time": 0, "key": key, "flag": False}
        return Outcome(state, jnp.zeros(2, int))

    def step(self, params, state, action, key):
        own, use = jax.random.split(state["key"])
        position = (
            state["position"] + params["pace"] * (2 * action - 1) + jax.random.normal(use) + jax.random.normal(key)
        )
        later = {"position": position, "time": state["time"] + 1, "key": own, "flag": position > 0}
        observation = jnp.array([position, later["time"]])
        return Outcome(later, observation, 1, position > 3, later["time"] >= 7, {"side": position > 0, "half": 0.5})


def imported(source):
    return ImportedEnv({"pace": 0.5}, source(None, Box(-jnp.inf, jnp.inf, (2,)), Discrete(2), "walk"))


@pytest.fixture
def walk():
    return imported(Walk)


def test_a_trajectory_is_the_librarys_own_with_the_same_keys(walk):
    source, params = walk.source, walk.params
    keys = jax.random.split(funcenv.key(3), 12)
    ours, theirs = jax.jit(walk.initial)(keys[0]), source.reset(params, keys[0]).state
    transition = jax.jit(walk.transition)
    for i, key in enumerate(keys[1:]):
        ours = transition(ours, jnp.int32(i % 2), key)
        with jax.numpy_dtype_promotion("standard"):
            outcome = jax.jit(source.step)(params, theirs, jnp.int32(i % 2), key)
        theirs = outcome.state
        np.testing.assert_array_equal(ours.observation, outcome.observation)
        np.testing.assert_array_equal(ours.state["position"], theirs["position"])
        np.testing.assert_array_equal(ours.state["key"].words, jax.random.key_data(theirs["key"]))
        flags = bool(outcome.terminated), bool(outcome.truncated)
        assert (bool(walk.terminal(ours)), bool(walk.truncated(ours))) == flags


def test_states_keep_their_dtypes_and_no_weak_types(walk):
    first = walk.initial(funcenv.key(0))
    later = walk.transition(first, jnp.int32(1), funcenv.key(1))
    assert jax.tree.map(jax.typeof, first) == jax.tree.map(jax.typeof, later)
    assert not any(jax.typeof(leaf).weak_type for leaf in jax.tree.leaves(first))
    assert first.state["position"].dtype == jnp.float32 and first.info["side"].dtype == bool


def test_the_checker_finds_nothing(walk):
    assert funcenv.check_func_env(walk, funcenv.key(0)) == []


def test_rollouts_and_stateful_environments_run_it(walk):
    venv = FuncVectorEnv(walk, num_envs=4)
    _, trajectory, statistics = funcenv.rollout(venv, funcenv.random_policy(walk), funcenv.key(0), num_steps=30)
    assert int(statistics.count) == int(trajectory.timestep.done.sum()) > 8
    env = FunctionalEnv(walk)
    env.reset(seed=0)
    observation, reward, _, _, info = env.step(1)
    assert observation.dtype == np.float32 and reward == 1.0 and info["half"] == 0.5


def test_parameters_batch(walk):
    envs = jax.vmap(lambda pace: walk.replace(params={"pace": pace}))(jnp.array([0.0, 100.0]))
    state, key = walk.initial(funcenv.key(0)), funcenv.key(1)
    positions = jax.vmap(lambda env: env.transition(state, jnp.int32(1), key).state["position"])(envs)
    np.testing.assert_allclose(positions[1] - positions[0], 100.0, rtol=1e-5)


def test_the_same_walk_in_double_precision(walk):
    with jax.enable_x64(True):
        state = walk.transition(walk.initial(funcenv.key(0)), jnp.int32(1), funcenv.key(1))
        assert state.reward.dtype == jnp.float64 and state.observation.dtype == jnp.float32


def test_a_state_whose_structure_changes_is_refused():
    class Growing(Walk):
        def step(self, params, state, action, key):
            return super().step(params, state, action, key)._replace(state={**state, "more": 1})

        def __str__(self):
            return "Growing"

    with pytest.raises(ValueError, match="the step of Growing must return a state of the structure of the first one"):
        imported(Growing).initial(funcenv.key(0))


def test_named_tuples_become_dictionaries():
    class Grid(NamedTuple):
        board: int
        mask: int

    assert plain_observation(Grid(Grid(1, 2), 3)) == {"board": {"board": 1, "mask": 2}, "mask": 3}


LIBRARIES = ["brax", "craftax", "envelope", "gymnax", "jaxmarl", "jumanji", "navix", "pgx", "playground", "xminigrid"]


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_that_is_missing_is_named_with_the_command(name, monkeypatch):
    monkeypatch.setitem(sys.modules, {"playground": "mujoco_playground"}.get(name, name), None)
    package = {"envelope": "jax-envelope"}.get(name, name)
    with pytest.raises(ModuleNotFoundError, match=rf'this needs {package}: pip install "{package}>='):
        funcenv.make(f"{name}/Something-v0")
    with pytest.raises(ModuleNotFoundError, match="this needs"):
        getattr(funcenv, f"from_{name}")("Something-v0")


def test_a_library_that_is_too_old_is_named_with_both_versions(monkeypatch):
    monkeypatch.setitem(sys.modules, "oldlib", types.ModuleType("oldlib"))
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.9.3")
    with pytest.raises(ImportError, match=r"this needs oldlib>=1\.0, found 0\.9\.3"):
        import_library("oldlib", (1, 0))
    assert import_library("oldlib", (0, 9)).__name__ == "oldlib"


def fake_library(monkeypatch, name, version, **modules):
    """Pretend that a library with gymnax's kind of spaces is installed."""
    spaces = types.SimpleNamespace(
        Discrete=type("Discrete", (), {"n": 2, "dtype": jnp.int32}),
        Box=type("Box", (), {"low": 0.0, "high": 9.0, "shape": np.int64(1), "dtype": jnp.float32}),
        Dict=type("Dict", (), {}),
        Tuple=type("Tuple", (), {}),
    )
    for path, content in modules.items():
        module = spaces if path.endswith("spaces") else types.SimpleNamespace(**content)
        monkeypatch.setitem(sys.modules, path.replace("__", "."), module)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    return spaces


class Params(funcenv.PyTreeNode):
    max_timesteps: int = 3


class Game(funcenv.PyTreeNode):
    timestep: jax.Array


def test_craftax_tells_the_time_limit_from_other_ends(monkeypatch):
    class Countdown:
        default_params = Params()

        def observation_space(self, params):
            return spaces.Box()

        def action_space(self, params):
            return spaces.Discrete()

        def reset_env(self, key, params):
            return jnp.zeros(1), Game(jnp.int32(0))

        def step_env(self, key, state, action, params):
            state = Game(state.timestep + 1)
            return jnp.ones(1), state, 1.0, self.is_terminal(state, params), {}

        def is_terminal(self, state, params):
            return (state.timestep >= 5) | (state.timestep >= params.max_timesteps)

    spaces = fake_library(monkeypatch, "craftax", "1.6.1", craftax={}, craftax__environment_base__spaces={})
    env = funcenv.from_craftax(Countdown())
    step = jax.jit(env.step)
    state, _ = env.reset(funcenv.key(0))
    for i in range(1, 6):
        state, timestep = step(state, 0, funcenv.key(i))
        assert bool(timestep.truncated) == (i >= 3) and bool(timestep.terminated) == (i >= 5)
    assert funcenv.from_craftax(Countdown(), max_timesteps=9).params.max_timesteps == 9


def test_jaxmarl_keeps_agents_apart(monkeypatch):
    class Race:
        agents = ["a", "b"]

        def observation_space(self, agent):
            return spaces.Box()

        def action_space(self, agent):
            return spaces.Discrete()

        def reset(self, key):
            return {"a": jnp.zeros(1), "b": jnp.zeros(1), "world_state": jnp.zeros(7)}, jnp.zeros(2, int)

        def step_env(self, key, state, actions):
            state = state + jnp.stack([actions["a"], actions["b"]])
            over = {"a": state[0] >= 2, "b": state[1] >= 2}
            observation = {agent: state[i : i + 1].astype(jnp.float32) for i, agent in enumerate(self.agents)}
            rewards = {"a": actions["a"] * 1.0, "b": -1.0, "__all__": 0.0}
            return observation, state, rewards, {**over, "__all__": state.sum() >= 4}, {"left": 4 - state.sum()}

    spaces = fake_library(monkeypatch, "jaxmarl", "0.2.0", jaxmarl={}, jaxmarl__environments__spaces={})
    env = funcenv.from_jaxmarl(Race())
    assert env.agents == ("a", "b") and sorted(env.observation_space) == ["a", "b"]
    venv = FuncVectorEnv(env, 3)
    vstate, timestep = jax.jit(venv.reset)(funcenv.key(0))
    step = jax.jit(venv.step)
    ones, zeros = jnp.ones(3, jnp.int32), jnp.zeros(3, jnp.int32)
    for _ in range(2):
        vstate, timestep = step(vstate, {"a": ones, "b": zeros})
    assert timestep.info["rewards"]["a"].tolist() == [1.0] * 3 and timestep.reward.tolist() == [0.0] * 3
    assert timestep.info["terminations"]["a"].all() and not timestep.info["terminations"]["b"].any()
    assert timestep.info["left"].tolist() == [2] * 3 and not timestep.terminated.any()
    for _ in range(2):
        vstate, timestep = step(vstate, {"a": zeros, "b": ones})
    assert timestep.terminated.all() and (timestep.final_observation["b"] == 2).all()


@pytest.fixture
def envelope(monkeypatch):
    """Pretend that envelope is installed: its spaces, containers and base class, as far as they are used."""

    class Environment:
        def __init_subclass__(cls):
            dataclasses.dataclass(cls)

    @jax.tree_util.register_pytree_node_class
    class Container:
        def __init__(self, **entries):
            vars(self).update(entries)

        def __iter__(self):
            return iter(vars(self).items())

        def update(self, **entries):
            return Container(**{**vars(self), **entries})

        def tree_flatten(self):
            return tuple(vars(self).values()), tuple(vars(self))

        @classmethod
        def tree_unflatten(cls, names, leaves):
            return cls(**dict(zip(names, leaves, strict=True)))

    spaces = {
        name: dataclasses.make_dataclass(name, fields)
        for name, fields in [
            ("Discrete", ["n"]),
            ("Continuous", ["low", "high"]),
            ("PyTreeSpace", ["tree"]),
            ("BatchedSpace", ["space", "batch_size"]),
        ]
    }
    library = types.SimpleNamespace(
        Environment=Environment, Container=Container, InfoContainer=Container, field=dataclasses.field, **spaces
    )
    monkeypatch.setitem(sys.modules, "envelope", library)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.6.1")
    _envelope_class.cache_clear()
    yield library
    _envelope_class.cache_clear()


def test_envelope_and_back_is_the_same_environment(envelope):
    inner = funcenv.make("CartPole-v1", max_episode_steps=5)
    theirs = funcenv.to_envelope(inner)
    env = funcenv.from_envelope(theirs)
    assert (env.observation_space, env.action_space) == (inner.observation_space, inner.action_space)
    key = jax.random.key(3, impl="threefry2x32")
    state, timestep = jax.jit(env.reset)(key)
    initial_key, _ = jax.random.split(key)
    reset_key, step_key = jax.random.split(initial_key)
    inner_state, inner_timestep = inner.reset(reset_key)
    step, inner_step = jax.jit(env.step), jax.jit(inner.step)
    for i in range(5):
        np.testing.assert_allclose(timestep.observation, inner_timestep.observation, 1e-5, 1e-6)
        own_key, step_key = jax.random.split(step_key)
        state, timestep = step(state, jnp.int32(1), jax.random.key(i, impl="threefry2x32"))
        inner_state, inner_timestep = inner_step(inner_state, jnp.int32(1), own_key)
    assert timestep.truncated and inner_timestep.truncated and not timestep.terminated and timestep.reward == 1.0


def test_spaces_of_envelope_have_counterparts_or_are_named(envelope):
    kinds = [
        Discrete(3),
        spaces.MultiDiscrete([2, 3]),
        Box(-1, np.array([1, np.inf], np.float32)),
        spaces.Dict(a=Discrete(2), b=spaces.Tuple([Box(0, 1, (2,)), Discrete(5)])),
    ]
    for space in kinds:
        assert space_from_envelope(space_to_envelope(space)) == space
    batched = envelope.BatchedSpace(envelope.Continuous(low=np.zeros(2, np.float32), high=np.ones(2, np.float32)), 3)
    assert space_from_envelope(batched) == Box(0, 1, (3, 2))
    with pytest.raises(TypeError, match=r"Text.* has no counterpart among envelope's spaces"):
        space_to_envelope(spaces.Text(3))
    with pytest.raises(TypeError, match="of envelope has no counterpart"):
        space_from_envelope(object())


def test_a_space_of_a_library_without_counterpart_is_named(monkeypatch):
    fake_library(monkeypatch, "gymnax", "1.0.1", gymnax__environments__spaces={})
    specs = types.SimpleNamespace(**{name: type(name, (), {}) for name in ("DiscreteArray", "MultiDiscreteArray")})
    specs.BoundedArray, specs.Array, specs.Spec = (type(name, (), {}) for name in ("BoundedArray", "Array", "Spec"))
    monkeypatch.setitem(sys.modules, "jumanji.specs", specs)

    class Cone:
        def __repr__(self):
            return "Cone(3)"

    for convert in (space_from_gymnax, space_from_spec):
        with pytest.raises(
            TypeError, match=r"Cone\(3\) of .* has no counterpart in funcenv.spaces; wrap the environment"
        ):
            convert(Cone())


def test_playground_runs_on_a_cpu_unless_told_otherwise(monkeypatch):
    class Still(types.SimpleNamespace):
        action_size = 1

        def reset(self, key):
            zero = jnp.zeros(())
            return State(obs=jnp.zeros(2), reward=zero, done=zero, info={}, metrics={})

        def step(self, state, action):
            return state

    loaded = []
    library = types.SimpleNamespace(load=lambda name, **arguments: loaded.append((name, arguments)) or Still())
    monkeypatch.setitem(sys.modules, "mujoco_playground", types.SimpleNamespace(registry=library))
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.2.0")
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    env = funcenv.make("playground/Cartpole", config_overrides={"dt": 2})
    assert loaded == [("Cartpole", {"config_overrides": {"impl": "jax", "dt": 2}})]
    assert env.max_episode_steps == 1000 and env.observation_space.shape == (2,)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert funcenv.from_playground("Cartpole") and loaded[1] == ("Cartpole", {})


class State(funcenv.PyTreeNode):
    obs: jax.Array
    reward: jax.Array
    done: jax.Array
    info: dict
    metrics: dict


def test_a_parameter_of_the_library_is_replaced_in_its_params():
    @dataclasses.dataclass(frozen=True)
    class Params:
        pace: float = 0.5

    env = ImportedEnv(Params(), Walk(None, Box(-jnp.inf, jnp.inf, (2,)), Discrete(2), "walk"))
    remedy = r"pace is a parameter of NoneType, .*; write env.replace\(params=env.params.replace\(pace=2.0\)\)"
    with pytest.raises(TypeError, match=remedy):
        env.replace(pace=2.0)
    with pytest.raises(TypeError, match="has no field 'gravity'"):
        env.replace(gravity=2.0)
    assert env.replace(params=Params(2.0)).params.pace == 2.0


def test_a_library_that_returns_another_shape_than_it_declares_is_named():
    library_env = type("Kitchen", (), {"__module__": "kitchens.overcooked"})()

    def env(shape):
        return ImportedEnv({"pace": 0.5}, Walk(library_env, Box(-jnp.inf, jnp.inf, shape), Discrete(2), "kitchen"))

    fault = (
        r"Kitchen of kitchens declares observations of shape \(3,\) and returns \(2,\), which is a fault of kitchens; "
        "mend its observation space"
    )
    with pytest.raises(ValueError, match=fault):
        env((3,)).reset(funcenv.key(0))
    assert env((2,)).reset(funcenv.key(0))[1].observation.shape == (2,)


class Chart(Walk):
    """A walk that its library draws: a row of pixels up to the position, as floats with an alpha channel."""

    def image(self, params, state, size):
        assert isinstance(state["position"], jax.Array) and jnp.issubdtype(state["key"].dtype, jax.dtypes.prng_key)
        levels = np.where(np.arange(8) <= state["time"], 300.0, -1.0)
        return np.broadcast_to(levels[None, :, None], (4, 8, 4))


def test_a_library_that_draws_states_gives_images_in_its_own_size_or_another():
    env = funcenv.adapters.FunctionalEnv(imported(Chart), render_mode="rgb_array")
    env.reset(seed=0)
    for _ in range(3):
        env.step(1)
    image = env.render()
    assert image.shape == (4, 8, 3) and image.dtype == np.uint8
    assert image[0, :, 0].tolist() == [255] * 4 + [0] * 4
    larger = funcenv.adapters.FunctionalEnv(imported(Chart), render_mode="rgb_array_list", render_height=8)
    larger.reset(seed=0)
    larger.step(1)
    frames = larger.render()
    assert [frame.shape for frame in frames] == [(8, 16, 3)] * 2
    assert frames[1][7, :, 2].tolist() == [255] * 4 + [0] * 12
    assert env.metadata["render_modes"] == ["rgb_array", "rgb_array_list"]


def test_a_vector_environment_has_the_images_of_the_library():
    envs = funcenv.adapters.FunctionalVectorEnv(
        funcenv.wrappers.TimeLimit(imported(Chart), 9), 2, render_mode="rgb_array"
    )
    envs.reset(seed=0)
    envs.step(np.ones(2, int))
    images = envs.render()
    assert [image[0, :, 0].tolist() for image in images] == [[255, 255] + [0] * 6] * 2
    with pytest.raises(
        ValueError, match=r"a mosaic needs scenes, and ImportedEnv has images; call render\(\) for these"
    ):
        envs.render_mosaic()


def test_a_vector_environment_of_a_library_without_parameters_draws_and_resets_some():
    class Plain(Chart):
        def step(self, params, state, action, key):
            assert params is None
            return super().step({"pace": 0.5}, state, action, key)

    env = ImportedEnv(None, Plain(None, Box(-jnp.inf, jnp.inf, (2,)), Discrete(2), "plain"))
    envs = funcenv.adapters.FunctionalVectorEnv(
        env, 2, render_mode="rgb_array", autoreset_mode=funcenv.AutoresetMode.DISABLED
    )
    envs.reset(seed=0)
    envs.step(np.ones(2, int))
    envs.reset(options={"reset_mask": np.array([True, False])})
    assert [image[0, :, 0].tolist() for image in envs.render()] == [[255] + [0] * 7, [255, 255] + [0] * 6]


def test_an_image_that_shrinks_keeps_thin_lines():
    image = np.full((8, 8, 3), 255, np.uint8)
    image[3] = 0
    assert (scaled(image, (4, 12)).min((1, 2)) == [255, 128, 255, 255]).all()
    assert (scaled(image, (8, 8)) == image).all()


def test_a_library_that_draws_no_states_says_so(walk):
    library_env = type("Game", (), {"__module__": "playhouse.games"})()

    class Silent(Walk):
        undrawn = "draws SVG, and no image"

    env = walk.replace(source=Silent(library_env, Box(-jnp.inf, jnp.inf, (2,)), Discrete(2), "silent"))
    remedy = r"got 'rgb_array'; playhouse draws SVG, and no image; define scene\(state\) in a subclass of ImportedEnv"
    with pytest.raises(ValueError, match=remedy):
        FunctionalEnv(env, render_mode="rgb_array")
