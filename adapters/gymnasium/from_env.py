"""Ordinary Gymnasium environments inside compiled code."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from jaxtyping import Array, Bool, Float, UInt

from funcenv.adapters.gymnasium.member_conversion import member_decoder, member_encoder
from funcenv.adapters.gymnasium.spaces import from_gymnasium as space_from_gymnasium
from funcenv.adapters.single.functional_env import FunctionalEnv
from funcenv.func_env import FuncEnv
from funcenv.spaces import Space
from funcenv.spaces._dtypes import canonical
from funcenv.spaces._padded import struct_of
from funcenv.struct import PyTreeNode, field


def from_gymnasium(
    env: gymnasium.Env[Any, Any],
    *,
    observation_space: Space[Any] | None = None,
    action_space: Space[Any] | None = None,
) -> FromGymnasium:
    """An ordinary `gymnasium.Env` as a `FuncEnv`: compiled code calls back into Python for every reset and step.

    It is slow, by the price of a callback (some 80 us on a CPU, more from a GPU) on top of the environment's own step:
    a way to run a training loop on something that exists only as Python, not to train fast.

    There is one environment, and it is where it is. A state is a claim ticket: what the environment showed when it was
    issued, and its number. The functions of a state are as pure as ever, but only the newest state can be stepped from;
    to step from an older one, after a reset or twice from the same, raises an error. So a program must call `reset` and
    `step` one after the other, and neither for nothing: write `jax.lax.cond(done, reset, step)`, where
    `Autoreset` and the autoreset modes of `FuncVectorEnv` compute both and choose. `jax.vmap` is refused.
    The callbacks run in the order of the program (`io_callback(ordered=True)`).

    `reset(key)` calls `env.reset(seed=...)` with 31 bits of the key, so the same key begins the same episode; the keys
    of steps are not used. Wrappers, a time limit among them, may stand on either side. `info` stays behind: its keys
    are not known beforehand.

    Args:
        env: the environment, with its wrappers. From now on nobody else should step it.
        observation_space: in place of the converted space of the environment: say, one with larger capacities.
        action_space: likewise.

    Raises:
        TypeError: not a Gymnasium environment, one that runs JAX itself (which must not be entered from a callback), or
            a space that has no counterpart here.

    >>> import funcenv
    >>> env = from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=False))
    >>> state, _ = jax.jit(env.reset)(funcenv.key(0))
    >>> state, timestep = jax.jit(env.step)(state, jnp.int32(2), funcenv.key(1))
    >>> int(timestep.observation), float(timestep.reward)
    (1, 0.0)
    """
    if not isinstance(env, gymnasium.Env):
        hint = "; for a space, see funcenv.adapters.gymnasium.spaces" if isinstance(env, gymnasium.Space) else ""
        raise TypeError(f"from_gymnasium takes a gymnasium.Env, such as gymnasium.make gives, got {env!r}{hint}")
    if isinstance(env.unwrapped, FunctionalEnv) or env.metadata.get("jax", False):
        raise TypeError(
            f"{env} runs JAX itself, which a callback must not; take the pure environment inside, "
            "env.unwrapped.func_env, with from_gymnasium_functional around it where it is Gymnasium's"
        )
    observation_space = space_from_gymnasium(env.observation_space) if observation_space is None else observation_space
    action_space = space_from_gymnasium(env.action_space) if action_space is None else action_space
    return FromGymnasium(host=Host(env, observation_space, action_space))


class Ticket(PyTreeNode):
    """What the environment showed at one moment, and which moment it was."""

    number: UInt[Array, ""]  # of the call that led here
    observation: Any
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]


class FromGymnasium(FuncEnv[Ticket, Any, Any]):
    """What `from_gymnasium` returns."""

    host: Host = field(pytree_node=False)

    @property
    def observation_space(self) -> Space[Any]:
        """The space of observations."""
        return self.host.observation_space

    @property
    def action_space(self) -> Space[Any]:
        """The space of actions."""
        return self.host.action_space

    def initial(self, key: jax.Array) -> Ticket:
        """Reset the environment, with a seed drawn from the key."""
        seed = jax.random.bits(key, (), jnp.uint32) >> 1
        return self._ask(self.host.reset, seed)

    def transition(self, state: Ticket, action: Any, key: jax.Array) -> Ticket:
        """Step the environment; it draws from its own generator."""
        del key
        return self._ask(self.host.step, state.number, jax.tree.map(jnp.asarray, action))

    def observation(self, state: Ticket, key: jax.Array) -> Any:
        """What the environment showed."""
        del key
        return state.observation

    def reward(self, state: Ticket, action: Any, next_state: Ticket) -> Float[Array, ""]:
        """What the environment paid for the step to `next_state`."""
        del state, action
        return next_state.reward

    def terminal(self, state: Ticket) -> Bool[Array, ""]:
        """Whether the environment said terminated."""
        return state.terminated

    def truncated(self, state: Ticket) -> Bool[Array, ""]:
        """Whether the environment said truncated."""
        return state.truncated

    def _ask(self, function: Callable[..., Any], *args: Any) -> Ticket:
        """Call back into Python."""
        shown = _alone(lambda *args: io_callback(function, self.host.shapes, *args, ordered=True))(*args)
        number, observation, reward, terminated, truncated = shown
        return Ticket(number=number, observation=observation, reward=reward, terminated=terminated, truncated=truncated)


class Host:
    """The environment and the number of calls it has answered; the Python side of the callbacks."""

    def __init__(self, env: gymnasium.Env[Any, Any], observation_space: Space[Any], action_space: Space[Any]) -> None:
        self.env = env
        self.observation_space, self.action_space = observation_space, action_space
        self._real = canonical(np.dtype(float))
        scalars = (np.dtype(np.uint32), self._real, np.dtype(bool), np.dtype(bool))
        number, reward, terminated, truncated = (
            jax.eval_shape(functools.partial(jnp.zeros, (), dtype)) for dtype in scalars
        )
        self.shapes = number, struct_of(observation_space), reward, terminated, truncated  # of a ticket
        self._number = 0
        self._encode, self._decode = member_encoder(observation_space), member_decoder(action_space)
        self._busy = threading.Lock()

    def reset(self, seed: Any) -> Any:
        """Begin an episode."""
        with self._busy:
            observation, _ = self.env.reset(seed=int(seed))
            return self._issue(observation, 0.0, False, False)

    def step(self, number: Any, action: Any) -> Any:
        """Go on, if `number` is the present moment."""
        with self._busy:
            if int(number) != self._number:
                raise RuntimeError(
                    f"{self.env} has answered {self._number} calls, so it cannot step from its state after {number}: "
                    "it is one environment, and cannot go back. Step from the newest state only, and call reset and "
                    "step in turn (jax.lax.cond), not both to choose between them, as Autoreset and FuncVectorEnv do"
                )
            observation, reward, terminated, truncated, _ = self.env.step(
                self._decode(jax.tree.map(np.asarray, action))
            )
            return self._issue(observation, reward, terminated, truncated)

    def _issue(self, observation: Any, reward: Any, terminated: Any, truncated: Any) -> Any:
        self._number = (self._number + 1) % 2**32
        return (
            np.asarray(self._number, np.uint32),
            self._encode(observation),
            np.asarray(reward, self._real),
            np.asarray(terminated, bool),
            np.asarray(truncated, bool),
        )


def _alone(call: Callable[..., Any]) -> Callable[..., Any]:
    """`call`, which `jax.vmap` cannot map."""
    guarded = jax.custom_batching.custom_vmap(call)

    @guarded.def_vmap
    def refuse(axis_size: int, in_batched: Any, *args: Any) -> Any:
        del in_batched, args
        raise TypeError(
            f"from_gymnasium holds one environment, which cannot be mapped over {axis_size} states; "
            "step it alone, or vectorise with gymnasium.make_vec before it meets JAX"
        )

    return guarded
