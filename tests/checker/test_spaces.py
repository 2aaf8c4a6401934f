"""The checker finds nothing wrong with members of any kind of space, as observations and as actions."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import spaces
from funcenv.checker import find_problems

SPACES = [
    spaces.Box(0, 255, (3,), np.uint8),
    spaces.Discrete(3, start=-1),
    spaces.MultiDiscrete([2, 3]),
    spaces.MultiBinary(3),
    spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Box(0.0, 1.0, ())}),
    spaces.Tuple([spaces.Discrete(2), spaces.Box(0.0, 1.0, ())]),
    spaces.Text(4),
    spaces.Sequence(spaces.Discrete(3), 4),
    spaces.OneOf([spaces.Discrete(2), spaces.Box(0.0, 1.0, ())]),
    spaces.Graph(spaces.Box(0.0, 1.0, (2,)), spaces.Discrete(2), 3, 4),
]


class Echo(funcenv.FuncEnv[jax.Array, Any, Any]):
    """An environment whose observations and actions are members of a given space."""

    space: Any = funcenv.field(pytree_node=False)

    @property
    def observation_space(self) -> Any:
        return self.space

    @property
    def action_space(self) -> Any:
        return self.space

    def initial(self, key: jax.Array) -> Any:
        return jax.random.randint(key, (), 0, 3)

    def transition(self, state: Any, action: Any, key: jax.Array) -> Any:
        return (state + 1) % 3

    def observation(self, state: Any, key: jax.Array) -> Any:
        return self.space.sample(key)

    def reward(self, state: Any, action: Any, next_state: Any) -> Any:
        return jnp.zeros((), float)

    def terminal(self, state: Any) -> Any:
        return jnp.zeros((), bool)


def test_every_kind_of_space_is_tried():
    kinds = {kind for kind in vars(spaces).values() if isinstance(kind, type) and issubclass(kind, spaces.Space)}
    untried = kinds - {type(space) for space in SPACES} - {spaces.Space, spaces.Batched}  # two that only others use
    assert not untried, f"add one of each of {untried} to SPACES"


@pytest.mark.parametrize("space", SPACES, ids=lambda space: type(space).__name__)
def test_members_pass(space):
    findings = find_problems(Echo(space), funcenv.key(0))
    assert findings == [], "\n".join(map(str, findings))
