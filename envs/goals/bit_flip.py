"""Flip bits, one in a step, until they are those of a goal.

The task is that of Andrychowicz et al., "Hindsight experience replay", 2017, section 3.1: with n bits there are 2^n
states and as many goals, so random actions hardly ever see a reward. Here an episode also ends at the goal.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int8

from funcenv.checks import require_size
from funcenv.envs.goals.bit_flip_scene import draw_bits
from funcenv.goals import GoalEnv
from funcenv.scene import Scene
from funcenv.spaces import Discrete, MultiBinary
from funcenv.struct import PyTreeNode, field

_KEYS = "12345678qwertyui"


class BitFlipState(PyTreeNode):
    """Bits as they are, and as they should be."""

    bits: Int8[Array, "num_bits"]  # 0 or 1
    goal: Int8[Array, "num_bits"]  # 0 or 1


class BitFlip(GoalEnv[BitFlipState]):
    """Bit Flip.

    Observation: a dictionary of `achieved_goal`, int8 `[16]`, the bits; `desired_goal`, int8 `[16]`, those of the goal;
        and `observation`, int8 `[16]`, the bits again. Another `num_bits` has arrays of that length.

    Action: 0 to 15, the bit that flips: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 or 15. An integer beyond is
        clipped.

    Reward: 0 if the bits are those of the goal after the step, and -1 otherwise.

    Termination: at the goal. `BitFlip-v0` is truncated after 16 steps.

    Initial state: all bits and all goals are equally likely.

    Raises:
        ValueError: `num_bits` below 1.

    >>> import funcenv, jax.numpy as jnp
    >>> env = funcenv.envs.BitFlip(num_bits=2)
    >>> state, timestep = env.step(funcenv.envs.BitFlipState(jnp.int8([0, 0]), jnp.int8([0, 1])), 1, funcenv.key(0))
    >>> float(timestep.reward), bool(timestep.terminated), timestep.observation["observation"].tolist()
    (0.0, True, [0, 1])
    """

    num_bits: int = field(pytree_node=False, default=16)  # number of bits, and of actions

    render_fps = 4

    def __post_init__(self) -> None:
        require_size("num_bits", self.num_bits)

    def initial(self, key: jax.Array) -> BitFlipState:
        """Return random bits and a random goal."""
        bits, goal = jax.random.bernoulli(key, 0.5, (2, self.num_bits)).astype(jnp.int8)
        return BitFlipState(bits, goal)

    def transition(self, state: BitFlipState, action: Any, key: jax.Array) -> BitFlipState:
        """Flip one bit."""
        del key
        chosen = jnp.clip(jnp.asarray(action, jnp.int32), 0, self.num_bits - 1)
        flipped = jnp.arange(self.num_bits, dtype=jnp.int32) == chosen
        return state.replace(bits=jnp.where(flipped, 1 - state.bits, state.bits))

    def view(self, state: BitFlipState, key: jax.Array) -> Int8[Array, "num_bits"]:
        """Return the bits."""
        del key
        return state.bits

    def achieved_goal(self, state: BitFlipState) -> Int8[Array, "num_bits"]:
        """Return the bits."""
        return state.bits

    def desired_goal(self, state: BitFlipState) -> Int8[Array, "num_bits"]:
        """Return the bits of the goal."""
        return state.goal

    def is_success(self, achieved_goal: jax.Array, desired_goal: jax.Array) -> Bool[Array, "*batch"]:
        """Return whether all bits agree."""
        return jnp.all(achieved_goal == desired_goal, axis=-1)

    def compute_terminated(self, achieved_goal: jax.Array, desired_goal: jax.Array, info: Any) -> Bool[Array, "*batch"]:
        """Return whether all bits agree."""
        del info
        return self.is_success(achieved_goal, desired_goal)

    @property
    def goal_space(self) -> MultiBinary:
        """All combinations of bits."""
        return MultiBinary(self.num_bits)

    @property
    def view_space(self) -> MultiBinary:
        """All combinations of bits."""
        return MultiBinary(self.num_bits)

    @property
    def action_space(self) -> Discrete:
        """The number of the bit to flip."""
        return Discrete(self.num_bits)

    @property
    def action_names(self) -> tuple[str, ...]:
        """Bits are counted from 1 in words, as they are on the keys."""
        return tuple(f"flip bit {number + 1}" for number in range(self.num_bits))

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return two rows of keys, 1 to 8 and q to i; bits beyond the sixteenth have none."""
        return {key: bit for bit, key in zip(range(self.num_bits), _KEYS, strict=False)}

    def scene(self, state: BitFlipState) -> Scene:
        """Draw the bits above those of the goal."""
        return draw_bits(state.bits, state.goal)
