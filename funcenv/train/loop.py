"""The compiled loop around an algorithm's update, for several seeds in parallel.

`Learner` compiles many updates as one program. The number of updates is an argument of that program, so a caller may
stop it as often as it likes to report progress or write a checkpoint. This neither compiles again nor changes a bit of
the result.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.options import default_promotion, is_tracing, quick_options
from funcenv.random import require_typed_key
from funcenv.struct import NDArray
from funcenv.train.algorithm import MEANS_OF_EPISODES, REQUIRED_METRICS, Algorithm, find_algorithm

Metrics = dict[str, NDArray]

MAX_UPDATES_PER_CALL = 256
"""The largest number of updates in one call of the compiled program, which has room for the metrics of as many."""


class Learner:
    """An algorithm with its configuration, compiled. Every leaf of its states has a leading axis `[num_seeds]`.

    Args:
        algorithm: An `Algorithm` or its name.
        config: A configuration of that algorithm.

    >>> import funcenv
    >>> from funcenv.train import ppo
    >>> learner = Learner(ppo, ppo.Config(num_envs=2, num_steps=8, total_timesteps=64, hidden_sizes=(8,)))
    >>> state = learner.init(funcenv.key(0))
    >>> state, metrics = learner.advance(state, num_updates=4)
    >>> learner.num_updates_done(state), metrics["env_steps"][:, 0].tolist()
    (4, [16, 32, 48, 64])
    """

    def __init__(self, algorithm: str | Algorithm, config: Any) -> None:
        self.algorithm: Algorithm = find_algorithm(algorithm)
        self.config = config
        self.env = config.make_env()
        # One seed after the other: XLA's CPU runtime never finishes some programs that draw the networks of several
        # seeds beside batches of rigid bodies.
        self._init = functools.partial(jax.lax.map, functools.partial(self.algorithm.init, config, self.env))
        self._compiled_init = jax.jit(self._init, compiler_options=quick_options())  # runs once
        self._advance = jax.jit(self._loop)
        self._agents = jax.jit(self._make_agents, static_argnames="explore")

    def init(self, key: jax.Array) -> Any:
        """Return a new state; the key is split into one for each seed."""
        require_typed_key(key)
        init = self._init if is_tracing() else self._compiled_init  # which JAX refuses in another program
        with default_promotion():
            return init(jax.random.split(key, self.config.num_seeds))

    def advance(self, state: Any, num_updates: int) -> tuple[Any, Metrics]:
        """Do the next updates, at most `MAX_UPDATES_PER_CALL` and at most to the end of the run.

        Returns:
            The next state, and metrics of shape `[num_updates, num_seeds]` each. Means of recent episodes are NaN
            before the first episode ends.
        """
        num_updates = min(num_updates, MAX_UPDATES_PER_CALL, self.config.num_updates - self.num_updates_done(state))
        with default_promotion():
            state, metrics = self._advance(state, np.int32(num_updates))
        rows = {name: values[:num_updates] for name, values in jax.device_get(metrics).items()}
        # Not inside the program, where jax_debug_nans would take it for a mistake.
        means = {name: np.where(rows["episodes"] > 0, rows[name], np.nan) for name in MEANS_OF_EPISODES}
        return state, rows | {name: values.astype(rows[name].dtype) for name, values in means.items()}

    def compile(self, state: Any) -> None:
        """Compile `advance`, which the first call does otherwise."""
        with default_promotion():
            self.num_updates_done(self._advance(state, np.int32(0))[0])  # waits for the program

    def num_updates_done(self, state: Any) -> int:
        """Return the number of updates that led to a state."""
        return int(state.update[0])

    def agent(self, state: Any, index: int = 0, explore: bool = False) -> Any:
        """Return the policy that one of the seeds has learned."""
        return self.algorithm.make_agent(self.config, self.env, jax.tree.map(lambda leaf: leaf[index], state), explore)

    def agents(self, state: Any, explore: bool = False) -> Any:
        """Return the policies of all seeds as one pytree, whose leaves have a leading axis `[num_seeds]`."""
        return self._agents(state, explore=explore)

    def _make_agents(self, state: Any, explore: bool) -> Any:
        return jax.vmap(lambda one: self.algorithm.make_agent(self.config, self.env, one, explore))(state)

    def _loop(self, state: Any, num_updates: jax.Array) -> tuple[Any, dict[str, jax.Array]]:
        update = jax.vmap(functools.partial(self.algorithm.update, self.config, self.env))
        _, shapes = jax.eval_shape(update, state)
        missing = sorted(set(REQUIRED_METRICS) - set(shapes))
        if missing:
            raise ValueError(f"update must return the metrics {', '.join(REQUIRED_METRICS)}; {missing[0]} is missing")
        empty = {name: jnp.zeros((MAX_UPDATES_PER_CALL, *shape.shape), shape.dtype) for name, shape in shapes.items()}

        def step(update_index: jax.Array, carry: tuple[Any, dict[str, jax.Array]]) -> tuple[Any, dict[str, jax.Array]]:
            state, metrics = carry
            state, row = update(state)
            return state, {name: values.at[update_index].set(row[name]) for name, values in metrics.items()}

        return jax.lax.fori_loop(0, num_updates, step, (state, empty))


def train(algorithm: str | Algorithm, config: Any, key: jax.Array) -> tuple[Any, Metrics]:
    """Train from the beginning to the end without writing files, and without evaluations, which a run makes.

    Returns:
        The final state, whose leaves have a leading axis `[num_seeds]`, and the metrics of all updates,
        `[num_updates, num_seeds]` each.
    """
    learner = Learner(algorithm, config)
    state = learner.init(key)
    chunks: list[Metrics] = []
    while learner.num_updates_done(state) < config.num_updates:
        state, metrics = learner.advance(state, MAX_UPDATES_PER_CALL)
        chunks.append(metrics)
    return state, {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}
