"""The kinds of actions that algorithms take, and the error for an environment with others."""

from __future__ import annotations

from funcenv.spaces import Box, Discrete
from funcenv.spaces.space import AnySpace
from funcenv.train.agents.distributions import option_counts
from funcenv.train.algorithm import algorithm_names, find_algorithm

DISCRETE = "Discrete actions"
MULTI_DISCRETE = "MultiDiscrete or MultiBinary actions"
BOUNDED = "float Box actions with bounds"
UNBOUNDED = "float Box actions"
ALL_ACTIONS = (DISCRETE, MULTI_DISCRETE, BOUNDED, UNBOUNDED)


def kind_of_actions(space: AnySpace) -> str | None:
    """Return the kind of a space's actions; None if no algorithm of the package takes them.

    >>> kind_of_actions(Box(-1, 1, (2,)))
    'float Box actions with bounds'
    """
    if isinstance(space, Discrete):
        return DISCRETE
    if option_counts(space):
        return MULTI_DISCRETE
    if isinstance(space, Box) and space.dtype.kind == "f":
        return BOUNDED if space.is_bounded() else UNBOUNDED
    return None


def require_actions(algorithm: str, taken: tuple[str, ...], space: AnySpace) -> None:
    """Raise `ValueError`, which names other algorithms, unless an algorithm takes the actions of a space.

    >>> require_actions("dqn", (DISCRETE,), Discrete(3))
    >>> require_actions("dqn", (DISCRETE,), Box(-1, 1, (2,)))
    Traceback (most recent call last):
        ...
    ValueError: dqn takes Discrete actions, got Box(-1.0, 1.0, (2,), float32); these take them: ars, bc, iql,
        plr, ppo, recurrent_ppo, reinforce, sac, simba, td3, tqc
    """
    kind = kind_of_actions(space)
    if kind in taken:
        return
    others = [name for name in algorithm_names() if kind in find_algorithm(name).Config.actions]
    remedy = f"these take them: {', '.join(others)}" if others else "wrap the environment with TransformAction"
    named = [words for words in taken if not (words == BOUNDED and UNBOUNDED in taken)]
    raise ValueError(f"{algorithm} takes {' or '.join(named)}, got {space!r}; {remedy}")
