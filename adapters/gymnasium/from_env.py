"""Gymnasium environments in compiled code."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from jaxtyping import Array, UInt

from funcenv.adapters.functional_env import FunctionalEnv
from funcenv.adapters.gymnasium.host_env import CallState, HostEnv
from funcenv.adapters.gymnasium.member_conversion import member_decoder, member_encoder
from funcenv.adapters.gymnasium.restorable import NotRestorable, RestorableGymnasium, RestorableHost
from funcenv.adapters.gymnasium.spaces import from_gymnasium as space_from_gymnasium
from funcenv.spaces._dtypes import canonical
from funcenv.spaces.space import AnySpace
from funcenv.struct import field


def from_gymnasium(
    env: str | gymnasium.Env[Any, Any] | Callable[[], gymnasium.Env[Any, Any]],
    *,
    observation_space: AnySpace | None = None,
    action_space: AnySpace | None = None,
    pure: bool | None = None,
    get_state: Callable[[Any], Any] | None = None,
    set_state: Callable[[Any, Any], None] | None = None,
    info: Sequence[str] = (),
    max_state_bytes: int | None = None,
    **arguments: Any,
) -> FromGymnasium | RestorableGymnasium:
    """Convert an environment of Gymnasium to a `FuncEnv` that calls back into Python for every reset and step.

    The function is meant for running a training loop on something that exists only in Python, not for fast training:
    the environments of a batch are stepped one after another.

    If the state of the environment can be saved and restored, the result is pure, a `RestorableGymnasium`. Its state
    holds everything, as bytes. It can be stepped from again, stored, mapped by `jax.vmap`, and reset automatically. A
    step then takes some 0.1 to 0.5 ms more than the environment's own. The state consists of the attributes of the
    environment and its wrappers, which are pickled, and of the contents of MuJoCo's data and of the emulator of Atari
    games. Some steps are taken once more from restored states, to test this.

    Otherwise, or with `pure=False`, there is one environment, which cannot go back. The functions of a state are
    pure, but only the newest state can be stepped from: a step from an older state, for example a second step from the
    same state, raises an error. A program must therefore call `reset` and `step` in turn and use each result. Write
    `jax.lax.cond(done, reset, step)`; `Autoreset` and the autoreset modes of `FuncVectorEnv` do not work, because they
    compute both and select one. `jax.vmap` raises an error. The callbacks run in program order
    (`io_callback(ordered=True)`).

    `reset(key)` calls `env.reset(seed=...)` with 31 bits of the key, so equal keys start equal episodes. The keys of
    steps are not used: the environment draws from its own generator, so two steps from one state draw the same.
    Wrappers, such as a time limit, may be applied on either side.

    Args:
        env: An id of Gymnasium, a function that makes an environment, or an environment with its wrappers, which
            nothing else may step from now on.
        observation_space: Replacement for the converted observation space, for example with larger capacities.
        action_space: Replacement for the converted action space.
        pure: True raises an error if the state cannot be restored, False does not try; by default it depends.
        get_state: Returns the state of `env.unwrapped`, anything that can be pickled, in place of its attributes.
            Its generator `np_random` is saved as well.
        set_state: Takes `env.unwrapped` and such a state, and returns to it.
        info: Names of numeric entries of the `info` of steps to keep, if the result is pure. Others are dropped,
            because their shapes are not known in advance.
        max_state_bytes: Room for a state, if the result is pure; by default half more than some states need.
        **arguments: Those of `gymnasium.make`, if `env` is an id.

    Raises:
        TypeError: `env` is not a Gymnasium environment, it runs JAX itself, which a callback must not do, one of its
            spaces has no counterpart in funcenv, or the state cannot be restored though `pure` or `get_state` asks for
            it.
        ValueError: Only one of `get_state` and `set_state` is given, or the info of a step has no such entry.

    >>> import funcenv
    >>> env = from_gymnasium("FrozenLake-v1", is_slippery=False)
    >>> state, _ = jax.jit(env.reset)(funcenv.key(0))
    >>> step = jax.jit(jax.vmap(env.step, in_axes=(None, 0, None)))
    >>> states, timesteps = step(state, jnp.arange(4), funcenv.key(1))
    >>> timesteps.observation.tolist()
    [0, 4, 1, 0]
    """
    if (get_state is None) != (set_state is None):
        raise ValueError("get_state and set_state belong together; pass both or neither")
    if arguments and not isinstance(env, str):
        raise TypeError(f"{', '.join(arguments)}: arguments of gymnasium.make need an id; pass them to the environment")
    make = Maker(env, tuple(arguments.items()))
    made = make()
    spaces = (
        space_from_gymnasium(made.observation_space) if observation_space is None else observation_space,
        space_from_gymnasium(made.action_space) if action_space is None else action_space,
    )
    reason = "pure=False was given"
    if pure is not False:
        try:
            return RestorableGymnasium(host=RestorableHost(make, spaces, get_state, set_state, info, max_state_bytes))
        except NotRestorable as error:
            if pure or get_state is not None:
                raise TypeError(f"{made} cannot return to a state, because {error}; {_REMEDY}") from error
            reason = str(error)
    if info:
        raise ValueError(f"{made} is not pure, because {reason}, so its info cannot be kept; leave it out")
    return FromGymnasium(host=Host(made, *spaces, reason))


_REMEDY = "pass get_state and set_state, or pure=False for an environment that only goes forward"


@dataclasses.dataclass(frozen=True)
class Maker:
    """Makes an environment from an id with its arguments or by a function, or returns the one that was given."""

    source: Any
    arguments: tuple[tuple[str, Any], ...] = ()

    def __hash__(self) -> int:
        return hash(self.source)

    def __call__(self) -> gymnasium.Env[Any, Any]:
        """Return the environment, if it is one that can be called back."""
        env = self.source
        if isinstance(env, str):
            env = gymnasium.make(env, **{"disable_env_checker": True, **dict(self.arguments)})
        elif callable(env) and not isinstance(env, gymnasium.Env):
            env = env()
        if not isinstance(env, gymnasium.Env):
            hint = "; for a space, see funcenv.adapters.gymnasium.spaces" if isinstance(env, gymnasium.Space) else ""
            raise TypeError(f"from_gymnasium takes a gymnasium.Env, such as gymnasium.make gives, got {env!r}{hint}")
        if isinstance(env.unwrapped, FunctionalEnv) or env.metadata.get("jax", False):
            raise TypeError(
                f"{env} runs JAX itself, which a callback must not; take the pure environment inside, "
                "env.unwrapped.func_env, with from_gymnasium_functional around it where it is Gymnasium's"
            )
        return env


class HostState(CallState):
    """The result of a call of the environment, and the number of that call."""

    call_count: UInt[Array, ""]  # calls that led here


class FromGymnasium(HostEnv[HostState]):
    """The environment that `from_gymnasium` returns if states cannot be restored: it only goes forward."""

    host: Host = field(pytree_node=False)

    def transition(self, state: HostState, action: Any, key: jax.Array) -> HostState:
        """Step the environment, which uses its own generator instead of the key."""
        del key
        return self._call(self.host.step, state.call_count, jax.tree.map(jnp.asarray, action))

    def _call(self, function: Callable[..., Any], *args: Any) -> HostState:
        """Call a function of the host from compiled code."""
        state: HostState = _without_vmap(
            lambda *args: io_callback(function, self.host.state_struct, *args, ordered=True), self.host.reason
        )(*args)
        return state


class Host:
    """The Python side of the callbacks: the environment, and the number of calls it has answered."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        observation_space: AnySpace,
        action_space: AnySpace,
        reason: str = "",  # why states cannot be restored
    ) -> None:
        self.env, self.reason = env, reason
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
                    f"FuncVectorEnv do. It is not pure, because {self.reason}"
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


def _without_vmap(call: Callable[..., Any], reason: str) -> Callable[..., Any]:
    """Return `call` with an error under `jax.vmap`, where no state can be restored for this reason."""
    guarded = jax.custom_batching.custom_vmap(call)

    @guarded.def_vmap
    def refuse(axis_size: int, in_batched: Any, *args: Any) -> Any:
        del in_batched, args
        raise TypeError(
            f"from_gymnasium holds one environment, which cannot be mapped over {axis_size} states, because {reason}; "
            "step it alone, vectorize it with gymnasium.make_vec outside of JAX, or pass get_state and set_state"
        )

    return guarded
