"""Gymnasium environments over functional ones, and functional environments over Gymnasium's.

Importing this package registers every environment with Gymnasium, in the namespace `funcenv`:

>>> import gymnasium
>>> import funcenv.adapters.gymnasium
>>> env = gymnasium.make("funcenv/CartPole-v1", gravity=1.6)
>>> observation, info = env.reset(seed=0)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

>>> envs = gymnasium.make_vec("funcenv/CartPole-v1", num_envs=8)
>>> envs.reset(seed=0)[0].shape
(8, 4)

`make_vec` compiles one program for all environments. Besides parameters it takes `autoreset_mode` and `output` of
`GymnasiumVectorEnv`. `vectorization_mode="sync"` or `"async"` selects Gymnasium's loops over single environments.

`gymnasium.make("funcenv.adapters.gymnasium:funcenv/CartPole-v1")` works without that import, for example in the
processes of `AsyncVectorEnv`. If JAX has run before, pass `context="spawn"` to `AsyncVectorEnv`, because a fork does
not copy JAX's threads. The package needs Gymnasium 1.2.2 or later: `pip install "funcenv[gymnasium]"`.
"""

from __future__ import annotations

try:
    import gymnasium as _gymnasium  # noqa: F401  (the library, because imports are absolute)
except ModuleNotFoundError as error:
    if error.name != "gymnasium":
        raise
    raise ModuleNotFoundError('this needs Gymnasium: pip install "funcenv[gymnasium]"', name="gymnasium") from None

from funcenv.adapters.gymnasium import spaces
from funcenv.adapters.gymnasium.env import GymnasiumEnv
from funcenv.adapters.gymnasium.from_env import from_gymnasium
from funcenv.adapters.gymnasium.from_functional import from_gymnasium_functional
from funcenv.adapters.gymnasium.handwritten_env import HandwrittenGymnasiumEnv
from funcenv.adapters.gymnasium.registration import register_envs
from funcenv.adapters.gymnasium.restorable import RestorableGymnasium
from funcenv.adapters.gymnasium.vector_env import GymnasiumVectorEnv

register_envs()

__all__ = [
    "GymnasiumEnv",
    "GymnasiumVectorEnv",
    "HandwrittenGymnasiumEnv",
    "RestorableGymnasium",
    "from_gymnasium",
    "from_gymnasium_functional",
    "register_envs",
    "spaces",
]
