"""Verification: replay every recorded call, and report the first result that departs from the recorded one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from funcenv.counted import counted
from funcenv.datasets.dataset import Dataset
from funcenv.datasets.episode import FLAGS, is_per_state
from funcenv.datasets.leaves import Layout, from_named, named
from funcenv.datasets.metadata import DatasetError
from funcenv.datasets.programs import NUM_ROWS, Results, padded, reset_rows, step_rows
from funcenv.struct import NDArray
from funcenv.verify.outcome import ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE, Outcome

_MAX_VALUES = 8  # values of a leaf that a report shows


@dataclasses.dataclass(frozen=True)
class Departure:
    """The first result that is not the recorded one.

    Attributes:
        episode: Number of the episode.
        step: Number of the call in the episode; 0 is the reset.
        leaf: Name of the array, such as "state.env_state.theta".
        recorded: Values in the dataset, the first ones if there are many.
        replayed: Values of the replay.
    """

    episode: int
    step: int
    leaf: str
    recorded: tuple[Any, ...]
    replayed: tuple[Any, ...]

    def __str__(self) -> str:
        """Return the departure as a phrase.

        >>> print(Departure(3, 17, "reward", (1.0,), (0.5,)))
        episode 3, step 17, reward: recorded 1.0, replayed 0.5
        """
        theirs, ours = (", ".join(map(str, values)) for values in (self.recorded, self.replayed))
        return f"episode {self.episode}, step {self.step}, {self.leaf}: recorded {theirs}, replayed {ours}"


@dataclasses.dataclass(frozen=True)
class Verification:
    """The outcome of a replay.

    Attributes:
        id: Folder of the dataset.
        outcome: `EXACT`, `ROUNDING` or `DIFFERENT`.
        num_episodes: Number of episodes.
        num_steps: Number of steps.
        largest_difference: Of all floats.
        departure: The first one that is more than rounding; else the first one; None if every bit is equal.
    """

    id: str
    outcome: Outcome
    num_episodes: int
    num_steps: int
    largest_difference: float = 0.0
    departure: Departure | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as an object of JSON."""
        return {**dataclasses.asdict(self), "outcome": self.outcome.value}

    def __str__(self) -> str:
        """Return the outcome as a phrase.

        >>> print(Verification("data", Outcome.EXACT, 2, 300))
        equal bit for bit: 2 episodes, 300 steps
        """
        text = f"{self.outcome.value}: {counted(self.num_episodes, 'episode')}, {self.num_steps:,} steps"
        if self.departure is None:
            return text
        largest = f"; largest difference {self.largest_difference:.1g}" if self.outcome is Outcome.ROUNDING else ""
        return f"{text}{largest}; first at {self.departure}"


def verify_dataset(dataset: Dataset, progress: Callable[[int], None] | None = None) -> Verification:
    """Replay every reset and step of a dataset, and compare all results bit by bit.

    With stored states, each step is replayed from the state before it, so that no difference grows. Without them, each
    episode is replayed as a whole.

    Args:
        dataset: Dataset.
        progress: Called with the number of steps that have been replayed, after every chunk.

    Raises:
        DatasetError: The dataset is damaged or empty, has no keys, or its environment is not known.

    >>> import tempfile, funcenv
    >>> from funcenv.datasets import record
    >>> env = funcenv.make("CartPole-v1")
    >>> dataset = record(env, funcenv.random_policy(env), funcenv.key(0), 5, f"{tempfile.mkdtemp()}/data")
    >>> verify_dataset(dataset).outcome.value
    'equal bit for bit'
    """
    if dataset.metadata.key_impl is None:
        raise DatasetError(f"{dataset.folder} has no keys, so nothing can be replayed; record it with this package")
    if not len(dataset):
        raise DatasetError(f"{dataset.folder} has no episode to replay; record some first")
    first: Departure | None = None  # with any difference
    episodes, steps, largest = 0, 0, 0.0
    for index, chunk in enumerate(dataset.metadata.chunks):
        arrays, lengths = dataset.chunk_arrays(index), np.array(chunk.lengths)
        replayed = _replayed(dataset, arrays, lengths)
        apart = _first(arrays, replayed, lengths, episodes, _beyond_rounding)
        if apart is not None:
            return Verification(str(dataset.folder), Outcome.DIFFERENT, len(dataset), dataset.num_steps, largest, apart)
        first = first or _first(arrays, replayed, lengths, episodes, _in_bits)
        largest = max([largest, *(_gap(arrays[name], array) for name, array in replayed.items())])
        episodes, steps = episodes + len(lengths), steps + int(lengths.sum())
        if progress is not None:
            progress(steps)
    outcome = Outcome.EXACT if first is None else Outcome.ROUNDING
    return Verification(str(dataset.folder), outcome, len(dataset), dataset.num_steps, largest, first)


