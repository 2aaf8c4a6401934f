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
    register("Pendulum-v1", f"{classic}.pendulum:Pendulum", max_episode_steps=200)
