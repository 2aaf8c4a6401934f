"""The attributes of Gymnasium's toy text environments: `P`, `s`, `nS`, `nA`, `lastaction`, `encode`, `decode`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.stateful import StatefulAttribute, constant

TransitionDict = dict[int, dict[int, list[tuple[float, int, float, bool]]]]


def tabular_attributes(env: Any) -> dict[str, StatefulAttribute]:
    """Return the attributes of an environment with numbered states, a `TabularEnv`.

    >>> from funcenv.envs import CliffWalking
    >>> tabular_attributes(CliffWalking())["nS"].read(None)
    48
    """
    return {
        "P": constant(lambda: transition_dict(env)),
        "nS": constant(lambda: env.observation_space.n),
        "nA": constant(lambda: env.action_space.n),
        "encode": constant(lambda: _encoder(env)),
        "decode": constant(lambda: _decoder(env)),
        "s": StatefulAttribute(
            read=lambda view: int(env.encode(view.state)),
            write=lambda number: jax.tree.map(jnp.asarray, env.decode(int(number))),
        ),
        "lastaction": StatefulAttribute(read=lambda view: view.action),
    }


def transition_dict(env: Any) -> TransitionDict:
    """Return the table `P` in Gymnasium's form, `P[state][action] -> [(probability, next_state, reward, terminated)]`.

    The numbers are Python's. Outcomes of probability 0, which pad the pure table, are left out.

    >>> from funcenv.envs import CliffWalking
    >>> transition_dict(CliffWalking())[36][1]
    [(1.0, 36, -100.0, False)]
    """
    with jax.enable_x64(True):
        table = jax.jit(lambda: env.P)()
    columns = [
        np.asarray(part).tolist() for part in (table.probability, table.next_state, table.reward, table.terminated)
    ]
    return {
        state: {
            action: [outcome for outcome in zip(*outcomes, strict=True) if outcome[0] > 0]
            for action, outcomes in enumerate(zip(*rows, strict=True))
        }
        for state, rows in enumerate(zip(*columns, strict=True))
    }


def _encoder(env: Any) -> Callable[..., int]:
    def encode(*numbers: Any) -> int:
        """Return the number of the state with these parts, in the order of the state's fields."""
        if len(numbers) == 1 and isinstance(numbers[0], type(env.decode(0))):
            return int(env.encode(numbers[0]))
        parts = dict(zip(_number_fields(env), map(int, numbers), strict=True))
        return int(env.encode(env.decode(0).replace(**parts)))

    return encode


def _decoder(env: Any) -> Callable[[Any], tuple[int, ...]]:
    def decode(number: Any) -> tuple[int, ...]:
        """Return the parts of the state with a number."""
        state = env.decode(int(number))
        return tuple(int(getattr(state, name)) for name in _number_fields(env))

    return decode


def _number_fields(env: Any) -> list[str]:
    """Return the names of the integer fields of a state, such as row and column."""
    return [name for name, leaf in vars(env.decode(0)).items() if np.asarray(leaf).dtype.kind == "i"]
