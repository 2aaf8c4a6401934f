"""The environments, one file each."""

if __name__ != "funcenv.envs":
    raise ImportError("import funcenv.envs")

from funcenv.envs.classic_control import (
    Acrobot,
    AcrobotState,
    CartPole,
    CartPoleState,
    MountainCar,
    MountainCarContinuous,
    MountainCarContinuousState,
    MountainCarState,
    Pendulum,
    PendulumState,
)
from funcenv.envs.registration import register_envs
from funcenv.envs.toy_text import (
    Blackjack,
    BlackjackState,
    CliffWalking,
    CliffWalkingState,
    FrozenLake,
    FrozenLakeState,
    Taxi,
    TaxiState,
    TransitionTable,
    generate_random_map,
)

__all__ = [
    "Acrobot",
    "AcrobotState",
    "Blackjack",
    "BlackjackState",
    "CartPole",
    "CartPoleState",
    "CliffWalking",
    "CliffWalkingState",
    "FrozenLake",
    "FrozenLakeState",
    "MountainCar",
    "MountainCarContinuous",
    "MountainCarContinuousState",
    "MountainCarState",
    "Pendulum",
    "PendulumState",
    "Taxi",
    "TaxiState",
    "TransitionTable",
    "generate_random_map",
    "register_envs",
]
