"""Creation of stateful environments by id."""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from funcenv.adapters.async_vector_env import AsyncVectorEnv
from funcenv.adapters.env import Env
from funcenv.adapters.functional_env import FunctionalEnv
from funcenv.adapters.functional_vector_env import FunctionalVectorEnv
from funcenv.adapters.rendering.modes import LIST_SUFFIX
from funcenv.adapters.sync_vector_env import SyncVectorEnv
from funcenv.adapters.vector_env import VectorEnv
from funcenv.adapters.wrapper_spec import WrapperSpec, load_object
from funcenv.adapters.wrappers.compatibility import EnvCompatibility, StepCompatibility
from funcenv.adapters.wrappers.human_rendering import HumanRendering
from funcenv.adapters.wrappers.order_enforcing import OrderEnforcing
from funcenv.adapters.wrappers.passive_env_checker import PassiveEnvChecker
from funcenv.adapters.wrappers.render_collection import RenderCollection
from funcenv.adapters.wrappers.time_limit import TimeLimit
from funcenv.adapters.wrappers.wrapper import set_spec
from funcenv.checks import require_size, takes_numbers
from funcenv.func_env import AnyEnv, FuncEnv
from funcenv.json_values import texts_with_colon, to_json_value
from funcenv.registry import EnvSpec as FuncEnvSpec
from funcenv.registry import register as register_func_env
from funcenv.registry import registry as func_env_specs
from funcenv.registry import spec as find_spec
from funcenv.registry import unregister
from funcenv.vector import AutoresetMode
from funcenv.wrappers.base import layers
from funcenv.wrappers.time_limit import TimeLimit as PureTimeLimit

_UNSET: Any = object()
_VECTOR_DEFAULTS: Mapping[str, Any] = {
    "num_envs": 1,
    "autoreset_mode": AutoresetMode.NEXT_STEP.value,
    "output": "numpy",
    "vectorization_mode": None,
    "vector_kwargs": {},
    "wrappers": (),
}
"""The arguments of `make_vec` that its specification keeps apart, with their defaults."""
_PURE_WRAPPER = re.compile(r"funcenv\.wrappers:[A-Z]\w*", re.ASCII)


class VectorizeMode(enum.Enum):
    """The ways in which `make_vec` steps environments, as in Gymnasium."""

    ASYNC = "async"
    SYNC = "sync"
    VECTOR_ENTRY_POINT = "vector_entry_point"


_registered: dict[str, EnvSpec] = {}  # by `register`, with what `funcenv.registry` does not know


