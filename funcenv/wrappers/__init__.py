"""Pure environments around environments.

A wrapper can be put around any environment or wrapper, unless its docstring says otherwise and its constructor raises
an error. The recommended order, from the inside out:

1. Wrappers that change rewards, observations and actions element by element. A wrapper that needs a bounded `Box`
   (`Rescale...`, `Discretize...`) goes inside `ClipAction` and outside the wrapper that bounds the box.
   Wrappers that make images go outside of these, and then the wrappers that change images.
2. `RandomizeParameters`, `FiniteLevels` and `AdaptParameters`, outside wrappers whose bounds follow the parameters.
   `NormalizeObservation` and `NormalizeReward` go outside everything that changes what they normalize.
3. `TimeLimit` and `EpisodeStatistics`: inside `RepeatAction` or `MaxAndSkipObservation` they count the steps of the
   environment, outside the agent's actions. `StickyAction` inside them may replace the action of every repeat.
4. `TimeAwareObservation` outside its `TimeLimit`; `FrameStackObservation` and `DelayObservation` outside wrappers that
   change a single observation; `HistoryObservation` outside delays.
5. Around arcade games, from the inside out: `StickyAction`, `FireReset`, `AtariPreprocessing`, `ClipReward`,
   `FrameStackObservation`.
6. `CriticObservation` outside all of these, then `ActionMaskObservation` or `StateObservation`, then `PolicyMemory`.
7. `Autoreset` outside every wrapper with a state. `FuncVectorEnv` comes last, around the whole stack, and needs no
   `Autoreset`.
"""

import importlib
from typing import TYPE_CHECKING, Any

import funcenv.hints as _hints
from funcenv.moments import RunningMoments, SharedMoments, share_moments
from funcenv.wrappers.base import StatefulWrapper, Wrapper, layers

if TYPE_CHECKING:
    from funcenv.wrappers.action_mask_observation import ActionMaskObservation, gives_action_mask
    from funcenv.wrappers.adapt_parameters import AdaptParameters, AdaptParametersState, EpisodeOutcome
    from funcenv.wrappers.add_gaussian_noise import AddGaussianNoise
    from funcenv.wrappers.add_render_observation import AddRenderObservation
    from funcenv.wrappers.atari_preprocessing import AtariPreprocessing, AtariPreprocessingState
    from funcenv.wrappers.autoreset import Autoreset, AutoresetState
    from funcenv.wrappers.critic_observation import CriticObservation
    from funcenv.wrappers.delay_action import DelayAction, DelayActionState
    from funcenv.wrappers.delay_observation import DelayObservation
    from funcenv.wrappers.discretize import DiscretizeAction, DiscretizeObservation
    from funcenv.wrappers.dtype_observation import DtypeObservation
    from funcenv.wrappers.episode_statistics import EpisodeStatistics, EpisodeStatisticsState
    from funcenv.wrappers.filter_observation import FilterObservation
    from funcenv.wrappers.finite_levels import FiniteLevels, FiniteLevelsState
    from funcenv.wrappers.fire_reset import FireReset
    from funcenv.wrappers.flatten_observation import FlattenObservation
    from funcenv.wrappers.frame_stack_observation import FrameBufferState, FrameStackObservation
    from funcenv.wrappers.grayscale_observation import GrayscaleObservation
    from funcenv.wrappers.history_observation import HistoryObservation, HistoryObservationState
    from funcenv.wrappers.image_noise import AddWhiteNoise, ObstructView
    from funcenv.wrappers.max_and_skip_observation import MaxAndSkipObservation, MaxAndSkipObservationState
    from funcenv.wrappers.normalize import (
        NormalizeObservation,
        NormalizeObservationState,
        NormalizeReward,
        NormalizeRewardState,
        freeze_moments,
    )
    from funcenv.wrappers.one_agent import OneAgent, OneAgentState
    from funcenv.wrappers.pixel_observation import PixelObservation
    from funcenv.wrappers.policy_memory import PolicyMemory, PolicyMemoryState
    from funcenv.wrappers.random_delay_observation import RandomDelayObservation, RandomDelayObservationState
    from funcenv.wrappers.randomize_parameters import RandomizeParameters, RandomizeParametersState
    from funcenv.wrappers.repeat_action import RepeatAction, RepeatActionState
    from funcenv.wrappers.rescale import RescaleAction, RescaleObservation
    from funcenv.wrappers.reshape_observation import ReshapeObservation
    from funcenv.wrappers.resize_observation import ResizeObservation
    from funcenv.wrappers.state_observation import StateObservation
    from funcenv.wrappers.sticky_action import StickyAction, StickyActionState
    from funcenv.wrappers.time_aware_observation import TimeAwareObservation
    from funcenv.wrappers.time_limit import StepCounterState, TimeLimit
    from funcenv.wrappers.transform_action import ActionWrapper, ClipAction, TransformAction
    from funcenv.wrappers.transform_observation import ObservationWrapper, TransformObservation
    from funcenv.wrappers.transform_reward import ClipReward, RewardWrapper, TransformReward

