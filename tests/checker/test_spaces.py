"""The checker finds nothing wrong with members of any kind of space, as observations and as actions."""

import numpy as np
import pytest

import funcenv
from funcenv import spaces
from funcenv.checker import find_problems
from tests.support.tiny_envs import Sampler

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


def test_every_kind_of_space_is_tried():
    kinds = {kind for kind in vars(spaces).values() if isinstance(kind, type) and issubclass(kind, spaces.Space)}
    untried = kinds - {type(space) for space in SPACES} - {spaces.Space, spaces.Batched}  # two that only others use
    assert not untried, f"add one of each of {untried} to SPACES"


@pytest.mark.parametrize("space", SPACES, ids=lambda space: type(space).__name__)
def test_members_pass(space):
    findings = find_problems(Sampler(space), funcenv.key(0))
    assert findings == [], "\n".join(map(str, findings))
