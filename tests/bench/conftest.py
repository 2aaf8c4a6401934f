"""A small environment to measure."""

import importlib
import sys

import pytest

WALK = """
import jax, jax.numpy as jnp
import funcenv

class Walk(funcenv.FuncEnv):
    effort: int = funcenv.field(pytree_node=False, default=0)

    @property
    def observation_space(self): return funcenv.spaces.Box(-9.0, 9.0, (1,))
    @property
    def action_space(self): return funcenv.spaces.Discrete(2)
    def initial(self, key): return jax.random.uniform(key)
    def transition(self, state, action, key):
        state = jax.lax.fori_loop(0, self.effort, lambda _, x: x + 1e-9 * jnp.sqrt(x * x + 1), state)
        return state + jnp.where(action == 1, 1.0, -1.0)
    def observation(self, state, key): return state[None]
    def reward(self, state, action, next_state): return -1.0
    def terminal(self, state): return jnp.abs(state) > 5

def arduous(): return Walk(effort=1000)
"""


@pytest.fixture
def walk(tmp_path, monkeypatch):
    """Return a module with a small environment that compiles fast."""
    (tmp_path / "measured_walk.py").write_text(WALK)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("measured_walk", None)
    return importlib.import_module("measured_walk")