def _replayed(dataset: Dataset, arrays: dict[str, NDArray], lengths: NDArray) -> dict[str, NDArray]:
    """Return the results of all calls of a chunk, as arrays of the same form as the recorded ones."""
    layout = Layout.of(dataset.env)
    starts = np.cumsum(lengths + 1) - (lengths + 1)  # row of each reset among the calls
    names = [name for name in arrays if is_per_state(name) and name != "key"]
    found = {name: np.zeros_like(arrays[name]) for name in (*names, "reward", *FLAGS)}

    def put(results: Results, calls: NDArray, steps: NDArray | None) -> None:
        """Put the results of some calls in their rows; resets are no steps."""
        parts = {**named("observation", results.observation), **named("state", results.state)}
        if steps is not None:
            for name in ("reward", *FLAGS):
                found[name][steps] = np.asarray(getattr(results, name))[: len(steps)]
        for name in names:
            found[name][calls] = np.asarray(parts[name])[: len(calls)]

    actions = from_named("action", layout.action, arrays)
    run = _run_from_states if dataset.metadata.has_states else _run_from_resets
    state = from_named("state", layout.state, arrays) if dataset.metadata.has_states else None
    run(dataset, arrays["key"], state, actions, starts, lengths, put)
    return found


def _run_from_states(
    dataset: Dataset, key: NDArray, state: Any, actions: Any, starts: NDArray, lengths: NDArray, put: Any
) -> None:
    """Replay every call by itself, each step from the recorded state before it."""
    env, impl = dataset.env, dataset.metadata.key_impl
    for begin in range(0, len(starts), NUM_ROWS):
        calls = padded(starts, begin)
        put(jax.device_get(reset_rows(env, key[calls], impl)), starts[begin : begin + NUM_ROWS], None)
    all_calls = np.setdiff1d(np.arange(len(key)), starts)
    for begin in range(0, len(all_calls), NUM_ROWS):
        calls, steps = padded(all_calls, begin), padded(np.arange(len(all_calls)), begin)
        before, action = _take(state, calls - 1), _take(actions, steps)
        results = jax.device_get(step_rows(env, before, action, key[calls], impl))
        size = len(all_calls[begin : begin + NUM_ROWS])
        put(results, calls[:size], steps[:size])


def _run_from_resets(
    dataset: Dataset, key: NDArray, state: Any, actions: Any, starts: NDArray, lengths: NDArray, put: Any
) -> None:
    """Replay whole episodes, `NUM_ROWS` at a time."""
    del state
    env, impl = dataset.env, dataset.metadata.key_impl
    first_steps = np.cumsum(lengths) - lengths
    for begin in range(0, len(starts), NUM_ROWS):
        rows, size = padded(np.arange(len(starts)), begin), len(starts[begin : begin + NUM_ROWS])
        results = jax.device_get(reset_rows(env, key[starts[rows]], impl))
        put(results, starts[begin : begin + size], None)
        for number in range(int(lengths[rows].max())):
            number_here = np.minimum(number, lengths[rows] - 1)  # an episode that has ended repeats its last step
            calls, steps = starts[rows] + 1 + number_here, first_steps[rows] + number_here
            results = jax.device_get(step_rows(env, results.state, _take(actions, steps), key[calls], impl))
            going = (number < lengths[rows]) & (np.arange(NUM_ROWS) < size)
            chosen = jax.tree.map(lambda leaf, going=going: np.asarray(leaf)[going], results)
            put(chosen, calls[going], steps[going])


def _first(
    recorded: dict[str, NDArray], replayed: dict[str, NDArray], lengths: NDArray, num_before: int, differs: Any
) -> Departure | None:
    """Return the first row that differs, in the order of time; `num_before` episodes come before this chunk."""
    found = []
    for name, ours in replayed.items():
        theirs = recorded[name]
        rows = np.flatnonzero(differs(theirs, ours).reshape(len(ours), -1).any(axis=1))
        if not rows.size:
            continue
        sizes = lengths + is_per_state(name)
        episode = int(np.searchsorted(np.cumsum(sizes), rows[0], side="right"))
        step = int(rows[0] - sizes[:episode].sum()) + (not is_per_state(name))
        at = np.flatnonzero(differs(theirs, ours)[rows[0]])[:_MAX_VALUES]
        values = (tuple(np.ravel(array[rows[0]])[at].tolist()) for array in (theirs, ours))
        found.append(Departure(num_before + episode, step, name, *values))
    return min(found, key=lambda one: (one.episode, one.step, one.leaf), default=None)


def _in_bits(theirs: NDArray, ours: NDArray) -> NDArray:
    """Return where two arrays of one dtype differ in any bit."""
    words = f"u{theirs.dtype.itemsize}"
    return np.asarray(np.ascontiguousarray(theirs).view(words) != np.ascontiguousarray(ours).view(words))


def _beyond_rounding(theirs: NDArray, ours: NDArray) -> NDArray:
    """Return where two arrays differ by more than rounding; integers and flags must be equal."""
    if not _is_float(theirs):
        return np.asarray(theirs != ours)
    pair = theirs.astype(np.float64), ours.astype(np.float64)
    return ~np.isclose(*pair, rtol=RELATIVE_TOLERANCE, atol=ABSOLUTE_TOLERANCE, equal_nan=True)


def _gap(theirs: NDArray, ours: NDArray) -> float:
    """Return the largest difference of two arrays of floats, 0 for others."""
    if not _is_float(theirs):
        return 0.0
    with np.errstate(invalid="ignore"):
        return float(np.nanmax(np.abs(theirs.astype(np.float64) - ours.astype(np.float64)), initial=0.0))


def _is_float(array: NDArray) -> bool:
    return bool(jax.numpy.issubdtype(array.dtype, np.floating))


def _take(tree: Any, rows: NDArray) -> Any:
    return jax.tree.map(lambda leaf: leaf[rows], tree)
