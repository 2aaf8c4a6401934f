"""Real Gymnasium objects over pure environments, and pure environments over Gymnasium's.

Importing this registers every environment with Gymnasium, in the namespace `funcenv`:

>>> import gymnasium
>>> import funcenv.adapters.gymnasium
>>> env = gymnasium.make("funcenv/CartPole-v1", gravity=1.6)
>>> observation, info = env.reset(seed=0)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

>>> envs = gymnasium.make_vec("funcenv/CartPole-v1", num_envs=8)
>>> envs.reset(seed=0)[0].shape
(8, 4)

`make_vec` compiles one program for all of them, and takes `autoreset_mode` and `output` of `GymnasiumVectorEnv` besides
parameters; `vectorization_mode="sync"` or `"async"` gives Gymnasium's loops over single environments instead.

Without that import, `gymnasium.make("funcenv.adapters.gymnasium:funcenv/CartPole-v1")` does the same; in processes of
their own, as those of `AsyncVectorEnv`, it is the way. Give `AsyncVectorEnv` the argument `context="spawn"` where JAX
has run before: a fork does not copy JAX's threads. It needs Gymnasium 1.4: `pip install "funcenv[gymnasium]"`.
"""

from __future__ import annotations

try:
    import gymnasium as _gymnasium  # noqa: F401  (the library itself; imports here are absolute)
except ModuleNotFoundError as error:
    if error.name != "gymnasium":
        raise
    raise ModuleNotFoundError('this needs Gymnasium: pip install "funcenv[gymnasium]"', name="gymnasium") from None

from funcenv.adapters.gymnasium import spaces
from funcenv.adapters.gymnasium.env import GymnasiumEnv
from funcenv.adapters.gymnasium.from_env import from_gymnasium
from funcenv.adapters.gymnasium.from_functional import from_gymnasium_functional
from funcenv.adapters.gymnasium.registration import register_envs
from funcenv.adapters.gymnasium.vector_env import GymnasiumVectorEnv

register_envs()

__all__ = [
    "GymnasiumEnv",
    "GymnasiumVectorEnv",
    "from_gymnasium",
    "from_gymnasium_functional",
    "register_envs",
    "spaces",
]
