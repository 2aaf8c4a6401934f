"""Environments by name.

Ids are Gymnasium's, `[namespace/]Name[-vN]`. The core knows no environment: a package offers its own by the entry-point
group `funcenv.envs`, whose values are functions that call `register`; they are loaded at the first look-up.
`"module:Name-v0"` imports a module first.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import importlib.metadata
import json
import math
import re
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Self

from funcenv.checks import require_size
from funcenv.func_env import FuncEnv
from funcenv.wrappers.time_limit import TimeLimit

ENTRY_POINT_GROUP = "funcenv.envs"

_ID = re.compile(r"(?:(?P<namespace>[\w:.-]+)/)?(?P<name>[\w:.-]+?)(?:-v(?P<version>\d+))?")
_UNSET: Any = object()


@dataclasses.dataclass(frozen=True)
class EnvSpec:
    """How an id becomes an environment.

    >>> import funcenv
    >>> spec = funcenv.spec("CartPole-v1")
    >>> spec.max_episode_steps, spec.make() == funcenv.make("CartPole-v1")
    (500, True)
    >>> EnvSpec.from_json(spec.to_json()) == spec
    True
    """

    id: str
    entry_point: str | Callable[..., FuncEnv[Any, Any, Any]]  # "module:attribute" or a callable
    max_episode_steps: int | None = None
    reward_threshold: float | None = None
    kwargs: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def namespace(self) -> str | None:
        """The part before the slash."""
        return parse_id(self.id)[0]

    @property
    def name(self) -> str:
        """The id without namespace and version."""
        return parse_id(self.id)[1]

    @property
    def version(self) -> int | None:
        """The N of `-vN`."""
        return parse_id(self.id)[2]

    def load(self) -> Callable[..., FuncEnv[Any, Any, Any]]:
        """The class or function that builds the environment."""
        if callable(self.entry_point):
            return self.entry_point
        module, _, attribute = self.entry_point.partition(":")
        return getattr(importlib.import_module(module), attribute)

    def make(self, *, max_episode_steps: int | None = _UNSET, **params: Any) -> FuncEnv[Any, Any, Any]:
        """Build the environment; the arguments are those of `funcenv.make`."""
        build = self.load()
        _require_known_parameters(self.id, build, params)
        env = build(**{**self.kwargs, **params})
        limit = self.max_episode_steps if max_episode_steps is _UNSET else max_episode_steps
        if limit is None or limit == -1:
            return env
        return TimeLimit(env, max_episode_steps=limit)

    def to_json(self) -> str:
        """The spec as text, from which `from_json` makes an equal one, also in another process.

        Raises:
            TypeError: `entry_point` is not a string, or a value in `kwargs` is something else than None, a bool, a
                finite number, a string, or a list, tuple or dict (with strings as keys) of these.
        """
        if not isinstance(self.entry_point, str):
            raise TypeError(
                f"the entry point of {self.id} is {self.entry_point!r}, which has no JSON form; "
                'register it as "module:attribute"'
            )
        fields = {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}
        fields["kwargs"] = {name: _to_json(f"kwargs[{name!r}]", value) for name, value in self.kwargs.items()}
        return json.dumps(fields)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The spec that `to_json` wrote.

        Raises:
            ValueError: the text is no JSON, or holds something else than a spec.
        """
        fields = json.loads(text, object_hook=_from_json)
        names = [entry.name for entry in dataclasses.fields(cls)]
        if not isinstance(fields, dict) or not {"id", "entry_point"} <= fields.keys() <= set(names):
            raise ValueError(f"a spec in JSON is an object with the fields {', '.join(names)}, got {text}")
        return cls(**fields)

    def pprint(self) -> str:
        """The spec as lines of text, without what is at its default.

        >>> print(EnvSpec("lab/Moon-v0", "lab.moon:Moon", kwargs={"gravity": 1.6}).pprint())
        id=lab/Moon-v0
        entry_point=lab.moon:Moon
        kwargs={'gravity': 1.6}
        """
        values = {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}
        return "\n".join(f"{name}={value}" for name, value in values.items() if value is not None and value != {})


