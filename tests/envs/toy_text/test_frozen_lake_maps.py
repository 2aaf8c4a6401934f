"""Maps: Gymnasium's, random ones with a path, and malformed ones."""

import numpy as np
import pytest
from gymnasium.envs.toy_text import frozen_lake as gymnasium_lake

from funcenv.envs.toy_text.frozen_lake_maps import MAPS, generate_random_map, has_path, parse_map


def test_the_named_maps_are_gymnasiums() -> None:
    assert {name: list(rows) for name, rows in MAPS.items()} == gymnasium_lake.MAPS
    assert all(has_path(rows) for rows in MAPS.values())


@pytest.mark.parametrize("size", [2, 5, 8, 13])
@pytest.mark.parametrize("p", [0.6, 0.8, 1.0])
def test_a_seed_gives_gymnasiums_map(size: int, p: float) -> None:
    for seed in range(10):
        assert generate_random_map(size, p, seed) == gymnasium_lake.generate_random_map(size, p, seed)


def test_random_maps_always_have_a_path() -> None:
    for seed in range(100):
        rows = generate_random_map(size=6, p=0.5, seed=seed)
        assert has_path(rows)
        assert gymnasium_lake.is_valid([list(row) for row in rows], 6)


@pytest.mark.parametrize("seed", range(60))
def test_has_path_agrees_with_gymnasium(seed: int) -> None:
    tiles = np.random.default_rng(seed).choice(["F", "H"], (5, 5), p=[0.6, 0.4])
    tiles[0, 0], tiles[4, 4] = "S", "G"
    assert has_path(tiles) == gymnasium_lake.is_valid(tiles.tolist(), 5)


def test_maps_may_differ_without_a_seed() -> None:
    assert len({tuple(generate_random_map()) for _ in range(5)}) > 1


@pytest.mark.parametrize(
    "desc",
    [
        ["SF", "HG"],
        ("SF", "HG"),
        [["S", "F"], ["H", "G"]],
        [b"SF", b"HG"],
        np.array([["S", "F"], ["H", "G"]]),
        np.array([b"SF", b"HG"]),
        np.asarray(["SF", "HG"], dtype="c"),
    ],
)
def test_a_map_may_be_written_in_many_ways(desc: object) -> None:
    assert parse_map(desc) == ("SF", "HG")  # type: ignore[arg-type]  # any of them


@pytest.mark.parametrize(
    ("desc", "error", "message"),
    [
        ([], ValueError, "at least one row"),
        ([""], ValueError, "at least one row"),
        (["SFF", "FG"], ValueError, "same length, got rows of 3 and 2"),
        (["SX", "FG"], ValueError, "got 'X'"),
        (["sf", "fg"], ValueError, "got 's'"),
        (["FF", "FG"], ValueError, "at least one start, the letter S"),
        (["SF", "FF"], ValueError, "at least one goal, the letter G"),
        ("SFFG", TypeError, "a list of rows"),
        (4, TypeError, "a list of rows"),
        ([1, 2], TypeError, "a string such as"),
        ([["SF", "F"], ["F", "G"]], TypeError, "single letters"),
    ],
)
def test_a_malformed_map_is_refused(desc: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        parse_map(desc)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"size": 1}, ValueError, "at least 2, got 1"),
        ({"size": 0}, ValueError, "at least 1, got 0"),
        ({"size": 2.5}, TypeError, "must be an integer"),
        ({"p": 0.0}, ValueError, "above 0 and at most 1, got 0.0"),
        ({"p": 1.5}, ValueError, "got 1.5"),
        ({"p": float("nan")}, ValueError, "got nan"),
        ({"size": 12, "p": 0.05, "seed": 0}, ValueError, "raise p"),
    ],
)
def test_an_impossible_random_map_is_refused(arguments: dict[str, float], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        generate_random_map(**arguments)  # type: ignore[arg-type]  # that is the point
