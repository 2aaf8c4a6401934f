"""The environments, one file each; every folder exports its own."""

if __name__ != "funcenv.envs":
    raise ImportError("import funcenv.envs")

from funcenv.envs import box2d, classic_control, mujoco, toy_text
from funcenv.envs.box2d import *  # noqa: F403
from funcenv.envs.classic_control import *  # noqa: F403
from funcenv.envs.mujoco import *  # noqa: F403
from funcenv.envs.registration import register_envs
from funcenv.envs.toy_text import *  # noqa: F403

__all__ = ["register_envs"]
__all__ += box2d.__all__
__all__ += classic_control.__all__
__all__ += mujoco.__all__
__all__ += toy_text.__all__
