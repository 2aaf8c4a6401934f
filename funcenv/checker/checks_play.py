"""Checks of the names of actions, and of the keys that play them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from funcenv.checker.findings import Finding, error, warning
from funcenv.checker.trace import EnvUnderTest, Failure
from funcenv.func_env import AnyEnv, FuncEnv
from funcenv.keyboard import Keymap
from funcenv.spaces import Discrete


def check_action_names(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that there is one name for each action, or none."""
    env = tested.levels[-1]
    names, count = tested.attempt(lambda: tuple(env.action_names)), _num_names(env)
    if isinstance(names, Failure):
        yield error("action-names", env, "action_names", f"reading it raises {names}", "return a tuple of strings")
    elif isinstance(env.action_names, str) or not all(isinstance(name, str) for name in names):
        seen = f"it is {env.action_names!r}"
        yield error("action-names", env, "action_names", seen, 'return a tuple of strings, such as ("left", "right")')
    elif names and count is not None and len(names) != count:
        seen = f"it has {len(names)} names, but {env.action_space!r} takes {count}"
        remedy = "name each action of a Discrete space, or each number of a Box, in order"
        yield warning("action-names", env, "action_names", seen, remedy)


def check_keys(tested: EnvUnderTest) -> Iterator[Finding]:
    """Check that `get_keys_to_action` names keys that exist and members of the action space."""
    env = tested.levels[-1]
    if type(env).get_keys_to_action is FuncEnv.get_keys_to_action:
        return
    keymap = tested.attempt(lambda: _keymap(env))
    if isinstance(keymap, Failure):
        seen = f"funcenv play refuses it: {keymap}"
        yield error("keys-invalid", env, "get_keys_to_action", seen, 'return a dict such as {("left",): 0, "d": 1}')


def _keymap(env: AnyEnv) -> Keymap:
    keys = dict(env.get_keys_to_action())
    return Keymap(keys, keys.pop((), 0), env.action_space)


def _num_names(env: AnyEnv) -> int | None:
    """Return the number of names of the actions, or None if the space has no such number."""
    space = env.action_space
    if isinstance(space, Discrete):
        return space.n
    shape = getattr(space, "shape", None)
    return None if shape is None else math.prod(shape)
