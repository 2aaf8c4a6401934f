"""Registration of every environment with Gymnasium.

Gymnasium has had no plugin entry points since version 1.0. A module registers its environments when it is imported, and
`gymnasium.make("module:id")` imports it.
"""

from __future__ import annotations

import re

import gymnasium

from funcenv.adapters.gymnasium.entry_points import VECTOR_PREFIX
from funcenv.registry import all_specs, parse_id

NAMESPACE = "funcenv"
_ENTRY_POINTS = "funcenv.adapters.gymnasium.entry_points"


def gymnasium_id(id: str) -> str:
    """Return the id of an environment in Gymnasium: `funcenv/Name-vN`.

    A namespace is appended to "funcenv", because Gymnasium allows only one.

    >>> gymnasium_id("CartPole-v1"), gymnasium_id("lab/Maze-v0")
    ('funcenv/CartPole-v1', 'funcenv-lab/Maze-v0')
    """
    namespace, _, _ = parse_id(id)
    name = id.rpartition("/")[2]
    return f"{NAMESPACE}/{name}" if namespace is None else f"{NAMESPACE}-{re.sub('[.:]', '-', namespace)}/{name}"


def register_envs() -> None:
    """Register every id of `funcenv.registry.all_specs()` with Gymnasium.

    Importing `funcenv.adapters.gymnasium` calls this function. Call it again after a `funcenv.register` of your own;
    ids that are already registered are skipped. `gymnasium.make` adds the time limit, so its argument
    `max_episode_steps` works as usual. All other arguments are parameters of the environment.

    >>> import funcenv
    >>> funcenv.register("doc/Feather-v0", "funcenv.envs:CartPole", max_episode_steps=50, kwargs={"masspole": 0.01})
    >>> register_envs()
    >>> env = gymnasium.make("funcenv-doc/Feather-v0")
    >>> env.spec.max_episode_steps, env.unwrapped.func_env.masspole
    (50, 0.01)
    """
    for spec in all_specs().values():
        id = gymnasium_id(spec.id)
        if id in gymnasium.registry:
            continue
        gymnasium.register(
            id,
            entry_point=f"{_ENTRY_POINTS}:{spec.id}",
            vector_entry_point=f"{_ENTRY_POINTS}:{VECTOR_PREFIX}{spec.id}",
            reward_threshold=spec.reward_threshold,
            max_episode_steps=spec.max_episode_steps,
            kwargs=dict(spec.kwargs),
        )