_specs: dict[str, EnvSpec] = {}
_asked: set[str] = set()  # entry points whose packages have registered
registry: Mapping[str, EnvSpec] = MappingProxyType(_specs)
"""Every registered id and its spec, a read-only view; `spec(id)` loads the installed packages first."""


def register(
    id: str,
    entry_point: str | Callable[..., FuncEnv[Any, Any, Any]],
    max_episode_steps: int | None = None,
    reward_threshold: float | None = None,
    kwargs: Mapping[str, Any] | None = None,
) -> None:
    """Give an environment a name.

    Args:
        id: `[namespace/]Name[-vN]`.
        entry_point: `"module:attribute"`, imported when first needed, or a callable; it takes the parameters and
            returns a `FuncEnv`.
        max_episode_steps: `make` adds `TimeLimit` with it.
        reward_threshold: mean return from which the task counts as solved.
        kwargs: parameters that differ from the class's defaults.

    Raises:
        ValueError: a malformed id or entry point, or an id that names another environment already.

    >>> from funcenv.envs import CartPole
    >>> register("doc/Moon-v0", CartPole, max_episode_steps=100, kwargs={"gravity": 1.6})
    >>> make("doc/Moon-v0").unwrapped.gravity
    1.6
    """
    parse_id(id)
    if isinstance(entry_point, str) and not all(entry_point.partition(":")):
        raise ValueError(f'entry_point of {id} must be "module:attribute" or a callable, got {entry_point!r}')
    if max_episode_steps is not None:
        max_episode_steps = require_size("max_episode_steps", max_episode_steps)
    new = EnvSpec(id, entry_point, max_episode_steps, reward_threshold, dict(kwargs or {}))
    if id in _specs and _specs[id] != new:
        raise ValueError(f"{id} is registered already, for {_specs[id].entry_point}; choose another name or version")
    _specs[id] = new


def spec(id: str) -> EnvSpec:
    """Look an id up.

    Without a version the newest one is taken, with a warning. `"module:Name-v0"` imports `module` first.

    Raises:
        ValueError: nothing has that name (the message suggests the closest one), or it has no such version (the
            message names them).

    >>> spec("CartPoel-v1")
    Traceback (most recent call last):
        ...
    ValueError: no environment is registered as 'CartPoel-v1'; did you mean CartPole-v1?
    """
    if not isinstance(id, str):
        raise TypeError(f"an environment id is a string such as 'CartPole-v1', got {id!r}")
    module, _, id = id.rpartition(":")
    if module:
        importlib.import_module(module)
    load_entry_points()
    if id in _specs:
        return _specs[id]
    namespace, name, version = parse_id(id)
    versions = sorted(
        (other.version, other)
        for other in _specs.values()
        if (other.namespace, other.name) == (namespace, name) and other.version is not None
    )
    if version is None and versions:
        newest = versions[-1][1]
        warnings.warn(f"{id} names no version; using the newest, {newest.id}", UserWarning, stacklevel=2)
        return newest
    if versions and version is not None and version < versions[0][0]:
        raise ValueError(f"{id} is deprecated and has no implementation here; use {versions[-1][1].id}")
    raise ValueError(f"no environment is registered as {id!r}; {_suggestion(id, [other.id for _, other in versions])}")


def make(id: str, *, max_episode_steps: int | None = _UNSET, **params: Any) -> FuncEnv[Any, Any, Any]:
    """Build a registered environment.

    Args:
        id: as for `spec`.
        max_episode_steps: a time limit instead of the registered one; `None` or -1 for no limit.
        **params: fields of the environment, say `gravity=1.6`.

    Returns:
        The environment, in a `TimeLimit` unless there is no limit.

    Raises:
        ValueError: an unknown id, or a value that the environment refuses.
        TypeError: a parameter that the environment does not have.

    >>> make("CartPole-v1", gravity=1.6).unwrapped.gravity
    1.6
    >>> make("CartPole-v1", gravty=1.6)
    Traceback (most recent call last):
        ...
    TypeError: CartPole-v1 got an unexpected keyword argument 'gravty'; did you mean gravity?
    """
    return spec(id).make(max_episode_steps=max_episode_steps, **params)


