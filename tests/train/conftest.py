"""A small configuration, and a console that records what is printed."""

import io

import pytest
from rich.console import Console

from funcenv.train import ppo

TINY = ppo.Config(
    num_envs=4, num_steps=16, total_timesteps=64 * 12, num_seeds=2, hidden_sizes=(8,), num_epochs=2, num_minibatches=2
)


@pytest.fixture(scope="session")
def tiny():
    """Return a configuration of 12 updates for 2 seeds."""
    return TINY


@pytest.fixture
def console():
    """Return a console whose output is `console.file.getvalue()`."""
    return Console(file=io.StringIO(), width=200)
