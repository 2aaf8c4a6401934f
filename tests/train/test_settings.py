"""A configuration takes only settings of the kinds and ranges that it declares."""

import dataclasses

import numpy as np
import pytest

from funcenv.train import dqn, ppo

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


def test_integers_are_numbers_and_numpy_scalars_are_settings():
    config = dataclasses.replace(ppo.Config(), gamma=1, learning_rate=np.float64(0.1), seed=np.int64(3))
    assert config.gamma == 1 and config.seed == 3
