"""An environment to render, a comparison of the frames of two environments, and registries of a test's own."""

import importlib

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import FuncEnv, field, spaces
from funcenv.scene import Camera, Circle, Scene, rgba


class Dot(FuncEnv):
    """A dot on a line that moves left or right; the class counts the traces of `scene`."""

    radius: float = 0.5
    length: int = field(pytree_node=False, default=6)

    traces = []  # noqa: RUF012
    render_fps = 500  # windows do not wait

    @property
    def observation_space(self):
        return spaces.Discrete(self.length)

    @property
    def action_space(self):
        return spaces.Discrete(2)

    def initial(self, key):
        return jax.random.randint(key, (), 0, 3, jnp.int32)

    def transition(self, state, action, key):
        return jnp.clip(state + jnp.where(action == 1, 1, -1), 0, self.length - 1)

    def observation(self, state, key):
        return state

    def reward(self, state, action, next_state):
        return -1.0

    def terminal(self, state):
        return state == self.length - 1

    def scene(self, state):
        self.traces.append(state)
        dot = Circle((state.astype(jnp.float32), 0.0), self.radius, rgba("#d04020"))
        return Scene(Camera((self.length / 2 - 0.5, 0.0), float(self.length), 2.0), (dot,))


@pytest.fixture
def dot():
    return Dot


@pytest.fixture
def assert_same_frames():
    """Return a function that runs a script in two environments, compares their frames, and counts them."""

    def play(ours, theirs, script):
        lengths = []
        for number, call in enumerate(script):  # r reset, s step, a dot render
            for env in (ours, theirs):
                if call == "r":
                    env.reset(seed=number)
                elif call == "s":
                    env.step(number % 2)
            if call == ".":
                frames, expected = ours.render(), theirs.render()
                for frame, other in zip(frames, expected, strict=True):
                    np.testing.assert_array_equal(frame, other)
                lengths.append(len(frames))
        return lengths

    return play


@pytest.fixture
def separate_registry():
    """Forget what a test registers, here and with Gymnasium."""
    funcenv.spec("CartPole-v1")  # loads the entry points
    specs = importlib.import_module("funcenv.registry")._specs  # the attribute funcenv.registry is a view of it
    before = dict(specs), dict(gymnasium.registry)
    yield
    for present, kept in zip((specs, gymnasium.registry), before, strict=True):
        present.clear()
        present.update(kept)
