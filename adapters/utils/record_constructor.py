"""The name `gymnasium.utils.record_constructor`: arguments that a wrapper records for its specification."""

from __future__ import annotations

import copy
from typing import Any

__all__ = ["RecordConstructorArgs"]


class RecordConstructorArgs:
    """A base of wrappers that say themselves with which arguments `make` builds them again.

    A wrapper of this package needs no such base: `Wrapper.spec` records the arguments of every constructor. The first
    call counts if several bases record.

    Args:
        _disable_deepcopy: whether the arguments are kept as they are, and not copied.
        **kwargs: the arguments, by their names.

    >>> from funcenv import adapters
    >>> class Scaled(adapters.RewardWrapper, RecordConstructorArgs):
    ...     def __init__(self, env, scale):
    ...         RecordConstructorArgs.__init__(self, scale=scale)
    ...         adapters.RewardWrapper.__init__(self, env)
    ...         self.scale = scale
    ...     def reward(self, reward): return self.scale * reward
    >>> env = adapters.make(Scaled(adapters.make("CartPole-v1"), 3.0).spec)
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[1]
    3.0
    """

    def __init__(self, *, _disable_deepcopy: bool = False, **kwargs: Any) -> None:
        if not hasattr(self, "_saved_kwargs"):
            self._saved_kwargs = kwargs if _disable_deepcopy else copy.deepcopy(kwargs)
