"""The ids under which the environments of this package are found.

Classes are named by strings, so that listing ids imports no environment. Limits and thresholds are Gymnasium's
(`gymnasium/envs/__init__.py`).
"""

from funcenv.registry import register


def register_envs() -> None:
    """Register every environment here; the entry point `funcenv.envs` calls it at the first look-up."""
    classic = "funcenv.envs.classic_control"
    register("CartPole-v0", f"{classic}.cartpole:CartPole", max_episode_steps=200, reward_threshold=195.0)
    register("CartPole-v1", f"{classic}.cartpole:CartPole", max_episode_steps=500, reward_threshold=475.0)
    register("MountainCar-v0", f"{classic}.mountain_car:MountainCar", max_episode_steps=200, reward_threshold=-110.0)
    register(
        "MountainCarContinuous-v0",
        f"{classic}.mountain_car_continuous:MountainCarContinuous",
        max_episode_steps=999,
        reward_threshold=90.0,
    )
    register("Acrobot-v1", f"{classic}.acrobot:Acrobot", max_episode_steps=500, reward_threshold=-100.0)
    register("Pendulum-v1", f"{classic}.pendulum:Pendulum", max_episode_steps=200)

    toy = "funcenv.envs.toy_text"
    lake, cliff = f"{toy}.frozen_lake:FrozenLake", f"{toy}.cliff_walking:CliffWalking"
    small, large = {"map_name": "4x4"}, {"map_name": "8x8"}
    register("FrozenLake-v1", lake, max_episode_steps=100, reward_threshold=0.70, kwargs=small)
    register("FrozenLake8x8-v1", lake, max_episode_steps=200, reward_threshold=0.85, kwargs=large)
    register("CliffWalking-v1", cliff)
    register("CliffWalkingSlippery-v1", cliff, kwargs={"is_slippery": True})
    register("Taxi-v4", f"{toy}.taxi:Taxi", max_episode_steps=200, reward_threshold=8.0)
    register("Blackjack-v1", f"{toy}.blackjack:Blackjack", kwargs={"sab": True, "natural": False})
