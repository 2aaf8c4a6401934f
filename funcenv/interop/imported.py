"""An environment of another library behind the contract of `FuncEnv`."""

from __future__ import annotations

import abc
import dataclasses
import functools
import importlib
import importlib.metadata
from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, UInt

from funcenv._compile.options import default_promotion
from funcenv._jax import kinds, uses_64_bits
from funcenv.func_env import FuncEnv
from funcenv.interop.stable import conform, stable_struct
from funcenv.random.keys import is_key
from funcenv.spaces.space import AnySpace
from funcenv.struct import NDArray, PyTreeNode, field
from funcenv.wrappers.resize_observation import resize


class Outcome(NamedTuple):
    """The result of a call of another library."""

    state: Any  # the library's own
    observation: Any
    reward: Any = 0.0
    terminated: Any = False
    truncated: Any = False
    info: Any = None  # a dict; None: there is none


@dataclasses.dataclass(frozen=True)
class Source(abc.ABC):
    """A pure environment of another library. Equal objects share compiled programs.

    Args:
        env: the library's environment.
        observation_space: the space of observations.
        action_space: the space of actions.
        identity: what tells `env` from others of its class, from `identity_of`.
    """

    env: Any = dataclasses.field(compare=False)
    observation_space: AnySpace
    action_space: AnySpace
    identity: Hashable

    @abc.abstractmethod
    def reset(self, params: Any, key: jax.Array) -> Outcome:
        """Start an episode."""

    @abc.abstractmethod
    def step(self, params: Any, state: Any, action: Any, key: jax.Array) -> Outcome:
        """Take a step, without a reset at the end of an episode."""

    def image(self, params: Any, state: Any, size: tuple[int, int] | None) -> Any:
        """Return the library's image of a state, `[height, width, 3 or 4]` with values up to 255.

        Args:
            params: the library's parameters, of one environment.
            state: the library's state.
            size: height and width, for libraries that draw in any size.
        """
        raise NotImplementedError

    undrawn: ClassVar[str] = "has no function that draws a state"
    """what the library lacks, where `image` is not defined"""

    def __str__(self) -> str:
        return type(self.env).__name__

    @property
    def library(self) -> str:
        """The name of the library."""
        return type(self.env).__module__.partition(".")[0]


def identity_of(env: Any, arguments: Mapping[str, Any] = MappingProxyType({})) -> Hashable:
    """Return what tells an environment from others: its id and arguments, or the object itself if it has no id.

    >>> identity_of("CartPole-v1"), identity_of(print) == identity_of(max)
    (('CartPole-v1',), False)
    """
    return (env, *sorted(arguments.items())) if isinstance(env, str) else id(env)


class ImportedState(PyTreeNode):
    """The library's state, with the results of the call that led to it; of several agents, results by agent."""

    state: Any
    observation: Any
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    info: dict[str, Any]


