"""Environments of several agents."""

from funcenv.envs.multi_agent.coin_game import CoinGame, CoinGameState

__all__ = ["CoinGame", "CoinGameState"]