def pprint_registry() -> str:
    """A table of every id, with its limit and threshold, as text.

    >>> print(pprint_registry().splitlines()[0])
    id                            max steps  solved at
    """
    load_entry_points()
    rows = [f"{'id':<28}  {'max steps':>9}  {'solved at':>9}"]
    for other in sorted(_specs.values(), key=lambda other: (other.namespace or "", other.name, other.version or 0)):
        limit = "" if other.max_episode_steps is None else str(other.max_episode_steps)
        threshold = "" if other.reward_threshold is None else f"{other.reward_threshold:g}"
        rows.append(f"{other.id:<28}  {limit:>9}  {threshold:>9}".rstrip())
    return "\n".join(rows)


def parse_id(id: str) -> tuple[str | None, str, int | None]:
    """Namespace, name and version of an id.

    >>> parse_id("lab/Maze-v3")
    ('lab', 'Maze', 3)
    """
    match = _ID.fullmatch(id)
    if match is None:
        raise ValueError(f"an environment id has the form [namespace/]Name[-vN], got {id!r}")
    version = match["version"]
    return match["namespace"], match["name"], None if version is None else int(version)


def load_entry_points() -> None:
    """Let every installed package that offers environments register them; each is asked once.

    A package that fails is named in a warning, and the others still load.
    """
    for entry in _entry_points():
        if entry.value in _asked:
            continue
        _asked.add(entry.value)
        try:
            entry.load()()
        except Exception as error:
            message = f"the environments of {entry.value} could not be loaded: {type(error).__name__}: {error}"
            warnings.warn(message, RuntimeWarning, stacklevel=3)


@functools.cache
def _entry_points() -> importlib.metadata.EntryPoints:
    return importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)


def _suggestion(id: str, versions: list[str]) -> str:
    if versions:
        return f"its versions are {', '.join(versions)}"
    if not _specs:
        return 'no environments are installed: run "pip install -e ." in the checkout, or "pip install funcenv"'
    lowered = {known.lower(): known for known in _specs}
    close = difflib.get_close_matches(id.lower(), lowered, n=1, cutoff=0.5)
    return f"did you mean {lowered[close[0]]}?" if close else "funcenv.pprint_registry() lists what there is"


def _require_known_parameters(id: str, build: Any, params: dict[str, Any]) -> None:
    if not dataclasses.is_dataclass(build):
        return  # a function checks its own arguments
    names = [entry.name for entry in dataclasses.fields(build)]
    for name in params:
        if name not in names:
            close = difflib.get_close_matches(name.lower(), names, n=1)
            remedy = f"did you mean {close[0]}?" if close else f"it has: {', '.join(names)}"
            # Python's own words: libraries that try an argument look for them.
            raise TypeError(f"{id} got an unexpected keyword argument {name!r}; {remedy}")


_TUPLE = "__tuple__"  # JSON has no tuples, and a parameter may have to be one


def _to_json(where: str, value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, (list, tuple)):
        items = [_to_json(f"{where}[{i}]", item) for i, item in enumerate(value)]
        return {_TUPLE: items} if isinstance(value, tuple) else items
    if isinstance(value, dict) and all(isinstance(name, str) and name != _TUPLE for name in value):
        return {name: _to_json(f"{where}[{name!r}]", item) for name, item in value.items()}
    raise TypeError(
        f"{where} is {value!r} of type {type(value).__name__}, which has no JSON form; "
        "use finite numbers, strings, lists, tuples and dicts"
    )


def _from_json(value: dict[str, Any]) -> Any:
    return tuple(value[_TUPLE]) if value.keys() == {_TUPLE} else value
