"""Settings of training, parameters of environments, and specifications: refused in words, or the same after JSON."""

import dataclasses
import importlib
import json

import jax
from hypothesis import strategies as st

import funcenv
from funcenv.registry import all_specs
from tests.fuzz.cases import cases
from tests.fuzz.oracle import REFUSED, Ledger
from tests.fuzz.values import mostly

LEDGER = Ledger("settings")

ALGORITHMS = ("alphazero", "ars", "dqn", "plr", "ppo", "pqn", "q_learning", "recurrent_ppo", "reinforce")
ALGORITHMS += ("sac", "simba", "td3", "tqc")
CONFIGS = {name: importlib.import_module(f"funcenv.train.algorithms.{name}").Config for name in ALGORITHMS}
UNBOUNDED = ("network", "env_params")  # settings that name code, or hold parameters of any name


def like(value):
    """Return a strategy of values of the kind of a default."""
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, int):
        return st.one_of(st.just(value), st.integers(0, 2 * abs(value) + 4))
    if isinstance(value, float):
        return st.one_of(st.just(value), st.floats(0, 2 * abs(value) + 1))
    if isinstance(value, tuple):
        return st.lists(st.integers(1, 8), max_size=3).map(tuple)
    return st.just(value)


@st.composite
def changed_settings(draw):
    """Draw an algorithm, and up to three of its settings, mostly of the right kind."""
    name = draw(st.sampled_from(ALGORITHMS))
    fields = [entry for entry in dataclasses.fields(CONFIGS[name]) if entry.name not in UNBOUNDED]
    chosen = draw(st.lists(st.sampled_from(fields), min_size=1, max_size=3, unique_by=lambda entry: entry.name))
    return name, {entry.name: draw(mostly(like(entry.default))) for entry in chosen}


@cases(2400, changed_settings())
def test_a_configuration_is_refused_or_comes_back_from_json(case):
    name, settings = case
    config = LEDGER.attempt(CONFIGS[name], **settings)
    if config is not REFUSED:
        text = json.dumps(config.to_json())
        assert CONFIGS[name].from_json(json.loads(text), trust_code=True) == config
        assert all(getattr(config, key) == value for key, value in settings.items())
        assert config.num_updates >= 1


@cases(400, st.sampled_from(ALGORITHMS), st.data())
def test_a_damaged_configuration_in_json_is_refused_or_valid(name, data):
    values = CONFIGS[name]().to_json()
    key = data.draw(st.sampled_from(list(values)))
    change = data.draw(st.sampled_from(["replace", "remove", "rename"]))
    value = values.pop(key)
    if change == "replace":
        values[key] = data.draw(st.sampled_from([None, "x", -1, 1.5, True, [], {}, "os:system", [1, "a"], {"a": []}]))
    elif change == "rename":
        values[key + "_"] = value
    config = LEDGER.attempt(CONFIGS[name].from_json, values=values, names=CONFIGS[name]().to_json())
    if config is not REFUSED:
        assert json.loads(json.dumps(config.to_json())) == json.loads(json.dumps(CONFIGS[name]().to_json() | values))


LIGHT = [
    spec.id
    for spec in all_specs().values()
    if spec.id.startswith(
        ("CartPole", "Pendulum", "Acrobot", "FrozenLake", "Blackjack", "CliffWalking", "MountainCar", "Taxi")
    )
]


@st.composite
def parameters(draw):
    """Draw an id, and up to two of its parameters."""
    id = draw(st.sampled_from(LIGHT))
    fields = dataclasses.fields(funcenv.make(id).unwrapped)
    chosen = draw(st.lists(st.sampled_from(fields), min_size=1, max_size=2, unique_by=lambda entry: entry.name))
    return id, {entry.name: draw(mostly(like(entry.default))) for entry in chosen}


def made_and_traced(id, **params):
    env = funcenv.make(id, **params)
    jax.eval_shape(env.reset, funcenv.key(0))
    return env


@cases(400, parameters())
def test_parameters_are_refused_or_kept(case):
    id, params = case
    env = LEDGER.attempt(made_and_traced, id, **params)
    if env is not REFUSED:
        for name, value in params.items():
            kept = getattr(env.unwrapped, name)
            assert kept is value or kept == value or kept != kept
