"""The lives of a game, whose loss may end an episode for an agent that learns, while the game goes on."""

from __future__ import annotations

from typing import Any

from jaxtyping import Array, Bool

from funcenv.func_env import Action, Obs, State, Timestep
from funcenv.vector import VectorTimestep
from funcenv.wrappers._spaces import require_lives
from funcenv.wrappers.base import Wrapper

LIFE_LOST = "life_lost"


class LifeLoss(Wrapper[State, Action, Obs]):
    """Says in `info` whether a step has lost a life, in the entry `"life_lost"`.

    Args:
        env: an environment whose `state_info` has the number of lives, in the entry `"lives"`.

    Raises:
        ValueError: it has no such entry.

    >>> import funcenv
    >>> env = LifeLoss(funcenv.make("arcade/Breakout-v0"))
    >>> state, _ = env.reset(funcenv.key(0))
    >>> _, timestep = env.step(state, 1, funcenv.key(1))
    >>> bool(timestep.info["life_lost"])
    False
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        require_lives(self.env)

    def transition_info(self, state: State, action: Action, next_state: State) -> dict[str, Any]:
        """Return the info of the environment inside, and whether the step has lost a life."""
        before, after = (super(LifeLoss, self).state_info(each)["lives"] for each in (state, next_state))
        return super().transition_info(state, action, next_state) | {LIFE_LOST: after < before}


def life_lost(timestep: Timestep[Any]) -> Bool[Array, ""]:
    """Return whether a step of one environment in `LifeLoss` has lost a life."""
    lost: Bool[Array, ""] = timestep.info[LIFE_LOST]
    return lost


def end_at_life_loss(timestep: VectorTimestep[Any]) -> VectorTimestep[Any]:
    """Return time steps of which those are terminal that lost a life, if the environment is in `LifeLoss`.

    `LIFE_LOST` in their `final_info` is true where the episode goes on nevertheless.
    """
    if LIFE_LOST not in timestep.final_info:
        return timestep
    lost = timestep.final_info[LIFE_LOST] & ~timestep.done
    final_info = timestep.final_info | {LIFE_LOST: lost}
    return timestep.replace(terminated=timestep.terminated | lost, final_info=final_info)


def is_reset(timestep: VectorTimestep[Any]) -> Bool[Array, "*rows"]:
    """Return whether the environments were reset after time steps from `end_at_life_loss`."""
    lost = timestep.final_info.get(LIFE_LOST)
    return timestep.done if lost is None else timestep.done & ~lost
