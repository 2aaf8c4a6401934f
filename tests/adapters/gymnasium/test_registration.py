"""Gymnasium's `make` over every id: the checker, specs, the time limit, parameters, copies."""

import copy
import importlib.util
import pickle
import subprocess
import sys
import warnings

import cloudpickle
import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import TimeLimit

import funcenv
from funcenv.adapters.gymnasium import GymnasiumEnv, register_envs
from tests.support import environments

IDS = [id for id in funcenv.registry if "/" not in id]
HAS_BOX2D = importlib.util.find_spec("Box2D") is not None
ORIGINAL_IDS = [  # Gymnasium has Taxi-v4 since version 1.3, and some environments with Box2D only
    id for id in IDS if id in gymnasium.registry and (HAS_BOX2D or "box2d" not in str(gymnasium.spec(id).entry_point))
]


def make(id, **kwargs):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is out of date.*")  # CartPole-v0, here and there
        return gymnasium.make(id, **kwargs)


def layers(env):
    """Return the names of Gymnasium's wrappers, outermost first."""
    names = []
    while isinstance(env, gymnasium.Wrapper):
        names.append(type(env).__name__)
        env = env.env
    return names


def findings(id):
    """Return the warnings of Gymnasium's checker."""
    with make(id) as env, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env.unwrapped, skip_render_check="/" not in id)  # the originals need pygame to be drawn
    return {str(warning.message) for warning in caught}


def test_every_environment_is_registered():
    assert len(IDS) >= 12
    assert {f"funcenv/{id}" for id in IDS} <= set(gymnasium.registry)
    register_envs()  # again changes nothing, and warns of nothing


@pytest.mark.parametrize("id", environments.sampled(ORIGINAL_IDS))
def test_gymnasiums_checker_finds_no_more_than_in_the_original(id):
    # It warns of open sides and of unusual action ranges, which are the original's own.
    assert findings(f"funcenv/{id}") <= findings(id)


@pytest.mark.parametrize("id", ORIGINAL_IDS)
def test_an_environment_looks_like_the_original(id):
    ours, theirs = make(f"funcenv/{id}"), make(id)
    assert isinstance(ours.unwrapped, gymnasium.Env) and isinstance(ours.unwrapped, GymnasiumEnv)
    assert layers(ours) == layers(theirs)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert ours.metadata["render_fps"] == theirs.metadata["render_fps"]
    for name in ("max_episode_steps", "reward_threshold", "order_enforce", "nondeterministic", "kwargs"):
        assert getattr(ours.spec, name) == getattr(theirs.spec, name), name
    assert ours.spec.id == f"funcenv/{id}"


@pytest.mark.parametrize(
    ("given", "limit"), [({}, 500), ({"max_episode_steps": 7}, 7), ({"max_episode_steps": -1}, None)]
)
def test_the_time_limit_is_gymnasiums_and_applied_once(given, limit):
    env = (
        gymnasium.make("funcenv/Pendulum-v1", **given) if limit == 7 else gymnasium.make("funcenv/CartPole-v1", **given)
    )
    assert env.spec.max_episode_steps == limit
    assert layers(env).count("TimeLimit") == (limit is not None)
    assert type(env.unwrapped.func_env).__name__ in ("CartPole", "Pendulum")  # no limit of ours inside
    if limit == 7:
        env.reset(seed=0)
        ends = [env.step(env.action_space.sample())[2:4] for _ in range(7)]
        assert ends == [(False, False)] * 6 + [(False, True)]


def test_parameters_arrive():
    env = gymnasium.make("funcenv/CartPole-v1", gravity=1.6, sutton_barto_reward=True)
    assert env.unwrapped.func_env.gravity == 1.6
    assert env.spec.kwargs == {"gravity": 1.6, "sutton_barto_reward": True}
    assert gymnasium.make("funcenv/FrozenLake-v1", map_name="8x8").observation_space.n == 64
    assert gymnasium.make(env.spec).unwrapped.func_env == env.unwrapped.func_env


