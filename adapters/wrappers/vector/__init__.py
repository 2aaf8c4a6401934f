"""Wrappers around vector environments, under the names of `gymnasium.wrappers.vector`."""

from funcenv.adapters.wrappers.vector.dict_info_to_list import DictInfoToList
from funcenv.adapters.wrappers.vector.jax_to_numpy import JaxToNumpy
from funcenv.adapters.wrappers.vector.normalize import NormalizeObservation, NormalizeReward
from funcenv.adapters.wrappers.vector.observations import (
    DtypeObservation,
    FilterObservation,
    FlattenObservation,
    GrayscaleObservation,
    RescaleObservation,
    ReshapeObservation,
    ResizeObservation,
)
from funcenv.adapters.wrappers.vector.record_dataset import RecordDataset
from funcenv.adapters.wrappers.vector.record_episode_statistics import RecordEpisodeStatistics
from funcenv.adapters.wrappers.vector.rendering import HumanRendering, RecordVideo
from funcenv.adapters.wrappers.vector.transformations import (
    ClipAction,
    ClipReward,
    RescaleAction,
    TransformAction,
    TransformObservation,
    TransformReward,
    VectorizeTransformAction,
    VectorizeTransformObservation,
    VectorizeTransformReward,
)

__all__ = [
    "ClipAction",
    "ClipReward",
    "DictInfoToList",
    "DtypeObservation",
    "FilterObservation",
    "FlattenObservation",
    "GrayscaleObservation",
    "HumanRendering",
    "JaxToNumpy",
    "NormalizeObservation",
    "NormalizeReward",
    "RecordDataset",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RescaleAction",
    "RescaleObservation",
    "ReshapeObservation",
    "ResizeObservation",
    "TransformAction",
    "TransformObservation",
    "TransformReward",
    "VectorizeTransformAction",
    "VectorizeTransformObservation",
    "VectorizeTransformReward",
]