class ImportedEnv(FuncEnv[ImportedState, Any, Any]):
    """The environment that the functions `from_...` of this package return.

    `initial` and `transition` pass their keys on to the library's own functions. Integers, keys and flags are those of
    the library bit for bit; so are floats where XLA fuses the same arithmetic alike, and to rounding elsewhere. States
    keep the shapes and dtypes that a step does not change, observations have those of their space, rewards are floats.
    The library's functions run under JAX's default rules of promotion.

    Args:
        params: the library's own parameters, which can be batched; None if it has none.
        source: the library's environment.
    """

    params: Any
    source: Source = field(pytree_node=False)

    differentiable = False

    @property
    def observation_space(self) -> AnySpace:
        """The space of observations."""
        return self.source.observation_space

    @property
    def action_space(self) -> AnySpace:
        """The space of actions."""
        return self.source.action_space

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other `params`, which have the library's own parameters.

        Raises:
            TypeError: a change names one of the library's parameters, or nothing.
        """
        own = next((name for name in changes if name not in ("params", "source") and hasattr(self.params, name)), None)
        if own is not None:
            raise TypeError(
                f"{own} is a parameter of {self.source}, which are in `params`; write "
                f"env.replace(params=env.params.replace({own}={changes[own]!r}))"
            )
        return super().replace(**changes)

    def initial(self, key: jax.Array) -> ImportedState:
        """Return the state after a reset of the library's environment."""
        like = self._structs(key)
        with default_promotion():
            outcome = self.source.reset(self.params, key)
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), like.info)
        return self._state(outcome._replace(info=zeros), like)

    def transition(self, state: ImportedState, action: Any, key: jax.Array) -> ImportedState:
        """Return the state after a step of the library's environment."""
        like = self._structs(key)
        with default_promotion():
            outcome = self.source.step(self.params, _with_keys(state.state, key), action, key)
        return self._state(outcome, like)

    def observation(self, state: ImportedState, key: jax.Array) -> Any:
        """Return the observation of the call that led to the state."""
        del key
        return state.observation

    def reward(self, state: ImportedState, action: Any, next_state: ImportedState) -> Float[Array, ""]:
        """Return the reward of the step."""
        del state, action
        return next_state.reward

    def terminal(self, state: ImportedState) -> Bool[Array, ""]:
        """Return whether the library says that the episode ended."""
        return state.terminated

    def truncated(self, state: ImportedState) -> Bool[Array, ""]:
        """Return whether the library says that the episode was stopped."""
        return state.truncated

    def transition_info(self, state: ImportedState, action: Any, next_state: ImportedState) -> dict[str, Any]:
        """Return the library's info of the step."""
        del state, action
        return next_state.info

    @property
    def draws_images(self) -> bool:
        """True if the library draws states as images."""
        return type(self.source).image is not Source.image

    @property
    def why_undrawn(self) -> str:
        """The reason why there are no images, with the remedy, for messages."""
        return (
            f"{self.source.library} {self.source.undrawn}; define scene(state) in a subclass of {type(self).__name__}"
        )

    def host_image(self, state: ImportedState, size: tuple[int, int]) -> NDArray | None:
        """Return the library's own image of a state, scaled to `size`."""
        return scaled(self._library_image(state, size), size) if self.draws_images else None

    @property
    def image_size(self) -> tuple[int, int] | None:
        """Height and width of the library's image of a first state; None if it draws none."""
        if not self.draws_images:
            return None
        height, width, _ = self._library_image(self.initial(jax.random.key(0)), None).shape
        return height, width

    def _library_image(self, state: ImportedState, size: tuple[int, int] | None) -> NDArray:
        own = jax.tree.map(jnp.asarray, _with_keys(state.state, jax.random.key(0)))
        with default_promotion():
            image = np.asarray(self.source.image(self.params, own, size))
        return np.clip(image[..., :3], 0, 255).astype(np.uint8)

    def _structs(self, key: jax.Array) -> Outcome:
        """Return the shapes and dtypes of stable states and of infos."""
        return _structs(self.source, uses_64_bits(), *kinds((self.params, key)))

    def _state(self, outcome: Outcome, like: Outcome) -> ImportedState:
        return ImportedState(
            state=_without_keys(conform(outcome.state, like.state)),
            observation=conform(self._declared(outcome.observation), self.observation_space.abstract_member()),
            reward=jax.tree.map(lambda one: jnp.asarray(one).astype(float).reshape(()), outcome.reward),
            terminated=jax.tree.map(lambda one: jnp.asarray(one).astype(bool).reshape(()), outcome.terminated),
            truncated=jnp.asarray(outcome.truncated).astype(bool).reshape(()),
            info=conform(outcome.info or {}, like.info),
        )

    def _declared(self, observation: Any) -> Any:
        """Return an observation, if its shapes fit those of the space that the library declares.

        Raises:
            ValueError: a shape does not fit.
        """

        def require_shape(path: Any, leaf: Any, like: Any) -> Any:
            shape = np.shape(leaf)
            fits = len(shape) <= len(like.shape) and all(
                one in (1, other) for one, other in zip(shape[::-1], like.shape[::-1], strict=False)
            )
            if not fits:
                library = self.source.library
                entry = f" at {jax.tree_util.keystr(path)}" if path else ""
                raise ValueError(
                    f"{self.source} of {library} declares observations of shape {like.shape}{entry} and returns "
                    f"{shape}, which is a fault of {library}; mend its observation space, or override it in a subclass"
                )
            return leaf

        return jax.tree_util.tree_map_with_path(require_shape, observation, self.observation_space.abstract_member())


