"""Configurations for every environment of the package; `funcenv train ENV` starts from them.

docs/zoo.md has a table of what each reaches. Other environments start from the algorithm's defaults.
"""

from __future__ import annotations

from typing import Any

from funcenv.train.algorithm import DEFAULT_ALGORITHM, find_algorithm
from funcenv.train.suites import SUITES

PIXELS = 42  # rows and columns of an image: 36 patches of the first convolution, by default

_TABULAR: dict[str, Any] = {
    "num_envs": 64,
    "hidden_sizes": (),  # linear in a one-hot observation, so a table: no state disturbs what another has learned
    "learning_rate": 3e-2,
    "gamma": 0.999,
}

# As in rl-baselines3-zoo, with half as many steps again. Agents hover at first, and land after some 700,000 steps.
_LUNAR_LANDER: dict[str, Any] = {
    "total_timesteps": 1_500_000,
    "num_steps": 1024,
    "num_minibatches": 64,
    "learning_rate": 3e-4,
    "gamma": 0.999,
    "gae_lambda": 0.98,
}

# As in rl-baselines3-zoo. One agent reaches 297 on grass; the hardcore version was measured for 4% of its steps.
_BIPEDAL_WALKER: dict[str, Any] = {
    "total_timesteps": 5_000_000,
    "num_envs": 32,
    "num_steps": 2048,
    "num_epochs": 10,
    "num_minibatches": 1024,
    "learning_rate": 3e-4,
    "gamma": 0.999,
    "entropy_coefficient": 0.0,
    "normalize_observation": True,
}

# As in CleanRL's PPO for continuous control, with 16 environments instead of one. One agent of HalfCheetah reaches
# 3,957, of Walker2d 4,370 and of Ant 1,047. docs/zoo_trials.md has others.
_MUJOCO: dict[str, Any] = {
    "total_timesteps": 1_000_000,
    "num_envs": 16,
    "num_steps": 128,
    "num_epochs": 10,
    "num_minibatches": 32,
    "learning_rate": 3e-4,
    "entropy_coefficient": 0.0,
    "normalize_observation": True,
}

# Four gradient steps for every 16 steps of the environments, instead of one for each. docs/zoo.md has the returns.
_MUJOCO_SAC: dict[str, Any] = {
    "total_timesteps": 500_000,
    "num_envs": 16,
    "num_gradient_steps": 4,
    "minibatch_size": 256,
    "buffer_size": 1_000_000,
    "learning_starts": 10_000,
    "learning_rate": 5e-4,
    "target_rate": 0.005,
}

# Sixteen gradient steps of 64 transitions instead of four of 256, with two steps of the critics in each.
# docs/zoo_trials.md has what was learned with 8 of 128.
_FREQUENT_SAC: dict[str, Any] = {
    **_MUJOCO_SAC,
    "total_timesteps": 1_000_000,
    "num_gradient_steps": 16,
    "critic_steps": 2,
    "minibatch_size": 64,
}

# A target is reached in a few steps, and near it rewards hardly differ: a policy with little noise sees the difference.
_REACHER_SAC: dict[str, Any] = {
    **_MUJOCO_SAC,
    "total_timesteps": 300_000,
    "num_gradient_steps": 8,
    "buffer_size": 300_000,
    "learning_starts": 5_000,
    "gamma": 0.95,
    "target_entropy": 2.0,
    "normalize_observation": True,
    "normalize_reward": True,
}

# Networks of half of SimBa's width, whose vectors and weights have length 1, with a higher learning rate that falls.
# docs/zoo_trials.md has what Ant, Hopper and BipedalWalker reached without them.
_HYPERSPHERICAL: dict[str, Any] = {
    "network": "funcenv.train.agents.actor_critics:make_hyperspherical_actor_critics",
    "hidden_sizes": (128,),
    "residual_width": 64,
    "learning_rate": 1e-3,
    "anneal_learning_rate": True,
    "max_value": 5.0,
}

# Networks that see observations as they are. Ant learns almost twice as fast where they see logarithms, the default.
# Other tasks keep those that they were measured with.
_UNCOMPRESSED: dict[str, Any] = {"network": "funcenv.train.agents.actor_critics:make_categorical_actor_critics"}
# The settings that SimBa's first agents were trained with. Walker2d learns twice as fast by its defaults, which take
# twice as many steps of half the size, and HalfCheetah as fast. docs/zoo_trials.md has figures.
_LARGER_MINIBATCHES: dict[str, Any] = {
    **_UNCOMPRESSED,
    "num_gradient_steps": 4,
    "minibatch_size": 128,
    "target_entropy": 1.0,
}

