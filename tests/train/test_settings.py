"""A configuration takes only settings of the kinds and ranges that it declares."""

import dataclasses
import json

import numpy as np
import pytest

from funcenv.spaces import Discrete
from funcenv.train import ars, dqn, ppo, pqn, recurrent_ppo, reinforce, sac, td3, tqc

BAD = [
    ("learning_rate", -0.5, ValueError),
    ("learning_rate", 0.0, ValueError),
    ("learning_rate", float("nan"), ValueError),
    ("learning_rate", "x", TypeError),
    ("learning_rate", None, TypeError),
    ("max_grad_norm", float("inf"), ValueError),
    ("gamma", True, TypeError),
    ("seed", 1.5, TypeError),
    ("eval_every", 1.5, TypeError),
    ("num_seeds", True, TypeError),
    ("mask_actions", "False", TypeError),
]


def test_a_space_names_no_environment():
    """It can be called, as a class can, but a run could not find it again."""
    with pytest.raises(TypeError, match=r"^env_id must be text, got Discrete\(2\) of type Discrete"):
        ppo.Config(env_id=Discrete(2))


@pytest.mark.parametrize("algorithm", [ppo, dqn])
@pytest.mark.parametrize(("name", "value", "error"), BAD)
def test_a_setting_of_another_kind_or_range_is_refused_by_name(algorithm, name, value, error):
    with pytest.raises(error, match=rf"^{name} must be .*{value}"):
        algorithm.Config(**{name: value})
    with pytest.raises(error, match=rf"^{name} must be "):
        algorithm.Config.from_json(algorithm.Config().to_json() | {name: value})


@pytest.mark.parametrize("name", ["clip_epsilon", "entropy_coefficient", "value_coefficient"])
def test_negative_weights_and_clips_of_ppo_are_refused(name):
    with pytest.raises(ValueError, match=f"^{name} must be .*-1"):
        ppo.Config(**{name: -1.0})


@pytest.mark.parametrize("value", [np.array(3), np.array("x"), np.array([1, 2]), np.array([]), np.array(0.5)])
@pytest.mark.parametrize("name", ["num_envs", "seed", "total_timesteps", "learning_starts", "buffer_size", "gamma"])
def test_an_array_is_no_setting(name, value):
    with pytest.raises(TypeError, match=rf"^{name} must be an? (integer|number), got array\(.* of type ndarray"):
        sac.Config(**{name: value})


def test_a_choice_that_is_an_array_is_refused():
    with pytest.raises(ValueError, match=r"^activation must be one of tanh, relu, got array\("):
        ppo.Config(activation=np.array(["tanh", "relu"]))


@pytest.mark.parametrize("algorithm", [ppo, sac])
def test_a_batch_beyond_the_budget_names_what_it_is_made_of(algorithm):
    with pytest.raises(
        ValueError, match=r"total_timesteps must be .* steps with num_envs=1000000000000 and num_steps="
    ):
        algorithm.Config(num_envs=10**12)


def test_integers_are_numbers_and_numpy_scalars_are_settings():
    config = dataclasses.replace(ppo.Config(), gamma=1, learning_rate=np.float64(0.1), seed=np.int64(3))
    assert config.gamma == 1 and config.seed == 3
    stored = json.loads(json.dumps(dataclasses.replace(config, env_params={"gravity": np.float32(2.5)}).to_json()))
    assert (stored["seed"], stored["env_params"]) == (3, {"gravity": 2.5})


NO_SUCH_CHOICE = [(ppo, "activation", "tnah", "tanh, relu"), (recurrent_ppo, "cell", "GRU", "gru, lstm")]


@pytest.mark.parametrize(("algorithm", "name", "value", "choices"), NO_SUCH_CHOICE)
def test_a_choice_is_one_of_those_declared(algorithm, name, value, choices):
    with pytest.raises(ValueError, match=rf"^{name} must be one of {choices}, got '{value}'; try "):
        algorithm.Config(**{name: value})
    for other in (None, 3, ["tanh"]):
        with pytest.raises(ValueError, match=rf"^{name} must be one of {choices}, got "):
            algorithm.Config(**{name: other})


@pytest.mark.parametrize("algorithm", [ppo, sac])
@pytest.mark.parametrize("value", [None, 64, "64", [64, 64], (64, 1.5), (64, True), (64, None), {64}])
def test_sizes_are_a_tuple_of_integers(algorithm, value):
    with pytest.raises(TypeError, match=r"^hidden_sizes must be a tuple of integers, such as \(64, 64\), got "):
        algorithm.Config(hidden_sizes=value)


@pytest.mark.parametrize("name", ["hidden_sizes", "patch_sizes", "patch_channels", "board_channels", "board_strides"])
def test_each_size_is_at_least_one(name):
    with pytest.raises(ValueError, match=rf"^{name} must hold numbers of at least 1, got \(4, 0\)"):
        ppo.Config(**{name: (4, 0)})


def test_no_hidden_layers_are_allowed():
    assert ppo.Config(hidden_sizes=()).hidden_sizes == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [("env_id", None), ("env_id", 3), ("network", None), ("env_params", None), ("env_params", [("gravity", 1)])],
)
def test_names_and_parameters_of_environments_have_their_kinds(name, value):
    with pytest.raises(TypeError, match=rf"^{name} must be "):
        ppo.Config(**{name: value})


def test_a_class_is_no_file():
    with pytest.raises(TypeError, match=r"^levels must be text \(FILE\), got <class 'numpy.float32'> of type type"):
        ppo.Config(levels=np.float32)


def test_a_time_limit_is_an_integer_or_none():
    assert ppo.Config(max_episode_steps=None).max_episode_steps is None
    for value in (1.5, "7", True):
        with pytest.raises(TypeError, match=r"^max_episode_steps must be an integer or None, got "):
            ppo.Config(max_episode_steps=value)


RANGES = [
    (reinforce, "learning_rate", 0.0, 1e-9),
    (reinforce, "max_grad_norm", 0.0, 1e-9),
    (ars, "learning_rate", 0.0, 1e-9),
    (ars, "noise", 0.0, 1e-9),
    (ars, "elite_fraction", 0.0, 1e-9),
    (ars, "elite_fraction", 1.001, 1.0),
    (ars, "num_envs", 3, 2),
    (reinforce, "entropy_coefficient", -1e-9, 0.0),
    (reinforce, "value_coefficient", -1e-9, 0.0),
    (sac, "learning_rate", 0.0, 1e-9),
    (sac, "initial_temperature", 0.0, 1e-9),
    (sac, "noise_correlation", 1.0, 0.0),
    (tqc, "dropped_quantiles", -1, 0),
    (tqc, "num_critics", 0, 1),
    (td3, "learning_rate", -1.0, 1e-9),
    (td3, "min_noise", -1e-9, 0.0),
    (td3, "max_noise", 0.01, 0.05),
    (td3, "target_noise", -1e-9, 0.0),
    (td3, "target_noise_clip", -1e-9, 0.0),
    (td3, "policy_delay", 0, 1),
    (pqn, "reward_scale", 0.0, 1e-9),
]


@pytest.mark.parametrize(("algorithm", "name", "outside", "inside"), RANGES)
def test_ranges_end_where_they_are_declared(algorithm, name, outside, inside):
    assert getattr(algorithm.Config(**{name: inside}), name) == inside
    with pytest.raises(ValueError, match=rf"{name}.*{outside}"):
        algorithm.Config(**{name: outside})
