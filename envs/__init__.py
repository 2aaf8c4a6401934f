"""The environments, one file each."""

if __name__ != "funcenv.envs":
    raise ImportError("import funcenv.envs")

from funcenv.envs.classic_control import CartPole, CartPoleState, Pendulum, PendulumState
from funcenv.envs.registration import register_envs

__all__ = ["CartPole", "CartPoleState", "Pendulum", "PendulumState", "register_envs"]
