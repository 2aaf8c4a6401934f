"""The registry: environments by name.

Ids have Gymnasium's form, `[namespace/]Name[-vN]`. An installed package registers its environments through the
entry-point group `funcenv.envs`, whose values are functions that call `register`. The first lookup calls them. The
environments of this package are registered in the same way. An id such as `"module:Name-v0"` imports `module` first.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from funcenv.checks import explain_calls, require_size
from funcenv.entry_points import load_entry_points
from funcenv.env_parameters import require_known_parameters
from funcenv.func_env import AnyEnv, FuncEnv
from funcenv.hints import id_of_library
from funcenv.json_values import from_json_value, texts_with_colon, to_json_value
from funcenv.names import import_module, import_object, require_builder, require_trust
from funcenv.wrappers.time_limit import TimeLimit

_ID = re.compile(r"(?:(?P<namespace>[\w:.-]+)/)?(?P<name>[\w:.-]+?)(?:-v(?P<version>\d+))?")
_UNSET: Any = object()


class UnregisteredEnv(ValueError):
    """Raised when no environment, or no longer one, is registered under an id."""


@dataclasses.dataclass(frozen=True)
class EnvSpec:
    """A registered id, and how to build its environment.

    >>> import funcenv
    >>> spec = funcenv.spec("CartPole-v1")
    >>> spec.max_episode_steps, spec.make() == funcenv.make("CartPole-v1")
    (500, True)
    >>> EnvSpec.from_json(spec.to_json()) == spec
    True
    """

    id: str
    entry_point: str | Callable[..., AnyEnv]  # "module:attribute" or a callable
    max_episode_steps: int | None = None
    reward_threshold: float | None = None
    kwargs: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def namespace(self) -> str | None:
        """The part of the id before the slash."""
        return parse_id(self.id)[0]

    @property
    def name(self) -> str:
        """The part of the id without namespace and version."""
        return parse_id(self.id)[1]

    @property
    def version(self) -> int | None:
        """The N of `-vN` in the id."""
        return parse_id(self.id)[2]

    def load(self) -> Callable[..., AnyEnv]:
        """Import the class or function that builds the environment.

        Raises:
            TypeError: The entry point is neither, such as `os:system`; it is not called.
            ValueError: There is no such module or attribute.
        """
        if callable(self.entry_point):
            return self.entry_point
        builder = import_object(self.entry_point)
        require_builder(self.entry_point, builder)
        return builder

    def build(self, **params: Any) -> Any:
        """Build the environment without a time limit."""
        build = self.load()
        require_known_parameters(self.id, build, params)
        return build(**{**self.kwargs, **params})

    def make(self, *, max_episode_steps: int | None = _UNSET, **params: Any) -> AnyEnv:
        """Build the environment, as `funcenv.make` does."""
        env = self.build(**params)
        if not isinstance(env, FuncEnv):
            raise TypeError(
                f"{self.id} is a {type(env).__name__}, not a FuncEnv; make a stateful environment with "
                "funcenv.adapters.make"
            )
        limit = self.max_episode_steps if max_episode_steps is _UNSET else max_episode_steps
        return env if limit in (None, -1) else TimeLimit(env, max_episode_steps=limit)

    def to_json(self) -> str:
        """Serialize the spec, also for another process; `from_json` restores an equal one.

        Raises:
            TypeError: `entry_point` is not a string, or a value in `kwargs` is anything but None, a bool, a finite
                number, a string, or a list, tuple or dict (with strings as keys) of these.
        """
        if not isinstance(self.entry_point, str):
            raise TypeError(
                f"the entry point of {self.id} is {self.entry_point!r}, which has no JSON form; "
                'register it as "module:attribute"'
            )
        kwargs = {name: to_json_value(f"kwargs[{name!r}]", value) for name, value in self.kwargs.items()}
        return json.dumps({**dataclasses.asdict(dataclasses.replace(self, kwargs={})), "kwargs": kwargs})

    @classmethod
    def from_json(cls, text: str, *, trust_code: bool = False) -> Self:
        """Restore a spec from the output of `to_json`.

        The text is data: it may name an id that is registered here, and no code besides.

        Args:
            text: JSON.
            trust_code: Also import code that the text names; for texts of people whom you trust.

        Raises:
            ValueError: the text is not JSON, or not that of a spec.
            funcenv.names.UntrustedCodeError: the text names code that is not registered under its id.
        """
        try:
            fields = json.loads(text, object_hook=from_json_value)
        except json.JSONDecodeError as error:
            raise ValueError(f"a spec is restored from the text of to_json, got {text!r}: {error}") from None
        names = [entry.name for entry in dataclasses.fields(cls)]
        if not isinstance(fields, dict) or not {"id", "entry_point"} <= fields.keys() <= set(names):
            raise ValueError(f"a spec in JSON is an object with the fields {', '.join(names)}, got {text}")
        if not (isinstance(fields["id"], str) and isinstance(fields.get("kwargs", {}), dict)):
            raise ValueError(
                f"a spec in JSON is an object with the fields id, a text, and kwargs, an object; got {text}"
            )
        found = cls(**fields)
        require_trust("the specification", found._code_names(), trust_code)
        return found

    def _code_names(self) -> dict[str, str]:
        """Return what the spec names beyond the entry point that is registered under its id, by the fields."""
        known = _known_spec(self.id)
        registered = None if known is None else known.entry_point
        names = {} if self.entry_point == registered else {"entry_point": str(self.entry_point)}
        if known is None or self.kwargs != known.kwargs:
            names |= texts_with_colon("kwargs", self.kwargs)
        return names

    def pprint(self) -> str:
        """Format the spec as lines of text, without fields that have their default.

        >>> print(EnvSpec("lab/Moon-v0", "lab.moon:Moon", kwargs={"gravity": 1.6}).pprint())
        id=lab/Moon-v0
        entry_point=lab.moon:Moon
        kwargs={'gravity': 1.6}
        """
        defaults = vars(type(self)(self.id, ""))
        shown = {name: value for name, value in vars(self).items() if name == "id" or value != defaults[name]}
        return "\n".join(f"{name}={value}" for name, value in shown.items())


class _Namespace(NamedTuple):
    """A namespace whose ids need no registration one by one."""

    entry_point: str | Callable[..., AnyEnv]
    parameter: str  # name of the parameter that takes the rest of the id
    max_episode_steps: int | None


class _Registry(Mapping[str, EnvSpec]):
    """A read-only view of all ids that `register` knows, those of installed packages included."""

    def __getitem__(self, id: str) -> EnvSpec:
        load_entry_points()
        return _specs[id]

    def __iter__(self) -> Iterator[str]:
        load_entry_points()
        return iter(_specs)

    def __len__(self) -> int:
        load_entry_points()
        return len(_specs)

    def __repr__(self) -> str:
        return f"<the ids of {len(self)} environments; funcenv.pprint_registry() lists them>"


_specs: dict[str, EnvSpec] = {}
_families: list[Callable[[], Iterable[EnvSpec]]] = []
_namespaces: dict[str, _Namespace] = {}
registry: Mapping[str, EnvSpec] = _Registry()
"""A read-only view of all ids that `register` knows, those of installed packages included, without families."""


def register(
    id: str,
    entry_point: str | Callable[..., AnyEnv],
    max_episode_steps: int | None = None,
    reward_threshold: float | None = None,
    kwargs: Mapping[str, Any] | None = None,
) -> None:
    """Register an environment under an id.

    Args:
        id: `[namespace/]Name[-vN]`.
        entry_point: a callable that takes the parameters and returns a `FuncEnv`, or `"module:attribute"`, which is
            imported when first needed.
        max_episode_steps: the limit of the `TimeLimit` that `make` adds; None for no limit.
        reward_threshold: the mean return from which the task counts as solved.
        kwargs: parameters that differ from the defaults of the class.

    Raises:
        TypeError: an environment in place of its class.
        ValueError: a malformed id or entry point, or an id that is registered for another environment. A class that is
            defined again, as when a cell of a notebook runs again, replaces the one before.

    >>> from funcenv.envs import CartPole
    >>> register("doc/Moon-v0", CartPole, max_episode_steps=100, kwargs={"gravity": 1.6})
    >>> make("doc/Moon-v0").unwrapped.gravity
    1.6
    """
    parse_id(id)
    if isinstance(entry_point, str) and not all(entry_point.partition(":")):
        raise ValueError(f'entry_point of {id} must be "module:attribute" or a callable, got {entry_point!r}')
    if isinstance(entry_point, FuncEnv):
        name = type(entry_point).__name__
        raise TypeError(f"entry_point of {id} must be a class or a function, got a {name}; write register(id, {name})")
    if max_episode_steps is not None:
        max_episode_steps = require_size("max_episode_steps", max_episode_steps)
    new = EnvSpec(id, entry_point, max_episode_steps, reward_threshold, dict(kwargs or {}))
    if id in _specs and _specs[id] != new and not _is_redefined(_specs[id], new):
        raise ValueError(f"{id} is registered already, for {_specs[id].entry_point}; choose another name or version")
    _specs[id] = new


def unregister(id: str) -> None:
    """Forget an id.

    Raises:
        KeyError: no such id is registered.

    >>> from funcenv.envs import CartPole
    >>> register("doc/Sun-v0", CartPole)
    >>> unregister("doc/Sun-v0")
    >>> "doc/Sun-v0" in registry
    False
    """
    if id not in _specs:
        raise KeyError(f"{id!r} is not registered; funcenv.pprint_registry() lists what there is")
    del _specs[id]


def register_family(specs: Callable[[], Iterable[EnvSpec]]) -> None:
    """Register many ids of an environment that is registered already, which differ in its parameters only.

    `spec`, `make` and `all_specs` know them. They are not in `registry`, so that what visits every environment, such as
    tests and documentation, visits one of them.

    Args:
        specs: returns the specifications; it is called when an id is not found elsewhere.

    >>> from funcenv.envs import CartPole
    >>> register("doc/Planet-v0", CartPole)
    >>> register_family(lambda: [EnvSpec(f"doc/Planet{g}-v0", CartPole, kwargs={"gravity": g}) for g in range(1, 9)])
    >>> make("doc/Planet7-v0").gravity, "doc/Planet7-v0" in registry
    (7, False)
    """
    _families.append(specs)
    _family_specs.cache_clear()


@functools.cache
def _family_specs() -> dict[str, EnvSpec]:
    """Return the specifications of all families, by id."""
    return {found.id: found for specs in _families for found in specs()}


def all_specs() -> Mapping[str, EnvSpec]:
    """Return the specifications of all ids: those of installed packages, in `registry` and in families.

    >>> len(all_specs()) > len(registry)
    True
    """
    load_entry_points()
    return {**_family_specs(), **_specs}


def register_namespace(
    namespace: str,
    entry_point: str | Callable[..., AnyEnv],
    parameter: str,
    max_episode_steps: int | None = None,
) -> None:
    """Register all ids of a namespace at once, for a library that has a registry of its own.

    Args:
        namespace: the part of the ids before the slash.
        entry_point: as for `register`.
        parameter: the parameter of `entry_point` that takes the rest of the id.
        max_episode_steps: as for `register`.

    Raises:
        ValueError: the namespace is registered for another entry point.

    >>> from funcenv.envs import FrozenLake
    >>> register_namespace("lake", FrozenLake, "map_name")
    >>> make("lake/8x8").map_name
    '8x8'
    """
    new = _Namespace(entry_point, parameter, max_episode_steps)
    known = _namespaces.setdefault(namespace, new)
    if known != new:
        raise ValueError(f"the namespace {namespace} is registered already, for {known.entry_point}; choose another")


def spec(id: str) -> EnvSpec:
    """Look up the spec of an id.

    Args:
        id: `[module:][namespace/]Name[-vN]`. The module is imported first. Without a version the newest one is taken,
            with a warning. `module:EnvClass`, or a function that builds an environment, needs no registration.

    Raises:
        TypeError: the id is not a string.
        UnregisteredEnv: an unknown id (the message suggests the closest one), or an unknown version (the message lists
            the known ones).
        ValueError: a malformed id.

    >>> spec("CartPoel-v1")
    Traceback (most recent call last):
        ...
    funcenv.registry.UnregisteredEnv: no environment is registered as 'CartPoel-v1'; did you mean CartPole-v1?
    """
    if not isinstance(id, str):
        name = id.__name__ if isinstance(id, type) else type(id).__name__
        is_env = isinstance(id, FuncEnv) or _is_env_class(id)
        remedy = f"; build it as {name}(), without an id" if is_env else ""
        raise TypeError(f"an environment id is a string such as 'CartPole-v1', got {id!r}{remedy}")
    module, colon, name_in_module = id.rpartition(":")
    if colon and not (module and name_in_module):
        raise ValueError(f"an environment id has the form [module:][namespace/]Name[-vN], got {id!r}")
    id = name_in_module
    imported = import_module(module) if module else None
    load_entry_points()
    if id in _specs:
        return _specs[id]
    known_specs = all_specs()
    if id in known_specs:
        return known_specs[id]
    if callable(getattr(imported, id, None)):
        return EnvSpec(f"{module}:{id}", f"{module}:{id}")
    namespace, name, version = parse_id(id)
    if namespace in _namespaces:
        found = _namespaces[namespace]
        return EnvSpec(id, found.entry_point, found.max_episode_steps, kwargs={found.parameter: id.partition("/")[2]})
    versions = {
        known.version: known
        for known in known_specs.values()
        if (known.namespace, known.name) == (namespace, name) and known.version is not None
    }
    if versions and version is None:
        newest = versions[max(versions)]
        warnings.warn(f"{id} names no version; using the newest, {newest.id}", UserWarning, stacklevel=2)
        return newest
    if versions and version is not None and version < min(versions):
        raise UnregisteredEnv(f"{id} is deprecated and has no implementation here; use {versions[max(versions)].id}")
    if imported is not None and not versions and version is None:
        names = getattr(imported, "__all__", vars(imported))  # a package may import what it exports on request
        own = [f"{module}:{name}" for name in names if _is_env_class(getattr(imported, name))]
        raise UnregisteredEnv(
            f"the module {module} has no class {id}; its environments are: {', '.join(own) or 'none'}"
        )
    suggestion = _suggest_id(id, [versions[number].id for number in sorted(versions)])
    raise UnregisteredEnv(f"no environment is registered as {id!r}; {suggestion}")


@explain_calls(
    "make takes an id, and the rest by name: funcenv.make(id, gravity=1.6). The interface with a render_mode is "
    "funcenv.adapters.make(id, render_mode=...)"
)
def make(id: str, *, max_episode_steps: int | None = _UNSET, **params: Any) -> AnyEnv:
    """Build a registered environment.

    Args:
        id: `[module:][namespace/]Name[-vN]` or `module:EnvClass`, as for `spec`.
        max_episode_steps: a time limit that replaces the registered one; None or -1 for no limit.
        **params: fields of the environment, such as `gravity=1.6`.

    Returns:
        The environment, inside a `TimeLimit` unless there is no limit.

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
    """Format the ids in `registry`, with their time limits and reward thresholds, as a table.

    The last line says how many ids there are besides, in families; `all_specs` lists them.

    >>> print(pprint_registry().splitlines()[0])
    id                            max steps  solved at
    """
    load_entry_points()
    rows = [f"{'id':<28}  {'max steps':>9}  {'solved at':>9}"]
    for known in sorted(_specs.values(), key=lambda known: (known.namespace or "", known.name, known.version or 0)):
        limit = "" if known.max_episode_steps is None else str(known.max_episode_steps)
        threshold = "" if known.reward_threshold is None else f"{known.reward_threshold:g}"
        rows.append(f"{known.id:<28}  {limit:>9}  {threshold:>9}".rstrip())
    others = [id for id in _family_specs() if id not in _specs]
    if others:
        rows.append(f"and {len(others)} more, such as {others[0]}; funcenv list --json shows them")
    return "\n".join(rows)


