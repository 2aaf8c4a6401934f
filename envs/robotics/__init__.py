"""Gymnasium-Robotics' environments with goals, simulated by MuJoCo."""

from funcenv.envs.robotics.ant_maze import AntMaze
from funcenv.envs.robotics.fetch import FetchPickAndPlace, FetchPush, FetchReach, FetchSlide
from funcenv.envs.robotics.point_maze import PointMaze

__all__ = ["AntMaze", "FetchPickAndPlace", "FetchPush", "FetchReach", "FetchSlide", "PointMaze"]
