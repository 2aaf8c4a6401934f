"""Small discrete environments with exact transition tables."""

from funcenv.envs.toy_text.blackjack import Blackjack, BlackjackState
from funcenv.envs.toy_text.cliff_walking import CliffWalking, CliffWalkingState
from funcenv.envs.toy_text.frozen_lake import FrozenLake, FrozenLakeState
from funcenv.envs.toy_text.frozen_lake_maps import generate_random_map
from funcenv.envs.toy_text.lake_maze import LakeMaze, LakeMazeState
from funcenv.envs.toy_text.taxi import Taxi, TaxiState
from funcenv.envs.toy_text.transition_table import TransitionTable

__all__ = [
    "Blackjack",
    "BlackjackState",
    "CliffWalking",
    "CliffWalkingState",
    "FrozenLake",
    "FrozenLakeState",
    "LakeMaze",
    "LakeMazeState",
    "Taxi",
    "TaxiState",
    "TransitionTable",
    "generate_random_map",
]