def scaled(image: NDArray, size: tuple[int, int]) -> NDArray:
    """Return an image `[height, width, channels]` in another size.

    A side that grows repeats pixels, a side that shrinks averages them.

    >>> scaled(np.arange(4, dtype=np.uint8).reshape(2, 2, 1), (2, 4))[..., 0].tolist()
    [[0, 0, 1, 1], [2, 2, 3, 3]]
    >>> scaled(np.array([[[0], [10], [20], [30]]], np.uint8), (2, 2))[..., 0].tolist()
    [[5, 25], [5, 25]]
    """
    smaller = min(size[0], image.shape[0]), min(size[1], image.shape[1])
    if smaller != image.shape[:2]:
        image = np.asarray(resize(jnp.asarray(image), smaller))
    rows, columns = (np.arange(new) * old // new for new, old in zip(size, image.shape, strict=False))
    return image[rows[:, None], columns]


class _Key(PyTreeNode):
    """A random key in a state of a library, as the integers that it consists of."""

    words: UInt[Array, "*words"]


def _without_keys(state: Any) -> Any:
    """Return a state with integers in place of random keys, which states of funcenv do not hold."""

    def replace(leaf: jax.Array) -> Any:
        return _Key(jax.random.key_data(leaf)) if is_key(leaf) else leaf

    return jax.tree.map(replace, state)


def _with_keys(state: Any, key: jax.Array) -> Any:
    """Return the state that `_without_keys` was given, with keys of the implementation of `key`."""
    impl = jax.random.key_impl(key)

    def restore(leaf: Any) -> Any:
        return jax.random.wrap_key_data(leaf.words, impl=impl) if isinstance(leaf, _Key) else leaf

    return jax.tree.map(restore, state, is_leaf=lambda leaf: isinstance(leaf, _Key))


@functools.lru_cache(maxsize=256)
def _structs(source: Source, wide: bool, structure: Any, *shapes: Any) -> Outcome:
    """Return the shapes and dtypes of stable states and of infos."""
    del wide  # it only keeps the dtypes apart
    params, key = jax.tree.unflatten(structure, shapes)
    action = source.action_space.abstract_member()

    def advance(state: Any) -> Outcome:
        outcome: Outcome = jax.eval_shape(source.step, params, state, action, key)
        return outcome

    with default_promotion():
        first = jax.eval_shape(source.reset, params, key).state
        state = stable_struct(first, lambda state: advance(state).state, f"the step of {source}")
        outcome = advance(state)
    return outcome._replace(state=state, info=outcome.info or {})


def import_library(name: str, minimum: tuple[int, ...], package: str = "") -> Any:
    """Import a library that is not installed with this package.

    Args:
        name: the name of the module.
        minimum: the oldest version that works.
        package: the name of the package that installs it, if it is another one.

    Raises:
        ModuleNotFoundError: it is not installed; the message says how to.
        ImportError: its version is older than `minimum`.
    """
    package = package or name
    needed = f"{package}>={'.'.join(map(str, minimum))}"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(f'this needs {package}: pip install "{needed}"', name=name) from None
    found = importlib.metadata.version(package)
    if tuple(int(part) for part in found.split(".")[: len(minimum)]) < minimum:
        raise ImportError(f'this needs {needed}, found {found}: pip install --upgrade "{needed}"')
    return module
