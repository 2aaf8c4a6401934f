"""Creation of stateful environments by id."""

from __future__ import annotations

import dataclasses
from typing import Any

from funcenv.adapters.legacy import StepCompatibility
from funcenv.adapters.single.env import Env
from funcenv.adapters.single.functional_env import FunctionalEnv
from funcenv.adapters.vector.functional_vector_env import FunctionalVectorEnv
from funcenv.func_env import AnyEnv
from funcenv.registry import EnvSpec as FuncEnvSpec
from funcenv.registry import pprint_registry, register
from funcenv.registry import spec as find_spec
from funcenv.vector import AutoresetMode

__all__ = ["EnvSpec", "make", "make_vec", "pprint_registry", "register", "spec"]

_UNSET: Any = object()


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

    @property
    def rendering(self) -> dict[str, Any]:
        """The recorded arguments of rendering."""
        return {name: getattr(self, name) for name in ("render_mode", "render_height", "render_width")}

    def make(self, render_mode: str | None = _UNSET, **arguments: Any) -> Env[Any, Any]:  # type: ignore[override]  # returns a stateful environment
        """Build the environment; the arguments are those of `make`, with the recorded values as defaults."""
        if render_mode is not _UNSET:
            arguments["render_mode"] = render_mode
        return make(self, **{**self.rendering, **arguments})


def spec(id: str) -> EnvSpec:
    """Return the specification of an id, as `funcenv.spec` does.

    >>> spec("CartPole-v1").make()
    <TimeLimit<CartPole<CartPole-v1>>>
    """
    return _stateful_spec(find_spec(id))


def make(
    id: str | FuncEnvSpec,
    render_mode: str | None = None,
    *,
    render_height: int | None = None,
    render_width: int | None = None,
    max_episode_steps: int | None = _UNSET,
    return_two_dones: bool | None = None,
    **params: Any,
) -> Env[Any, Any]:
    """Build a registered environment with the stateful interface.

    Args:
        id: `[module:][namespace/]Name[-vN]`, as for `funcenv.spec`, or a specification.
        render_mode: Render mode, as for `FunctionalEnv`.
        render_height: Rows of a frame, as for `FunctionalEnv`.
        render_width: Columns of a frame, as for `FunctionalEnv`.
        max_episode_steps: Time limit that replaces the registered one; None or -1 for no limit.
        return_two_dones: For code written for old Gym: return a `StepCompatibility` with this argument. By default the
            interface is Gymnasium's.
        **params: Parameters of the environment, for example `gravity=1.6`.

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
    func_env, spec = _build(id, max_episode_steps, params, render_mode, render_height, render_width)
    env = FunctionalEnv[Any, Any](func_env, **spec.rendering, spec=spec)
    return env if return_two_dones is None else StepCompatibility(env, return_two_dones)


def make_vec(
    id: str | FuncEnvSpec,
    num_envs: int = 1,
    *,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    output: str = "numpy",
    max_episode_steps: int | None = _UNSET,
    render_mode: str | None = None,
    render_height: int | None = None,
    render_width: int | None = None,
    **params: Any,
) -> FunctionalVectorEnv[Any, Any]:
    """Build a batch of a registered environment with the stateful vector interface.

    Args:
        id: As for `make`.
        num_envs: Number of environments.
        autoreset_mode: When an environment is reset, as for `FunctionalVectorEnv`.
        output: Library of the returned arrays: "numpy", "jax" or "torch".
        max_episode_steps: As for `make`.
        render_mode: Render mode, as for `FunctionalVectorEnv`.
        render_height: Rows of one environment's frame.
        render_width: Columns of one environment's frame.
        **params: Parameters of the environment. An array with an entry for each environment gives each its own value.

    Returns:
        The vector environment. Its `spec` records the arguments of the single environment.

    Raises:
        ValueError: As for `make`; or `output` or the mode is unknown, or there is no environment.
        TypeError: As for `make`.

    >>> envs = make_vec("CartPole-v1", num_envs=3, gravity=1.6)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations.shape
    (3, 4)
    """
    func_env, spec = _build(id, max_episode_steps, params, render_mode, render_height, render_width)
    options: dict[str, Any] = {"autoreset_mode": autoreset_mode, "output": output, **spec.rendering}
    return FunctionalVectorEnv(func_env, num_envs, **options, spec=spec)


def _stateful_spec(spec: FuncEnvSpec) -> EnvSpec:
    if isinstance(spec, EnvSpec):
        return spec
    if not isinstance(spec, FuncEnvSpec):
        raise TypeError(f"an environment is made from an id such as 'CartPole-v1' or from a spec, got {spec!r}")
    return EnvSpec(**{entry.name: getattr(spec, entry.name) for entry in dataclasses.fields(spec)})


def _build(
    id: str | FuncEnvSpec, max_episode_steps: int | None, params: dict[str, Any], *rendering: Any
) -> tuple[AnyEnv, EnvSpec]:
    """Return the functional environment, and a specification that records all arguments."""
    spec = _stateful_spec(find_spec(id) if isinstance(id, str) else id)
    limit = spec.max_episode_steps if max_episode_steps is _UNSET else max_episode_steps
    func_env = FuncEnvSpec.make(spec, max_episode_steps=limit, **params)
    limit = None if limit == -1 else limit
    kwargs = {**spec.kwargs, **params}
    return func_env, EnvSpec(spec.id, spec.entry_point, limit, spec.reward_threshold, kwargs, *rendering)