_MUJOCO_SIMBA: dict[str, Any] = {
    "total_timesteps": 1_000_000,
    "buffer_size": 500_000,
    "learning_starts": 5_000,
}
# With targets of one step, Hopper's agent reached 1,089 after 150,000 steps; with three, 3,185.
_ANT_SIMBA: dict[str, Any] = {"total_timesteps": 1_000_000, "buffer_size": 1_000_000, "n_step": 3}
_WALKERS_SIMBA: dict[str, Any] = {**_ANT_SIMBA, "learning_starts": 5_000}

# The discount is that of rl-baselines3-zoo's SAC and TQC.
_BIPEDAL_WALKER_SIMBA: dict[str, Any] = {
    **_HYPERSPHERICAL,
    "total_timesteps": 1_000_000,
    "buffer_size": 400_000,
    "n_step": 3,
    "gamma": 0.98,
}

# As in Tianshou's example of SAC (examples/box2d/bipedal_hardcore_sac.py), actions are taken three times, and a fall
# costs little more than the walk that it ends: where it costs 100, agents learn to stand still.
_BIPEDAL_WALKER_HARDCORE_SIMBA: dict[str, Any] = {
    **_HYPERSPHERICAL,
    "action_repeat": 3,
    "min_reward": -1.0,
    "total_timesteps": 1_500_000,
    "buffer_size": 1_000_000,
    "learning_starts": 10_000,
    "n_step": 3,
}

# SimBa's networks at half their width, with critics of quantiles: with SimBa's own, single agents had 261 and 265. Much
# noise at first, as the target entropy says, and little at last: with one of 0.5 throughout, the mean of five agents
# was 187 after 100,000 steps, where it is 244, and with 1, two of five still hovered after 300,000.
_LUNAR_LANDER_CONTINUOUS_TQC: dict[str, Any] = {
    "total_timesteps": 500_000,
    "buffer_size": 500_000,
    "learning_starts": 5_000,
    "n_step": 3,
    "anneal_learning_rate": True,
    "hidden_sizes": (128,),
    "residual_width": 64,
    "target_entropy": 0.0,
    "target_entropy_growth": 1.25,
    # The others are SimBa's defaults.
    "num_envs": 16,
    "num_gradient_steps": 8,
    "minibatch_size": 64,
    "critic_steps": 2,
    "learning_rate": 3e-4,
    "target_rate": 0.005,
    "initial_temperature": 0.01,
    "layer_norm": True,
    "normalize_observation": True,
    "normalize_reward": True,
}

# As published: each action is taken twice, and rewards are added. Agents learn from half of the steps of dm_control.
_DM_CONTROL_SIMBA: dict[str, Any] = {
    **_LARGER_MINIBATCHES,
    "action_repeat": 2,
    "total_timesteps": 250_000,
    "buffer_size": 250_000,
    "learning_starts": 2_500,
}

# Fewer steps of the optimizer with larger batches: with the settings above, the poles are balanced early, and dropped
# again and again.
_INVERTED_DOUBLE_PENDULUM: dict[str, Any] = {
    **_MUJOCO,
    "total_timesteps": 3_000_000,
    "num_envs": 64,
    "num_epochs": 4,
    "num_minibatches": 8,
}

# As in PureJaxRL's example for MinAtar, with a convolution in place of the first layer, and a lower learning rate.
# docs/zoo.md says what agents of each reach.
_MINATAR: dict[str, Any] = {
    "total_timesteps": 10_000_000,
    "num_envs": 64,
    "num_steps": 128,
    "num_minibatches": 8,
    "learning_rate": 3e-3,
    "hidden_sizes": (64,),
    "activation": "relu",
}

# Without a convolution, more is learned in two thirds of the time; Asterix needs it. docs/zoo_trials.md has figures.
_MINATAR_DENSE: dict[str, Any] = {
    **_MINATAR,
    "board_channels": (),
    "board_strides": (),
    "hidden_sizes": (128, 64),
    "learning_rate": 2e-3,
}

_MINATAR_BY_SEARCH: dict[str, Any] = {**_MINATAR, "total_timesteps": 2_000_000, "num_steps": 32}

_ATARI: dict[str, Any] = {
    "num_envs": 64,
    "num_epochs": 2,
    "num_minibatches": 16,
    "normalize_observation": True,
}

