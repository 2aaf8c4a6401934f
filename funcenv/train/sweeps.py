"""Many values of hyper-parameters and many seeds, trained side by side in one compiled program."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import time
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

from funcenv._compile.options import default_promotion
from funcenv.checks import require_size
from funcenv.counted import counted
from funcenv.random import key as new_key
from funcenv.registry import spec
from funcenv.struct import NDArray, PyTreeNode
from funcenv.train.algorithm import Algorithm, algorithm_name, algorithm_of, find_algorithm
from funcenv.train.loop import Learner, Metrics
from funcenv.train.reports.aggregate import bootstrap_interval, interquartile_mean
from funcenv.train.reports.marl_eval import AgentCurve, marl_eval_data
from funcenv.train.runs.metrics import format_return
from funcenv.train.runs.progress import SHOWN_METRICS, ProgressReport

UPDATES_PER_CALL = 32
"""The number of updates between two lines of progress."""


@dataclasses.dataclass(frozen=True, eq=False)
class SweepResult:
    """The outcome of a sweep; `print` shows it as a table."""

    algorithm: Any
    config: Any  # the configuration that all samples share
    samples: dict[str, NDArray]  # the values of each hyper-parameter, [num_samples]
    metrics: Metrics  # [num_updates, num_samples, num_seeds] each
    state: Any  # the train states; every leaf has leading axes [num_samples, num_seeds]
    wall_seconds: float
    cpu_seconds: float

    @property
    def final(self) -> NDArray:
        """The last mean return of each agent, `[num_samples, num_seeds]`; NaN where no episode ended or it diverged."""
        returns = self.metrics["mean_return"][-1]
        loss = self.metrics.get("loss")
        return returns if loss is None else np.where(np.isfinite(loss[-1]), returns, np.nan)

    @property
    def best(self) -> Any:
        """The configuration of the sample with the largest interquartile mean of returns."""
        return self.config_of(self.rows()[0]["sample"])

    def config_of(self, sample: int) -> Any:
        """Return the configuration of a sample."""
        return dataclasses.replace(
            self.config, **{name: float(values[sample]) for name, values in self.samples.items()}
        )

    def agent(self, sample: int, seed: int = 0, explore: bool = False) -> Any:
        """Return the policy that one seed of a sample has learned."""
        config, state = self.config_of(sample), jax.tree.map(lambda leaf: leaf[sample, seed], self.state)
        return self.algorithm.make_agent(config, config.make_env(), state, explore)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each sample, the best first: its values, and what its seeds reached.

        A sample has its interquartile mean over seeds only if all of them have a return; others come last.
        """
        rows = []
        for sample, returns in enumerate(self.final):
            known = returns[~np.isnan(returns)][:, None]
            is_known = len(known) == len(returns)
            low, high = bootstrap_interval(interquartile_mean, known) if is_known and len(known) > 1 else (np.nan,) * 2
            rows.append(
                {
                    "sample": sample,
                    **{name: float(values[sample]) for name, values in self.samples.items()},
                    "interquartile_mean": float(interquartile_mean(known)) if is_known else float("nan"),
                    "low": float(low),
                    "high": float(high),
                    "num_failed": len(returns) - len(known),
                }
            )
        return sorted(rows, key=lambda row: (np.isnan(row["interquartile_mean"]), -row["interquartile_mean"]))

    def marl_eval(self) -> dict[str, Any]:
        """Return the learning curves in the JSON layout of marl-eval; each sample is an algorithm."""
        name = algorithm_name(self.algorithm)
        curves = []
        for sample, seed in np.ndindex(*self.final.shape):
            values = ", ".join(f"{key} {values[sample]:g}" for key, values in self.samples.items())
            returns = self.metrics["mean_return"][:, sample, seed]
            is_known = ~np.isnan(returns)
            if is_known.any():
                steps = self.metrics["env_steps"][:, sample, seed][is_known]
                curves.append(
                    AgentCurve(self.config.env_id, f"{name}, {values}", f"seed_{seed}", steps, returns[is_known])
                )
        return marl_eval_data(curves)

    def __str__(self) -> str:
        head = ["sample", *self.samples, "return", "95% interval"]
        table = [head]
        for row in self.rows():
            interval = "" if np.isnan(row["low"]) else f"[{format_return(row['low'])}, {format_return(row['high'])}]"
            failed = f"failed: {row['num_failed']} of {self.final.shape[1]}"
            value = failed if row["num_failed"] else format_return(row["interquartile_mean"])
            table.append([str(row["sample"]), *(f"{row[name]:.4g}" for name in self.samples), value, interval])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(map(str.rjust, line, widths)).rstrip() for line in table]
        return "\n".join(lines)


