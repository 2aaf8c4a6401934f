"""Every built-in environment defines keys for all its actions."""

import numpy as np
import pytest

import funcenv
from funcenv.adapters import make
from funcenv.adapters.playing.loop import default_keys
from funcenv.keyboard import Keymap
from funcenv.spaces import Discrete

funcenv.make("CartPole-v1")  # loads the entry points
IDS = sorted(id for id in funcenv.registry if "/" not in id)


@pytest.mark.parametrize("id", IDS)
def test_all_actions_can_be_played(id):
    env = make(id)
    keys = default_keys(env)
    noop = keys.pop((), 0)
    keymap = Keymap(keys, noop, env.action_space)
    space = env.get_wrapper_attr("func_env").action_space
    if isinstance(space, Discrete):
        assert {int(keymap.action(()))} | {int(action) for action in keys.values()} == set(range(int(space.n)))
    else:
        actions = np.stack([np.ravel(action) for action in keys.values()])
        np.testing.assert_allclose(actions.min(axis=0), space.low.ravel())
        full = np.array([1, 1, 0.8]) if id == "CarRacing-v3" else 1  # a full brake blocks the wheels
        np.testing.assert_allclose(actions.max(axis=0), full * space.high.ravel())


@pytest.mark.parametrize("id", IDS)
def test_all_actions_have_names(id):
    env = funcenv.make(id)
    space = env.action_space
    count = int(space.n) if isinstance(space, Discrete) else int(np.prod(space.shape))
    assert len(env.action_names) == len(set(env.action_names)) == count


def test_a_wrapper_with_other_actions_has_no_names():
    env = funcenv.make("Pendulum-v1")
    assert env.action_names == ("torque",)
    assert funcenv.wrappers.RescaleAction(env, -1.0, 1.0).action_names == ()
