"""A wrapper that stacks the last observations of any stateful environment."""

from __future__ import annotations

import collections
from typing import Any

from funcenv import wrappers as pure
from funcenv.adapters.engine.batching import stack_members
from funcenv.adapters.env import ActType, Env, ObsType
from funcenv.adapters.wrappers.described import described
from funcenv.adapters.wrappers.utils import create_zero_array
from funcenv.adapters.wrappers.wrapper import ObservationWrapper, WrapperObsType


class FrameStackObservation(ObservationWrapper[WrapperObsType, ObsType, ActType]):
    """A wrapper that stacks the last `stack_size` observations along a new first axis, the newest last.

    It is `funcenv.wrappers.FrameStackObservation` for stateful environments.

    Args:
        env: Environment to wrap.
        stack_size: At least 1.
        padding_type: What stands for the frames before the first: "reset" (the first frame), "zero" (the member of the
            space that is closest to zero), or an observation.

    Raises:
        TypeError: `stack_size` is not an integer, or the space has no zero.
        ValueError: `stack_size` is below 1, or `padding_type` is another string or not in the observation space.

    >>> from funcenv import adapters
    >>> env = FrameStackObservation(adapters.make("CartPole-v1"), 3, padding_type="zero")
    >>> (env.reset(seed=0)[0][:, 0] != 0).tolist()
    [False, False, True]
    """

    def __init__(self, env: Env[Any, Any], stack_size: int, *, padding_type: Any = "reset") -> None:
        super().__init__(env)
        inside = described(self, env)
        stacked: Any = pure.FrameStackObservation(inside, stack_size, padding_type=padding_type)
        self.observation_space, self.stack_size = stacked.observation_space, stacked.stack_size
        self._space = inside.observation_space
        self._padding = padding_type
        if isinstance(padding_type, str):
            self._padding = create_zero_array(env.observation_space) if padding_type == "zero" else None
        self._frames: collections.deque[Any] = collections.deque(maxlen=self.stack_size)

    def observation(self, observation: Any) -> Any:
        """Return the observation with those before it."""
        self._frames.append(observation)
        return stack_members(self._space, list(self._frames))

    def _after_reset(self, result: Any) -> Any:
        padding = result[0] if self._padding is None else self._padding
        self._frames.extend([padding] * self.stack_size)
        return super()._after_reset(result)