@dataclasses.dataclass(frozen=True)
class EnvSpec(FuncEnvSpec):
    """A record of how a stateful environment was made, from which others can be made.

    >>> spec = make("CartPole-v1", gravity=1.6).spec
    >>> spec.kwargs, EnvSpec.from_json(spec.to_json()).make().get_wrapper_attr("gravity")
    ({'gravity': 1.6}, 1.6)
    """

    render_mode: str | None = None
    render_height: int | None = None
    render_width: int | None = None
    nondeterministic: bool = False
    order_enforce: bool = True
    disable_env_checker: bool = False
    apply_api_compatibility: bool = False
    additional_wrappers: Sequence[WrapperSpec] = ()
    vector_entry_point: str | Callable[..., Any] | None = None
    vectorization: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # arguments of `make_vec`

    def __post_init__(self) -> None:
        wrappers = [WrapperSpec(**one) if isinstance(one, dict) else one for one in self.additional_wrappers]
        object.__setattr__(self, "additional_wrappers", tuple(wrappers))

    def _code_names(self) -> dict[str, str]:
        """Return what the spec names beyond what is registered under its id, and pure wrappers, by the fields."""
        names, known = super()._code_names(), _registered.get(self.id)
        for i, wrapper in enumerate(self.additional_wrappers):
            is_known = known is not None and wrapper in known.additional_wrappers
            if not is_known and not _PURE_WRAPPER.fullmatch(str(wrapper.entry_point)):
                names[f"additional_wrappers[{i}]"] = str(wrapper.entry_point)
        entry_point = self.vector_entry_point
        if entry_point is not None and (known is None or entry_point != known.vector_entry_point):
            names["vector_entry_point"] = str(entry_point)
        return names | texts_with_colon("vectorization", self.vectorization)

    def to_json(self) -> str:
        """Serialize the spec with its wrappers, also for another process; `from_json` restores an equal one.

        Raises:
            TypeError: as for `funcenv.EnvSpec.to_json`; or a wrapper is not importable by its name, or an argument of
                it or of `make_vec` has no JSON form.
        """
        for wrapper in self.additional_wrappers:
            if not isinstance(wrapper.entry_point, str):
                raise TypeError(
                    f"the wrapper {wrapper.name} is {wrapper.entry_point!r}, which has no JSON form; "
                    "define it in a module, outside of functions and classes"
                )
        plain = dataclasses.replace(self, additional_wrappers=(), vectorization={})
        fields = json.loads(super(EnvSpec, plain).to_json())
        fields["vectorization"] = to_json_value("vectorization", dict(self.vectorization))
        fields["additional_wrappers"] = [
            {**vars(one), "kwargs": to_json_value(f"kwargs of {one.name}", one.kwargs and dict(one.kwargs))}
            for one in self.additional_wrappers
        ]
        return json.dumps(fields)

    @property
    def rendering(self) -> dict[str, Any]:
        """The recorded arguments of rendering."""
        return {name: getattr(self, name) for name in ("render_mode", "render_height", "render_width")}

    def pprint(  # type: ignore[override]  # it prints, as Gymnasium's does
        self, disable_print: bool = False, include_entry_points: bool = True, print_all: bool = False
    ) -> str | None:
        """Print the specification as lines of text, without fields that have their default.

        Args:
            disable_print: Whether to return the text instead.
            include_entry_points: Whether to show `entry_point`.
            print_all: Whether to show the fields that have their default, too.

        >>> spec("CartPole-v1").pprint(include_entry_points=False)
        id=CartPole-v1
        max_episode_steps=500
        reward_threshold=475.0
        """
        lines = [f"{name}={value}" for name, value in vars(self).items()] if print_all else super().pprint().split("\n")
        hidden = () if include_entry_points else ("entry_point=", "vector_entry_point=")
        text = "\n".join(line for line in lines if not line.startswith(hidden))
        if disable_print:
            return text
        print(text)
        return None

    def make(self, render_mode: str | None = _UNSET, **arguments: Any) -> Env[Any, Any]:  # type: ignore[override]  # returns a stateful environment
        """Build the environment; the arguments are those of `make`, with the recorded values as defaults."""
        if render_mode is not _UNSET:
            arguments["render_mode"] = render_mode
        rendering = {name: arguments.pop(name) for name in self.rendering if name in arguments}
        return make(dataclasses.replace(self, **rendering), **arguments)


def register(
    id: str,
    entry_point: str | Callable[..., Any] | None = None,
    max_episode_steps: int | None = None,
    reward_threshold: float | None = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    nondeterministic: bool = False,
    order_enforce: bool = True,
    disable_env_checker: bool = False,
    apply_api_compatibility: bool = False,
    additional_wrappers: Sequence[WrapperSpec] = (),
    vector_entry_point: str | Callable[..., Any] | None = None,
) -> None:
    """Register a functional environment, or a stateful one that is written by hand, under an id.

    Args:
        id: As for `funcenv.register`.
        entry_point: A callable that takes the parameters and returns a `FuncEnv` or an `Env`, or `"module:attribute"`.
            None if there is only a `vector_entry_point`; `make` then refuses the id.
        max_episode_steps: As for `funcenv.register`.
        reward_threshold: As for `funcenv.register`.
        kwargs: As for `funcenv.register`.
        nondeterministic: Whether a seed does not determine an episode; it is recorded in the specification.
        order_enforce: Whether `make` puts an `OrderEnforcing` around a stateful environment. Functional environments
            always enforce the order of calls.
        disable_env_checker: Whether `make` leaves out the `PassiveEnvChecker` around a stateful environment.
        apply_api_compatibility: Whether `make` puts an `EnvCompatibility` around a stateful environment, which gives
            one that was written for old Gym today's interface.
        additional_wrappers: Wrappers that `make` applies outside of the time limit, those of `funcenv.wrappers` before
            those of `funcenv.adapters.wrappers`.
        vector_entry_point: For `make_vec`, a callable that takes `num_envs` and the parameters and returns a
            `VectorEnv`. By default `make_vec` batches the functional environment.

    Raises:
        ValueError: As for `funcenv.register`.
        TypeError: There is no entry point.

    >>> from funcenv.adapters import wrappers
    >>> statistics = WrapperSpec("statistics", wrappers.RecordEpisodeStatistics)
    >>> register("doc/Counted-v0", "funcenv.envs:CartPole", 9, additional_wrappers=[statistics])
    >>> make("doc/Counted-v0")
    <RecordEpisodeStatistics<TimeLimit<CartPole<doc/Counted-v0>>>>
    """
    if entry_point is None and vector_entry_point is None:
        raise TypeError(f"{id} has no entry point; pass entry_point, or vector_entry_point for make_vec alone")
    builder = functools.partial(_refuse_single, id) if entry_point is None else entry_point
    register_func_env(id, builder, max_episode_steps, reward_threshold, kwargs)
    _registered[id] = EnvSpec(
        **vars(func_env_specs[id]),
        nondeterministic=nondeterministic,
        order_enforce=order_enforce,
        disable_env_checker=disable_env_checker,
        apply_api_compatibility=apply_api_compatibility,
        additional_wrappers=additional_wrappers,
        vector_entry_point=vector_entry_point,
    )