# DQN with quantiles of returns, from less than half of the steps that PPO takes.
_QUANTILES: dict[str, Any] = {
    "num_gradient_steps": 8,
    "minibatch_size": 64,
    "hidden_sizes": (256, 256),
    "layer_norm": True,
    "num_quantiles": 32,
    "target_rate": 0.005,
    "learning_rate": 3e-4,
    "epsilon_end": 0.01,
    "normalize_observation": True,
}

# With two layers of 64 units, and games as episodes, the return was 101 after 40 million steps.
_BREAKOUT: dict[str, Any] = {
    **_ATARI,
    "terminal_on_life_loss": True,
    "total_timesteps": 40_000_000,
    "num_epochs": 3,
    "num_minibatches": 8,
    "learning_rate": 5e-4,
    "entropy_coefficient": 0.003,
    "hidden_sizes": (256, 256),
    "activation": "relu",
}

# The five actions of the discrete version, for four frames each. With the default actions, a new policy brakes and
# accelerates at once: after 320,000 steps its return was 325, where that of these actions was 823.
_CAR_RACING: dict[str, Any] = {
    "env_params": {"continuous": False},
    "pixels": PIXELS,
    "action_repeat": 4,
    "total_timesteps": 1_000_000,
    "num_envs": 32,
    "num_steps": 128,
    "num_minibatches": 16,
    "learning_rate": 5e-4,
    "entropy_coefficient": 0.005,
    "normalize_observation": True,
    "hidden_sizes": (128,),
    "activation": "relu",
}

# Most of an image never changes, so that the few pixels of a ball have to be scaled: without normalize_observation, an
# agent of Pong had learned nothing after 800,000 steps. With an entropy coefficient of 0.01, the return was 13 after 10
# million steps and stayed below 17 until 26 million.
_PONG_PIXELS: dict[str, Any] = {
    **_ATARI,
    "total_timesteps": 20_000_000,
    "learning_rate": 7e-4,
    "entropy_coefficient": 0.003,
    "hidden_sizes": (128,),
    "activation": "relu",
}

# The game's own screens in grey. These steps take a quarter of an hour on one core. docs/zoo.md has four games.
_ALE: dict[str, Any] = {
    **_ATARI,
    "env_params": {"obs_type": "grayscale"},
    "pixels": PIXELS,
    "terminal_on_life_loss": True,
    "total_timesteps": 2_000_000,
    "learning_rate": 1e-3,
    "entropy_coefficient": 0.003,
    "hidden_sizes": (128,),
    "activation": "relu",
}

