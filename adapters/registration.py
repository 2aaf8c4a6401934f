"""Stateful environments by name."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from funcenv.adapters.legacy import StepCompatibility
from funcenv.adapters.single.env import Env
from funcenv.adapters.single.functional_env import FunctionalEnv
from funcenv.func_env import FuncEnv
from funcenv.registry import EnvSpec as PureEnvSpec
from funcenv.registry import pprint_registry, register
from funcenv.registry import spec as find_spec
from funcenv.vector import AutoresetMode

if TYPE_CHECKING:
    from funcenv.adapters.vector.functional_vector_env import FunctionalVectorEnv

__all__ = ["EnvSpec", "make", "make_vec", "pprint_registry", "register", "spec"]

_UNSET: Any = object()


@dataclasses.dataclass(frozen=True)
class EnvSpec(PureEnvSpec):
    """How a stateful environment was made, and how to make another.

    >>> recipe = make("CartPole-v1", gravity=1.6).spec
    >>> recipe.kwargs, EnvSpec.from_json(recipe.to_json()).make().get_wrapper_attr("gravity")
    ({'gravity': 1.6}, 1.6)
    """

    render_mode: str | None = None
    render_height: int | None = None
    render_width: int | None = None

    def make(  # type: ignore[override]  # the same recipe for another kind of environment
        self,
        render_mode: str | None = _UNSET,
        *,
        render_height: int | None = _UNSET,
        render_width: int | None = _UNSET,
        max_episode_steps: int | None = _UNSET,
        **params: Any,
    ) -> Env[Any, Any]:
        """Build the environment; the arguments are those of `make`, and what is left out is as recorded."""
        return make(
            self,
            self.render_mode if render_mode is _UNSET else render_mode,
            render_height=self.render_height if render_height is _UNSET else render_height,
            render_width=self.render_width if render_width is _UNSET else render_width,
            max_episode_steps=max_episode_steps,
            **params,
        )


def spec(id: str) -> EnvSpec:
    """Look an id up, as `funcenv.spec` does.

    >>> spec("CartPole-v1").make()
    <TimeLimit<CartPole<CartPole-v1>>>
    """
    return _stateful(find_spec(id))


def make(
    id: str | PureEnvSpec,
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
        id: `[module:][namespace/]Name[-vN]`, as for `funcenv.spec`, or a spec.
        render_mode: how it is drawn, as for `FunctionalEnv`.
        render_height: rows of a picture, as for `FunctionalEnv`.
        render_width: columns of a picture, likewise.
        max_episode_steps: a time limit instead of the registered one; `None` or -1 for no limit.
        return_two_dones: for code written against old Gym, which gets a `StepCompatibility` with this argument. By
            default the interface is that of Gymnasium.
        **params: fields of the environment, say `gravity=1.6`.

    Returns:
        The environment. Its `spec` records the arguments: `env.spec.make()` makes another.

    Raises:
        ValueError: an unknown id or render mode, or a value that the environment refuses.
        TypeError: a parameter that the environment does not have.
        RuntimeError: the render mode is "human" and there is no display.

    >>> env = make("CartPole-v1", gravity=1.6)
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> reward, env.spec.kwargs
    (1.0, {'gravity': 1.6})
    """
    found = _stateful(find_spec(id) if isinstance(id, str) else id)
    size = {"render_height": render_height, "render_width": render_width}
    func_env, recipe = _built(found, max_episode_steps, params, render_mode=render_mode, **size)
    env = FunctionalEnv[Any, Any](func_env, render_mode, **size, spec=recipe)
    return env if return_two_dones is None else StepCompatibility(env, return_two_dones)


def make_vec(
    id: str | PureEnvSpec,
    num_envs: int = 1,
    *,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    output: str = "numpy",
    render_mode: str | None = None,
    render_height: int | None = None,
    render_width: int | None = None,
    max_episode_steps: int | None = _UNSET,
    **params: Any,
) -> FunctionalVectorEnv[Any, Any]:
    """Build a batch of a registered environment with the stateful vector interface.

    Args:
        id: as for `make`.
        num_envs: how many.
        autoreset_mode: when an environment begins again, as for `FunctionalVectorEnv`.
        output: "numpy", "jax" or "torch": of which library the arrays are that are returned.
        render_mode: how they are drawn, as for `FunctionalVectorEnv`.
        render_height: rows of a picture, of one environment.
        render_width: columns of a picture, likewise.
        max_episode_steps: as for `make`.
        **params: fields of the environment; arrays with a row for each one make the environments differ.

    Returns:
        The vector environment. Its `spec` records the arguments of the single environment.

    Raises:
        ValueError: as from `make`, and an unknown `output` or mode, or fewer than one environment.
        TypeError: as from `make`.

    >>> envs = make_vec("CartPole-v1", num_envs=3, gravity=1.6)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations.shape
    (3, 4)
    """
    from funcenv.adapters.vector.functional_vector_env import FunctionalVectorEnv

    found = _stateful(find_spec(id) if isinstance(id, str) else id)
    size = {"render_height": render_height, "render_width": render_width}
    func_env, recipe = _built(found, max_episode_steps, params, render_mode=render_mode, **size)
    return FunctionalVectorEnv(
        func_env,
        num_envs,
        autoreset_mode=autoreset_mode,
        output=output,
        render_mode=render_mode,
        **size,
        spec=recipe,
    )


def _stateful(found: PureEnvSpec) -> EnvSpec:
    """A spec of the core as one of this module."""
    if isinstance(found, EnvSpec):
        return found
    if not isinstance(found, PureEnvSpec):
        raise TypeError(f"an environment is made from an id such as 'CartPole-v1' or from a spec, got {found!r}")
    return EnvSpec(**{entry.name: getattr(found, entry.name) for entry in dataclasses.fields(found)})


def _built(
    found: EnvSpec, max_episode_steps: int | None, params: dict[str, Any], **rendering: Any
) -> tuple[FuncEnv[Any, Any, Any], EnvSpec]:
    """The pure environment, and the spec with the arguments that were used."""
    limit = found.max_episode_steps if max_episode_steps is _UNSET else max_episode_steps
    func_env = PureEnvSpec.make(found, max_episode_steps=limit, **params)
    return func_env, dataclasses.replace(
        found,
        max_episode_steps=None if limit == -1 else limit,
        kwargs={**found.kwargs, **params},
        **rendering,
    )
