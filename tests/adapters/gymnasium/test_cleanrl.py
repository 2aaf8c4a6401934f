"""A PPO script in CleanRL's style trains a funcenv environment unchanged; it needs torch, which dev leaves out."""

import importlib.util
import pathlib

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install torch")

SCRIPT = pathlib.Path(__file__).parents[3] / "benchmarks" / "cleanrl_ppo_cartpole.py"


def test_ppo_learns_cartpole():
    spec = importlib.util.spec_from_file_location("cleanrl_ppo_cartpole", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    returns = script.train("funcenv/CartPole-v1", 30_000)
    assert np.mean(returns[:20]) < 50 < 100 < np.mean(returns[-10:])
