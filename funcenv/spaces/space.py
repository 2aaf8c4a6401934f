"""The base class of all spaces."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from funcenv.checks import explain_calls
from funcenv.hints import OF_SPACE, raise_missing

T_cov = TypeVar("T_cov", covariant=True)


class Space(abc.ABC, Generic[T_cov]):
    """A set of values that an observation or an action can have.

    A space holds no random generator: `sample` takes a key. `sample` and `contains` work inside `jax.jit` and
    `jax.vmap`.

    To add a space, define `sample`, `contains` and `union` in one file. Every other method has a default:

    - `parts` lists what the space is made of, for `==` and `hash`; by default its attributes, which must be hashable.
    - `flattened`, `flatten` and `unflatten` make vectors of members; by default they raise an error.
    - `zero`, `bounds`, `decode`, `encode_action`, `pack` and `unpack` do what their docstrings say.
    - `funcenv.spaces.batch.stack_space.register` adds a batch of another kind than `Batched`.

    Attributes:
        shape: the shape of a member, or None where members are not single arrays.
        dtype: the dtype of a member, or None where members are not single arrays.

    >>> import jax.numpy as jnp
    >>> class Even(Space[jax.Array]):
    ...     def sample(self, key, mask=None, probability=None): return 2 * jax.random.randint(key, (), 0, 10)
    ...     def contains(self, x): return jnp.asarray(x) % 2 == 0
    ...     def union(self, other): return self
    >>> 4 in Even(), 5 in Even(), Even() == Even()
    (True, False, True)
    """

    shape: tuple[int, ...] | None = None
    dtype: np.dtype[Any] | None = None
    is_open: bool = False  # true if members have no bounds at all

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "sample" in cls.__dict__:
            cls.sample = explain_calls(  # type: ignore[method-assign]  # with the same signature
                "sample takes a key: space.sample(funcenv.key(0)). Spaces of stateful environments hold a generator "
                "and take none"
            )(cls.sample)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say what takes the place of an attribute that is missing."""
            return raise_missing(self, name, type(self).__name__, OF_SPACE)

        def __call__(self, *params: Any) -> NoReturn:
            """Refuse the parameters that the spaces of gymnax take."""
            raise TypeError(
                f"{self!r} is a space and no function; env.observation_space and env.action_space are properties "
                "without parameters, because the parameters are fields of the environment"
            )

    @abc.abstractmethod
    def sample(self, key: jax.Array, mask: Any = None, probability: Any = None) -> T_cov:
        """Draw a member; the space defines its distribution, and what `mask` and `probability` mean."""

    @abc.abstractmethod
    def contains(self, x: Any) -> Bool[Array, ""]:
        """Return whether `x` is a member, as a bool array; a wrong shape or dtype is found without tracing `x`."""

    @abc.abstractmethod
    def union(self, other: AnySpace) -> AnySpace:
        """Return the smallest space of this kind that contains both, which describes an environment with parameters.

        Raises:
            TypeError: The spaces differ in kind or structure.
        """

    def parts(self) -> tuple[Any, ...]:
        """Return hashable values, equal for equal spaces of this kind: by default its attributes, by name."""
        return tuple(vars(self).items())

    @property
    def flattened(self) -> AnySpace:
        """The space of flattened members: a `Box` with one axis where they become vectors."""
        raise NotImplementedError(f"{type(self).__name__} must define flattened, flatten and unflatten to be flattened")

    def flatten(self, x: Any) -> Any:
        """Convert a member to a member of `flattened`."""
        raise NotImplementedError(f"{type(self).__name__} must define flatten(x) to be flattened")

    def unflatten(self, flat: Any) -> T_cov:
        """Convert a member of `flattened` back to the member that it was made from."""
        raise NotImplementedError(f"{type(self).__name__} must define unflatten(flat) to be flattened")

    @property
    def is_np_flattenable(self) -> bool:
        """True if members flatten to a single vector. The name is Gymnasium's."""
        return self.flattened.shape is not None

    @property
    def bounds(self) -> tuple[Any, Any] | None:
        """Smallest and largest values of a member's elements, both included: arrays that broadcast to its shape.

        None where members are not single arrays between two bounds, or where the bounds are traced.
        """
        return None

    def zero(self) -> T_cov:
        """Return the member closest to zero, which padding uses: the smallest member of a `Discrete`, for example.

        Raises:
            TypeError: The space has no such member.

        >>> from funcenv.spaces import Box, Discrete
        >>> Box(1, 3, (2,)).zero(), Discrete(3, start=-1).zero()
        (Array([1., 1.], dtype=float32), Array(-1, dtype=int32))
        """
        raise TypeError(f"no member of {self!r} stands for zero; pad with a member of your own choice")

    def pack(self, x: Any) -> T_cov:
        """Convert the plain form of a member, which Gymnasium's space of this name holds, to a member.

        The two forms differ only for members that vary in size: the plain form of a `Text` member is a string, and the
        member itself is a padded array. Other members are returned unchanged.
        """
        return x

    def unpack(self, member: Any) -> Any:
        """Convert a member to its plain form, in NumPy arrays of the dtype of the space."""
        plain = jax.tree.map(np.asarray, member)
        return in_declared_dtype(self, plain) if isinstance(plain, np.ndarray) else plain

    def decode(self, member: Any) -> Any:
        """Convert a member with NumPy leaves to what the stateful interfaces return, such as an int for `Discrete`.

        An array gets the dtype of the space, which JAX reduces to 32 bits unless `jax_enable_x64` is set.
        """
        return in_declared_dtype(self, member) if isinstance(member, np.ndarray) else member

    def encode_action(self, x: Any) -> Any:
        """Check an action of the stateful interfaces on the host, and convert it to a member.

        Raises:
            ValueError: `x` is not in the space.
        """
        if not self.contains(x):
            raise self.refuse_action(x)
        return self.pack(x)

    def refuse_action(self, x: Any) -> ValueError:
        """Return the error that says that `x` is not in the space."""
        remedy = "sample one with action_space.sample()"
        if isinstance(x, tuple):
            remedy = "pass the action alone, the first value that a policy's predict returns"
        elif self.shape == () and isinstance(x, (float, np.floating)):
            remedy = "write int(action)"
        elif self.shape == () and isinstance(x, (list, np.ndarray, jax.Array)) and np.shape(x) == (1,):
            remedy = "write int(action[0])"
        return ValueError(f"action {x!r} of type {type(x).__name__} is not in {self!r}; {remedy}")

    def require_kind(self, action: Any) -> None:
        """Check the shape and the kind of number of an action, which may be traced; its values are not looked at.

        A space whose members are not single arrays checks nothing by default.

        Raises:
            TypeError: Floats, where the members are integers; or a tuple or dict.
            ValueError: Another shape than that of a member.

        >>> from funcenv.spaces import Discrete
        >>> Discrete(2).require_kind(0.5)
        Traceback (most recent call last):
            ...
        TypeError: an action of Discrete(2) is an integer, got 0.5; round it or choose an index, as in
            jnp.argmax(logits)
        """
        if self.shape is None or self.dtype is None:
            return
        if isinstance(action, (tuple, dict)):
            raise TypeError(
                f"an action of {self!r} is one array, got a {type(action).__name__}; return the action alone, without "
                "probabilities, values or a memory"
            )
        if isinstance(action, list) and any(isinstance(one, jax.core.Tracer) for one in action):
            raise TypeError(
                f"an action of {self!r} is one array, got a list; write jnp.array(action), or jnp.squeeze of it"
            )
        if np.shape(action) != self.shape:
            raise ValueError(
                f"an action of {self!r} has shape {self.shape}, got shape {np.shape(action)}; "
                "functions of FuncEnv take one action, and a FuncVectorEnv one for each environment"
            )
        if self.dtype.kind in "iub" and jnp.issubdtype(jnp.result_type(action), np.inexact):
            shown = action if isinstance(action, (float, np.ndarray, np.generic)) else jax.typeof(action).str_short()
            raise TypeError(
                f"an action of {self!r} is an integer, got {shown}; "
                "round it or choose an index, as in jnp.argmax(logits)"
            )

    def abstract_member(self) -> Any:
        """Return a member's structure, shapes and dtypes, as `jax.ShapeDtypeStruct`s.

        >>> from funcenv.spaces import Discrete
        >>> Discrete(2).abstract_member()
        ShapeDtypeStruct(shape=(), dtype=int32)
        """
        return jax.eval_shape(lambda: self.sample(jax.random.key(0)))

    def __contains__(self, x: Any) -> bool:
        return bool(self.contains(x))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.parts() == other.parts()

    def __hash__(self) -> int:
        return hash(self.parts())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def in_declared_dtype(space: AnySpace, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Cast an array that JAX computed with 32 bits to the dtype of a space of 64 bits, and keep it within the bounds.

    >>> from funcenv.spaces import Box
    >>> in_declared_dtype(Box(0.1, 0.3, dtype=np.float64), np.float32([0.3]))
    array([0.3])
    """
    if space.dtype is None or array.dtype == space.dtype:
        return array
    array = array.astype(space.dtype)
    return array if space.bounds is None or space.is_open else np.clip(array, *space.bounds)


def require_alike(what: str, read: Callable[[Any], Any], one: AnySpace, other: Any) -> None:
    """Raise `TypeError` unless two spaces are of one kind, and `read` gives the same value for both.

    >>> from funcenv.spaces import Discrete
    >>> require_alike("kind or dtype", lambda space: space.dtype, Discrete(2), Discrete(2, dtype="int8"))
    Traceback (most recent call last):
        ...
    TypeError: Discrete(2) and Discrete(2, dtype=int8) differ in kind or dtype; a union needs spaces alike in these
    """
    if not isinstance(other, type(one)) or read(one) != read(other):
        raise TypeError(f"{one!r} and {other!r} differ in {what}; a union needs spaces alike in these")


AnySpace: TypeAlias = Space[Any]
