"""A predictable environment, and a scripted screen."""

import numpy as np
import pytest

from funcenv.adapters import Env, Space
from funcenv.adapters.playing.loop import Pressed
from funcenv.spaces import Box, Discrete


class Corridor(Env):
    """A corridor of four cells: action 0 stays, 1 moves back, 2 moves forward. The observation has a random offset."""

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 1000}

    def __init__(self, render_mode="rgb_array"):
        self.render_mode = render_mode
        self.action_space, self.observation_space = Space(Discrete(3)), Space(Box(-np.inf, np.inf, ()))
        self.seeds, self.starts, self.actions = [], [], []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.cell, self.start = 0, float(self.np_random.random())
        self.starts.append(self.start)
        return np.float32(self.start), {}

    def step(self, action):
        self.actions.append(action)
        self.cell += (0, -1, 1)[action]
        done = self.cell == 3
        return np.float32(self.start + self.cell), 1.0, done, False, {"cell": self.cell}

    def render(self):
        if self.render_mode == "ansi":
            return "".join("@" if cell == self.cell else "." for cell in range(4)) + "\n"
        frame = np.full((60, 80, 3), 255, np.uint8)
        frame[:, 20 * max(self.cell, 0) : 20 * max(self.cell, 0) + 20] = (200, 40, 40)
        return frame

    def get_keys_to_action(self):
        return {("left",): 1, ("right",): 2}


class Script:
    """A screen with a given set of keys for each frame; after the last one the player leaves."""

    def __init__(self, *presses):
        self.presses, self.scores, self.frames = list(presses), [], []
        self.down = frozenset()
        self.is_late, self.num_skipped = False, 0

    def show(self, frame, score):
        self.frames.append(frame)
        self.scores.append(score)

    def skip(self, score):
        self.num_skipped += 1

    def pressed(self):
        down = frozenset(self.presses.pop(0)) if self.presses else frozenset()
        new, self.down = down - self.down, down
        return Pressed(down, new)

    @property
    def is_open(self):
        return bool(self.presses)

    def close(self):
        self.presses.clear()


@pytest.fixture
def corridor():
    return Corridor


@pytest.fixture
def script():
    return Script
