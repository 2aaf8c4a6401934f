"""Gymnasium environments in compiled code."""

from __future__ import annotations

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
from funcenv.spaces._dtypes import canonical
from funcenv.spaces.space import AnySpace
from funcenv.struct import PyTreeNode, field


def from_gymnasium(
    env: gymnasium.Env[Any, Any],
    *,
    observation_space: AnySpace | None = None,
    action_space: AnySpace | None = None,
) -> FromGymnasium:
    """Convert a `gymnasium.Env` to a `FuncEnv` that calls back into Python for every reset and step.

    A callback costs some 80 us on a CPU, and more from a GPU, in addition to the environment's own step. The function
    is meant for running a training loop on something that exists only in Python, not for fast training.

    There is one environment, which cannot go back. A state holds the number of calls that led to it and the results of
    the last one. The functions of a state are pure, but only the newest state can be stepped from: a step from an older
    state, for example a second step from the same state, raises an error. A program must therefore call `reset` and
    `step` in turn and use each result. Write `jax.lax.cond(done, reset, step)`; `Autoreset` and the autoreset modes of
    `FuncVectorEnv` do not work, because they compute both and select one. `jax.vmap` raises an error. The callbacks run
    in program order (`io_callback(ordered=True)`).

    `reset(key)` calls `env.reset(seed=...)` with 31 bits of the key, so equal keys start equal episodes. The keys of
    steps are not used. Wrappers, such as a time limit, may be applied on either side. `info` is dropped, because its
    entries are not known in advance.

    Args:
        env: Environment with its wrappers. Nothing else may step it from now on.
        observation_space: Replacement for the converted observation space, for example with larger capacities.
        action_space: Replacement for the converted action space.

    Raises:
        TypeError: `env` is not a Gymnasium environment, it runs JAX itself, which a callback must not do, or one of its
            spaces has no counterpart in funcenv.

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


class HostState(PyTreeNode):
    """The result of a call of the environment, and the number of that call."""

    call_count: UInt[Array, ""]  # calls that led here
    observation: Any
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]


class FromGymnasium(FuncEnv[HostState, Any, Any]):
    """The environment that `from_gymnasium` returns."""

    host: Host = field(pytree_node=False)

    @property
    def observation_space(self) -> AnySpace:
        """The space of observations."""
        return self.host.observation_space

    @property
    def action_space(self) -> AnySpace:
        """The space of actions."""
        return self.host.action_space

    def initial(self, key: jax.Array) -> HostState:
        """Reset the environment with a seed drawn from the key."""
        return self._call(self.host.reset, jax.random.bits(key, (), jnp.uint32) >> 1)

    def transition(self, state: HostState, action: Any, key: jax.Array) -> HostState:
        """Step the environment, which uses its own generator instead of the key."""
        del key
        return self._call(self.host.step, state.call_count, jax.tree.map(jnp.asarray, action))

    def observation(self, state: HostState, key: jax.Array) -> Any:
        """Return the observation of the last call."""
        del key
        return state.observation

    def reward(self, state: HostState, action: Any, next_state: HostState) -> Float[Array, ""]:
        """Return the reward of the step to `next_state`."""
        del state, action
        return next_state.reward

    def terminal(self, state: HostState) -> Bool[Array, ""]:
        """Return whether the last step returned terminated."""
        return state.terminated

    def truncated(self, state: HostState) -> Bool[Array, ""]:
        """Return whether the last step returned truncated."""
        return state.truncated

    def _call(self, function: Callable[..., Any], *args: Any) -> HostState:
        """Call a function of the host from compiled code."""
        state: HostState = _without_vmap(
            lambda *args: io_callback(function, self.host.state_struct, *args, ordered=True)
        )(*args)
        return state


class Host:
    """The Python side of the callbacks: the environment, and the number of calls it has answered."""

    def __init__(self, env: gymnasium.Env[Any, Any], observation_space: AnySpace, action_space: AnySpace) -> None:
        self.env = env
        self.observation_space, self.action_space = observation_space, action_space
        self._reward_dtype = canonical(np.dtype(float))
        self.state_struct = jax.eval_shape(
            lambda: HostState(
                call_count=jnp.zeros((), jnp.uint32),
                observation=observation_space.sample(jax.random.key(0)),
                reward=jnp.zeros((), self._reward_dtype),
                terminated=jnp.zeros((), bool),
                truncated=jnp.zeros((), bool),
            )
        )
        self._call_count = 0
        self._encode, self._decode = member_encoder(observation_space), member_decoder(action_space)
        self._lock = threading.Lock()

    def reset(self, seed: Any) -> HostState:
        """Start an episode."""
        with self._lock:
            observation, _ = self.env.reset(seed=int(seed))
            return self._next_state(observation, 0.0, False, False)

    def step(self, call_count: Any, action: Any) -> HostState:
        """Step the environment if `call_count` identifies the newest state."""
        with self._lock:
            if int(call_count) != self._call_count:
                raise RuntimeError(
                    f"{self.env} has answered {self._call_count} calls, so it cannot step from its state after "
                    f"{call_count}: it is one environment, and cannot go back. Step from the newest state only, and "
                    "call reset and step in turn (jax.lax.cond), not both to select one, as Autoreset and "
                    "FuncVectorEnv do"
                )
            result = self.env.step(self._decode(jax.tree.map(np.asarray, action)))
            return self._next_state(*result[:4])

    def _next_state(self, observation: Any, reward: Any, terminated: Any, truncated: Any) -> HostState:
        self._call_count = (self._call_count + 1) % 2**32
        values: dict[str, Any] = {
            "call_count": np.asarray(self._call_count, np.uint32),
            "observation": self._encode(observation),
            "reward": np.asarray(reward, self._reward_dtype),
            "terminated": np.asarray(terminated, bool),
            "truncated": np.asarray(truncated, bool),
        }
        return HostState(**values)


def _without_vmap(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return `call` with an error under `jax.vmap`."""
    guarded = jax.custom_batching.custom_vmap(call)

    @guarded.def_vmap
    def refuse(axis_size: int, in_batched: Any, *args: Any) -> Any:
        del in_batched, args
        raise TypeError(
            f"from_gymnasium holds one environment, which cannot be mapped over {axis_size} states; "
            "step it alone, or vectorize it with gymnasium.make_vec outside of JAX"
        )

    return guarded
