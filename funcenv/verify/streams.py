"""The random numbers that every result rests on, compared with recorded ones: keys, draws and samples of spaces.

Integers are compared as they are, floats to `TOLERANCE`, because the last bits of a logarithm or of a fused
multiplication belong to the compiler.
"""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from funcenv import spaces
from funcenv.random import indexed_key
from funcenv.random import key as new_key
from funcenv.verify.outcome import Outcome, Result

TOLERANCE = 2e-5
_DIGITS = 5  # digits after the point that are recorded
NAME = "random streams"
SEEDS = (0, 7, 2**32 - 1, 2**32, 10**40)
GENERATORS = ("threefry", "threefry2x32")
FILE = "streams.json"


def verify_streams() -> Result:
    """Compare the random numbers of this machine with the recorded ones.

    >>> verify_streams().outcome.value
    'equal bit for bit'
    """
    recorded, seen = recorded_streams(), streams()
    changed = [name for name in recorded if not _agree(recorded[name], seen.get(name))]
    if changed:
        return Result(NAME, Outcome.DIFFERENT, reason=", ".join(changed))
    return Result(NAME, Outcome.EXACT)


def recorded_streams() -> dict[str, Any]:
    """Return the recorded numbers by what they are.

    >>> recorded_streams()["threefry, seed 7: key"]
    [0, 7]
    """
    text = (importlib.resources.files("funcenv.verify") / FILE).read_text()
    found: dict[str, Any] = json.loads(text)
    return found


def streams() -> dict[str, Any]:
    """Return the same numbers as they are here, in types of JSON."""
    found: dict[str, Any] = {}
    for generator in GENERATORS:
        for seed in SEEDS:
            key = new_key(seed, generator)
            for name, draw in _draws().items():
                found[f"{generator}, seed {seed}: {name}"] = _plain(draw(key))
    for name, space in _spaces().items():
        keys = jax.random.split(new_key(0), 3)
        found[f"{name}: samples"] = _plain(jax.vmap(space.sample)(keys))
    return found


def _draws() -> dict[str, Callable[[jax.Array], Any]]:
    return {
        "key": jax.random.key_data,
        "split": lambda key: jax.random.key_data(jax.random.split(key, 3)),
        "fold_in": lambda key: jax.random.key_data(jax.random.fold_in(key, 5)),
        "bits": lambda key: jax.random.bits(key, (5,)),
        "uniform": lambda key: jax.random.uniform(key, (3,)),
        "normal": lambda key: jax.random.normal(key, (3,)),
        "randint": lambda key: jax.random.randint(key, (4,), 0, 1000),
        "permutation": lambda key: jax.random.permutation(key, 9),
        "indexed_key": lambda key: jax.random.bits(indexed_key(key, 3), (2,)),
    }


def _spaces() -> dict[str, Any]:
    two = spaces.Discrete(2)
    return {
        "Box": spaces.Box(np.array([-np.inf, 0, -1], np.float32), np.array([np.inf, np.inf, 1], np.float32)),
        "Box of integers": spaces.Box(-3, 200, (3,), np.int32),
        "Discrete": spaces.Discrete(7, start=-2),
        "MultiDiscrete": spaces.MultiDiscrete([2, 5, 9]),
        "MultiBinary": spaces.MultiBinary(5),
        "Tuple": spaces.Tuple((two, spaces.Discrete(50))),
        "Dict": spaces.Dict({"a": two, "b": spaces.MultiBinary(2)}),
        "Text": spaces.Text(6),
        "Sequence": spaces.Sequence(spaces.Discrete(9), max_length=4),
        "OneOf": spaces.OneOf((two, spaces.Discrete(50))),
    }


def _plain(tree: Any) -> list[Any]:
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    rounded = [np.round(leaf.astype(float), _DIGITS) + 0.0 if leaf.dtype.kind == "f" else leaf for leaf in leaves]
    lists: list[Any] = [leaf.astype(int).tolist() if leaf.dtype == bool else leaf.tolist() for leaf in rounded]
    return lists[0] if len(lists) == 1 else lists


def _agree(theirs: Any, ours: Any) -> bool:
    if str(jax.tree.structure(theirs)) != str(jax.tree.structure(ours)):
        return False
    return bool(np.allclose(jax.tree.leaves(theirs), jax.tree.leaves(ours), rtol=0.0, atol=TOLERANCE))