PRESETS: dict[tuple[str, str], dict[str, Any]] = {
    ("pqn", "CartPole-v1"): {
        "total_timesteps": 200_000,
        "num_steps": 64,
        "num_minibatches": 16,
        "max_grad_norm": 1.0,
        "q_lambda": 0.95,
        "reward_scale": 0.1,
        "epsilon_end": 0.1,
    },
    ("pqn", "Acrobot-v1"): {
        "total_timesteps": 250_000,
        "num_steps": 64,
        "num_minibatches": 16,
        "max_grad_norm": 1.0,
        "q_lambda": 0.95,
        "reward_scale": 0.1,
        "epsilon_end": 0.01,
    },
    ("dqn", "CartPole-v1"): {
        "total_timesteps": 100_000,
        "num_envs": 16,
        "minibatch_size": 256,
        "n_step": 5,
        "epsilon_end": 0.02,
        "layer_norm": True,
    },
    # A quarter of the steps that PPO takes to land almost as well.
    ("dqn", "LunarLander-v3"): {
        **_QUANTILES,
        "total_timesteps": 400_000,
        "buffer_size": 400_000,
        "learning_starts": 10_000,
        "epsilon_fraction": 0.15,
    },
    ("dqn", "arcade/Pong-v0"): {
        **_QUANTILES,
        "total_timesteps": 8_000_000,
        "num_envs": 64,
        "buffer_size": 1_000_000,
        "learning_starts": 50_000,
        "epsilon_fraction": 0.1,
    },
    ("sac", "Pendulum-v1"): {
        "total_timesteps": 20_000,
        "hidden_sizes": (64, 64),
        "learning_rate": 2e-3,
    },
    # Actions that are alike for many steps in a row reach the goal now and then; independent ones do not.
    ("sac", "MountainCarContinuous-v0"): {
        "total_timesteps": 40_000,
        "num_envs": 16,
        "learning_starts": 8_000,
        "n_step": 5,
        "hidden_sizes": (64, 64),
        "learning_rate": 2e-3,
        "initial_temperature": 0.1,
        "noise_correlation": 0.95,
    },
    ("sac", "Ant-v5"): {**_MUJOCO_SAC, "total_timesteps": 1_000_000},
    ("sac", "HalfCheetah-v5"): _FREQUENT_SAC,
    ("sac", "Reacher-v5"): _REACHER_SAC,
    ("ars", "Swimmer-v5"): {"total_timesteps": 1_000_000},
    ("sac", "Swimmer-v5"): {**_MUJOCO_SAC, "total_timesteps": 1_000_000, "gamma": 0.9999},  # a stroke pays late
    ("sac", "Walker2d-v5"): _FREQUENT_SAC,
    ("simba", "HalfCheetah-v5"): {**_LARGER_MINIBATCHES, **_MUJOCO_SIMBA},
    ("simba", "Hopper-v5"): {**_HYPERSPHERICAL, **_WALKERS_SIMBA},
    # A constant learning rate was not tried.
    ("simba", "Walker2d-v5"): {**_UNCOMPRESSED, **_WALKERS_SIMBA, "anneal_learning_rate": True},
    ("simba", "Ant-v5"): {**_HYPERSPHERICAL, **_ANT_SIMBA, "num_gradient_steps": 16},
    ("simba", "Humanoid-v5"): {**_LARGER_MINIBATCHES, **_ANT_SIMBA},
    ("simba", "BipedalWalker-v3"): _BIPEDAL_WALKER_SIMBA,
    ("simba", "BipedalWalkerHardcore-v3"): _BIPEDAL_WALKER_HARDCORE_SIMBA,
    **{("simba", env_id): _DM_CONTROL_SIMBA for env_id in SUITES["dm_control"]},
    ("tqc", "LunarLanderContinuous-v3"): _LUNAR_LANDER_CONTINUOUS_TQC,
    ("ppo", "CartPole-v0"): {"total_timesteps": 200_000},
    ("ppo", "CartPole-v1"): {"total_timesteps": 200_000},
    # As in rl-baselines3-zoo, with a higher learning rate.
    ("ppo", "MountainCar-v0"): {
        "total_timesteps": 1_500_000,
        "num_steps": 16,
        "gae_lambda": 0.98,
        "entropy_coefficient": 0.0,
        "normalize_observation": True,
    },
    # Actions of a wide distribution are clipped to full force in both directions, which reaches the goal now and then.
    ("ppo", "MountainCarContinuous-v0"): {
        "total_timesteps": 200_000,
        "num_steps": 256,
        "num_minibatches": 8,
        "gamma": 0.999,
        "entropy_coefficient": 0.0,
        "initial_log_std": 1.0,
        "normalize_observation": True,
    },
    # With 16 environments and 300,000 steps, agents ended at -85; with larger batches, they are at -72 after 1,600,000.
    ("ppo", "Acrobot-v1"): {
        "total_timesteps": 4_000_000,
        "num_envs": 128,
        "num_steps": 64,
        "num_minibatches": 8,
        "learning_rate": 1e-3,
        "entropy_coefficient": 0.003,
        "normalize_observation": True,
        "hidden_sizes": (128, 128),
    },
    ("ppo", "MultiAgent/CoinGame-v0"): {
        "total_timesteps": 1_000_000,
        "num_envs": 32,
        "num_steps": 64,
        "num_minibatches": 8,
        "learning_rate": 1e-3,
        "gamma": 0.95,
    },
    # docs/guides/goals.md has the success in tasks with goals, with hindsight and without it.
    ("sac", "GoalReacher-v0"): {
        "total_timesteps": 100_000,
        "num_envs": 8,
        "buffer_size": 100_000,
        "num_gradient_steps": 4,
        "minibatch_size": 256,
        "gamma": 0.95,
        "hidden_sizes": (64, 64),
        "initial_temperature": 0.1,
        "hindsight_goals": 4,
    },
    ("sac", "robotics/FetchReach-v4"): {"total_timesteps": 20_000, "hindsight_goals": 4},
    ("sac", "robotics/FetchPush-v4"): {
        "total_timesteps": 200_000,
        "num_envs": 8,
        "buffer_size": 200_000,
        "learning_starts": 5_000,
        "num_gradient_steps": 8,
        "minibatch_size": 256,
        "gamma": 0.95,
        "normalize_observation": True,
        "hindsight_goals": 4,
    },
    ("dqn", "BitFlip-v0"): {
        "total_timesteps": 100_000,
        "num_envs": 8,
        "buffer_size": 100_000,
        "num_gradient_steps": 2,
        "hidden_sizes": (128, 128),
        "gamma": 0.95,
        "n_step": 1,
        "hindsight_goals": 4,
    },
    ("ppo", "Pendulum-v1"): {
        "total_timesteps": 400_000,
        "num_envs": 32,
        "num_steps": 128,
        "num_epochs": 10,
        "num_minibatches": 16,
        "gamma": 0.95,
        "entropy_coefficient": 0.0,
        "normalize_observation": True,
    },
    ("ppo", "FrozenLake-v1"): {**_TABULAR, "total_timesteps": 300_000, "num_envs": 32, "entropy_coefficient": 0.002},
    ("ppo", "FrozenLake8x8-v1"): {**_TABULAR, "total_timesteps": 700_000, "entropy_coefficient": 0.002},
    ("ppo", "CliffWalking-v1"): {**_TABULAR, "total_timesteps": 300_000, "num_envs": 32, "entropy_coefficient": 0.1},
    ("ppo", "CliffWalkingSlippery-v1"): {**_TABULAR, "total_timesteps": 1_000_000, "num_envs": 32},
    ("ppo", "LakeMaze-v0"): {
        "total_timesteps": 300_000,
        "num_envs": 32,
        "num_steps": 128,
        "learning_rate": 1e-3,
        "gamma": 0.995,
    },
    ("ppo", "Taxi-v4"): {**_TABULAR, "total_timesteps": 1_000_000, "gamma": 0.99, "entropy_coefficient": 0.02},
    ("ppo", "Blackjack-v1"): {"total_timesteps": 500_000, "num_envs": 64, "num_steps": 32},
    ("ppo", "LunarLander-v3"): _LUNAR_LANDER,
    ("ppo", "LunarLanderContinuous-v3"): _LUNAR_LANDER,
    ("ppo", "BipedalWalker-v3"): _BIPEDAL_WALKER,
    ("ppo", "BipedalWalkerHardcore-v3"): {**_BIPEDAL_WALKER, "total_timesteps": 100_000_000},
    ("ppo", "CarRacing-v3"): _CAR_RACING,
    ("ppo", "Ant-v5"): _MUJOCO,
    ("ppo", "HalfCheetah-v5"): _MUJOCO,
    ("ppo", "Hopper-v5"): {**_MUJOCO, "total_timesteps": 3_000_000},
    ("ppo", "Humanoid-v5"): _MUJOCO,
    ("ppo", "HumanoidStandup-v5"): _MUJOCO,
    ("ppo", "InvertedDoublePendulum-v5"): _INVERTED_DOUBLE_PENDULUM,
    ("ppo", "InvertedPendulum-v5"): {**_MUJOCO, "total_timesteps": 200_000},
    ("ppo", "Pusher-v5"): _MUJOCO,
    # A target is reached in a few steps. With a discount of 0.99, the return stays at -3.9.
    ("ppo", "Reacher-v5"): {**_MUJOCO, "total_timesteps": 2_000_000, "num_envs": 32, "gamma": 0.95},
    ("ppo", "Swimmer-v5"): {**_MUJOCO, "gamma": 0.9999},  # a stroke pays late: with 0.99 the return stays at 55
    ("ppo", "Walker2d-v5"): _MUJOCO,
    ("alphazero", "MinAtar/Asterix-v1"): _MINATAR_BY_SEARCH,
    ("alphazero", "MinAtar/Breakout-v1"): _MINATAR_BY_SEARCH,
    ("alphazero", "MinAtar/Freeway-v1"): _MINATAR_BY_SEARCH,
    ("alphazero", "MinAtar/Seaquest-v1"): _MINATAR_BY_SEARCH,
    ("alphazero", "MinAtar/SpaceInvaders-v1"): _MINATAR_BY_SEARCH,
    ("ppo", "MinAtar/Asterix-v1"): _MINATAR,
    ("ppo", "MinAtar/Breakout-v1"): _MINATAR_DENSE,
    ("ppo", "MinAtar/Freeway-v1"): _MINATAR,
    ("ppo", "MinAtar/Seaquest-v1"): {**_MINATAR_DENSE, "learning_rate": 1e-3, "entropy_coefficient": 0.03},
    ("ppo", "MinAtar/SpaceInvaders-v1"): _MINATAR,
    ("ppo", "arcade/Breakout-v0"): _BREAKOUT,
    ("ppo", "arcade/Pong-v0"): {**_ATARI, "total_timesteps": 20_000_000, "entropy_coefficient": 0.003},
}
"""Settings that differ from the algorithm's defaults, by the names of the algorithm and the environment."""

