"""Time steps as an agent learns from them, where that is not as they are.

The loss of a life may end an episode, and a reward may have a lower bound. Episodes and returns are those of the
environment nevertheless: its wrappers here only say in `info` what happened, and `as_learned` changes time steps after
they have been counted.
"""

from __future__ import annotations

from typing import Any

from jaxtyping import Array, Bool

from funcenv.checks import require_finite
from funcenv.func_env import Action, Obs, State, Timestep
from funcenv.vector import VectorTimestep
from funcenv.wrappers._spaces import require_lives
from funcenv.wrappers.base import Wrapper
from funcenv.wrappers.transform_reward import ClipReward

LIFE_LOST, LEARNED_REWARD = "life_lost", "learned_reward"


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


class MinReward(Wrapper[State, Action, Obs]):
    """Says in `info` what an agent learns from the reward of a step, in the entry `"learned_reward"`.

    Args:
        env: the environment.
        min_reward: the lower bound of the rewards that are learned from. A parameter.

    Raises:
        ValueError: the bound is not finite.

    >>> import funcenv
    >>> env = MinReward(funcenv.make("Pendulum-v1"), min_reward=-1.0)
    >>> state, _ = env.reset(funcenv.key(0))
    >>> _, timestep = env.step(state, env.action_space.high, funcenv.key(1))
    >>> float(timestep.reward) < -1, float(timestep.info["learned_reward"])
    (True, -1.0)
    """

    min_reward: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_finite(min_reward=self.min_reward)

    def transition_info(self, state: State, action: Action, next_state: State) -> dict[str, Any]:
        """Return the info inside, and the reward with its lower bound; an integer reward becomes a float."""
        learned = ClipReward(self.env, self.min_reward).reward(state, action, next_state)
        return super().transition_info(state, action, next_state) | {LEARNED_REWARD: learned}


def life_lost(timestep: Timestep[Any]) -> Bool[Array, ""]:
    """Return whether a step of one environment in `LifeLoss` has lost a life."""
    lost: Bool[Array, ""] = timestep.info[LIFE_LOST]
    return lost


def as_learned(timestep: VectorTimestep[Any]) -> VectorTimestep[Any]:
    """Return time steps as an agent learns from them.

    In `LifeLoss`, those are terminal that lost a life; `LIFE_LOST` in their `final_info` is true where the episode goes
    on nevertheless. In `MinReward`, rewards have its lower bound.
    """
    info = dict(timestep.final_info)
    if LEARNED_REWARD in info:
        timestep = timestep.replace(reward=info.pop(LEARNED_REWARD))
    if LIFE_LOST in info:
        info[LIFE_LOST] = info[LIFE_LOST] & ~timestep.done
        timestep = timestep.replace(terminated=timestep.terminated | info[LIFE_LOST])
    return timestep.replace(final_info=info)


def is_reset(timestep: VectorTimestep[Any]) -> Bool[Array, "*rows"]:
    """Return whether the environments were reset after time steps from `as_learned`."""
    lost = timestep.final_info.get(LIFE_LOST)
    return timestep.done if lost is None else timestep.done & ~lost
