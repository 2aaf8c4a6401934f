"""The text of a state is Gymnasium's own, character for character: every state, after every action."""

import gymnasium
import jax
import numpy as np
import pytest

import funcenv


@pytest.mark.parametrize(
    ("id", "params", "reference"),
    [
        ("FrozenLake-v1", {}, {}),
        ("FrozenLake8x8-v1", {}, {}),
        ("FrozenLake-v1", {"desc": ["SFF", "FHG"]}, {"desc": ["SFF", "FHG"]}),
        ("CliffWalking-v1", {}, {}),
        ("Taxi-v4", {}, {}),
    ],
)
def test_every_state_after_every_action(id, params, reference):
    env = funcenv.make(id, **params).unwrapped
    theirs = gymnasium.make(id, render_mode="ansi", **reference).unwrapped
    theirs.reset(seed=0)
    states = jax.device_get(jax.vmap(env.decode)(np.arange(env.observation_space.n)))
    for number in range(env.observation_space.n):
        state = jax.tree.map(lambda leaf, number=number: leaf[number], states)
        for action in (None, *range(env.action_space.n)):
            theirs.s, theirs.lastaction = number, action
            assert env.text(state, action) == theirs.render(), (number, action)


def test_an_episode_in_ansi_mode():
    import funcenv.adapters.gymnasium  # noqa: F401  (it registers)

    ours, theirs = (gymnasium.make(f"{name}CliffWalking-v1", render_mode="ansi") for name in ("funcenv/", ""))
    for env in (ours, theirs):
        env.reset(seed=0)
    for action in (0, 1, 1, 2, 3):
        assert ours.render() == theirs.render()
        for env in (ours, theirs):
            env.step(action)
    assert ours.render() == theirs.render()
