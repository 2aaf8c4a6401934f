"""Small physical systems from the control literature."""

from funcenv.envs.classic_control.cartpole import CartPole, CartPoleState
from funcenv.envs.classic_control.pendulum import Pendulum, PendulumState

__all__ = ["CartPole", "CartPoleState", "Pendulum", "PendulumState"]
