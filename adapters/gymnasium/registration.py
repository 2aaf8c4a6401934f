"""Every environment under a Gymnasium id.

Gymnasium 1.4 has no plugin entry points (version 1.0 dropped them): a module registers when it is imported, and
`gymnasium.make("module:id")` imports it.
"""

from __future__ import annotations

import re

import gymnasium

from funcenv.registry import load_entry_points, parse_id, registry

NAMESPACE = "funcenv"
_PACKAGE = "funcenv.adapters.gymnasium"


def gymnasium_id(id: str) -> str:
    """What Gymnasium calls an environment that is registered here: `funcenv/Name-vN`.

    A namespace joins the first one, as Gymnasium allows one only.

    >>> gymnasium_id("CartPole-v1"), gymnasium_id("lab/Maze-v0")
    ('funcenv/CartPole-v1', 'funcenv-lab/Maze-v0')
    """
    namespace, _, _ = parse_id(id)
    name = id.rpartition("/")[2]
    return f"{NAMESPACE}/{name}" if namespace is None else f"{NAMESPACE}-{re.sub('[.:]', '-', namespace)}/{name}"


def register_envs() -> None:
    """Register every id of `funcenv.registry` with Gymnasium.

    Importing `funcenv.adapters.gymnasium` does it. Call it again after a `funcenv.register` of your own; what is
    registered already stays. The time limit is left to `gymnasium.make`, whose wrapper and `max_episode_steps` argument
    then work as ever; all other arguments are parameters of the environment.

    >>> import funcenv
    >>> funcenv.register("doc/Feather-v0", "funcenv.envs:CartPole", max_episode_steps=50, kwargs={"masspole": 0.01})
    >>> register_envs()
    >>> env = gymnasium.make("funcenv-doc/Feather-v0")
    >>> env.spec.max_episode_steps, env.unwrapped.func_env.masspole
    (50, 0.01)
    """
    load_entry_points()
    for spec in registry.values():
        id = gymnasium_id(spec.id)
        if id in gymnasium.registry:
            continue
        gymnasium.register(
            id,
            entry_point=f"{_PACKAGE}.entry_points:{spec.id}",
            vector_entry_point=f"{_PACKAGE}.vector_entry_points:{spec.id}",
            reward_threshold=spec.reward_threshold,
            max_episode_steps=spec.max_episode_steps,
            kwargs=dict(spec.kwargs),
        )
