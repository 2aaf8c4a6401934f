"""Traits: what programs, checks and wrappers ask of an environment before they run it."""

from __future__ import annotations

import math
from typing import Any


class Traits:
    """The traits of an environment, each with a default; a class attribute or a property of its name sets one.

    A subclass that sets one of them inherits the others, and a wrapper has those of the environment inside.

    >>> import funcenv
    >>> env = funcenv.make("CliffWalking-v1").unwrapped
    >>> env.fixed_start, env.differentiable, env.calls_host, env.remembers, env.noise_bounds, env.reward_range
    (True, None, False, False, (), (-100.0, -1.0))
    """

    @property
    def fixed_start(self) -> bool:
        """True if every episode is meant to start alike, so that `initial` may ignore its key.

        `check_func_env` reads this. A class attribute `fixed_start = True` can set it.
        """
        return False

    @property
    def differentiable(self) -> bool | None:
        """True if a step is meant to have finite gradients, or None if the environment does not say.

        `check_func_env` reads this. A class attribute such as `differentiable = False` can set it.
        """
        return None

    @property
    def calls_host(self) -> bool:
        """True if a step calls a simulator on the host (`funcenv.host`), so that no single kernel can compute it.

        Programs then compile in half of the time; the results are equal to rounding. A class attribute
        `calls_host = True` can set it.
        """
        return False

    @property
    def remembers(self) -> bool:
        """True if an episode depends on the one before it, by `initial_after`; automatic resets then call that."""
        return False

    @property
    def noise_bounds(self) -> tuple[float, ...] | None:
        """The numbers with which a transition compares its noise, or None if the environment does not say.

        An environment with few states and actions says by them that the key of `transition` decides nothing but which
        of these numbers `jax.random.uniform(key, (), float)` reaches, and that the key of `observation` decides
        nothing. With () neither does that of `transition`, and with `fixed_start` neither does that of `initial`.
        Stateful environments then remember results, and repeat them bit for bit. The numbers may be rounded.

        `check_func_env` compares steps with this. Only the class that declares the property has it: subclasses, which
        may use keys in other ways, declare their own, and wrappers have none.
        """
        return None

    @property
    def reward_range(self) -> tuple[float, float]:
        """The lowest and the highest reward of a step with an action in `action_space`; unbounded by default.

        It is computed on the host from concrete parameters. A batch of environments has the loosest bounds. The bounds
        are those of exact arithmetic, which a computed reward may exceed by a rounding error.
        """
        return -math.inf, math.inf


def declared_noise_bounds(env: Any) -> tuple[float, ...] | None:
    """Return the `noise_bounds` that the class of an environment itself declares, or None.

    >>> from funcenv.envs import CliffWalking
    >>> class Windy(CliffWalking): pass
    >>> declared_noise_bounds(CliffWalking()), declared_noise_bounds(Windy())
    ((), None)
    """
    bounds: tuple[float, ...] | None = env.noise_bounds if "noise_bounds" in vars(type(env)) else None
    return bounds