PIXEL_PRESETS: dict[tuple[str, str], dict[str, Any]] = {
    ("ppo", "arcade/Pong-v0"): _PONG_PIXELS,
    ("ppo", "CarRacing-v3"): _CAR_RACING,
}
"""Those for learning from images of the environment, `funcenv train ENV --pixels 42`."""

FAMILY_PRESETS: dict[tuple[str, str], dict[str, Any]] = {
    ("ppo", "ALE/Pong-v5"): {**_ALE, "total_timesteps": 10_000_000},  # the usual number of steps
    ("ppo", "ALE/"): _ALE,
}
"""Settings for ids that begin alike and have no preset of their own, from images or not; the first that fits counts."""


BEST_ALGORITHMS = {
    "Ant-v5": "simba",
    "BipedalWalker-v3": "simba",
    "BipedalWalkerHardcore-v3": "simba",
    "BitFlip-v0": "dqn",  # the sparse rewards of goals need hindsight
    "GoalReacher-v0": "sac",
    "HalfCheetah-v5": "sac",
    "Hopper-v5": "simba",
    "Humanoid-v5": "simba",
    "MountainCarContinuous-v0": "sac",
    "Pendulum-v1": "sac",
    "Reacher-v5": "sac",
    "Swimmer-v5": "ars",
    "Walker2d-v5": "simba",
    "arcade/Pong-v0": "dqn",
    "robotics/FetchPush-v4": "sac",
    "robotics/FetchReach-v4": "sac",
    **dict.fromkeys(SUITES["dm_control"], "simba"),
}
"""The algorithms whose agents have the highest return in docs/zoo.md, where that is not PPO's.

Of those within 1% of the highest, it is the one that takes the fewest CPU seconds. For dm_control's tasks it is the
algorithm of their presets; no other was measured there.
"""


