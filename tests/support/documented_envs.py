"""Environments of a few lines, as the pages of the reference API show how to write them."""

import numpy as np

from funcenv import adapters as gym


class GridWorldEnv(gym.Env):
    """An agent that walks to a target on a grid."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(self, render_mode=None, size=5):
        self.size = size
        place = gym.spaces.Box(0, size - 1, shape=(2,), dtype=int)
        self.observation_space = gym.spaces.Dict({"agent": place, "target": place})
        self.action_space = gym.spaces.Discrete(4)
        self._directions = {0: np.array([1, 0]), 1: np.array([0, 1]), 2: np.array([-1, 0]), 3: np.array([0, -1])}
        assert render_mode is None or render_mode in self.metadata["render_modes"]
        self.render_mode = render_mode

    def _get_obs(self):
        return {"agent": self._agent, "target": self._target}

    def _get_info(self):
        return {"distance": np.linalg.norm(self._agent - self._target, ord=1)}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self._agent = self.np_random.integers(0, self.size, size=2, dtype=int)
        self._target = self._agent
        while np.array_equal(self._target, self._agent):
            self._target = self.np_random.integers(0, self.size, size=2, dtype=int)
        return self._get_obs(), self._get_info()

    def step(self, action):
        self._agent = np.clip(self._agent + self._directions[int(action)], 0, self.size - 1)
        terminated = np.array_equal(self._agent, self._target)
        reward = 1 if terminated else 0
        return self._get_obs(), reward, terminated, False, self._get_info()

    def render(self):
        frame = np.zeros((self.size, self.size, 3), np.uint8)
        frame[tuple(self._agent)] = 255
        return frame


class PointEnv(gym.Env):
    """A point on a plane that is pushed along a diagonal."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012

    def __init__(self, render_mode=None):
        self.observation_space = gym.spaces.Box(low=-1.0, high=1.0, shape=(2,), dtype=np.float32)
        self.action_space = gym.spaces.Box(low=-0.5, high=0.5, shape=(1,), dtype=np.float32)
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-0.1, 0.1, 2).astype(np.float32)
        return self.place.copy(), {}

    def step(self, action):
        self.place = np.clip(self.place + action, -1, 1).astype(np.float32)
        return self.place.copy(), 1.0, bool(self.place[0] > 0.9), False, {}

    def render(self):
        return np.full((4, 6, 3), 200, np.uint8)
