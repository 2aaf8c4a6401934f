"""What every algorithm's configuration has in common, and how a configuration is written to a file."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any, Literal, Self

from funcenv.checks import require_size

Activation = Literal["tanh", "relu"]


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """The task and the budget."""

    env_id: str = "CartPole-v1"
    """which environment, an id that `funcenv list` shows or "module:Name-v0\""""
    env_params: dict[str, float] = dataclasses.field(default_factory=dict)
    """parameters of the environment, as in gravity 1.6"""
    seed: int = 0
    """root of all randomness, at least 0"""
    num_seeds: int = 1
    """independent agents trained side by side, with keys split from the seed"""
    total_timesteps: int = 500_000
    """environment steps of each agent"""

    def __post_init__(self) -> None:
        for name in ("num_seeds", "total_timesteps"):
            require_size(name, getattr(self, name))
        if self.seed < 0:
            raise ValueError(f"seed must be at least 0, got {self.seed}")

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """From what `to_json` gave.

        Raises:
            ValueError: a name that this configuration does not have.
        """
        hints = typing.get_type_hints(cls)
        unknown = sorted(set(values) - set(hints))
        if unknown:
            raise ValueError(f"{cls.__name__} has no setting {unknown[0]!r}; the file was written by another version")
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**fields)


def require_fraction(name: str, value: float) -> None:
    """Raise `ValueError` unless `0 <= value <= 1`.

    >>> require_fraction("gamma", 1.5)
    Traceback (most recent call last):
        ...
    ValueError: gamma must lie in [0, 1], got 1.5
    """
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie in [0, 1], got {value}")
