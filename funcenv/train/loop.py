"""The loop around an algorithm's update: many updates in one compiled program, for several seeds side by side.

An algorithm is a module with `Config`, `make_env`, `init`, `update` and `make_agent`, such as `funcenv.train.ppo`.
`Learner` compiles its update once, in a loop whose length is an argument, so that a caller may stop for a moment as
often as it likes, to show progress or to write a checkpoint, without compiling again and without changing a bit of the
result.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.func_env import FuncEnv
from funcenv.random import require_typed_key

Metrics = dict[str, np.ndarray[Any, Any]]

MAX_UPDATES_PER_CALL = 256
"""How many updates one call of the compiled program can do, and hold the figures of."""


class Algorithm(Protocol):
    """What a module in `funcenv.train` offers; states and agents are pytrees of its own kind."""

    def make_env(self, config: Any) -> FuncEnv[Any, Any, Any]: ...  # noqa: D102  (see funcenv.train.ppo)
    def init(self, config: Any, env: Any, key: jax.Array) -> Any: ...  # noqa: D102
    def update(self, config: Any, env: Any, state: Any) -> tuple[Any, dict[str, jax.Array]]: ...  # noqa: D102
    def make_agent(self, config: Any, env: Any, state: Any, explore: bool = False) -> Any: ...  # noqa: D102


class Learner:
    """An algorithm with its configuration, ready to run; every leaf of its states has a leading axis `[num_seeds]`.

    >>> import funcenv
    >>> from funcenv.train import ppo
    >>> learner = Learner(ppo, ppo.Config(num_envs=2, num_steps=8, total_timesteps=64, hidden_sizes=(8,)))
    >>> state = learner.init(funcenv.key(0))
    >>> state, metrics = learner.advance(state, num_updates=4)
    >>> learner.num_updates_done(state), metrics["env_steps"][:, 0].tolist()
    (4, [16, 32, 48, 64])
    """

    def __init__(self, algorithm: Any, config: Any) -> None:
        self.algorithm: Algorithm = algorithm
        self.config = config
        self.env = self.algorithm.make_env(config)
        self._init = jax.jit(jax.vmap(functools.partial(self.algorithm.init, config, self.env)))
        self._advance = jax.jit(self._loop)

    def init(self, key: jax.Array) -> Any:
        """A new state; agent i learns with the i-th part of the key."""
        require_typed_key(key)
        with _default_promotion():
            return self._init(jax.random.split(key, self.config.num_seeds))

    def advance(self, state: Any, num_updates: int) -> tuple[Any, Metrics]:
        """The next updates, at most `MAX_UPDATES_PER_CALL` and not beyond the end of the run.

        Returns:
            The state after them and their figures, each of shape `[num_updates, num_seeds]`.
        """
        num_updates = min(num_updates, MAX_UPDATES_PER_CALL, self.config.num_updates - self.num_updates_done(state))
        with _default_promotion():
            state, metrics = self._advance(state, np.int32(num_updates))
        return state, {name: values[:num_updates] for name, values in jax.device_get(metrics).items()}

    def num_updates_done(self, state: Any) -> int:
        """How many updates a state has seen."""
        return int(state.update[0])

    def agent(self, state: Any, index: int = 0, explore: bool = False) -> Any:
        """The policy of one of the seeds."""
        return self.algorithm.make_agent(self.config, self.env, jax.tree.map(lambda leaf: leaf[index], state), explore)

    def _loop(self, state: Any, num_updates: jax.Array) -> tuple[Any, dict[str, jax.Array]]:
        update = jax.vmap(functools.partial(self.algorithm.update, self.config, self.env))
        _, shapes = jax.eval_shape(update, state)
        empty = {name: jnp.zeros((MAX_UPDATES_PER_CALL, *shape.shape), shape.dtype) for name, shape in shapes.items()}

        def step(number: jax.Array, carry: tuple[Any, dict[str, jax.Array]]) -> tuple[Any, dict[str, jax.Array]]:
            state, metrics = carry
            state, row = update(state)
            return state, {name: values.at[number].set(row[name]) for name, values in metrics.items()}

        return jax.lax.fori_loop(0, num_updates, step, (state, empty))


@contextlib.contextmanager
def _default_promotion() -> Iterator[None]:
    """JAX's own promotion rules, because optax does not compile under the strict ones that a user may have set."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def train(algorithm: Any, config: Any, key: jax.Array) -> tuple[Any, Metrics]:
    """The whole run, with nothing written: for notebooks and tests.

    Returns:
        The final state, every leaf with a leading axis `[num_seeds]`, and the figures of every update, `[num_updates,
        num_seeds]` each.
    """
    learner = Learner(algorithm, config)
    state = learner.init(key)
    chunks: list[Metrics] = []
    while learner.num_updates_done(state) < config.num_updates:
        state, metrics = learner.advance(state, MAX_UPDATES_PER_CALL)
        chunks.append(metrics)
    return state, {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}