def _refuse_single(id: str, **params: Any) -> NoReturn:
    """Stand for the entry point of an id that has only one of vector environments."""
    del params
    raise ValueError(f"{id} was registered with a vector_entry_point alone; make a batch of it with make_vec")


class _Registry(Mapping[str, EnvSpec]):
    """All specifications by id, with those of installed packages."""

    def __getitem__(self, id: str) -> EnvSpec:
        return _spec_of(func_env_specs[id])

    def __iter__(self) -> Iterator[str]:
        return iter(func_env_specs)

    def __len__(self) -> int:
        return len(func_env_specs)

    def __delitem__(self, id: str) -> None:
        """Forget an id, as `del gymnasium.registry[id]` does, so that it can be registered again."""
        unregister(id)


registry = _Registry()
"""A mapping from all ids to their specifications, from which ids can be deleted."""


def register_envs(env_module: Any) -> None:
    """Do nothing: importing a module has registered its environments, and this call uses the import.

    >>> import funcenv.envs
    >>> register_envs(funcenv.envs)
    """
    del env_module


def spec(id: str) -> EnvSpec:
    """Return the specification of an id, as `funcenv.spec` does.

    >>> spec("CartPole-v1").make()
    <TimeLimit<CartPole<CartPole-v1>>>
    """
    return _spec_of(id)