def parse_id(id: str) -> tuple[str | None, str, int | None]:
    """Split an id into namespace, name and version; the first and the last are None where the id has none.

    Raises:
        ValueError: a malformed id.

    >>> parse_id("lab/Maze-v3")
    ('lab', 'Maze', 3)
    """
    match = _ID.fullmatch(id)
    if match is None:
        raise ValueError(f"an environment id has the form [namespace/]Name[-vN], got {id!r}")
    version = match["version"]
    return match["namespace"], match["name"], None if version is None else int(version)


def _known_spec(id: Any) -> EnvSpec | None:
    """Return the spec that is registered under an id without a module, or None."""
    if not isinstance(id, str) or ":" in id:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return spec(id)
        except ValueError:
            return None


def _is_redefined(old: EnvSpec, new: EnvSpec) -> bool:
    """Return whether two specs hold two definitions of the same class."""
    before, after = old.entry_point, new.entry_point
    if before is after or not (isinstance(before, type) and isinstance(after, type)):
        return False
    return (before.__module__, before.__qualname__) == (after.__module__, after.__qualname__)


def _is_env_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, FuncEnv) and value is not FuncEnv


def _suggest_id(id: str, versions: list[str]) -> str:
    known_specs = all_specs()
    own = re.sub(r"^funcenv-(?=.*/)|^funcenv/", "", id)
    if own in known_specs and own != id:
        return f"write {own!r} here, because the prefix funcenv is that of gymnasium.make"
    if versions:
        return f"its versions are {', '.join(versions)}"
    if not _specs:
        return 'no environments are installed: run "pip install -e ." in the checkout, or "pip install funcenv"'
    lowered = {known.lower(): known for known in known_specs}
    lowered |= {known.partition("-v")[0].lower(): known for known in _specs}  # the last of several versions
    if elsewhere := id_of_library(id, _namespaces, known_specs):
        return f"did you mean {lowered[id.lower()]}? {elsewhere}" if id.lower() in lowered else elsewhere
    close = difflib.get_close_matches(id.lower(), lowered, n=1, cutoff=0.75)
    close = [lowered[close[0]]] if close else [known for known in known_specs if _bare_name(known) == _bare_name(id)]
    return f"did you mean {' or '.join(close)}?" if close else "funcenv list, or funcenv.pprint_registry(), shows them"


def _bare_name(id: str) -> str:
    """Return the name of an id as its library may spell it: without a namespace, a version, hyphens and capitals."""
    return re.sub(r"-v\d+$|[-_]", "", id.rpartition("/")[2]).lower()
