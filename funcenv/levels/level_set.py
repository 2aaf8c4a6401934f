"""Sets of levels: parameters of an environment, keys of its first states, or both."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key, UInt32

from funcenv.checks import require_size
from funcenv.func_env import AnyEnv, require_env
from funcenv.levels.design import require_levels
from funcenv.levels.files import read_arrays, write_arrays
from funcenv.random import require_typed_key
from funcenv.random.generators import find_impl, impl_name
from funcenv.struct import NEVER_BATCHED, NDArray, PyTreeNode, field


class LevelSet(PyTreeNode):
    """Levels of one environment; every array has a leading axis `[num_levels]`.

    A level is a dict of parameters by field name, which `env.replace(**level)` applies, with a key for the first state,
    or one of the two. Without a key, every episode in the level draws its own first state.

    `from_keys`, `from_parameters` and `draw_levels` make sets; `levels[indices]` is a part of one, and `levels.split`
    divides it into training and test levels. `levels.save(path)` writes a file without code.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> levels = LevelSet.from_parameters(env, {"gravity": [1.6, 3.7, 9.8]})
    >>> len(levels), levels[[0, 2]].ids.tolist(), float(levels.level(1)["gravity"])
    (3, [0, 2], 3.700000047683716)
    """

    parameters: dict[str, Any] = field(ndim=NEVER_BATCHED)  # values by field name
    key_data: UInt32[Array | NDArray, "num_levels words"] | None = field(ndim=NEVER_BATCHED)  # keys of the first states
    ids: Int[Array | NDArray, "num_levels"] = field(
        ndim=NEVER_BATCHED
    )  # numbers that tell levels apart; kept by parts of a set
    env_name: str = field(pytree_node=False)  # class of the innermost environment
    key_impl: str = field(pytree_node=False, default="")  # generator of the keys

    @classmethod
    def from_keys(cls, env: AnyEnv, keys: Key[Array, "num_levels"]) -> LevelSet:
        """Return the levels in which an episode starts as `env.initial(key)` does, for each key.

        Raises:
            TypeError: Legacy uint32 keys, or something else.
            ValueError: A single key, or no key.

        >>> import funcenv
        >>> env = funcenv.make("CartPole-v1")
        >>> len(LevelSet.from_keys(env, jax.random.split(funcenv.key(0), 5)))
        5
        """
        require_env("LevelSet.from_keys", env)
        require_typed_key(keys)
        if keys.ndim != 1 or not keys.size:
            raise ValueError(
                f"levels need one key each, a key array of shape [num_levels], got shape {keys.shape}; "
                "write jax.random.split(key, num_levels)"
            )
        return cls(
            parameters={},
            key_data=jax.random.key_data(keys),
            ids=np.arange(keys.size, dtype=np.int32),
            env_name=type(env.unwrapped).__name__,
            key_impl=impl_name(keys),
        )

    @classmethod
    def from_parameters(
        cls, env: AnyEnv, parameters: Mapping[str, Any], keys: Key[Array, "num_levels"] | None = None
    ) -> LevelSet:
        """Return levels by the values of some parameters, `[num_levels, ...]` each, and possibly keys.

        Raises:
            TypeError: The environment has no field of that name, or it is static.
            ValueError: There is no parameter, or their numbers of levels differ.
        """
        require_env("LevelSet.from_parameters", env)
        if not parameters:
            raise ValueError("levels need at least one parameter, got none; name fields of the environment")
        values = jax.tree.map(_as_array, dict(parameters), is_leaf=lambda node: isinstance(node, (list, tuple)))
        sizes = {name: np.shape(leaf)[:1] for name, value in values.items() for leaf in jax.tree.leaves(value)}
        num_levels = next(iter(sizes.values()))
        for name, size in sizes.items():
            if size != num_levels or not size or size == (0,):
                raise ValueError(
                    f"every parameter needs one value for each level along its first axis, got {sizes}; {name} differs"
                    if size
                    else f"{name} needs one value for each level along its first axis, got a scalar"
                )
        env.replace(**{name: jax.tree.map(lambda leaf: leaf[0], value) for name, value in values.items()})
        set_of_keys = None if keys is None else cls.from_keys(env, keys)
        if set_of_keys is not None and len(set_of_keys) != num_levels[0]:
            raise ValueError(f"there must be one key for each level, got {len(set_of_keys)} for {num_levels[0]} levels")
        return cls(
            parameters=values,
            key_data=None if set_of_keys is None else set_of_keys.key_data,
            ids=np.arange(num_levels[0], dtype=np.int32),
            env_name=type(env.unwrapped).__name__,
            key_impl="" if set_of_keys is None else set_of_keys.key_impl,
        )

    def __len__(self) -> int:
        return int(np.shape(self.ids)[0])

    def __getitem__(self, indices: Any) -> LevelSet:
        """Return a part of the set: the levels at a slice, at some indices or in a mask, which keep their ids."""
        if isinstance(indices, slice):
            rows = np.arange(len(self))[indices]
        else:
            rows = np.atleast_1d(np.asarray(indices))
            rows = np.flatnonzero(rows) if rows.dtype == bool and rows.size == len(self) else rows
        if not rows.size or not np.issubdtype(rows.dtype, np.integer) or rows.max() >= len(self) or rows.min() < 0:
            raise IndexError(f"a part of {len(self)} levels needs at least one index below that, got {indices!r}")
        part: LevelSet = jax.tree.map(lambda leaf: leaf[rows], self)
        return part

    def level(self, index: int | Int[Array, ""]) -> dict[str, Any]:
        """Return the parameters of one level; the index may be traced."""
        parameters: dict[str, Any] = jax.tree.map(lambda leaf: jnp.asarray(leaf)[index], self.parameters)
        return parameters

    def first_key(self, index: int | Int[Array, ""], key: jax.Array) -> jax.Array:
        """Return the key of the first state in one level, which is `key` if the levels have none."""
        if self.key_data is None:
            return key
        return jax.random.wrap_key_data(jnp.asarray(self.key_data)[index], impl=find_impl(self.key_impl))

    def split(self, test_fraction: float = 0.2, seed: int = 0) -> tuple[LevelSet, LevelSet]:
        """Divide the levels into training and test levels at random; equal levels stay together.

        Raises:
            ValueError: The fraction is not between 0 and 1, or there are too few different levels.

        >>> import funcenv
        >>> env = funcenv.make("CartPole-v1")
        >>> train, test = LevelSet.from_keys(env, jax.random.split(funcenv.key(0), 10)).split(0.3)
        >>> len(train), len(test), sorted({*train.ids.tolist(), *test.ids.tolist()}) == list(range(10))
        (7, 3, True)
        """
        if not 0 < test_fraction < 1:
            raise ValueError(f"test_fraction must be between 0 and 1, got {test_fraction}")
        digests = self.digests()
        different = sorted(set(digests), key=digests.index)
        num_test = round(len(different) * test_fraction)
        if not 0 < num_test < len(different):
            raise ValueError(
                f"{len(different)} different levels cannot be divided with {test_fraction:g} of them for tests; "
                "make more"
            )
        order = np.random.default_rng(seed).permutation(len(different))
        chosen = {different[i] for i in order[:num_test]}
        is_test = np.array([digest in chosen for digest in digests])
        return self[~is_test], self[is_test]

    def require_disjoint(self, other: LevelSet) -> None:
        """Raise `ValueError` if a level is in both sets, by its parameters and its key."""
        own = {digest: i for i, digest in enumerate(self.digests())}
        for i, digest in enumerate(other.digests()):
            if digest in own:
                raise ValueError(
                    f"level {int(other.ids[i])} of the test levels is also a training level, number "
                    f"{int(self.ids[own[digest]])}; divide one set by split, or draw the test levels with another key"
                )

    def digests(self) -> list[str]:
        """Return a digest of each level: equal levels have equal ones."""
        rows = [np.ascontiguousarray(leaf) for leaf in jax.tree.leaves((self.parameters, self.key_data))]
        names = repr((self.env_name, sorted(self.parameters), self.key_impl)).encode()
        return [
            hashlib.sha256(
                names + b"".join(repr((r.dtype.str, r.shape[1:])).encode() + r[i].tobytes() for r in rows)
            ).hexdigest()
            for i in range(len(self))
        ]

    def require_env(self, env: AnyEnv) -> None:
        """Raise `ValueError` unless these are levels of this environment."""
        name = type(env.unwrapped).__name__
        if name != self.env_name:
            raise ValueError(f"these are levels of {self.env_name}, not of {name}; make levels of {name}")

    def save(self, path: Any) -> None:
        """Write the set to a `.safetensors` file, which holds arrays and names, and no code.

        Raises:
            ImportError: The package safetensors is missing.
        """
        paths, _ = jax.tree_util.tree_flatten_with_path(self)
        leaves = {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in paths}
        write_arrays(path, leaves, {"env": self.env_name, "generator": self.key_impl})

    @classmethod
    def load(cls, path: Any, env: AnyEnv) -> LevelSet:
        """Return the levels of an environment that `save` wrote.

        Raises:
            ImportError: The package safetensors is missing.
            FileNotFoundError: There is no such file.
            ValueError: The file holds no levels, is damaged, or holds levels of another environment.
        """
        leaves, spec = read_arrays(path)
        if spec["env"] != type(env.unwrapped).__name__:
            raise ValueError(f"{path} holds levels of {spec['env']}, not of {type(env.unwrapped).__name__}")
        return cls(
            parameters=_parameters(env, leaves),
            key_data=leaves.get("key_data"),
            ids=leaves["ids"],
            env_name=spec["env"],
            key_impl=spec["generator"],
        )


def draw_levels(env: AnyEnv, num_levels: int, key: jax.Array) -> LevelSet:
    """Return random levels of an environment, by its `draw_level`.

    Raises:
        TypeError: The environment does not draw levels.

    >>> import funcenv
    >>> levels = draw_levels(funcenv.make("LakeMaze-v0"), 4, funcenv.key(0))
    >>> levels.parameters["tiles"].shape
    (4, 8, 8)
    """
    require_env("draw_levels", env)
    inside = require_levels("draw_levels", env)
    require_typed_key(key)
    keys = jax.random.split(key, require_size("num_levels", num_levels))
    return LevelSet.from_parameters(env, jax.jit(jax.vmap(inside.draw_level))(keys))


def level_set(env: AnyEnv, levels: Any) -> LevelSet:
    """Return levels as a `LevelSet`, given one, an array of keys, or a dict of parameters.

    Raises:
        TypeError: Anything else.
        ValueError: A set of another environment.
    """
    if isinstance(levels, LevelSet):
        levels.require_env(env)
        return levels
    if isinstance(levels, Mapping):
        return LevelSet.from_parameters(env, levels)
    if isinstance(levels, jax.Array) and jnp.issubdtype(levels.dtype, jax.dtypes.prng_key):
        return LevelSet.from_keys(env, levels)
    raise TypeError(
        f"levels must be a LevelSet, a dict of parameters or an array of typed keys, got {type(levels).__name__}; "
        "write jax.random.split(funcenv.key(0), num_levels)"
    )


def _parameters(env: AnyEnv, leaves: Mapping[str, NDArray]) -> dict[str, Any]:
    """Return the parameters in a file by field name. A record gets the class of what `draw_level` returns."""
    parameters: dict[str, Any] = {}
    for name in sorted({name.split(".")[1] for name in leaves if name.startswith("parameters.")}):
        whole = leaves.get(f"parameters.{name}")
        if whole is not None:
            parameters[name] = whole
            continue
        template = jax.eval_shape(require_levels("LevelSet.load", env).draw_level, jax.random.key(0))[name]
        paths, structure = jax.tree_util.tree_flatten_with_path(template)
        fields = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in paths]
        parameters[name] = jax.tree.unflatten(structure, [leaves[f"parameters.{name}.{part}"] for part in fields])
    return parameters


def _as_array(value: Any) -> Any:
    array = jnp.asarray(value)
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype))
