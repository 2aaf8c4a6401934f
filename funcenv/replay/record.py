"""Recording: play whole episodes and keep their scenes."""

from __future__ import annotations

import functools
import operator
import os
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from funcenv._compile.kept_jit import KeptJit
from funcenv._compile.rollout import as_policy, policy_actions, rollout_step
from funcenv.checks import require_size
from funcenv.func_env import AnyEnv, require_env
from funcenv.parameters import map_batched
from funcenv.policy import Policy, adapted
from funcenv.random import require_typed_key
from funcenv.replay.episode import Episode
from funcenv.replay.replay import Replay, replay_of, require_destination
from funcenv.replay.scene_stack import draw_states
from funcenv.union import alone
from funcenv.vector import AnyVectorEnv, AutoresetMode, FuncVectorEnv, VectorState
from funcenv.vector_step import rollout_keys
from funcenv.wrappers import PolicyMemory

_STEPS_PER_CALL = 256

_Carry = tuple[VectorState[Any], Any]  # the state of the batch and its observation


class _Steps(NamedTuple):
    """Steps of all episodes; every leaf has leading axes `[num_steps, num_episodes]`."""

    state: Any  # after the action; in whole episodes `[num_steps + 1, num_episodes]`, with the first state in front
    action: Any
    reward: Any
    terminated: Any
    truncated: Any


def record(
    env: AnyEnv,
    policy: Policy,
    key: jax.Array,
    num_episodes: int = 1,
    *,
    max_steps: int = 1000,
    fps: float | None = None,
    title: str | None = None,
    save: str | os.PathLike[str] | None = None,
) -> Replay:
    """Play whole episodes, all at once in compiled code, and return them with their scenes.

    The episodes are the same that `funcenv.evaluate` plays with this key.

    Args:
        env: the environment, or a batch of `num_episodes` environments with different parameters. Of a `Union` the
            first task is played, or that of `union.replace(task=...)`.
        policy: `policy(observation, key) -> action`; see `funcenv.evaluate` for its method `adapt_env`.
        key: a typed key; episode i depends on the key and on i alone.
        num_episodes: number of episodes, at least 1.
        max_steps: number of steps after which an episode is stopped.
        fps: steps per second; by default the environment's.
        title: title of the page; by default the environment's name.
        save: a file to which the replay is written too, as by `Replay.save`; it is checked before anything is played.

    Raises:
        NotImplementedError: the environment defines no scene.
        ValueError: `num_episodes` or `max_steps` below 1; an unknown suffix.
        OSError: `save` cannot be written.
        TypeError: a legacy key.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> record(env, funcenv.random_policy(env), funcenv.key(0), save="no_such_folder/episode.gif")
    Traceback (most recent call last):
        ...
    FileNotFoundError: the folder no_such_folder does not exist; create it first
    """
    require_env("record", env)
    env = alone(adapted(env, policy))
    num_episodes, max_steps = require_size("num_episodes", num_episodes), require_size("max_steps", max_steps)
    require_typed_key(key)
    path = None if save is None else require_destination(save)
    steps = _play_whole(env, policy, key, num_episodes, max_steps)
    if isinstance(env, PolicyMemory):  # the memory of a policy is no part of what happened
        steps = steps._replace(state=env.inner(steps.state), action=env.inner_action(steps.action))
        env = env.env
    episodes = []
    for i in range(num_episodes):
        own_env = map_batched(env, num_episodes, operator.itemgetter(i))
        own_steps = jax.tree.map(lambda leaf, i=i: leaf[:, i], steps)
        episodes.append(_trimmed(own_env, own_steps, f"Episode {i + 1}" if num_episodes > 1 else "Episode"))
    replay = replay_of(env, tuple(episodes), fps, title)
    if path is not None:
        replay.save(path)
    return replay


def _trimmed(env: AnyEnv, steps: _Steps, title: str) -> Episode:
    """Return one episode up to its end."""
    ends = steps.terminated | steps.truncated
    length = int(ends.argmax()) + 1 if ends.any() else len(ends)
    return Episode(
        scenes=draw_states(env, jax.tree.map(lambda leaf: leaf[: length + 1], steps.state)),
        reward=steps.reward[:length],
        action=jax.tree.map(lambda leaf: leaf[:length], steps.action),
        terminated=bool(steps.terminated[length - 1]),
        truncated=bool(steps.truncated[length - 1]),
        title=title,
        action_space=env.action_space,
        action_names=tuple(env.action_names),
    )


def _play_whole(env: AnyEnv, policy: Policy, key: jax.Array, num_episodes: int, max_steps: int) -> _Steps:
    """Return the steps up to the end of the last episode, on the host."""
    venv = FuncVectorEnv(env, num_episodes, AutoresetMode.DISABLED)
    reset_key, policy_key = rollout_keys(key)
    carry = _start(venv, reset_key)

    first, policy_keys = jax.device_get(carry[0].env_state), jax.random.split(policy_key, num_episodes)
    parts: list[_Steps] = []
    ended = np.zeros(num_episodes, bool)
    for begin in range(0, max_steps, _STEPS_PER_CALL):
        size = min(_STEPS_PER_CALL, max_steps)
        carry, steps = _play(venv, as_policy(policy), policy_keys, carry, np.uint32(begin), size)
        parts.append(jax.tree.map(lambda leaf, left=max_steps - begin: leaf[:left], jax.device_get(steps)))
        ended |= (parts[-1].terminated | parts[-1].truncated).any(axis=0)
        if ended.all():
            break
    played = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
    states = jax.tree.map(lambda start, rest: np.concatenate([start[None], rest]), first, played.state)
    return played._replace(state=states)


@KeptJit
def _start(venv: AnyVectorEnv, key: jax.Array) -> _Carry:
    vstate, timestep = venv.reset(key)
    return vstate, timestep.observation


@functools.partial(KeptJit, static_argnames=["num_steps"])
def _play(
    venv: AnyVectorEnv, policy: Any, policy_keys: jax.Array, carry: _Carry, begin: Any, num_steps: int
) -> tuple[_Carry, _Steps]:
    def step(carry: _Carry, number: jax.Array) -> tuple[_Carry, _Steps]:
        def act(observation: Any) -> tuple[Any, None]:
            return policy_actions(policy, policy_keys, number, observation), None

        carry, (timestep, actions, _) = rollout_step(venv, act, carry)
        played = _Steps(carry[0].env_state, actions, timestep.reward, timestep.terminated, timestep.truncated)
        return carry, played

    return jax.lax.scan(step, carry, begin + jnp.arange(num_steps, dtype=jnp.uint32))
