"""The compiled loop around an algorithm's update, for several seeds in parallel.

`Learner` compiles many updates as one program. The number of updates is an argument of that program, so a caller may
stop it as often as it likes to report progress or write a checkpoint. This neither compiles again nor changes a bit of
the result.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.kept_jit import KeptJit
from funcenv._compile.options import default_promotion, is_tracing, quick_options
from funcenv._jax import constrain
from funcenv.random import find_impl, impl_name, require_typed_key
from funcenv.struct import NDArray
from funcenv.train.algorithm import (
    MEANS_OF_EPISODES,
    REQUIRED_METRICS,
    SUCCESS_RATE,
    TASK_EPISODES,
    TASK_RETURN,
    Algorithm,
    find_algorithm,
)
from funcenv.train.devices import (
    deterministic_reductions,
    make_mesh,
    put_sharded,
    state_shardings,
    with_shardings,
    within,
)
from funcenv.transfers import transferred

Metrics = dict[str, NDArray]

MAX_UPDATES_PER_CALL = 256
"""The largest number of updates in one call of the compiled program, which has room for the metrics of as many."""


class Learner:
    """An algorithm with its configuration, compiled. Every leaf of its states has a leading axis `[num_seeds]`.

    Args:
        algorithm: An `Algorithm` or its name.
        config: A configuration of that algorithm.
        devices: Which devices the environments are spread over; by default all, those of other processes included.

    Raises:
        ValueError: The environments cannot be divided evenly between the devices.

    >>> import funcenv
    >>> from funcenv.train import ppo
    >>> learner = Learner(ppo, ppo.Config(num_envs=2, num_steps=8, total_timesteps=64, hidden_sizes=(8,)))
    >>> state = learner.init(funcenv.key(0))
    >>> state, metrics = learner.advance(state, num_updates=4)
    >>> learner.num_updates_done(state), metrics["env_steps"][:, 0].tolist()
    (4, [16, 32, 48, 64])
    """

    def __init__(self, algorithm: str | Algorithm, config: Any, devices: Sequence[jax.Device] | None = None) -> None:
        self.algorithm: Algorithm = find_algorithm(algorithm)
        self.config = config
        self.env = config.make_env()
        self.mesh = make_mesh(config.num_envs, devices) if hasattr(config, "num_envs") else None
        self._parts = self.algorithm, config, config.digests()
        parts = self._parts
        self._advance = KeptJit(self._loop, "updates", parts)
        self._advance_in_place = KeptJit(self._loop, "updates in place", parts, donate_argnums=[0])
        self._agents = KeptJit(self._make_agents, "agents of a state", parts, static_argnames=["explore"])

    def init(self, key: jax.Array, meanwhile: Callable[[Any], object] | None = None) -> Any:
        """Return a new state; the key is split into one for each seed.

        Args:
            key: A typed key.
            meanwhile: On a single device, takes the shapes of the state while another thread compiles the program that
                makes it, such as `start_compiling`. It is not called if that program is at hand.
        """
        require_typed_key(key)
        if is_tracing():  # in another program, JAX refuses compiler options
            return self._init(jax.random.key_data(key), impl_name(key))
        # On one device, because the parameters of a program for several differ in the last digit.
        init = KeptJit(self._init, "first state", self._parts, static_argnames=["impl"], options=quick_options())
        with default_promotion(), deterministic_reductions(self.config.deterministic_reductions):
            args = transferred(np.asarray(jax.random.key_data(key))), impl_name(key)
            if meanwhile is not None and self.mesh is None:
                init.compile(*args, meanwhile=meanwhile)
            state = init(*args)
            return state if self.mesh is None else put_sharded(state, state_shardings(self.mesh, state))

    def template(self, key: jax.Array) -> Any:
        """Return the shapes of a state, and where its leaves lie if there are several devices."""
        if self.mesh is None:
            return jax.eval_shape(self.init, key)
        with self._context():
            shapes = jax.eval_shape(self.init, key)
            return with_shardings(shapes, state_shardings(self.mesh, shapes))

    def advance(self, state: Any, num_updates: int, donate: bool = False) -> tuple[Any, Metrics]:
        """Do the next updates, at most `MAX_UPDATES_PER_CALL` and at most to the end of the run.

        Args:
            state: The state before.
            num_updates: How many.
            donate: Write the next state over `state`, which cannot be used afterwards. A replay buffer is otherwise
                held twice, and copied in each call.

        Returns:
            The next state, and metrics of shape `[num_updates, num_seeds]` each. Means of recent episodes are NaN
            before the first episode ends.
        """
        num_updates = min(num_updates, MAX_UPDATES_PER_CALL, self.config.num_updates - self.num_updates_done(state))
        with self._context():
            state, metrics = self._program(donate)(state, transferred(np.int32(num_updates)))
        rows = {name: values[:num_updates] for name, values in jax.device_get(metrics).items()}
        # Not inside the program, where jax_debug_nans would take it for a mistake.
        counts = {name: "episodes" for name in (*MEANS_OF_EPISODES, SUCCESS_RATE) if name in rows}
        counts |= {name: name.replace(TASK_RETURN, TASK_EPISODES) for name in rows if name.startswith(TASK_RETURN)}
        means = {name: np.where(rows[count] > 0, rows[name], np.nan) for name, count in counts.items()}
        return state, rows | {name: values.astype(rows[name].dtype) for name, values in means.items()}

    def advance_to(self, state: Any, update: int, donate: bool = False) -> tuple[Any, Metrics]:
        """Do the updates up to a number, or to the end of the run, in as few calls of `advance` as that takes.

        Args:
            state: The state before; it is returned if it has as many updates already.
            update: The number of updates of the state after.
            donate: As `advance` takes it.

        Returns:
            The state after, and the metrics of all updates on the way, `[num_updates, num_seeds]` each.
        """
        goal, done = min(update, self.config.num_updates), self.num_updates_done(state)
        calls: list[Metrics] = []
        while not calls or done < goal:
            state, metrics = self.advance(state, max(goal - done, 0), donate)
            done += len(metrics["env_steps"])
            calls.append(metrics)
        return state, {name: np.concatenate([metrics[name] for metrics in calls]) for name in calls[0]}

    def compile(self, state: Any, donate: bool = False) -> Any:
        """Compile `advance`, which the first call does otherwise, and return the same state."""
        with self._context():
            state, metrics = self._program(donate)(state, transferred(np.int32(0)))
        jax.device_get(metrics)  # waits for the program
        return state

    def start_compiling(
        self, shapes: Any, donate: bool = False, meanwhile: Callable[[], object] = lambda: None
    ) -> None:
        """Compile `advance` on a single device before there is a state.

        Args:
            shapes: The shapes of a state.
            donate: As `advance` takes it.
            meanwhile: Is called while another thread compiles, if anything is compiled.
        """
        with self._context():
            self._program(donate).compile(shapes, transferred(np.int32(0)), meanwhile=lambda _: meanwhile())

    def lower(self, state: Any, donate: bool = False) -> Any:
        """Return the lowered program of `advance`, as `jax.jit(...).lower` does: to read it, or to compile it.

        Compiled, it takes a state and the number of updates as an int32, and returns the next state and metrics with
        room for `MAX_UPDATES_PER_CALL` updates.
        """
        with self._context():
            return self._program(donate).lower(state, np.int32(0))

    def num_updates_done(self, state: Any) -> int:
        """Return the number of updates that led to a state."""
        return int(jax.device_get(state.update)[0])

    def agent(self, state: Any, index: int = 0, explore: bool = False) -> Any:
        """Return the policy that one of the seeds has learned."""
        if self.mesh is not None:
            return jax.tree.map(lambda leaf: leaf[index], self.agents(state, explore))
        return self.algorithm.make_agent(self.config, self.env, jax.tree.map(lambda leaf: leaf[index], state), explore)

    def agents(self, state: Any, explore: bool = False) -> Any:
        """Return the policies of all seeds as one pytree, whose leaves have a leading axis `[num_seeds]`."""
        with self._context():
            agents = self._agents(state, explore)
        return self.local(agents)

    def local(self, tree: Any) -> Any:
        """Return a tree that is whole on every device as arrays of this process alone, if there are several devices."""
        is_local = self.mesh is None or is_tracing()
        return tree if is_local else jax.tree.map(jnp.asarray, jax.device_get(tree))

    def _program(self, donate: bool) -> Any:
        return self._advance_in_place if donate else self._advance

    def _init(self, key_data: jax.Array, impl: str) -> Any:
        key = jax.random.wrap_key_data(key_data, impl=find_impl(impl))
        # One seed after the other: XLA's CPU runtime never finishes some programs that draw the networks of several
        # seeds beside batches of rigid bodies.
        init = functools.partial(self.algorithm.init, self.config, self.env)
        return jax.lax.map(init, jax.random.split(key, self.config.num_seeds))

    @contextlib.contextmanager
    def _context(self) -> Iterator[None]:
        """Promote dtypes as the packages for training expect, and spread environments over the devices."""
        with (
            default_promotion(),
            deterministic_reductions(self.config.deterministic_reductions),
            within(self.mesh),
        ):
            yield

    def _make_agents(self, state: Any, explore: bool) -> Any:
        agents = jax.vmap(lambda one: self.algorithm.make_agent(self.config, self.env, one, explore))(state)
        return jax.tree.map(jnp.copy, agents)  # or they would be lost with a state that is donated

    def _loop(self, state: Any, num_updates: jax.Array) -> tuple[Any, dict[str, jax.Array]]:
        update = functools.partial(self.algorithm.update, self.config, self.env)
        # A single seed loses its axis for the loop: an update of PQN on a CPU takes half the time without it.
        is_single = self.config.num_seeds == 1
        state = jax.tree.map(lambda leaf: leaf.reshape(leaf.shape[1:]), state) if is_single else state
        update = update if is_single else jax.vmap(update)
        _, shapes = jax.eval_shape(update, state)
        missing = sorted(set(REQUIRED_METRICS) - set(shapes))
        if missing:
            raise ValueError(f"update must return the metrics {', '.join(REQUIRED_METRICS)}; {missing[0]} is missing")
        empty = {name: jnp.zeros((MAX_UPDATES_PER_CALL, *shape.shape), shape.dtype) for name, shape in shapes.items()}

        def step(update_index: jax.Array, carry: tuple[Any, dict[str, jax.Array]]) -> tuple[Any, dict[str, jax.Array]]:
            state, metrics = carry
            state, row = update(state)
            if self.mesh is not None:
                state = constrain(state, state_shardings(self.mesh, state, has_seeds=not is_single))
            return state, {name: values.at[update_index].set(row[name]) for name, values in metrics.items()}

        state, metrics = jax.lax.fori_loop(0, num_updates, step, (state, empty))
        if is_single:
            state = jax.tree.map(lambda leaf: leaf[None], state)
            metrics = {name: values[:, None] for name, values in metrics.items()}
        return state, metrics


def train(algorithm: str | Algorithm, config: Any, key: jax.Array) -> tuple[Any, Metrics]:
    """Train from the beginning to the end without writing files, and without evaluations, which a run makes.

    Returns:
        The final state, whose leaves have a leading axis `[num_seeds]`, and the metrics of all updates,
        `[num_updates, num_seeds]` each.
    """
    learner = Learner(algorithm, config)
    return learner.advance_to(learner.init(key), config.num_updates)