def make(
    id: str | FuncEnvSpec | AnyEnv,
    render_mode: str | None = None,
    *,
    render_height: int | None = None,
    render_width: int | None = None,
    max_episode_steps: int | None = _UNSET,
    return_two_dones: bool | None = None,
    disable_env_checker: bool | None = None,
    apply_api_compatibility: bool | None = None,
    **params: Any,
) -> Env[Any, Any]:
    """Build a registered environment with the stateful interface.

    An environment that is written by hand gets the wrappers that Gymnasium gives it: `PassiveEnvChecker`, which warns;
    `OrderEnforcing`; `TimeLimit`; and `RenderCollection` or `HumanRendering` for a render mode that they make of one
    that it has.

    Args:
        id: `[module:][namespace/]Name[-vN]`, as for `funcenv.spec`; or a specification; or a functional environment,
            for example one in wrappers, which keeps its time limit unless `max_episode_steps` adds another.
        render_mode: Render mode, as for `FunctionalEnv`.
        render_height: Rows of a frame, as for `FunctionalEnv`.
        render_width: Columns of a frame, as for `FunctionalEnv`.
        max_episode_steps: Time limit that replaces the registered one; None or -1 for no limit.
        return_two_dones: For code written for old Gym: return a `StepCompatibility` with this argument. By default the
            interface is Gymnasium's.
        disable_env_checker: As for `register`, by default what was registered.
        apply_api_compatibility: As for `register`, by default what was registered.
        **params: Parameters of the environment, for example `gravity=1.6`. A stateful environment that is written by
            hand also gets the rendering arguments that are not None.

    Returns:
        The environment. Its `spec` records the arguments: `env.spec.make()` makes another one.

    Raises:
        ValueError: The id or render mode is unknown, or the environment rejects a parameter.
        TypeError: The environment does not have a parameter of that name.
        RuntimeError: The render mode is "human" and there is no display.

    >>> env = make("CartPole-v1", gravity=1.6)
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> reward, env.spec.kwargs
    (1.0, {'gravity': 1.6})
    """
    spec = _spec_of(id)
    if disable_env_checker is not None:
        spec = dataclasses.replace(spec, disable_env_checker=disable_env_checker)
    if apply_api_compatibility is not None:
        spec = dataclasses.replace(spec, apply_api_compatibility=apply_api_compatibility)
    built, spec = _build(spec, max_episode_steps, params, render_mode, render_height, render_width)
    outside = [wrapper for wrapper in spec.additional_wrappers if not wrapper.is_pure]
    pure = tuple(wrapper for wrapper in spec.additional_wrappers if wrapper.is_pure)
    inside = dataclasses.replace(spec, additional_wrappers=pure)
    env: Env[Any, Any] = (
        built if isinstance(built, Env) else FunctionalEnv[Any, Any](built, **spec.rendering, spec=inside)
    )
    for wrapper in outside:
        env = wrapper.apply(env)
    if outside:
        set_spec(env, spec)
    return env if return_two_dones is None else StepCompatibility(env, return_two_dones)


