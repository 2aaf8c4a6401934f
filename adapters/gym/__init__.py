"""Old Gym under its own names: `from funcenv.adapters import gym` takes the place of `import gym`.

Its modules have old Gym's names too, so that an import needs another package only: `from gym.spaces import Box`
becomes `from funcenv.adapters.gym.spaces import Box`.

`gym.make` returns environments with the interface of Gym 0.21 to 0.25: `reset` returns the observation, or with
`return_info=True` observation and info; `step` returns four values; `render` takes a mode; and there is `seed`. The
other names are those of `funcenv.adapters`, whose wrappers keep the interface of what is inside.

>>> from funcenv.adapters import gym
>>> env = gym.make("CartPole-v1")
>>> observation, info = env.reset(seed=42, return_info=True)
>>> observation, reward, done, info = env.step(env.action_space.sample())
>>> reward, done
(1.0, False)
"""

from funcenv.adapters.env import Env
from funcenv.adapters.gym import envs, error, logger, spaces, utils, vector, wrappers
from funcenv.adapters.gym.envs.registration import make, register, registry, spec
from funcenv.adapters.gym.spaces import Space
from funcenv.adapters.gym.utils.env_checker import check_env
from funcenv.adapters.gym.utils.play import play
from funcenv.adapters.gym.wrappers import ActionWrapper, ObservationWrapper, RewardWrapper, Wrapper

__all__ = [
    "ActionWrapper",
    "Env",
    "ObservationWrapper",
    "RewardWrapper",
    "Space",
    "Wrapper",
    "check_env",
    "envs",
    "error",
    "logger",
    "make",
    "play",
    "register",
    "registry",
    "spaces",
    "spec",
    "utils",
    "vector",
    "wrappers",
]
