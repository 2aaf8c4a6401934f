"""Rigid bodies under gravity, simulated as Box2D does."""

from funcenv.envs.box2d.lunar_lander import LunarLander, LunarLanderState

__all__ = ["LunarLander", "LunarLanderState"]