def sweep(
    config: Any,
    samples: Mapping[str, Sequence[float]],
    seeds: int = 1,
    *,
    algorithm: str | Algorithm | None = None,
    console: Console | None = None,
) -> SweepResult:
    """Train with every sample of hyper-parameters, each with several seeds, as one compiled program.

    Seed j of every sample starts from the same key as seed j of a run with `num_seeds=seeds`, and learns what that
    run with the values of the sample would, up to rounding. Nothing is written.

    Args:
        config: The configuration of everything that the samples do not vary. Only a run evaluates during training.
        samples: The values of each hyper-parameter, all of the same length: sample i has the i-th of each.
            `grid` makes all combinations.
        seeds: Number of seeds of each sample; memory grows with `len(sample) * seeds`.
        algorithm: An `Algorithm` or its name; by default the module that defines the class of `config`.
        console: Where progress is printed; by default nowhere.

    Raises:
        ValueError: A key is no hyper-parameter that can vary; the lengths differ; or a value is not valid.

    >>> from funcenv.train import ppo
    >>> config = ppo.Config(num_envs=2, num_steps=8, num_minibatches=1, total_timesteps=64, hidden_sizes=(8,))
    >>> result = sweep(config, {"learning_rate": [1e-3, 1e-2], "gamma": [0.9, 0.99]}, seeds=2)
    >>> result.final.shape, sorted(row["sample"] for row in result.rows())
    ((2, 2), [0, 1])
    """
    found = find_algorithm(algorithm_of(config) if algorithm is None else algorithm)
    seeds, values = require_size("seeds", seeds), _checked(config, samples)
    wall, cpu = time.perf_counter(), time.process_time()
    num_samples = len(next(iter(values.values())))
    swept = _Swept(found)
    learner = Learner(swept, dataclasses.replace(config, num_seeds=num_samples * seeds))
    keys = jnp.tile(jax.random.split(new_key(config.seed), seeds), num_samples)
    each = {name: jnp.repeat(jnp.asarray(one, float), seeds) for name, one in values.items()}
    with default_promotion():
        _require_continuous(swept, learner, keys[0], {name: one[0] for name, one in each.items()})
        init = jax.jit(jax.vmap(functools.partial(swept.start, config, learner.env)))
        state = init(keys, each)
    state, metrics = _train(learner, state, console or Console(quiet=True))
    shape = (num_samples, seeds)
    return SweepResult(
        algorithm=found,
        config=config,
        samples=values,
        metrics={name: one.reshape(-1, *shape) for name, one in metrics.items()},
        state=jax.tree.map(lambda leaf: leaf.reshape(*shape, *leaf.shape[1:]), state.inner),
        wall_seconds=time.perf_counter() - wall,
        cpu_seconds=time.process_time() - cpu,
    )


def grid(**values: Sequence[float]) -> dict[str, list[float]]:
    """Return the samples of all combinations of values.

    >>> grid(learning_rate=[0.1, 0.2], gamma=[0.9, 0.99])
    {'learning_rate': [0.1, 0.1, 0.2, 0.2], 'gamma': [0.9, 0.99, 0.9, 0.99]}
    """
    combinations = list(itertools.product(*values.values()))
    return {name: [combination[i] for combination in combinations] for i, name in enumerate(values)}


def sweepable(config: Any) -> list[str]:
    """Return the names of the hyper-parameters that a sweep may vary: the settings of a configuration that are floats.

    >>> from funcenv.train import ppo
    >>> sweepable(ppo.Config())[:3]
    ['learning_rate', 'max_grad_norm', 'gamma']
    """
    return [name for name, kind in typing.get_type_hints(type(config)).items() if kind is float]


class _State(PyTreeNode):
    """The train state of one agent with its values of the hyper-parameters."""

    values: dict[str, jax.Array]
    inner: Any

    @property
    def update(self) -> jax.Array:
        """The number of updates done."""
        number: jax.Array = self.inner.update
        return number


