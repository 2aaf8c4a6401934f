"""PPO with a curriculum of levels: prioritized level replay (PLR), robust PLR and ACCEL.

Jiang et al., "Prioritized level replay", ICML 2021; Jiang et al., "Replay-guided adversarial environment design",
NeurIPS 2021; Parker-Holder et al., "Evolving curricula with regret-based environment design", ICML 2022.

    choose a level for each environment, in which it stays for the whole update:
        accel after a replay: those levels, mutated
        with probability replay_probability, once the buffer is filled far enough: levels of the buffer
        otherwise: new levels
    reset all environments, take num_steps steps in each, and score its level by the positive value loss
        score = mean over its steps of max(A, 0), the estimated advantage
    give levels of the buffer their new scores, or offer the others to the buffer
    learn as PPO does; robust_plr and accel only do so from levels of the buffer

The levels are those of the file `levels`, if it is given; those that the environment draws itself, if it does
(`funcenv.levels.HasLevels`); and otherwise keys, each of which starts its episodes alike.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from funcenv.checks import require_positive, require_probability, require_size
from funcenv.func_env import AnyEnv
from funcenv.levels.sampler import LevelSampler
from funcenv.struct import field
from funcenv.train.algorithms import ppo
from funcenv.train.devices import PER_ENV
from funcenv.train.updates.collector import Collector
from funcenv.train.updates.level_source import Level, LevelSource
from funcenv.trees import select

Agent = ppo.Agent

_NEW, _REPLAYED, _MUTATED = range(3)  # kinds of an update


@dataclasses.dataclass(frozen=True)
class Config(ppo.Config):
    """The settings of a run with a curriculum; each is a flag of `funcenv train`."""

    curriculum: Literal["uniform", "plr", "robust_plr", "accel"] = "plr"
    """how levels are chosen; uniform replays none"""
    level_buffer: int = 1000
    """levels in the buffer"""
    replay_probability: float = 0.5
    """probability of an update in levels of the buffer, in [0, 1]"""
    minimum_fill: float = 0.5
    """part of the buffer that must be filled before levels are replayed, above 0 and at most 1"""
    level_temperature: float = 0.3
    """temperature of the ranks of scores; a low one replays only the best"""
    staleness_coefficient: float = 0.3
    """weight of the time since a level was last replayed, in [0, 1]"""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_size("level_buffer", self.level_buffer)
        require_probability(
            replay_probability=self.replay_probability,
            minimum_fill=self.minimum_fill,
            staleness_coefficient=self.staleness_coefficient,
        )
        require_positive(minimum_fill=self.minimum_fill, level_temperature=self.level_temperature)

    def make_env(self) -> AnyEnv:
        """Return the environment of the run, which must mutate levels for accel."""
        env = super().make_env()
        source = LevelSource.of(env)
        if self.curriculum == "accel":
            source.require_mutations()
        return env

    @property
    def learns_from_replays_only(self) -> bool:
        """True if levels that are not in the buffer are only scored."""
        return self.curriculum in ("robust_plr", "accel")


class TrainState(ppo.TrainState):
    """What training carries from one update to the next."""

    sampler: LevelSampler
    levels: Level = field(metadata=PER_ENV)  # those of the latest update
    kind: Int[Array, ""]  # kind of the latest update
    level_key: Key[Array, ""]


def init(config: Config, env: AnyEnv, key: jax.Array) -> TrainState:
    """Return a new train state for one seed."""
    level_key, ppo_key = jax.random.split(key)
    source = LevelSource.of(env)
    drawn_key, level_key = jax.random.split(level_key)
    levels = jax.vmap(source.draw)(jax.random.split(drawn_key, config.num_envs))
    first = ppo.first_state(config, source.env_in(levels, key), ppo_key, lambda collector, features: (features,))
    level = jax.tree.map(lambda leaf: leaf[0], levels)
    return TrainState(
        **vars(first),
        sampler=LevelSampler.empty(level, config.level_buffer, config.level_temperature, config.staleness_coefficient),
        levels=levels,
        kind=jnp.int32(_NEW),
        level_key=level_key,
    )


make_agent = ppo.make_agent


def update(config: Config, env: AnyEnv, state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
    """Choose levels, collect a batch in them, score them and learn; return the next state and the metrics."""
    choose_key, reset_key, level_key = jax.random.split(state.level_key, 3)
    collect_key, learn_key, key = jax.random.split(state.key, 3)
    state, places = _choose(config, LevelSource.of(env), state, choose_key)
    batch_env = LevelSource.of(env).env_in(state.levels, state.level_key)
    started, _ = Collector.start(batch_env, config.num_envs, reset_key)
    state = state.replace(
        collector=started.replace(episodes=state.collector.episodes, task_episodes=state.collector.task_episodes),
        level_key=level_key,
    )

    agent = make_agent(config, env, state)
    state, batch = ppo.collect(config, batch_env, agent, state, collect_key)
    scores = positive_value_loss(batch.advantage.reshape(config.num_envs, config.num_steps))  # rows by environment
    is_replay = state.kind == _REPLAYED
    sampler = select(is_replay, state.sampler.rescore(places, scores), state.sampler.insert(state.levels, scores))
    state = state.replace(key=key, sampler=sampler)

    learned, metrics = ppo.learn(config, state, batch, functools.partial(ppo.loss, config, agent), learn_key)
    if config.learns_from_replays_only:
        learned = learned.replace(network=select(is_replay, learned.network, state.network))
    return learned, metrics | {
        "is_replay": is_replay.astype(float),
        "level_score": scores.mean(),
        "levels_in_buffer": sampler.size.astype(float),
    }


def positive_value_loss(advantage: Float[Array, "num_envs num_steps"]) -> Float[Array, "num_envs"]:
    """Return the scores of levels: how much better than expected their steps went, on average.

    >>> positive_value_loss(jnp.array([[1.0, 3.0], [-1.0, -5.0]])).tolist()
    [2.0, 0.0]
    """
    return jnp.maximum(advantage, 0).mean(1)


def _choose(
    config: Config, source: LevelSource, state: TrainState, key: jax.Array
) -> tuple[TrainState, Int[Array, "num_envs"]]:
    """Return the state with the levels of this update, and their places in the buffer if they come from it."""
    decision_key, draw_key, replay_key = jax.random.split(key, 3)
    keys = jax.random.split(draw_key, config.num_envs)
    levels, kind = jax.vmap(source.draw)(keys), jnp.int32(_NEW)
    if config.curriculum == "uniform":
        return state.replace(levels=levels, kind=kind), jnp.zeros(config.num_envs, jnp.int32)
    is_filled = state.sampler.size >= config.minimum_fill * config.level_buffer
    replays = is_filled & jax.random.bernoulli(decision_key, config.replay_probability)
    if config.curriculum == "accel":
        mutates = state.kind == _REPLAYED
        levels = select(mutates, jax.vmap(source.mutate)(state.levels, keys), levels)
        kind, replays = jnp.where(mutates, _MUTATED, _NEW).astype(jnp.int32), replays & ~mutates
    sampler, places, replayed = state.sampler.sample(replay_key, config.num_envs)
    levels, sampler = select(replays, (replayed, sampler), (levels, state.sampler))
    kind = jnp.where(replays, _REPLAYED, kind).astype(jnp.int32)
    return state.replace(levels=levels, kind=kind, sampler=sampler), places
