"""The mazes of Gymnasium-Robotics: maps of cells, and models of robots between their walls."""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ElementTree
from typing import Any, NamedTuple

import numpy as np

from funcenv.envs.mujoco.mjcf import compile_text
from funcenv.envs.mujoco.model import CompiledModel
from funcenv.struct import NDArray

WALL, FREE, GOAL, RESET, EITHER = "#.grc"
"""The kinds of cells: a wall, a free one, a place for goals, a place for starts, and one for both."""

# The cells of the package's maps, in rows from north to south; `Diverse_G` and `Diverse_GR` name places in them.
_U = ("#####", "#...#", "###.#", "#...#", "#####")
_OPEN = ("#######", "#.....#", "#.....#", "#.....#", "#######")
_MEDIUM = ("########", "#..##..#", "#..#...#", "##...###", "#..#...#", "#.#..#.#", "#...#..#", "########")
_LARGE = ("############", "#....#.....#", "#.##.#.#.#.#", "#......#...#", "#.####.###.#", "#..#.#.....#",
          "##.#.#.#.###", "#..#...#...#", "############")  # fmt: skip
_OPEN_PLACES = tuple((row, column) for row in (1, 2, 3) for column in range(1, 6) if (row, column) != (1, 1))
_MEDIUM_PLACES = (2, 6), (5, 1), (6, 5)
_LARGE_PLACES = (1, 6), (3, 5), (3, 10), (5, 2), (7, 4), (7, 6), (7, 9)


def _with_places(rows: tuple[str, ...], goals: Any, goal: str, start: str) -> tuple[str, ...]:
    """Return a map with places for goals, and one for starts in its north-western cell."""
    kinds = {(1, 1): start, **dict.fromkeys(goals, goal)}
    return tuple(
        "".join(kinds.get((row, column), cell) for column, cell in enumerate(cells)) for row, cells in enumerate(rows)
    )


def _diverse(name: str, rows: tuple[str, ...], goals: Any) -> dict[str, tuple[str, ...]]:
    return {
        name: rows,
        f"{name}_Diverse_G": _with_places(rows, goals, GOAL, RESET),
        f"{name}_Diverse_GR": _with_places(rows, goals, EITHER, EITHER),
    }


MAPS: dict[str, tuple[str, ...]] = {
    "UMaze": _U,
    **_diverse("Open", _OPEN, _OPEN_PLACES),
    **_diverse("Medium", _MEDIUM, _MEDIUM_PLACES),
    **_diverse("Large", _LARGE, _LARGE_PLACES),
}
"""The package's maps, by the names that its ids have."""


class Places(NamedTuple):
    """Middles of cells, float64 `[num, 2]` [m]."""

    goals: NDArray
    starts: NDArray


def read_map(maze_map: Any) -> tuple[str, ...]:
    """Return the rows of a map as strings.

    Args:
        maze_map: the name of a map in `MAPS`, or rows of cells: strings of `#.grc`, or lists of 1, 0, "g", "r" and "c"
            as Gymnasium-Robotics has them.

    Raises:
        ValueError: there is no map of this name, rows differ in length, a cell is of no known kind, or there is no
            place for a goal, or none for a start that is not the goal's.

    >>> read_map([[1, 1, 1], [1, "g", 0], [1, 1, 1]])
    ('###', '#g.', '###')
    >>> read_map("Opn")
    Traceback (most recent call last):
        ...
    ValueError: maze_map must be rows of cells, or one of UMaze, Open, ..., got 'Opn'
    """
    if isinstance(maze_map, str):
        if maze_map not in MAPS:
            raise ValueError(f"maze_map must be rows of cells, or one of {', '.join(MAPS)}, got {maze_map!r}")
        return MAPS[maze_map]
    rows = tuple("".join(_cell(cell) for cell in row) for row in maze_map)
    if not rows or len({len(row) for row in rows}) != 1:
        raise ValueError(f"the rows of maze_map must have one length, got {[len(row) for row in rows]}; fill them up")
    places = places_of(rows, 1.0)
    if not len(places.goals) or len(np.unique(np.concatenate(places), axis=0)) < 2 or not len(places.starts):
        raise ValueError(f"maze_map must have a place for a goal and another one for a start, got {rows}; add cells")
    if len(places.starts) == 1 and (places.goals == places.starts).all(-1).any():
        raise ValueError(f"the one place for starts of maze_map must not be one for goals, got {rows}; add cells")
    return rows


def _cell(cell: Any) -> str:
    found = {"1": WALL, "0": FREE}.get(str(cell), str(cell))
    if found not in (WALL, FREE, GOAL, RESET, EITHER):
        raise ValueError(f'a cell of maze_map must be 1 or "#", 0 or ".", "g", "r" or "c", got {cell!r}')
    return found


def middle(rows: tuple[str, ...], scale: float, row: int, column: int) -> tuple[float, float]:
    """Return the coordinates of the middle of a cell; the middle of the map is the origin."""
    return (column + 0.5) * scale - len(rows[0]) / 2 * scale, len(rows) / 2 * scale - (row + 0.5) * scale


@functools.cache
def places_of(rows: tuple[str, ...], scale: float) -> Places:
    """Return the places for goals and for starts.

    Free cells are places for what has no cell of its own.
    """
    cells = {(row, column): cell for row, line in enumerate(rows) for column, cell in enumerate(line)}

    def having(kinds: str) -> NDArray:
        found = [middle(rows, scale, *place) for place, cell in cells.items() if cell in kinds]
        return np.array(found, np.float64).reshape(-1, 2)

    goals, starts, free = having(GOAL + EITHER), having(RESET + EITHER), having(FREE)
    return Places(goals if len(goals) else free, starts if len(starts) else free)


def maze_model(robot: str, rows: tuple[str, ...], scale: float, height: float, name: str) -> CompiledModel:
    """Compile the model of a robot with walls around it, and a site that shows the goal.

    Args:
        robot: XML text of the robot's model.
        rows: the map.
        scale: side of a cell [m].
        height: height of the walls, in sides of a cell.
        name: the model in messages.
    """
    tree = ElementTree.fromstring(robot)
    world = tree.find("worldbody")
    if world is None:
        raise ValueError(f"{name} has no worldbody, to which walls could be added; add it")
    half, half_height = scale / 2, height / 2 * scale
    for row, line in enumerate(rows):
        for column, cell in enumerate(line):
            if cell == WALL:
                x, y = middle(rows, scale, row, column)
                wall = {"name": f"block_{row}_{column}", "type": "box", "material": "", "rgba": "0.7 0.5 0.3 1.0"}
                place = {"pos": f"{x} {y} {half_height}", "size": f"{half} {half} {half_height}"}
                ElementTree.SubElement(world, "geom", {**wall, **place, "contype": "1", "conaffinity": "1"})
    target = {"name": "target", "type": "sphere", "rgba": "1 0 0 0.7"}
    ElementTree.SubElement(world, "site", {**target, "pos": f"0 0 {half_height}", "size": f"{0.2 * scale}"})
    return compile_text(ElementTree.tostring(tree, encoding="unicode"), name)