class _Swept:
    """An `Algorithm` whose states bring their own values of some hyper-parameters."""

    def __init__(self, algorithm: Any) -> None:
        self.algorithm, self.Config = algorithm, algorithm.Config

    def start(self, config: Any, env: Any, key: jax.Array, values: dict[str, jax.Array]) -> _State:
        """Return the first state of an agent with these values."""
        return _State(values=values, inner=self.algorithm.init(_with_values(config, values), env, key))

    def init(self, config: Any, env: Any, key: jax.Array) -> _State:
        """Return the first state of an agent with the values of the configuration."""
        return self.start(config, env, key, {})

    def update(self, config: Any, env: Any, state: _State) -> tuple[_State, dict[str, jax.Array]]:
        """Do one update."""
        inner, metrics = self.algorithm.update(_with_values(config, state.values), env, state.inner)
        return state.replace(inner=inner), metrics

    def make_agent(self, config: Any, env: Any, state: _State, explore: bool = False) -> Any:
        """Return the policy of a state."""
        return self.algorithm.make_agent(_with_values(config, state.values), env, state.inner, explore)


def _with_values(config: Any, values: Mapping[str, jax.Array]) -> Any:
    """Return a configuration with traced values, which its checks could not compare; they are checked before."""
    changed = copy.copy(config)
    for name, value in values.items():
        object.__setattr__(changed, name, value)
    return changed


def _checked(config: Any, samples: Mapping[str, Sequence[float]]) -> dict[str, NDArray]:
    """Return the samples as arrays of one length, after checking every one of them."""
    allowed = sweepable(config)
    for name in samples:
        if name not in allowed:
            raise ValueError(
                f"{name!r} is no hyper-parameter that can vary in a sweep; these are: {', '.join(allowed)}"
            )
    values = {name: np.asarray(one, float) for name, one in samples.items()}
    lengths = {name: one.shape for name, one in values.items()}
    if not values or len(set(lengths.values())) > 1 or any(len(one) != 1 or not one[0] for one in lengths.values()):
        shown = ", ".join(f"{name} {list(shape)}" for name, shape in lengths.items()) or "none"
        raise ValueError(
            f"samples must hold as many numbers of each hyper-parameter, got {shown}; grid(...) makes all combinations"
        )
    for sample in zip(*values.values(), strict=True):
        dataclasses.replace(config, **dict(zip(values, map(float, sample), strict=True)))
    return values


def _require_continuous(swept: _Swept, learner: Learner, key: jax.Array, values: dict[str, jax.Array]) -> None:
    """Raise if an algorithm decides by a value what to compute."""

    def trace(values: dict[str, jax.Array]) -> None:
        config, env = learner.config, learner.env
        jax.eval_shape(
            lambda key, values: swept.update(config, env, swept.start(config, env, key, values)), key, values
        )

    for name, value in values.items():
        try:
            trace({name: value})
        except (jax.errors.ConcretizationTypeError, jax.errors.TracerBoolConversionError) as error:
            raise ValueError(
                f"{name!r} cannot vary in a sweep, because {learner.config.env_id} is trained by another program for "
                "each of its values; leave it out, and start a run for each value"
            ) from error


def _train(learner: Learner, state: Any, console: Console) -> tuple[Any, Metrics]:
    config = learner.config
    title, total = f"{config.env_id} x {counted(config.num_seeds, 'agent')}", config.num_updates * config.batch_size
    chunks: list[Metrics] = []
    with ProgressReport(title, total, console, config.num_seeds, spec(config.env_id).reward_threshold) as report:
        report.enter("training")
        while learner.num_updates_done(state) < config.num_updates:
            wall = time.perf_counter()
            state, metrics = learner.advance(state, UPDATES_PER_CALL)
            steps = metrics["env_steps"].shape[0] * config.batch_size * config.num_seeds
            means = {name: _mean(metrics[name][-1]) for name in SHOWN_METRICS if name in metrics}
            speed = steps / (time.perf_counter() - wall)
            report.report(int(metrics["env_steps"][-1, 0]), **means, steps_per_second=speed)
            chunks.append(metrics)
        report.enter("finished")
    return state, {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def _mean(values: NDArray) -> float:
    """Return the mean of the values that are known, or NaN."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")
