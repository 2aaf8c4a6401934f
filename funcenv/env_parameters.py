"""The check of the parameters that an environment is made with."""

from __future__ import annotations

import dataclasses
from typing import Any

from funcenv.struct import unknown_field_remedy

_STATEFUL_ARGUMENTS = ("render_mode", "disable_env_checker")
_ELSEWHERE = {
    **dict.fromkeys(
        ("max_steps_in_episode", "max_steps", "episode_length", "time_limit", "horizon"), "write max_episode_steps"
    ),
    **dict.fromkeys(
        ("autoreset", "auto_reset"), "a FuncVectorEnv resets by itself, and so do those of funcenv.adapters.make_vec"
    ),
    **dict.fromkeys(("seed", "key"), "give it to reset: env.reset(funcenv.key(seed)), or env.reset(seed=seed)"),
    **dict.fromkeys(("batch_size", "num_env", "n_envs"), "write funcenv.FuncVectorEnv(env, num_envs)"),
    **dict.fromkeys(("new_step_api", "apply_step_compatibility"), "funcenv.adapters.gym has old Gym's four values"),
    "asynchronous": "one program steps the batch; leave it out, or choose a vectorization_mode",
}


def require_known_parameters(id: str, build: Any, params: dict[str, Any]) -> None:
    """Raise `TypeError` if a class of environments does not have one of these parameters.

    >>> from funcenv.envs import CartPole
    >>> require_known_parameters("CartPole-v1", CartPole, {"gravty": 1.6})
    Traceback (most recent call last):
        ...
    TypeError: CartPole-v1 got an unexpected keyword argument 'gravty'; did you mean gravity?
    """
    if not (isinstance(build, type) and dataclasses.is_dataclass(build)):
        return  # a function checks its own arguments
    names = [entry.name for entry in dataclasses.fields(build)]
    for name in params:
        if name not in names:
            remedy = _ELSEWHERE.get(name) or unknown_field_remedy(build, name, f"it has: {', '.join(names)}")
            # Python's own wording, which libraries search for when they try whether an argument is accepted.
            if name in _STATEFUL_ARGUMENTS:
                remedy = f"the interface that has one is funcenv.adapters.make({id!r}, {name}=...)"
            elif name == "num_envs":
                remedy = f"write funcenv.FuncVectorEnv(env, num_envs), or funcenv.adapters.make_vec({id!r}, num_envs)"
            raise TypeError(f"{id} got an unexpected keyword argument {name!r}; {remedy}")
