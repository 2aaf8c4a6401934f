"""Datasets: recorded transitions that can be restored, branched, replayed, and sampled in compiled code."""

from funcenv.datasets.dataset import Dataset
from funcenv.datasets.episode import RecordedEpisode
from funcenv.datasets.metadata import DatasetError, Metadata
from funcenv.datasets.recording import record, record_rollout
from funcenv.datasets.sampler import Sampler, Transitions
from funcenv.datasets.verification import Departure, Verification, verify_dataset
from funcenv.datasets.writer import DatasetFullError, DatasetWriter

__all__ = [
    "Dataset",
    "DatasetError",
    "DatasetFullError",
    "DatasetWriter",
    "Departure",
    "Metadata",
    "RecordedEpisode",
    "Sampler",
    "Transitions",
    "Verification",
    "record",
    "record_rollout",
    "verify_dataset",
]