# The names that each module exports; it is imported when one of them is first used.
_NAMES = {
    "action_mask_observation": "ActionMaskObservation gives_action_mask",
    "adapt_parameters": "AdaptParameters AdaptParametersState EpisodeOutcome",
    "add_gaussian_noise": "AddGaussianNoise",
    "add_render_observation": "AddRenderObservation",
    "atari_preprocessing": "AtariPreprocessing AtariPreprocessingState",
    "autoreset": "Autoreset AutoresetState",
    "critic_observation": "CriticObservation",
    "delay_action": "DelayAction DelayActionState",
    "delay_observation": "DelayObservation",
    "discretize": "DiscretizeAction DiscretizeObservation",
    "dtype_observation": "DtypeObservation",
    "episode_statistics": "EpisodeStatistics EpisodeStatisticsState",
    "filter_observation": "FilterObservation",
    "finite_levels": "FiniteLevels FiniteLevelsState",
    "fire_reset": "FireReset",
    "flatten_observation": "FlattenObservation",
    "frame_stack_observation": "FrameBufferState FrameStackObservation",
    "grayscale_observation": "GrayscaleObservation",
    "history_observation": "HistoryObservation HistoryObservationState",
    "image_noise": "AddWhiteNoise ObstructView",
    "max_and_skip_observation": "MaxAndSkipObservation MaxAndSkipObservationState",
    "normalize": "NormalizeObservation NormalizeObservationState NormalizeReward NormalizeRewardState freeze_moments",
    "one_agent": "OneAgent OneAgentState",
    "pixel_observation": "PixelObservation",
    "policy_memory": "PolicyMemory PolicyMemoryState",
    "random_delay_observation": "RandomDelayObservation RandomDelayObservationState",
    "randomize_parameters": "RandomizeParameters RandomizeParametersState",
    "repeat_action": "RepeatAction RepeatActionState",
    "rescale": "RescaleAction RescaleObservation",
    "reshape_observation": "ReshapeObservation",
    "resize_observation": "ResizeObservation",
    "state_observation": "StateObservation",
    "sticky_action": "StickyAction StickyActionState",
    "time_aware_observation": "TimeAwareObservation",
    "time_limit": "StepCounterState TimeLimit",
    "transform_action": "ActionWrapper ClipAction TransformAction",
    "transform_observation": "ObservationWrapper TransformObservation",
    "transform_reward": "ClipReward RewardWrapper TransformReward",
}

__all__ = [
    "ActionMaskObservation",
    "ActionWrapper",
    "AdaptParameters",
    "AdaptParametersState",
    "AddGaussianNoise",
    "AddRenderObservation",
    "AddWhiteNoise",
    "AtariPreprocessing",
    "AtariPreprocessingState",
    "Autoreset",
    "AutoresetState",
    "ClipAction",
    "ClipReward",
    "CriticObservation",
    "DelayAction",
    "DelayActionState",
    "DelayObservation",
    "DiscretizeAction",
    "DiscretizeObservation",
    "DtypeObservation",
    "EpisodeOutcome",
    "EpisodeStatistics",
    "EpisodeStatisticsState",
    "FilterObservation",
    "FiniteLevels",
    "FiniteLevelsState",
    "FireReset",
    "FlattenObservation",
    "FrameBufferState",
    "FrameStackObservation",
    "GrayscaleObservation",
    "HistoryObservation",
    "HistoryObservationState",
    "MaxAndSkipObservation",
    "MaxAndSkipObservationState",
    "NormalizeObservation",
    "NormalizeObservationState",
    "NormalizeReward",
    "NormalizeRewardState",
    "ObservationWrapper",
    "ObstructView",
    "OneAgent",
    "OneAgentState",
    "PixelObservation",
    "PolicyMemory",
    "PolicyMemoryState",
    "RandomDelayObservation",
    "RandomDelayObservationState",
    "RandomizeParameters",
    "RandomizeParametersState",
    "RepeatAction",
    "RepeatActionState",
    "RescaleAction",
    "RescaleObservation",
    "ReshapeObservation",
    "ResizeObservation",
    "RewardWrapper",
    "RunningMoments",
    "SharedMoments",
    "StatefulWrapper",
    "StepCounterState",
    "StateObservation",
    "StickyAction",
    "StickyActionState",
    "TimeAwareObservation",
    "TimeLimit",
    "TransformAction",
    "TransformObservation",
    "TransformReward",
    "Wrapper",
    "freeze_moments",
    "gives_action_mask",
    "layers",
    "share_moments",
]


if not TYPE_CHECKING:  # where it would hide misspelt names

    def __getattr__(name: str) -> Any:
        """Import a module, or the module of a name, when it is first used, which keeps `import funcenv` fast."""
        if name in _NAMES:
            return importlib.import_module(f"{__name__}.{name}")
        module = next((module for module, names in _NAMES.items() if name in names.split()), None)
        if module is None:
            raise AttributeError(_hints.missing_name(f"module {__name__!r}", name, _hints.OF_WRAPPERS, __all__))
        found = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return __all__