def test_parameters_can_be_read_through_wrappers_and_vector_environments():
    env = gymnasium.make("funcenv/CartPole-v1", gravity=1.6)
    assert env.get_wrapper_attr("gravity") == 1.6 and not env.has_wrapper_attr("gravty")
    venv = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("funcenv/CartPole-v1", gravity=1.6)] * 2)
    assert venv.get_attr("gravity") == (1.6, 1.6)
    venv.close()


def test_an_unknown_parameter_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'gravty'; did you mean gravity"):
        gymnasium.make("funcenv/CartPole-v1", gravty=1.6)


def test_a_spec_survives_json():
    env = TimeLimit(gymnasium.make("funcenv/CartPole-v1", gravity=1.6), 9)
    spec = EnvSpec.from_json(env.spec.to_json())
    again = gymnasium.make(spec)
    assert str(again) == str(gymnasium.make(env.spec))
    assert again.spec.max_episode_steps == 9
    assert again.unwrapped.func_env.gravity == 1.6


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env)), None])
def test_a_copy_goes_on_alike(duplicate):
    duplicate = duplicate or (lambda env: pickle.loads(cloudpickle.dumps(env)))
    env = gymnasium.make("funcenv/FrozenLake-v1")
    env.reset(seed=3)
    env.action_space.seed(4)
    env.step(env.action_space.sample())
    other = duplicate(env)
    assert other.spec == env.spec and str(other) == str(env)
    for _ in range(150):  # across ends and resets: the limit is 100 steps
        rows = []
        for one in (env, other):
            action = one.action_space.sample()
            row = one.step(action)
            rows.append((int(action), row, one.reset() if row[2] or row[3] else None))
        assert rows[0] == rows[1]
    assert env.unwrapped.np_random.random() == other.unwrapped.np_random.random()


def test_seeds_replay_and_tell_apart():
    env = gymnasium.make("funcenv/CartPole-v1")
    assert env.unwrapped.np_random_seed >= 0
    unseeded = env.reset()[0]
    np.testing.assert_array_equal(env.reset(seed=env.unwrapped.np_random_seed)[0], unseeded)
    starts = [env.reset(seed=seed)[0].tolist() for seed in (0, 1, 2**32, 2**64 + 1, 0)]
    assert starts[0] == starts[-1] and len({tuple(start) for start in starts}) == 4
    with pytest.raises(ValueError, match="non-negative"):
        env.reset(seed=-1)


def test_a_module_in_the_id_registers_everything():
    code = """
import sys, gymnasium
import funcenv.adapters
assert "gymnasium.envs" in sys.modules and "funcenv.adapters.gymnasium" not in sys.modules
print(gymnasium.make("funcenv.adapters.gymnasium:funcenv/CartPole-v1"))
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "<TimeLimit<OrderEnforcing<PassiveEnvChecker<CartPole<funcenv/CartPole-v1>>>>>"


def test_gymnasium_is_only_imported_where_it_is_asked_for():
    code = "import sys, funcenv.adapters; print('gymnasium' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "False"


def test_a_name_that_is_no_environment_is_no_entry_point():
    with pytest.raises(AttributeError, match="no environment is registered as 'CartPoel-v1'"):
        gymnasium.make(EnvSpec("x/Y-v0", entry_point="funcenv.adapters.gymnasium.entry_points:CartPoel-v1"))


def test_ids_with_a_namespace_and_environments_of_ones_own():
    funcenv.register("a.lab/Moon-v3", "funcenv.envs:CartPole", max_episode_steps=9, kwargs={"gravity": 1.6})
    register_envs()
    env = gymnasium.make("funcenv-a-lab/Moon-v3")
    assert env.spec.max_episode_steps == 9 and env.unwrapped.func_env.gravity == 1.6
    assert env.spec.kwargs == {"gravity": 1.6}


def test_without_gymnasium_the_error_says_what_to_install():
    code = "import sys; sys.modules['gymnasium'] = None\nimport funcenv.adapters.gymnasium"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    assert shown.strip().endswith('ModuleNotFoundError: this needs Gymnasium: pip install "funcenv[gymnasium]"')
