"""The configuration that all algorithms share, and how a configuration is stored as JSON."""

from __future__ import annotations

import dataclasses
import typing
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np

from funcenv.checks import require_size
from funcenv.files import file_digest
from funcenv.func_env import AnyEnv
from funcenv.hints import unknown_setting
from funcenv.multi_agent import MultiAgentEnv
from funcenv.names import import_path, require_trust
from funcenv.registry import make
from funcenv.train.actions import ALL_ACTIONS, require_actions
from funcenv.train.settings import require_settings
from funcenv.train.stored_names import config_code
from funcenv.train.updates.learner_view import LifeLoss, MinReward
from funcenv.wrappers.finite_levels import in_levels
from funcenv.wrappers.observe_pixels import observe_pixels
from funcenv.wrappers.one_agent import OneAgent, acting_layer
from funcenv.wrappers.repeat_action import RepeatAction


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """The task and the budget of a run; each algorithm adds its own settings in a subclass.

    A subclass must define `batch_size`, and `actions` if it takes only some. The annotation of a field is checked here;
    a subclass checks ranges in `__post_init__`, after that of its base. Functions in its fields are stored as
    `"module:function"`.
    """

    if not TYPE_CHECKING:

        def __new__(cls, *args: Any, **kwargs: Any) -> Self:
            """Name the setting that an unknown one means, which other libraries call otherwise."""
            names = [entry.name for entry in dataclasses.fields(cls)]
            for name in kwargs:
                if name not in names:
                    raise TypeError(unknown_setting(f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}", name, names))
            return super().__new__(cls)

    actions: ClassVar[tuple[str, ...]] = ALL_ACTIONS
    """The kinds of actions that the algorithm takes."""
    plays_episodes: ClassVar[bool] = True
    """False for a run that steps no environment, and so has no returns of its own. Its configuration must have
    `mean_episode_length`, by which the number of episodes is chosen that end a run."""

    env_id: str = "CartPole-v1"
    """the environment: an id from `funcenv list`, "module:Name-v0", or "module:EnvClass\""""
    env_params: dict[str, bool | int | float | str] = dataclasses.field(default_factory=dict)
    """parameters of the environment, for example gravity 1.6 or map_name 8x8"""
    max_episode_steps: int | None = None
    """time limit of an episode; by default that of the id"""
    pixels: int = 0
    """observe grey images of so many rows and columns: the environment's own, or drawn from its scene; 0 for none"""
    frames: int = 2
    """with --pixels: the number of images in an observation, those of the newest steps"""
    agent: Annotated[str, "NAME"] = ""
    """who learns in an environment of several agents, by default the first; the others act at random"""
    levels: Annotated[str, "FILE"] = ""
    """file of the levels in which episodes take place, as LevelSet.save writes it"""
    action_repeat: int = 1
    """how often the environment takes each action; all of it is one step of the agent"""
    terminal_on_life_loss: bool = False
    """learn as if an episode ended where a life is lost; games go on, and returns are those of whole games"""
    min_reward: float | None = None
    """learn as if no step had a lower reward; returns are those of the environment; by default there is no bound"""
    seed: int = 0
    """seed of all randomness in the run, at least 0"""
    num_seeds: int = 1
    """independent agents trained in parallel, with keys split from the seed"""
    total_timesteps: int = 500_000
    """environment steps of each agent, rounded down to whole batches"""
    eval_every: int = 0
    """environment steps of each agent from one evaluation to the next, rounded up to whole batches; 0 for none"""
    eval_episodes: int = 32
    """episodes of each agent in an evaluation, the same ones every time, with the most likely actions"""
    stop_at_threshold: bool = False
    """end the run where every agent's mean return reaches the threshold: that of an evaluation, if there are any"""
    deterministic_reductions: bool = False
    """give the same result bit for bit on any number of devices, each of which then learns from all of a batch"""

    def __post_init__(self) -> None:
        require_settings(self)
        for name in ("frames", "action_repeat", "num_seeds", "total_timesteps", "eval_episodes"):
            require_size(name, getattr(self, name))
        if self.pixels < 0:
            raise ValueError(
                f"pixels must be at least 0, got {self.pixels}; 0 is for what the environment itself shows"
            )
        if self.eval_every < 0:
            raise ValueError(f"eval_every must be at least 0, got {self.eval_every}; 0 is for no evaluation")
        if self.max_episode_steps is not None:
            require_size("max_episode_steps", self.max_episode_steps)
        if self.seed < 0:
            raise ValueError(f"seed must be at least 0, got {self.seed}")
        if self.batch_size > 0 and self.num_updates < 1:  # Subclasses check what a batch is made of.
            sizes = [f"{name}={getattr(self, name)}" for name in ("num_envs", "num_steps") if hasattr(self, name)]
            made_of = f" with {' and '.join(sizes)}" if sizes else ""
            raise ValueError(
                f"total_timesteps must be at least one batch, {self.batch_size} steps{made_of}, got "
                f"{self.total_timesteps}"
            )

    @property
    def batch_size(self) -> int:
        """Environment steps of each agent in one update."""
        raise NotImplementedError(f"{type(self).__name__} must define batch_size")

    @property
    def num_updates(self) -> int:
        """Updates in the run. Steps that do not fill a last batch are left out."""
        return self.total_timesteps // self.batch_size

    @property
    def num_copies(self) -> int:
        """Copies of the parameters that an update makes, for environments to act with."""
        return 0

    def make_env(self) -> AnyEnv:
        """Return the environment of the run.

        A subclass may extend this method to check that its algorithm supports the environment's observations.

        Raises:
            ValueError: The id is unknown, there is no such agent, the algorithm does not support a space, or the levels
                are those of another environment.
            FileNotFoundError: There is no file of levels.
            TypeError: The environment has no such parameter, or no scene from which its images could be drawn.
        """
        params: dict[str, Any] = dict(self.env_params)
        if self.max_episode_steps is not None:
            params["max_episode_steps"] = self.max_episode_steps
        env = self._with_one_agent(make(self.env_id, **params))
        require_actions(type(self).__module__.rpartition(".")[2], self.actions, env.action_space)
        if self.action_repeat > 1:
            env = RepeatAction(env, self.action_repeat)
        env = LifeLoss(env) if self.terminal_on_life_loss else env
        env = env if self.min_reward is None else MinReward(env, self.min_reward)
        env = observe_pixels(env, self.pixels, self.frames) if self.pixels else env
        return in_levels(env, self.levels) if self.levels else env

    def _with_one_agent(self, env: AnyEnv) -> AnyEnv:
        """Return an environment of several agents as that of the one that learns, and any other as it is."""
        inside = acting_layer(env)
        if isinstance(inside, MultiAgentEnv):
            return OneAgent(env, self.agent or inside.agents[0])
        if self.agent:
            raise ValueError(f"{self.env_id} has a single agent, got agent={self.agent!r}; leave it out")
        return env

    def digests(self) -> tuple[str, ...]:
        """Return the digests of the files that the settings name, on which compiled programs depend."""
        return (file_digest(self.levels),)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values.

        Raises:
            ValueError: A field holds a function that cannot be imported by name.
        """
        values = dataclasses.asdict(self)
        return {name: import_path(value) if callable(value) else _to_json(value) for name, value in values.items()}

    @classmethod
    def from_json(cls, values: dict[str, Any], *, trust_code: bool = False) -> Self:
        """Return the configuration that `to_json` described.

        Args:
            values: Settings as JSON values.
            trust_code: Also accept the names of code outside of the package, for settings of people whom you trust.

        Raises:
            ValueError: This configuration has no such setting.
            funcenv.names.UntrustedCodeError: The settings name code.
        """
        if not trust_code:  # whoever says so has announced what is imported
            require_trust("the configuration", config_code(values, cls), trust_code)
        unknown = sorted(set(values) - set(typing.get_type_hints(cls)))
        if unknown:
            raise ValueError(f"{cls.__name__} has no setting {unknown[0]!r}; the file was written by another version")
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**fields)


def _to_json(value: Any) -> Any:
    """Return a setting with Python's numbers in place of those of NumPy and JAX."""
    if isinstance(value, dict):
        return {name: _to_json(one) for name, one in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(map(_to_json, value))
    return value.item() if hasattr(value, "dtype") and np.ndim(value) == 0 else value