def make_vec(
    id: str | FuncEnvSpec | AnyEnv,
    num_envs: int = 1,
    *,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    output: str = "numpy",
    max_episode_steps: int | None = _UNSET,
    render_mode: str | None = None,
    render_height: int | None = None,
    render_width: int | None = None,
    vectorization_mode: VectorizeMode | str | None = None,
    vector_kwargs: Mapping[str, Any] | None = None,
    wrappers: Sequence[Callable[[Any], Any]] | None = None,
    **params: Any,
) -> Any:
    """Build a batch of a registered environment with the stateful vector interface.

    Functional environments make a `FunctionalVectorEnv`, environments that are written by hand a `SyncVectorEnv`.

    Args:
        id: As for `make`. The `spec` of a vector environment also gives the values of the arguments that have their
            defaults here.
        num_envs: Number of environments.
        autoreset_mode: When an environment is reset, as for `FunctionalVectorEnv`.
        output: Library of the returned arrays: "numpy", "jax" or "torch".
        max_episode_steps: As for `make`.
        render_mode: Render mode, as for `FunctionalVectorEnv`.
        render_height: Rows of one environment's frame.
        render_width: Columns of one environment's frame.
        vectorization_mode: "sync" for a `SyncVectorEnv`; "vector_entry_point" for the one that was registered, or the
            `FunctionalVectorEnv` of a functional environment; "async" for functional environments only, whose compiled
            program takes the place of processes. The default is the fastest that there is.
        vector_kwargs: More arguments of the vector environment.
        wrappers: Wrappers for each environment. Classes of `funcenv.wrappers`, also in a `functools.partial`, go inside
            of the compiled program. All others are stateful, go outside of them, and make a `SyncVectorEnv`.
        **params: Parameters of the environment. An array or a list with an entry for each environment gives each its
            own value.

    Returns:
        The vector environment. Its `spec` records all arguments: `make_vec(envs.spec)` makes another one, and
        `envs.spec.make()` one of the environments.

    Raises:
        ValueError: As for `make`; or `output` or a mode is unknown, or there is no environment.
        TypeError: As for `make`.

    >>> envs = make_vec("CartPole-v1", num_envs=3, gravity=1.6)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations.shape, make_vec(envs.spec).num_envs
    ((3, 4), 3)
    """
    spec = _spec_of(id)
    if not (wrappers is None or isinstance(wrappers, Sequence)):
        raise TypeError(f"wrappers must be a list of classes or functions that wrap an environment, got {wrappers!r}")
    values = {
        "num_envs": require_size("num_envs", num_envs),
        "autoreset_mode": getattr(autoreset_mode, "value", autoreset_mode),
        "output": output,
        "vectorization_mode": getattr(vectorization_mode, "value", vectorization_mode),
        "vector_kwargs": dict(vector_kwargs or {}),
        "wrappers": tuple(wrappers or ()),
    }
    given = {name: value for name, value in values.items() if not _is_default(name, value)}
    arguments = {**_VECTOR_DEFAULTS, **spec.vectorization, **given}
    spec, arguments["wrappers"] = _with_pure_wrappers(spec, arguments["wrappers"])
    recorded = {name: value for name, value in arguments.items() if not _is_default(name, value)}
    num_envs, mode, outside = (arguments[name] for name in ("num_envs", "vectorization_mode", "wrappers"))
    if mode not in (None, "sync", "async", "vector_entry_point"):
        raise ValueError(f"vectorization_mode must be sync, async or vector_entry_point, got {mode!r}; leave it out")
    params = _with_arrays(spec.load(), params)
    more = {"autoreset_mode": arguments["autoreset_mode"], **arguments["vector_kwargs"]}
    envs: VectorEnv[Any, Any]
    if spec.vector_entry_point is not None and (mode == "vector_entry_point" or (mode is None and not outside)):
        record = dataclasses.replace(spec, kwargs={**spec.kwargs, **params})
        envs = load_object(spec.vector_entry_point)(num_envs=num_envs, **record.kwargs, **arguments["vector_kwargs"])
        envs.spec = dataclasses.replace(record, vectorization=recorded)
        return envs
    built, record = _build(spec, max_episode_steps, params, render_mode, render_height, render_width)
    recorded_spec = dataclasses.replace(record, vectorization=recorded)
    is_handwritten = isinstance(built, Env) or not all(wrapper.is_pure for wrapper in spec.additional_wrappers)
    if mode != "sync" and not (is_handwritten or outside):
        options: dict[str, Any] = {"output": arguments["output"], **record.rendering, **more}
        return FunctionalVectorEnv(built, num_envs, **options, spec=recorded_spec)
    if mode == "vector_entry_point":
        raise ValueError(f"{spec.id} was registered without vector_entry_point; use another vectorization_mode")
    if arguments["output"] != "numpy":
        raise ValueError(
            f"output={arguments['output']!r} needs a functional environment, {spec.id} is written by hand; leave it out"
        )

    def make_one() -> Env[Any, Any]:
        env = make(spec, max_episode_steps=record.max_episode_steps, **record.rendering, **params)
        for wrapper in outside:
            env = wrapper(env)
        return env

    envs = (AsyncVectorEnv if mode == "async" else SyncVectorEnv)([make_one] * num_envs, **more)
    envs.spec = recorded_spec
    return envs


def _is_default(name: str, value: Any) -> bool:
    """Return whether a value, of any type, is the default of an argument of `make_vec`."""
    default = _VECTOR_DEFAULTS[name]
    return type(value) is type(default) and bool(value == default)


def _spec_of(id: str | FuncEnvSpec | AnyEnv) -> EnvSpec:
    """Return the specification of an id, of a specification of `funcenv.spec`, or of a functional environment."""
    spec = find_spec(id) if isinstance(id, str) else id
    if isinstance(spec, EnvSpec):
        return spec
    if isinstance(spec, FuncEnv):  # built already; parameters replace those that it has
        return EnvSpec(type(spec.unwrapped).__name__, spec.replace)
    if not isinstance(spec, FuncEnvSpec):
        raise TypeError(f"an environment is made from an id such as 'CartPole-v1', a spec or a FuncEnv, got {spec!r}")
    fields = vars(spec)
    known = _registered.get(spec.id)
    return known if known is not None and fields.items() <= vars(known).items() else EnvSpec(**fields)


