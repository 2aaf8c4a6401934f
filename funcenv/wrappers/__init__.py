"""Environments around environments, all of them pure.

Any wrapper goes around any environment or wrapper, except where its docstring says otherwise and its constructor
refuses. What the order means, from the inside out:

1. Around the bare environment: what changes its rewards, observations and actions, element by element. A wrapper that
   needs a bounded `Box` (`Rescale...`, `Discretize...`) goes inside `ClipAction` and outside what makes the box.
2. `RandomizeParameters` outside those whose bounds are to follow what is drawn.
3. `TimeLimit` and `EpisodeStatistics`, inside `RepeatAction` or `MaxAndSkipObservation` to count the steps of the
   environment, outside to count the agent's actions. `StickyAction` likewise: inside, every repeat may stick.
4. `TimeAwareObservation` outside its `TimeLimit`; `FrameStackObservation` and `DelayObservation` outside what changes
   the single frame.
5. `Autoreset` outside everything that has state of its own. `FuncVectorEnv` comes last, around the whole stack, and
   needs no `Autoreset`.
"""

from funcenv.wrappers.autoreset import Autoreset, AutoresetState
from funcenv.wrappers.base import Wrapper, layers
from funcenv.wrappers.delay_observation import DelayObservation, DelayObservationState
from funcenv.wrappers.discretize import DiscretizeAction, DiscretizeObservation
from funcenv.wrappers.dtype_observation import DtypeObservation
from funcenv.wrappers.episode_statistics import EpisodeStatistics, EpisodeStatisticsState
from funcenv.wrappers.filter_observation import FilterObservation
from funcenv.wrappers.flatten_observation import FlattenObservation
from funcenv.wrappers.frame_stack_observation import FrameStackObservation, FrameStackObservationState
from funcenv.wrappers.max_and_skip_observation import MaxAndSkipObservation, MaxAndSkipObservationState
from funcenv.wrappers.pixel_observation import PixelObservation
from funcenv.wrappers.randomize_parameters import RandomizeParameters, RandomizeParametersState
from funcenv.wrappers.repeat_action import RepeatAction, RepeatActionState
from funcenv.wrappers.rescale import RescaleAction, RescaleObservation
from funcenv.wrappers.reshape_observation import ReshapeObservation
from funcenv.wrappers.sticky_action import StickyAction, StickyActionState
from funcenv.wrappers.time_aware_observation import TimeAwareObservation, TimeAwareObservationState
from funcenv.wrappers.time_limit import TimeLimit, TimeLimitState
from funcenv.wrappers.transform_action import ActionWrapper, ClipAction, TransformAction
from funcenv.wrappers.transform_observation import ObservationWrapper, TransformObservation
from funcenv.wrappers.transform_reward import ClipReward, RewardWrapper, TransformReward

__all__ = [
    "ActionWrapper",
    "Autoreset",
    "AutoresetState",
    "ClipAction",
    "ClipReward",
    "DelayObservation",
    "DelayObservationState",
    "DiscretizeAction",
    "DiscretizeObservation",
    "DtypeObservation",
    "EpisodeStatistics",
    "EpisodeStatisticsState",
    "FilterObservation",
    "FlattenObservation",
    "FrameStackObservation",
    "FrameStackObservationState",
    "MaxAndSkipObservation",
    "MaxAndSkipObservationState",
    "ObservationWrapper",
    "PixelObservation",
    "RandomizeParameters",
    "RandomizeParametersState",
    "RepeatAction",
    "RepeatActionState",
    "RescaleAction",
    "RescaleObservation",
    "ReshapeObservation",
    "RewardWrapper",
    "StickyAction",
    "StickyActionState",
    "TimeAwareObservation",
    "TimeAwareObservationState",
    "TimeLimit",
    "TimeLimitState",
    "TransformAction",
    "TransformObservation",
    "TransformReward",
    "Wrapper",
    "layers",
]
