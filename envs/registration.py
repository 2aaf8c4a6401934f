"""The ids of the environments in this package.

Classes are named by strings, so that listing the ids imports no environment. Limits and thresholds are those of
Gymnasium (`gymnasium/envs/__init__.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from funcenv.registry import EnvSpec, register, register_family, register_namespace

_PACKAGE = "funcenv.envs"
# id, class, max_episode_steps, reward_threshold, kwargs
_ENVS: tuple[tuple[str, str, int | None, float | None, dict[str, Any]], ...] = (
    ("CartPole-v0", "classic_control.cartpole:CartPole", 200, 195.0, {}),
    ("CartPole-v1", "classic_control.cartpole:CartPole", 500, 475.0, {}),
    ("MountainCar-v0", "classic_control.mountain_car:MountainCar", 200, -110.0, {}),
    ("MountainCarContinuous-v0", "classic_control.mountain_car_continuous:MountainCarContinuous", 999, 90.0, {}),
    ("Acrobot-v1", "classic_control.acrobot:Acrobot", 500, -100.0, {}),
    ("Pendulum-v1", "classic_control.pendulum:Pendulum", 200, None, {}),
    ("FrozenLake-v1", "toy_text.frozen_lake:FrozenLake", 100, 0.70, {"map_name": "4x4"}),
    ("FrozenLake8x8-v1", "toy_text.frozen_lake:FrozenLake", 200, 0.85, {"map_name": "8x8"}),
    ("LakeMaze-v0", "toy_text.lake_maze:LakeMaze", 64, None, {}),
    ("CliffWalking-v1", "toy_text.cliff_walking:CliffWalking", None, None, {}),
    ("CliffWalkingSlippery-v1", "toy_text.cliff_walking:CliffWalking", None, None, {"is_slippery": True}),
    ("Taxi-v4", "toy_text.taxi:Taxi", 200, 8.0, {}),
    ("Blackjack-v1", "toy_text.blackjack:Blackjack", None, None, {"sab": True, "natural": False}),
    ("LunarLander-v3", "box2d.lunar_lander:LunarLander", 1000, 200.0, {}),
    ("LunarLanderContinuous-v3", "box2d.lunar_lander:LunarLander", 1000, 200.0, {"continuous": True}),
    ("CarRacing-v3", "box2d.car_racing:CarRacing", 1000, 900.0, {}),
    ("BipedalWalker-v3", "box2d.bipedal_walker:BipedalWalker", 1600, 300.0, {}),
    ("BipedalWalkerHardcore-v3", "box2d.bipedal_walker:BipedalWalker", 2000, 300.0, {"hardcore": True}),
    ("Ant-v5", "mujoco.ant:Ant", 1000, 6000.0, {}),
    ("HalfCheetah-v5", "mujoco.half_cheetah:HalfCheetah", 1000, 4800.0, {}),
    ("Hopper-v5", "mujoco.hopper:Hopper", 1000, 3800.0, {}),
    ("Humanoid-v5", "mujoco.humanoid:Humanoid", 1000, None, {}),
    ("HumanoidStandup-v5", "mujoco.humanoid_standup:HumanoidStandup", 1000, None, {}),
    (
        "InvertedDoublePendulum-v5",
        "mujoco.inverted_double_pendulum:InvertedDoublePendulum",
        1000,
        9100.0,
        {},
    ),
    ("InvertedPendulum-v5", "mujoco.inverted_pendulum:InvertedPendulum", 1000, 950.0, {}),
    ("Pusher-v5", "mujoco.pusher:Pusher", 100, 0.0, {}),
    ("Reacher-v5", "mujoco.reacher:Reacher", 50, -3.75, {}),
    ("Swimmer-v5", "mujoco.swimmer:Swimmer", 1000, 360.0, {}),
    ("Walker2d-v5", "mujoco.walker2d:Walker2d", 1000, None, {}),
    ("MinAtar/Asterix-v1", "arcade.asterix:Asterix", None, None, {}),
    ("MinAtar/Breakout-v1", "arcade.breakout:Breakout", None, None, {}),
    ("MinAtar/Freeway-v1", "arcade.freeway:Freeway", None, None, {}),
    ("MinAtar/Seaquest-v1", "arcade.seaquest:Seaquest", None, None, {}),
    ("MinAtar/SpaceInvaders-v1", "arcade.space_invaders:SpaceInvaders", None, None, {}),
    ("GoalReacher-v0", "goals.goal_reacher:GoalReacher", 50, None, {}),
    ("BitFlip-v0", "goals.bit_flip:BitFlip", 16, None, {}),
    ("MultiAgent/CoinGame-v0", "multi_agent.coin_game:CoinGame", 150, None, {}),
    ("arcade/Breakout-v0", "arcade.atari_breakout:AtariBreakout", None, None, {}),
    ("arcade/Pong-v0", "arcade.pong:Pong", None, None, {}),
    ("ALE/Pong-v5", "atari.atari:Atari", None, None, {}),  # the other games are a family
)


# Libraries whose environments have ids such as gymnax/CartPole-v1, and the time limit of those that state none
_LIBRARIES = {
    "brax": 1000,
    "craftax": None,
    "envelope": None,
    "gymnax": None,
    "jaxmarl": None,
    "jumanji": None,
    "navix": None,
    "pgx": None,
    "xminigrid": None,
}
# Domains and tasks of dm_control's suite; ids are dm_control/<domain>-<task>-v0.
_SUITE: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("acrobot", "acrobot:SuiteAcrobot", ("swingup", "swingup_sparse")),
    ("ball_in_cup", "ball_in_cup:SuiteBallInCup", ("catch",)),
    ("cartpole", "cartpole:SuiteCartpole", ("balance", "balance_sparse", "swingup", "swingup_sparse")),
    ("cheetah", "cheetah:SuiteCheetah", ("run",)),
    ("dog", "dog:SuiteDog", ("stand", "walk", "trot", "run")),
    ("dog", "dog_fetch:SuiteDogFetch", ("fetch",)),
    ("finger", "finger:SuiteFinger", ("spin", "turn_easy", "turn_hard")),
    ("fish", "fish:SuiteFish", ("upright", "swim")),
    ("hopper", "hopper:SuiteHopper", ("stand", "hop")),
    ("humanoid", "humanoid:SuiteHumanoid", ("stand", "walk", "run", "run_pure_state")),
    ("humanoid_CMU", "humanoid:SuiteHumanoidCMU", ("stand", "walk", "run")),
    ("manipulator", "manipulator:SuiteManipulator", ("bring_ball", "bring_peg", "insert_ball", "insert_peg")),
    ("pendulum", "pendulum:SuitePendulum", ("swingup",)),
    ("point_mass", "point_mass:SuitePointMass", ("easy", "hard")),
    ("quadruped", "quadruped:SuiteQuadruped", ("walk", "run", "fetch")),
    ("quadruped", "quadruped_escape:SuiteQuadrupedEscape", ("escape",)),
    ("reacher", "reacher:SuiteReacher", ("easy", "hard")),
    ("stacker", "stacker:SuiteStacker", ("stack_2", "stack_4")),
    ("walker", "walker:SuiteWalker", ("stand", "walk", "run")),
)
_SUITE_STEPS = 1000
# Other ids of the suite: the rest of the id, the class, its arguments, and the time limit
_SUITE_OTHERS: tuple[tuple[str, str, dict[str, Any], int | None], ...] = (
    ("cartpole-two_poles", "cartpole:SuiteCartpole", {"task": "swingup", "num_poles": 2}, _SUITE_STEPS),
    ("cartpole-three_poles", "cartpole:SuiteCartpole", {"task": "swingup", "num_poles": 3}, _SUITE_STEPS),
    ("swimmer-swimmer6", "swimmer:SuiteSwimmer", {"num_links": 6}, _SUITE_STEPS),
    ("swimmer-swimmer15", "swimmer:SuiteSwimmer", {"num_links": 15}, _SUITE_STEPS),
    ("lqr-lqr_2_1", "lqr:SuiteLQR", {"task": "lqr_2_1"}, None),
    ("lqr-lqr_6_2", "lqr:SuiteLQR", {"task": "lqr_6_2"}, None),
)
# Gymnasium-Robotics' tasks; ids are robotics/PointMaze_<maze>-v3, robotics/AntMaze_<maze>-v5, robotics/Fetch<task>-v4,
# robotics/HandReach-v3.
_MAZES = {"UMaze": (300, 700), "Open": (300, 700), "Medium": (600, 1000), "Large": (800, 1000)}  # limits of both robots
_DIVERSE_MAZES = ("Open", "Medium", "Large")
_MAZE_ROBOTS = (("Point", 3), ("Ant", 5))  # and the versions of their ids
_FETCH_TASKS = {
    "Reach": "fetch_reach",
    "Push": "fetch_push",
    "Slide": "fetch_slide",
    "PickAndPlace": "fetch_pick_and_place",
}
_ARM_STEPS = 50
_LISTED_ROBOTS = (  # one id of each class; other mazes and dense rewards are a family
    "robotics/PointMaze_UMaze-v3",
    "robotics/AntMaze_UMaze-v5",
    *(f"robotics/Fetch{task}-v4" for task in _FETCH_TASKS),
    "robotics/HandReach-v3",
)

_GYMNASIUM = "funcenv.adapters.gymnasium.from_env:from_gymnasium"


def register_envs() -> None:
    """Register every environment of this package, and the namespaces of other libraries.

    The entry point `funcenv.envs` calls this at the first look-up.

    >>> import funcenv
    >>> print(funcenv.spec("gymnax/CartPole-v1").pprint())
    id=gymnax/CartPole-v1
    entry_point=funcenv.interop.gymnax:from_gymnax
    kwargs={'env': 'CartPole-v1'}
    """
    for env_id, name, max_episode_steps, reward_threshold, kwargs in _ENVS:
        register(env_id, f"{_PACKAGE}.{name}", max_episode_steps, reward_threshold, kwargs)
    for domain, name, tasks in _SUITE:
        for task in tasks:
            _register_suite(f"{domain}-{task}", name, {"task": task}, _SUITE_STEPS)
    for other in _SUITE_OTHERS:
        _register_suite(*other)
    for found in _robotics_specs():
        if found.id in _LISTED_ROBOTS:
            register(found.id, found.entry_point, found.max_episode_steps, None, found.kwargs)
    register_family(_atari_specs)
    register_family(_robotics_specs)
    for library, limit in _LIBRARIES.items():
        register_namespace(library, f"funcenv.interop.{library}:from_{library}", "env", limit)
    register_namespace("gymnasium", _GYMNASIUM, "env")
    register_namespace("playground", "funcenv.interop.brax:from_playground", "env", _LIBRARIES["brax"])


def _register_suite(rest: str, name: str, kwargs: dict[str, Any], max_steps: int | None) -> None:
    register(f"dm_control/{rest}-v0", f"{_PACKAGE}.dm_control.{name}", max_steps, None, kwargs)


def _robotics_specs() -> Iterator[EnvSpec]:
    """Yield every task of Gymnasium-Robotics that is here."""
    mazes = {**_MAZES, **{f"{maze}_Diverse_{kind}": _MAZES[maze] for maze in _DIVERSE_MAZES for kind in ("G", "GR")}}
    for dense, reward_type in (("", "sparse"), ("Dense", "dense")):
        rewards = {"reward_type": reward_type}
        for task, file in _FETCH_TASKS.items():
            entry_point = f"{_PACKAGE}.robotics.{file}:Fetch{task}"
            yield EnvSpec(f"robotics/Fetch{task}{dense}-v4", entry_point, _ARM_STEPS, kwargs=rewards)
        entry_point = f"{_PACKAGE}.robotics.hand_reach:HandReach"
        yield EnvSpec(f"robotics/HandReach{dense}-v3", entry_point, _ARM_STEPS, kwargs=rewards)
        for maze, limits in mazes.items():
            for (robot, version), limit in zip(_MAZE_ROBOTS, limits, strict=True):
                entry_point, kwargs = (
                    f"{_PACKAGE}.robotics.{robot.lower()}_maze:{robot}Maze",
                    {"maze_map": maze, **rewards},
                )
                yield EnvSpec(f"robotics/{robot}Maze_{maze}{dense}-v{version}", entry_point, limit, kwargs=kwargs)


def _atari_specs() -> Iterator[EnvSpec]:
    """Yield every game of the Atari 2600."""
    from funcenv.envs.atari.games import game_ids

    for env_id, kwargs in game_ids():
        yield EnvSpec(env_id, f"{_PACKAGE}.atari.atari:Atari", kwargs=kwargs)
