"""Which action spaces each algorithm of the package takes, and the error for the others."""

from __future__ import annotations

from funcenv.spaces import Box, Discrete
from funcenv.spaces.space import AnySpace

_BOUNDED, _UNBOUNDED = "one-dimensional float Box actions with bounds", "one-dimensional float Box actions"

SUPPORTED_ACTIONS: dict[str, tuple[str, ...]] = {
    "dqn": ("Discrete actions",),
    "ppo": ("Discrete actions", _BOUNDED, _UNBOUNDED),
    "pqn": ("Discrete actions",),
    "q_learning": ("Discrete actions",),
    "recurrent_ppo": ("Discrete actions", _BOUNDED, _UNBOUNDED),
    "reinforce": ("Discrete actions", _BOUNDED, _UNBOUNDED),
    "sac": (_BOUNDED,),
    "td3": (_BOUNDED,),
}
"""The built-in algorithms and the kinds of actions that they take."""


def require_actions(algorithm: str, space: AnySpace) -> None:
    """Raise `ValueError`, which names other algorithms, unless a built-in algorithm takes the actions of a space.

    >>> require_actions("dqn", Discrete(3))
    >>> require_actions("dqn", Box(-1, 1, (2,)))
    Traceback (most recent call last):
        ...
    ValueError: dqn takes Discrete actions, got Box(-1.0, 1.0, (2,), float32); these take them: ppo, recurrent_ppo,
        reinforce, sac, td3
    """
    kind, taken = _kind_of(space), SUPPORTED_ACTIONS[algorithm]
    if kind in taken:
        return
    others = [name for name, kinds in SUPPORTED_ACTIONS.items() if kind in kinds]
    remedy = f"these take them: {', '.join(others)}" if others else "wrap the environment with TransformAction"
    named = [words for words in taken if not (words == _BOUNDED and _UNBOUNDED in taken)]
    raise ValueError(f"{algorithm} takes {' or '.join(named)}, got {space!r}; {remedy}")


def _kind_of(space: AnySpace) -> str | None:
    if isinstance(space, Discrete):
        return "Discrete actions"
    if isinstance(space, Box) and space.dtype.kind == "f" and len(space.shape) == 1:
        return _BOUNDED if space.is_bounded() else _UNBOUNDED
    return None
