"""Small physical systems from the control literature."""

from funcenv.envs.classic_control.acrobot import Acrobot, AcrobotState
from funcenv.envs.classic_control.cartpole import CartPole, CartPoleState
from funcenv.envs.classic_control.mountain_car import MountainCar
from funcenv.envs.classic_control.mountain_car_continuous import MountainCarContinuous, MountainCarContinuousState
from funcenv.envs.classic_control.mountain_car_dynamics import MountainCarState
from funcenv.envs.classic_control.pendulum import Pendulum, PendulumState

__all__ = [
    "Acrobot",
    "AcrobotState",
    "CartPole",
    "CartPoleState",
    "MountainCar",
    "MountainCarContinuous",
    "MountainCarContinuousState",
    "MountainCarState",
    "Pendulum",
    "PendulumState",
]
