"""Gymnasium-Robotics' environments with goals, simulated by MuJoCo."""

from funcenv.envs.robotics.ant_maze import AntMaze
from funcenv.envs.robotics.fetch_pick_and_place import FetchPickAndPlace
from funcenv.envs.robotics.fetch_push import FetchPush
from funcenv.envs.robotics.fetch_reach import FetchReach
from funcenv.envs.robotics.fetch_slide import FetchSlide
from funcenv.envs.robotics.hand_reach import HandReach
from funcenv.envs.robotics.point_maze import PointMaze

__all__ = ["AntMaze", "FetchPickAndPlace", "FetchPush", "FetchReach", "FetchSlide", "HandReach", "PointMaze"]
