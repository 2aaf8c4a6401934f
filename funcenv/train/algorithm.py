"""What training needs from an algorithm, and how an algorithm is found by its name.

An algorithm is usually a module, such as `funcenv.train.algorithms.ppo`. Any module or class that offers the four names
of `Algorithm` can be trained in the same way: `funcenv.train.loop` compiles it, and `funcenv.train.runs.run` stores its
runs. A package gives its algorithms short names by the entry-point group `funcenv.algorithms`:

    [project.entry-points."funcenv.algorithms"]
    my_algorithm = "my_package.my_module"
"""

from __future__ import annotations

import importlib.metadata
import sys
from types import ModuleType
from typing import Any, Protocol

import jax
from jaxtyping import Array, Int

from funcenv.func_env import AnyEnv
from funcenv.names import import_object, import_path

DEFAULT_ALGORITHM = "ppo"
ENTRY_POINTS = "funcenv.algorithms"
MEANS_OF_EPISODES = ("mean_return", "mean_length")
REQUIRED_METRICS = ("env_steps", "episodes", *MEANS_OF_EPISODES)
"""Scalars that every `update` must return: environment steps so far, episodes so far, and means of recent episodes.

The means are ignored until the first episode ends.
"""
SUCCESS_RATE = "success_rate"
"""The metric of environments that tell whether the goal is achieved: the share of recent episodes that ended so."""
TASK_EPISODES, TASK_RETURN = "episodes_of_task_", "mean_return_of_task_"
"""The metrics of each task of a `Union`, with its number at the end: episodes so far, and the mean of recent ones."""


class TrainState(Protocol):
    """A pytree that holds everything an algorithm carries from one update to the next.

    Its leaves are arrays and typed keys, so that a checkpoint can store them.
    """

    @property
    def update(self) -> Int[Array, ""]:
        """The number of updates done."""


class Algorithm(Protocol):
    """The four names that a training algorithm offers. All functions are pure and see a single seed."""

    @property
    def Config(self) -> Any:  # noqa: N802
        """The frozen dataclass of settings, a `funcenv.train.config.TrainConfig`. It defines `batch_size`."""

    def init(self, config: Any, env: AnyEnv, key: jax.Array) -> Any:
        """Return the `TrainState` before the first update."""

    def update(self, config: Any, env: AnyEnv, state: Any) -> tuple[Any, dict[str, jax.Array]]:
        """Take `config.batch_size` environment steps, learn from them, and add 1 to `state.update`.

        Returns:
            The next state and scalar metrics: `REQUIRED_METRICS`, and any others. A metric named `loss` must stay
            finite; a run stops where it does not.
        """

    def make_agent(self, config: Any, env: AnyEnv, state: Any, explore: bool = False) -> Any:
        """Return the policy of a state, a pytree with `agent(observation, key) -> action`.

        It samples actions if `explore` is true and acts as well as it can otherwise.
        """


def find_algorithm(algorithm: str | Algorithm) -> Any:
    """Return the algorithm with a name; one that is given as an object is only checked.

    Args:
        algorithm: One of `algorithm_names()` such as `"ppo"`, any other module that can be imported, or
            `"module:name"` for an attribute of one.

    Raises:
        ValueError: There is no such algorithm or module, or it lacks a part of an `Algorithm`.

    >>> find_algorithm("ppo").__name__
    'funcenv.train.algorithms.ppo'
    """
    found: Any = algorithm
    if isinstance(algorithm, str):
        found = import_object(_paths().get(algorithm, algorithm))
    missing = [name for name in ("Config", "init", "update", "make_agent") if not hasattr(found, name)]
    if missing:
        raise ValueError(f"{algorithm!r} is not a training algorithm: it lacks {', '.join(missing)}; see {__name__}")
    return found


def algorithm_names() -> list[str]:
    """Return the names of the algorithms that this package and other installed packages offer.

    >>> {"ppo", "sac"} <= set(algorithm_names())
    True
    """
    return sorted(_paths())


def algorithm_name(algorithm: str | Algorithm) -> str:
    """Return the name by which `find_algorithm` finds an algorithm again.

    >>> from funcenv.train import ppo
    >>> algorithm_name(ppo)
    'ppo'
    """
    if isinstance(algorithm, str):
        return algorithm
    if isinstance(algorithm, ModuleType):
        return next((name for name, path in _paths().items() if path == algorithm.__name__), algorithm.__name__)
    return import_path(algorithm)


def algorithm_of(config: Any) -> Any:
    """Return the algorithm of a configuration: the module that defines its class."""
    return find_algorithm(sys.modules[type(config).__module__])


def _paths() -> dict[str, str]:
    """Return where each algorithm is, by its name."""
    return {entry.name: entry.value for entry in importlib.metadata.entry_points(group=ENTRY_POINTS)}
