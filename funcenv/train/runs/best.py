"""The best agents of a run so far, of each seed its own, and the evaluations by which they are found."""

from __future__ import annotations

import functools
import operator
import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from funcenv._compile.kept_jit import KeptJit
from funcenv._compile.options import quick_options
from funcenv.random import impl_name
from funcenv.rollout import MAX_EVALUATION_STEPS, evaluate
from funcenv.struct import PyTreeNode
from funcenv.train.devices import all_gather_scalars, deterministic_reductions, replicated, with_shardings
from funcenv.train.loop import Learner, Metrics
from funcenv.train.runs import checkpoint
from funcenv.train.runs.metrics import EVAL_SUCCESS, EVALUATION_METRICS

EVALUATION_KEY = 2**31
"""What the key of a run is folded with for its evaluations; beyond the number of any seed."""


class BestAgents(PyTreeNode):
    """The agents with the largest mean return that each seed has had; every leaf has a leading axis `[num_seeds]`.

    They have a score of minus infinity before the first return is known.
    """

    agents: Any
    score: Float[Array, "num_seeds"]
    update: Int[Array, "num_seeds"]  # number of updates that led to the agent

    @classmethod
    def of(cls, learner: Learner, state: Any, explore: bool = False) -> BestAgents:
        """Return the agents of a train state, with the score of agents that are not known yet."""
        score = jnp.asarray(np.full(learner.config.num_seeds, -np.inf), float)
        return cls(agents=learner.agents(state, explore), score=score, update=jnp.copy(learner.local(state.update)))

    def improved(self, agents: Any, score: Any, update: int) -> BestAgents:
        """Return the better agent of each seed; a score of NaN is no better than any."""
        is_better = np.asarray(score) > np.asarray(self.score)
        numbers = jnp.asarray(np.full(len(is_better), update), self.update.dtype)
        new = BestAgents(agents=agents, score=jnp.asarray(score, self.score.dtype), update=numbers)
        return new if is_better.all() else _choose_program()(is_better, new, self)


@functools.cache
def _choose_program() -> Any:
    """Compile the choice of each seed quickly, because it copies parameters and nothing else."""

    def choose(is_better: jax.Array, new: BestAgents, old: BestAgents) -> BestAgents:
        chosen: BestAgents = jax.tree.map(lambda a, b: jnp.where(is_better, a, b), new, old)
        return chosen

    return KeptJit(jax.vmap(choose), "choice of the best agents", options=quick_options())


def restore_best(
    learner: Learner, folder: pathlib.Path, key: jax.Array, explore: bool = False
) -> tuple[BestAgents, list[str]]:
    """Read the best agents of a run, and a message for each newer checkpoint that is damaged.

    Args:
        learner: The learner of the run.
        folder: The folder of its checkpoints.
        key: The root key of the run.
        explore: Whether the agents sample actions.

    Raises:
        funcenv.train.runs.checkpoint.NoCheckpointError: None can be read.
    """
    template = jax.eval_shape(lambda key: BestAgents.of(learner, learner.init(key), explore), key)
    if learner.mesh is not None:
        template = with_shardings(template, replicated(learner.mesh, template))
    best, messages = checkpoint.restore_latest(folder, template, impl_name(key), checkpoint.BEST)
    return learner.local(best), messages


def evaluate_agents(learner: Learner, agents: Any, key: jax.Array) -> Metrics:
    """Play `config.eval_episodes` whole episodes with each agent.

    Args:
        learner: The learner of the agents.
        agents: As `Learner.agents` returns them.
        key: The root key of the run, so that every evaluation plays the same episodes.

    Returns:
        Figures of shape `[num_seeds]`: mean and standard deviation of the returns, the mean length, and the success
        rate if the environment tells it.
    """
    config, key = learner.config, jax.random.fold_in(key, EVALUATION_KEY)
    figures = []
    for index in range(config.num_seeds):
        agent = pick_agent(learner, agents, index)
        with deterministic_reductions(config.deterministic_reductions):
            result = evaluate(learner.env, agent, config.eval_episodes, key, max_steps=MAX_EVALUATION_STEPS)
        returns, lengths = np.asarray(result.episode_return), np.asarray(result.episode_length)
        success = [] if result.success_rate is None else [float(result.success_rate)]
        figures.append((returns.mean(), returns.std(), lengths.mean(dtype=returns.dtype), *success))
    columns = np.array(figures, returns.dtype).T
    # Those of the first process count, if there are several.
    gathered = all_gather_scalars(*columns.ravel())[0].reshape(columns.shape).astype(returns.dtype)
    return dict(zip((*EVALUATION_METRICS, EVAL_SUCCESS), gathered, strict=False))


def pick_agent(learner: Learner, agents: Any, index: int) -> Any:
    """Return one of the agents of a run.

    Raises:
        ValueError: There is no such agent.
    """
    num_seeds = learner.config.num_seeds
    if not 0 <= index < num_seeds:
        raise ValueError(f"the run trained {num_seeds} agents, numbered from 0; there is no agent {index}")
    return jax.tree.map(operator.itemgetter(index), agents)
