"""An environment to render, a comparison of the frames of two environments, and registries of a test's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from funcenv import field, spaces
from funcenv.scene import Camera, Circle, Scene, rgba
from tests.support import registries
from tests.support.tiny_envs import Tiny


class Dot(Tiny):
    """A dot on a line that moves left or right; the class counts the traces of `scene`."""

    radius: float = 0.5
    length: int = field(pytree_node=False, default=6)

    traces = []  # noqa: RUF012
    render_fps = 500  # windows do not wait

    @property
    def observation_space(self):
        return spaces.Discrete(self.length)

    def initial(self, key):
        return jax.random.randint(key, (), 0, 3, jnp.int32)

    def transition(self, state, action, key):
        return jnp.clip(state + jnp.where(action == 1, 1, -1), 0, self.length - 1)

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
    with registries.restored():
        yield
