"""The policies of a run: read from its checkpoints, and called from loops outside of JAX."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from rich.console import Console

from funcenv._compile.rollout.step import as_policy
from funcenv.func_env import AnyEnv
from funcenv.policy import Policy
from funcenv.random import key as new_key
from funcenv.train.loop import Learner
from funcenv.train.runs import checkpoint
from funcenv.train.runs.best import pick_agent, restore_best
from funcenv.train.runs.exported import load_exported
from funcenv.train.runs.folder import CHECKPOINTS, read_config
from funcenv.train.runs.progress import print_warnings
from funcenv.train.runs.run import load
from funcenv.train.runs.zoo import is_zoo_name, zoo_file


def load_policy(
    run: str | os.PathLike[str],
    *,
    agent: int = 0,
    best: bool = False,
    explore: bool = False,
    trust_code: bool = False,
) -> Policy:
    """Return a trained agent of a run: a policy, `policy(observation, key) -> action`, and a pytree of its parameters.

    It goes wherever a policy is expected, and `stateful_policy` makes it a function of NumPy observations.

    Args:
        run: The folder of a run; or a file that `funcenv export RUN policy.safetensors` wrote, of one agent; or
            "zoo/ID", an agent that comes with the package.
        agent: Which agent, if the run trained several seeds.
        best: Take the best agent of the run instead of the newest.
        explore: Sample actions from the policy instead of taking the most likely ones.
        trust_code: Also import the code that a run or file of somebody else names: an environment, algorithm or
            network that no installed package offers.

    Raises:
        FileNotFoundError: The folder holds no run.
        ValueError: There is no such agent, in the run or in the zoo, or the file is damaged.
        funcenv.names.UntrustedCodeError: The run or file names code, and somebody else made it.
        funcenv.train.runs.checkpoint.NoCheckpointError: No checkpoint can be read.

    >>> import tempfile, funcenv
    >>> from rich.console import Console
    >>> from funcenv.train import ppo, run
    >>> config = ppo.Config(num_envs=2, num_steps=8, total_timesteps=64, hidden_sizes=(8,))
    >>> folder = f"{tempfile.mkdtemp()}/run"
    >>> result = run.start(config, folder, replay_episodes=0, console=Console(quiet=True))
    >>> policy = funcenv.load_policy(folder)
    >>> env = funcenv.make("CartPole-v1")
    >>> funcenv.evaluate(env, policy, num_episodes=4, key=funcenv.key(0)).episode_return.shape
    (4,)
    """
    return load_player(run, agent=agent, best=best, explore=explore, trust_code=trust_code)[1]


def load_player(
    run: str | os.PathLike[str],
    *,
    agent: int = 0,
    best: bool = False,
    explore: bool = False,
    trust_code: bool = False,
) -> tuple[AnyEnv, Policy]:
    """Return the environment that an agent was trained in, and the agent, with the arguments of `load_policy`."""
    is_ours = is_zoo_name(run)
    path = zoo_file(str(run)) if is_ours else pathlib.Path(run)
    if path.suffix == ".safetensors":
        if agent or best:
            raise ValueError(f"{run} holds one agent; leave agent and best out, and name them where it is exported")
        return load_exported(path, explore, trust_code, of_this_version=is_ours)
    learner, agents = load_agents(path, best=best, explore=explore, trust_code=trust_code)
    return learner.env, pick_agent(learner, agents, agent)


def load_agents(
    run: str | os.PathLike[str],
    *,
    best: bool = False,
    explore: bool = False,
    console: Console | None = None,
    trust_code: bool = False,
) -> tuple[Learner, Any]:
    """Return the learner of a run and all of its agents, whose leaves have a leading axis `[num_seeds]`.

    Args:
        run: The folder of a run.
        best: Take the best agents of the run instead of the newest.
        explore: Sample actions.
        console: Where damaged checkpoints are reported.
        trust_code: As for `load_policy`.

    Raises:
        FileNotFoundError: The folder holds no run.
        funcenv.names.UntrustedCodeError: The run names code, and somebody else made it.
        funcenv.train.runs.checkpoint.NoCheckpointError: No checkpoint can be read.
    """
    folder, console = pathlib.Path(run), console or Console(stderr=True)
    if not best:
        learner, state = load(folder, console, trust_code=trust_code)
        return learner, learner.agents(state, explore)
    algorithm, config, key = read_config(folder, trust_code)
    learner = Learner(algorithm, config)
    if not checkpoint.checkpoints(folder / CHECKPOINTS, checkpoint.BEST):
        raise checkpoint.NoCheckpointError(
            f"{folder} holds no best agents, because no episode ended, or an earlier version wrote it; take the newest"
        )
    found, messages = restore_best(learner, folder / CHECKPOINTS, key, explore)
    print_warnings(console, messages)
    return learner, found.agents


def stateful_policy(policy: Policy, seed: int = 0) -> Callable[[Any], Any]:
    """Return `act(observation) -> action` for loops in the style of Gymnasium.

    Observations and actions are those of one environment, as NumPy arrays and numbers. The policy is compiled at the
    first call, and draws a new key at every call.

    Args:
        policy: `policy(observation, key) -> action`.
        seed: Determines all keys.

    >>> import funcenv
    >>> act = stateful_policy(funcenv.random_policy(funcenv.make("CartPole-v1")))
    >>> int(act(np.zeros(4, np.float32))) in (0, 1)
    True
    """
    keys, policy, calls = new_key(seed), as_policy(policy), 0

    @jax.jit
    def call(policy: Any, observation: Any, number: jax.Array) -> Any:
        return policy(observation, jax.random.fold_in(keys, number))

    def act(observation: Any) -> Any:
        nonlocal calls
        action = jax.device_get(call(policy, observation, np.uint32(calls)))
        calls += 1
        return jax.tree.map(lambda leaf: np.asarray(leaf)[()], action)

    return act
