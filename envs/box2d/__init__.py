"""Rigid bodies, simulated as Box2D does."""

from funcenv.envs.box2d.bipedal_walker import BipedalWalker, BipedalWalkerState
from funcenv.envs.box2d.car_racing import CarRacing, CarRacingState
from funcenv.envs.box2d.lunar_lander import LunarLander, LunarLanderState

__all__ = ["BipedalWalker", "BipedalWalkerState", "CarRacing", "CarRacingState", "LunarLander", "LunarLanderState"]