def default_algorithm(env_id: str, *, from_pixels: bool = False) -> str:
    """Return the name of the algorithm that `funcenv train ENV` takes: the best that is measured, or else PPO.

    Args:
        env_id: The environment, with or without a version.
        from_pixels: Whether it learns from images.

    >>> default_algorithm("Pendulum-v1"), default_algorithm("Ant"), default_algorithm("CartPole-v1")
    ('sac', 'simba', 'ppo')
    """
    if from_pixels:
        return DEFAULT_ALGORITHM
    unversioned = {known.rpartition("-v")[0]: name for known, name in BEST_ALGORITHMS.items()}
    return BEST_ALGORITHMS.get(env_id) or unversioned.get(env_id, DEFAULT_ALGORITHM)


def preset_settings(env_id: str, algorithm: str, *, from_pixels: bool = False) -> dict[str, Any] | None:
    """Return the settings of a preset that differ from the algorithm's defaults, or None if there is no preset.

    >>> preset_settings("ALE/Freeway-v5", "ppo")["total_timesteps"], preset_settings("ALE/Freeway-v5", "dqn")
    (2000000, None)
    """
    found = (PIXEL_PRESETS if from_pixels else PRESETS).get((algorithm, env_id))
    if found is not None:
        return found
    families = FAMILY_PRESETS.items()
    return next((it for (name, start), it in families if name == algorithm and env_id.startswith(start)), None)


def preset(env_id: str, algorithm: str | None = None, *, from_pixels: bool = False) -> Any:
    """Return the configuration from which an algorithm starts in an environment.

    Args:
        env_id: The environment.
        algorithm: The name of the algorithm; by default that of `default_algorithm`.
        from_pixels: Whether it learns from images, by default of 42 x 42 pixels.

    >>> preset("Pendulum-v1", "ppo").gamma
    0.95
    >>> preset("CartPole-v1", from_pixels=True).pixels
    42
    """
    if algorithm is None:
        algorithm = default_algorithm(env_id, from_pixels=from_pixels)
    settings: dict[str, Any] = {"pixels": PIXELS} if from_pixels else {}
    settings |= preset_settings(env_id, algorithm, from_pixels=from_pixels) or {}
    return find_algorithm(algorithm).Config(env_id=env_id, **settings)
