"""Robots of joints and motors, simulated by MuJoCo."""

from funcenv.envs.mujoco.ant import Ant
from funcenv.envs.mujoco.half_cheetah import HalfCheetah
from funcenv.envs.mujoco.hopper import Hopper
from funcenv.envs.mujoco.humanoid import Humanoid
from funcenv.envs.mujoco.humanoid_standup import HumanoidStandup
from funcenv.envs.mujoco.inverted_double_pendulum import InvertedDoublePendulum
from funcenv.envs.mujoco.inverted_pendulum import InvertedPendulum
from funcenv.envs.mujoco.mujoco_task import MujocoTask, Start, TaskState
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.envs.mujoco.pusher import Pusher
from funcenv.envs.mujoco.reacher import Reacher
from funcenv.envs.mujoco.swimmer import Swimmer
from funcenv.envs.mujoco.walker2d import Walker2d

__all__ = [
    "Ant",
    "HalfCheetah",
    "Hopper",
    "Humanoid",
    "HumanoidStandup",
    "InvertedDoublePendulum",
    "InvertedPendulum",
    "MujocoTask",
    "NamedData",
    "Pusher",
    "Reacher",
    "Start",
    "Swimmer",
    "TaskState",
    "Walker2d",
]
