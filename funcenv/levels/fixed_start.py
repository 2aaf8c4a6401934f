"""An environment whose episodes all start alike."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, UInt32

from funcenv.func_env import Action, Obs, State
from funcenv.random.generators import find_impl
from funcenv.struct import field
from funcenv.wrappers.base import Wrapper


class FixedStart(Wrapper[State, Action, Obs]):
    """Starts every episode with one key, which a batch of environments may vary; the keys of steps stay as they are.

    Args:
        env: the environment.
        key_data: the words of the key, uint32 `[words]`, or `[num_envs, words]` for a batch.
        impl: name of the key's generator.

    >>> import funcenv
    >>> env = FixedStart(funcenv.make("CartPole-v1"), jax.random.key_data(funcenv.key(7)))
    >>> first, second = (env.reset(funcenv.key(seed))[1].observation for seed in range(2))
    >>> bool((first == second).all())
    True
    """

    key_data: UInt32[Array, "words"] = field(ndim=1)
    impl: str = field(pytree_node=False, default="threefry")

    @property
    def fixed_start(self) -> bool:
        """True."""
        return True

    def initial(self, key: jax.Array) -> State:
        """Return the first state of the fixed key."""
        del key
        state: State = self.env.initial(jax.random.wrap_key_data(jnp.asarray(self.key_data), impl=find_impl(self.impl)))
        return state