def _build(
    id: str | FuncEnvSpec | AnyEnv, max_episode_steps: int | None, params: dict[str, Any], *rendering: Any
) -> tuple[Any, EnvSpec]:
    """Return the functional environment, or one written by hand, and a specification that records all arguments."""
    spec = _spec_of(id)
    limit = spec.max_episode_steps if max_episode_steps is _UNSET else max_episode_steps
    limit = None if limit == -1 else limit
    pairs = zip(spec.rendering.items(), rendering, strict=True)
    record = dataclasses.replace(
        spec,
        max_episode_steps=limit,
        kwargs={**spec.kwargs, **params},
        vectorization={},
        **{name: recorded if given is None else given for (name, recorded), given in pairs},
    )
    builder = spec.load()
    accepted = inspect.signature(builder).parameters
    rendering_arguments = record.rendering
    mode, frames = _native_mode(builder, rendering_arguments["render_mode"], spec.id)
    rendering_arguments["render_mode"] = mode
    given = {name: value for name, value in rendering_arguments.items() if value is not None and name in accepted}
    built = spec.build(**params, **given)
    if isinstance(built, FuncEnv):
        built = built if limit is None else PureTimeLimit(built, max_episode_steps=limit)
        for wrapper in spec.additional_wrappers:
            built = wrapper.apply(built) if wrapper.is_pure else built
        return built, record
    if not isinstance(built, Env):
        raise TypeError(
            f"the entry point of {spec.id} must return a FuncEnv or an adapters.Env, got {built!r}; "
            f"derive its class from one of them, as in class {type(built).__name__}(adapters.Env)"
        )
    inside = dataclasses.replace(record, additional_wrappers=())
    set_spec(built, inside)
    set_spec(built.unwrapped, inside)
    if spec.apply_api_compatibility:
        built = EnvCompatibility(built, mode)
    elif record.render_mode is not None and "render_mode" not in given:
        raise TypeError(f"{spec.id} got an unexpected keyword argument 'render_mode'; let its constructor take it")
    built = built if spec.disable_env_checker else PassiveEnvChecker(built, warn=True)
    built = OrderEnforcing(built) if spec.order_enforce else built
    built = built if limit is None else TimeLimit(built, max_episode_steps=limit)
    if frames is not None:  # the render mode implies this wrapper
        limited, built = built.spec, frames(built)
        set_spec(built, limited)
    return built, record


def _native_mode(builder: Any, mode: str | None, id: str) -> tuple[str | None, type[Any] | None]:
    """Return the render mode to build an environment with, and the wrapper that makes `mode` of it, if one is needed.

    Raises:
        ValueError: The class lists its render modes, and `mode` cannot be made of them.
    """
    if mode is None or not (isinstance(builder, type) and issubclass(builder, Env)):
        return mode, None
    modes = builder.metadata.get("render_modes", builder.metadata.get("render.modes", []))
    if mode in modes:
        return mode, None
    single = mode.removesuffix(LIST_SUFFIX)
    if single != mode and single in modes:
        return single, RenderCollection
    if mode == "human" and "rgb_array" in modes:
        return "rgb_array", HumanRendering
    raise ValueError(
        f"render_mode of {id} must be one of {[None, *modes]}, got {mode!r}; "
        f'the list is metadata["render_modes"] of {builder.__name__}'
    )


def _with_arrays(builder: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with arrays in place of the lists that stand for one number for each environment."""
    built = getattr(builder, "__self__", None)  # a functional environment, whose `replace` is the builder
    owners = layers(built) if isinstance(built, FuncEnv) else [builder] if dataclasses.is_dataclass(builder) else []
    entries = {entry.name: entry for owner in owners for entry in dataclasses.fields(owner) if takes_numbers(entry)}
    return {
        name: np.asarray(value, float if isinstance(entries[name].default, float) else None)
        if isinstance(value, (list, tuple)) and name in entries
        else value
        for name, value in params.items()
    }


def _with_pure_wrappers(
    spec: EnvSpec, wrappers: Sequence[Callable[[Any], Any]]
) -> tuple[EnvSpec, tuple[Callable[[Any], Any], ...]]:
    """Return the specification with the functional ones of some wrappers, and the others."""
    specs = [WrapperSpec(getattr(one, "__name__", repr(one)), one) for one in wrappers]
    pure = [one for one in specs if one.is_pure]
    others = tuple(wrapper for wrapper, one in zip(wrappers, specs, strict=True) if one not in pure)
    return dataclasses.replace(spec, additional_wrappers=(*spec.additional_wrappers, *pure)), others
