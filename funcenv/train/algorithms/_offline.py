"""The common part of algorithms that learn from a dataset: their settings, their state, and the frame of an update.

    num_gradient_steps times, draw a minibatch of transitions from the dataset, and let the algorithm learn from it

No environment is stepped. The steps of a run are the transitions that are drawn, and its metrics know no episodes;
`--eval-every` measures returns. The dataset is a constant of the compiled program, so that seeds share it and
checkpoints do not hold it; it must fit on the device.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Int, Key

from funcenv.checks import require_positive, require_size
from funcenv.datasets.dataset import Dataset
from funcenv.datasets.metadata import NAME, Metadata
from funcenv.datasets.sampler import Sampler, Transitions
from funcenv.files import file_digest
from funcenv.func_env import AnyEnv
from funcenv.struct import PyTreeNode
from funcenv.train.agents.networks import Activation, NetworkConfig
from funcenv.train.algorithm import REQUIRED_METRICS
from funcenv.train.updates.learned import flat_optimizer
from funcenv.wrappers.action_mask_observation import ActionMaskObservation

Scalars = dict[str, jax.Array]
GradientStep = Callable[[Any, Transitions, jax.Array], tuple[Any, Scalars]]
"""Maps what is learned, a minibatch and a key to what is learned next and scalars."""


_loaded: dict[Any, Sampler] = {}  # the latest dataset, by its folder and digests


@dataclasses.dataclass(frozen=True)
class OfflineConfig(NetworkConfig):
    """The settings of every algorithm that learns from a dataset."""

    plays_episodes: ClassVar[bool] = False
    num_envs: ClassVar[int] = 1  # type: ignore[misc]  # no environment is stepped, so these are no settings
    num_steps: ClassVar[int] = 1  # type: ignore[misc]
    terminal_on_life_loss: ClassVar[bool] = False  # type: ignore[misc]
    min_reward: ClassVar[None] = None  # type: ignore[misc]
    critic_observation: ClassVar[str] = ""  # type: ignore[misc]

    total_timesteps: int = 1_000_000
    """transitions that are drawn from the dataset for each agent, rounded down to whole updates"""
    dataset: Annotated[str, "FOLDER"] = ""
    """folder of the dataset, which funcenv record wrote in this environment"""
    minibatch_size: int = 256
    """transitions in a minibatch"""
    num_gradient_steps: int = 16
    """minibatches that are learned from in each update"""
    learning_rate: float = 1e-3
    """step size of Adam"""
    max_grad_norm: float = 10.0
    """global norm that gradients are clipped to"""
    hidden_sizes: tuple[int, ...] = (128, 128)
    """hidden layer widths; omit the numbers for a linear model"""
    mask_actions: bool = True
    """take legal actions only, where the observations of the dataset have an `action_mask`"""
    activation: Activation = "relu"
    """activation function of the hidden layers"""
    initial_log_std: float = -1.0
    """log standard deviation of a new policy over continuous actions, in units of half the action's range"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("minibatch_size", "num_gradient_steps"):
            require_size(name, getattr(self, name))
        require_positive(learning_rate=self.learning_rate, max_grad_norm=self.max_grad_norm)

    @property
    def batch_size(self) -> int:
        """Transitions that each agent learns from in one update."""
        return self.minibatch_size * self.num_gradient_steps

    def optimizer(self) -> optax.GradientTransformation:
        """Return Adam."""
        return flat_optimizer(optax.adam, self.learning_rate, self.max_grad_norm)

    def make_env(self) -> AnyEnv:
        """Return the environment of the run.

        Raises:
            ValueError: There is no dataset, it is damaged, or it was recorded in another environment.
            FileNotFoundError: The folder holds no dataset.
        """
        env = super().make_env()
        self.sampler(env)
        return env

    def shows_mask(self, env: AnyEnv) -> bool:
        """Return whether the observations of the dataset have the mask of legal actions, and the agent sees it."""
        if not (self.dataset and super().shows_mask(env)):
            return False
        recorded: str = self._metadata().environment["class"]
        return recorded == ActionMaskObservation.__name__

    @property
    def mean_episode_length(self) -> float:
        """Steps of the episodes in the dataset, on average."""
        return float(np.mean(self._metadata().lengths))

    def _metadata(self) -> Metadata:
        return Metadata.read(pathlib.Path(self.dataset))

    def sampler(self, env: AnyEnv) -> Sampler:
        """Return the transitions of the dataset, as arrays on the host."""
        if not self.dataset:
            raise ValueError(
                f"{type(self).__module__.rpartition('.')[2]} learns from a dataset, got dataset={self.dataset!r}; "
                "funcenv record makes one, and --dataset FOLDER names it"
            )
        dataset = Dataset(self.dataset, env)
        key = str(dataset.folder.resolve()), self.digests()
        if key not in _loaded:
            _loaded.clear()
            with jax.ensure_compile_time_eval():
                _loaded[key] = jax.device_get(dataset.sampler(self.minibatch_size))
        return _loaded[key].replace(batch_size=self.minibatch_size)

    def digests(self) -> tuple[str, ...]:
        """Return the digests of the files that the settings name."""
        description = pathlib.Path(self.dataset) / NAME  # with the digests of all chunks
        return (*super().digests(), file_digest(description if self.dataset and description.is_file() else ""))


class OfflineState(PyTreeNode):
    """Everything that training carries from one update to the next."""

    learned: Any  # parameters and states of optimizers, in the algorithm's own pytree
    key: Key[Array, ""]
    update: Int[Array, ""]  # number of updates done


def first_state(learned: Any, key: jax.Array) -> OfflineState:
    """Return the train state of new parameters."""
    return OfflineState(learned, key, update=jnp.zeros((), jnp.int32))


def sample_observation(env: AnyEnv) -> Any:
    """Return a batch of one observation, from which networks learn the shapes of their inputs."""
    return jax.tree.map(lambda leaf: leaf[None], env.observation_space.zero())


def update(
    config: OfflineConfig, env: AnyEnv, state: OfflineState, gradient_step: GradientStep
) -> tuple[OfflineState, Scalars]:
    """Learn from `num_gradient_steps` minibatches; return the next state, and the means of the scalars."""
    sample, (learn_key, key) = config.sampler(env), jax.random.split(state.key)

    def step(learned: Any, index: jax.Array) -> tuple[Any, Scalars]:
        sample_key, step_key = jax.random.split(jax.random.fold_in(learn_key, index))
        return gradient_step(learned, sample(sample_key), step_key)

    learned, scalars = jax.lax.scan(step, state.learned, jnp.arange(config.num_gradient_steps))
    required = {name: jnp.zeros(()) for name in REQUIRED_METRICS}
    required |= {"env_steps": (state.update + 1) * config.batch_size, "episodes": jnp.zeros((), jnp.int32)}
    metrics = {**required, **jax.tree.map(jnp.mean, scalars)}
    return OfflineState(learned, key, state.update + 1), metrics
