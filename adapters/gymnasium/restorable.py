"""Gymnasium environments whose state can be saved and restored, as pure functions."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt32

from funcenv.adapters.gymnasium.host_env import CallState, HostEnv
from funcenv.adapters.gymnasium.member_conversion import member_decoder, member_encoder
from funcenv.adapters.gymnasium.snapshots import Snapshots
from funcenv.host import host_call
from funcenv.spaces._dtypes import canonical
from funcenv.spaces.space import AnySpace
from funcenv.struct import NDArray, field

_PROBE_STEPS = 8  # that are compared before and after a return
_ROOM = 1.5  # for states, as a multiple of the largest one of those steps


class NotRestorable(TypeError):
    """Says why the state of an environment cannot be saved and restored."""


class RestorableState(CallState):
    """The state of an environment as words, and the results of the call that led to it."""

    words: UInt32[Array, "capacity"]  # the number of bytes, and the bytes
    info: dict[str, Any]


class RestorableGymnasium(HostEnv[RestorableState]):
    """The environment that `from_gymnasium` returns if states can be restored.

    Each call restores the state, steps, and saves the next state; a batch is one call, in which one row follows
    another.
    """

    host: RestorableHost = field(pytree_node=False)

    differentiable = False

    def transition(self, state: RestorableState, action: Any, key: jax.Array) -> RestorableState:
        """Step the environment, whose own generator is a part of the state and is used instead of the key."""
        del key
        return self._call(self.host.step, state.words, jax.tree.map(jnp.asarray, action))

    def transition_info(self, state: RestorableState, action: Any, next_state: RestorableState) -> dict[str, Any]:
        """Return the chosen entries of the info of the step."""
        del state, action
        return next_state.info

    def render(self, state: RestorableState) -> Any:
        """Return what the `render` of the environment returns for a state; not for compiled code.

        Raises:
            ValueError: the environment was made without a `render_mode`.
        """
        return self.host.render(np.asarray(state.words))

    def _call(self, function: Callable[..., Any], *args: Any) -> RestorableState:
        state: RestorableState = host_call(function, self.host.state_struct, *args, fills=True)
        return state


class RestorableHost:
    """The environment on the host. Calls come one at a time, and leave nothing behind that the next one needs.

    Args:
        make: makes the environment.
        spaces: those of observations and of actions.
        get_state: as for `Snapshots`.
        set_state: likewise.
        info: names of the entries of a step's info that are kept.
        max_state_bytes: the room for a state, or None to choose it.

    Raises:
        NotRestorable: the state cannot be saved, or a restored state leads to other results.
        ValueError: there is no such entry in the info of a step, or it is not numeric.
    """

    def __init__(
        self,
        make: Callable[[], gymnasium.Env[Any, Any]],
        spaces: tuple[AnySpace, AnySpace],
        get_state: Callable[[Any], Any] | None = None,
        set_state: Callable[[Any, Any], None] | None = None,
        info: Sequence[str] = (),
        max_state_bytes: int | None = None,
    ) -> None:
        self._arguments = make, spaces, get_state, set_state, info, max_state_bytes
        self.env = make()
        self.observation_space, self.action_space = spaces
        self._encode, self._decode = member_encoder(spaces[0]), member_decoder(spaces[1])
        self._snapshots = Snapshots(self.env, get_state, set_state)
        self._lock = threading.Lock()
        try:
            if get_state is not None:
                self.env.reset(seed=0)  # before which there may be no state to read
            self._made = self._held = self._snapshots.save()
            longest, step_info = self._probe()
        except Exception as error:
            raise NotRestorable(str(error)) from error
        num_bytes = int(_ROOM * longest) if max_state_bytes is None else max_state_bytes
        self._num_words = 1 + -(-num_bytes // 4)
        self._info = {name: self._info_struct(name, step_info) for name in info}
        self._set_struct()

    def _set_struct(self) -> None:
        flag, real = jnp.zeros((), bool), jnp.zeros((), canonical(np.dtype(float)))
        self.state_struct = jax.eval_shape(
            lambda: RestorableState(
                words=jnp.zeros(self._num_words, jnp.uint32),
                observation=self.observation_space.sample(jax.random.key(0)),
                reward=real,
                terminated=flag,
                truncated=flag,
                info={name: jnp.zeros(like.shape, like.dtype) for name, like in self._info.items()},
            )
        )

    def reset(self, out: RestorableState, seeds: NDArray) -> None:
        """Start an episode in each row."""
        with self._lock:
            for row, seed in enumerate(seeds):
                self._go_to(self._made)
                observation, _ = self.env.reset(seed=int(seed))
                self._write(out, row, observation)

    def step(self, out: RestorableState, words: NDArray, actions: Any) -> None:
        """Step each row from its state."""
        with self._lock:
            for row, state in enumerate(words):
                self._go_to(_unpacked(state))
                action = self._decode(jax.tree.map(lambda leaf: leaf[row], actions))  # noqa: B023  # called at once
                self._write(out, row, *self.env.step(action))

    def render(self, words: NDArray) -> Any:
        """Return the picture of a state."""
        if self.env.render_mode is None:
            raise ValueError(f'{self.env} has no render mode; make it with render_mode="rgb_array"')
        with self._lock:
            self._go_to(_unpacked(words))
            self._held = b""  # rendering may change attributes
            return self.env.render()

    def _go_to(self, content: bytes) -> None:
        held, self._held = self._held, b""  # which is known again after the next `save`
        if content != held:
            self._snapshots.restore(content)

    def _write(
        self,
        out: RestorableState,
        row: int,
        observation: Any,
        reward: Any = 0.0,
        terminated: Any = False,
        truncated: Any = False,
        info: Any = None,
    ) -> None:
        self._held = content = self._snapshots.save()
        if len(content) > 4 * (self._num_words - 1):
            raise RuntimeError(
                f"a state of {self.env} has {len(content)} bytes, more than the {4 * (self._num_words - 1)} that are "
                "reserved; pass max_state_bytes to from_gymnasium"
            )
        words: Any = out.words[row]
        words[0] = len(content)
        words[1:] = 0
        words[1:].view(np.uint8)[: len(content)] = np.frombuffer(content, np.uint8)
        encoded = self._encode(observation)
        for target, leaf in zip(jax.tree.leaves(out.observation), jax.tree.leaves(encoded), strict=True):
            target[row] = leaf
        rows: Any = out
        rows.reward[row], rows.terminated[row], rows.truncated[row] = reward, terminated, truncated
        for name, target in out.info.items():
            target[row] = 0 if info is None else info.get(name, 0)

    def _probe(self) -> tuple[int, dict[str, Any]]:
        """Play an episode twice, the second time from restored states; return the longest state and an info.

        Raises:
            TypeError: the results differ.
        """
        actions = copy.deepcopy(self.env.action_space)
        actions.seed(0)
        first, longest = self._play(actions.sample, [])
        taken = iter([action for action, *_ in first])
        second, _ = self._play(lambda: next(taken), [True] * len(first))
        if not all(_equal(a[1:5], b[1:5]) for a, b in zip(first, second, strict=True)):
            raise TypeError(
                f"a restored state of {self.env} leads to other results; it consists of more than the attributes"
            )
        self._go_to(self._made)
        self._held = self._made
        return longest, first[-1][5]

    def _play(self, choose: Callable[[], Any], restores: list[bool]) -> tuple[list[tuple[Any, ...]], int]:
        """Play some steps, with a return to the state before each one where `restores` says so."""
        self._go_to(self._made)
        self.env.reset(seed=0)
        rows: list[tuple[Any, ...]] = []
        longest = 0
        for index in range(_PROBE_STEPS):
            content = self._snapshots.save()
            longest = max(longest, len(content))
            action = choose()
            if index < len(restores):
                self.env.step(action)
                self._snapshots.restore(content)
            rows.append((action, *copy.deepcopy(self.env.step(action))))
            if rows[-1][3] or rows[-1][4]:
                break
        return rows, max(longest, len(self._snapshots.save()))

    def _info_struct(self, name: str, info: dict[str, Any]) -> NDArray:
        if name not in info:
            raise ValueError(f"the info of a step of {self.env} has no {name!r}; it has {', '.join(info) or 'nothing'}")
        value = np.asarray(info[name])
        if value.dtype.kind not in "biuf":
            raise ValueError(
                f"info[{name!r}] of {self.env} is {info[name]!r}, which is no array of numbers; leave it out"
            )
        return value.astype(canonical(value.dtype))

    # Hosts of one id are equal, and share compiled programs.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, RestorableHost) and self._arguments == other._arguments

    def __hash__(self) -> int:
        return hash(self._arguments[0])

    def __reduce__(self) -> Any:
        return type(self), self._arguments


def _unpacked(words: Any) -> bytes:
    content: bytes = words[1:].tobytes()[: int(words[0])]
    return content


def _equal(a: Any, b: Any) -> bool:
    """Return whether two results are equal, with NaN equal to itself."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[name], b[name]) for name in a)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, (np.ndarray, float)):
        return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")
    return bool(a == b)
