"""Which programs run an environment, and why others do not."""

import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole
from funcenv.wrappers import TimeLimit
from tests._compile.test_host_jit import Halving

ENTRIES = [
    "rollout",
    "evaluate",
    "rollout in a traced function",
    "evaluate in a traced function",
    "step in a traced function",
    "FunctionalVectorEnv.step",
    "FunctionalEnv.step",
]


def test_all_are_plain_where_kernels_are_switched_off(monkeypatch):
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    choices = funcenv.explain(TimeLimit(CartPole(), 3), 2)
    assert [choice.entry for choice in choices] == ENTRIES
    assert {choice.refusal for choice in choices} == {"switched off by FUNCENV_NO_FAST_PATH"}


@pytest.mark.fast_path
def test_what_calls_the_host_is_no_kernel():
    choices = funcenv.explain(TimeLimit(Halving(), 3), 2)
    assert [choice.num_envs for choice in choices] == [2] * 6 + [1]
    assert {choice.refusal for choice in choices[:5]} == {"the environment calls the host"}
    assert {choice.refusal for choice in choices[5:]} == {"the program calls the host"}


@pytest.mark.fast_path
def test_a_batch_of_parameters_has_no_single_environment():
    env = TimeLimit(CartPole(gravity=np.linspace(5, 15, 3, dtype=np.float32)), 3)
    choices = funcenv.explain(funcenv.FuncVectorEnv(env, 3))
    assert [(choice.entry, choice.refusal) for choice in choices] == [(entry, None) for entry in ENTRIES[:5]]
