"""The tasks of dm_control's suite, simulated by MuJoCo."""

from funcenv.envs.dm_control.acrobot import SuiteAcrobot
from funcenv.envs.dm_control.ball_in_cup import SuiteBallInCup
from funcenv.envs.dm_control.cartpole import SuiteCartpole
from funcenv.envs.dm_control.cheetah import SuiteCheetah
from funcenv.envs.dm_control.dog import SuiteDog
from funcenv.envs.dm_control.dog_fetch import SuiteDogFetch
from funcenv.envs.dm_control.finger import SuiteFinger
from funcenv.envs.dm_control.fish import SuiteFish
from funcenv.envs.dm_control.hopper import SuiteHopper
from funcenv.envs.dm_control.humanoid import SuiteHumanoid, SuiteHumanoidCMU
from funcenv.envs.dm_control.lqr import SuiteLQR
from funcenv.envs.dm_control.manipulator import SuiteManipulator
from funcenv.envs.dm_control.pendulum import SuitePendulum
from funcenv.envs.dm_control.point_mass import SuitePointMass
from funcenv.envs.dm_control.quadruped import SuiteQuadruped
from funcenv.envs.dm_control.quadruped_escape import SuiteQuadrupedEscape
from funcenv.envs.dm_control.reacher import SuiteReacher
from funcenv.envs.dm_control.stacker import SuiteStacker
from funcenv.envs.dm_control.swimmer import SuiteSwimmer
from funcenv.envs.dm_control.walker import SuiteWalker

__all__ = [
    "SuiteAcrobot",
    "SuiteBallInCup",
    "SuiteCartpole",
    "SuiteCheetah",
    "SuiteDog",
    "SuiteDogFetch",
    "SuiteFinger",
    "SuiteFish",
    "SuiteHopper",
    "SuiteHumanoid",
    "SuiteHumanoidCMU",
    "SuiteLQR",
    "SuiteManipulator",
    "SuitePendulum",
    "SuitePointMass",
    "SuiteQuadruped",
    "SuiteQuadrupedEscape",
    "SuiteReacher",
    "SuiteStacker",
    "SuiteSwimmer",
    "SuiteWalker",
]
