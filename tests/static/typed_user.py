"""A program as users write it: mypy (`make lint`) and pyright (test_types.py) check its types, and nothing runs it.

`assert_type` says which types there must be. A comment that ignores an error says which mistakes must be found: mypy
reports one that it does not need, and test_types.py compares pyright's errors with the lines that say "planted".
"""

from typing import Any, assert_type

import jax

import funcenv
from funcenv import adapters, spaces, wrappers
from funcenv.envs import CartPole, CartPoleState, FrozenLake, LunarLander
from funcenv.spaces import Box, Discrete
from funcenv.train import dqn, ppo, run
from funcenv.train.runs.final import FinalReturns

Arrays = jax.Array


def known_types(key: jax.Array) -> None:
    """Use the package as programs do, with the types that follow."""
    env = CartPole(gravity=1.6)
    assert_type(env.replace(gravity=9.8), CartPole)
    assert_type(env.observation_space, Box)
    assert_type(env.action_space, Discrete)
    state, timestep = env.reset(key)
    assert_type(state, CartPoleState)
    assert_type(timestep, funcenv.Timestep[Arrays])
    assert_type(timestep.observation, Arrays)
    assert_type(env.step(state, 0, key), tuple[CartPoleState, funcenv.Timestep[Arrays]])
    assert_type(FrozenLake(map_name="8x8").map_name, str | None)

    venv = funcenv.FuncVectorEnv(env, 4)
    vstate, trajectory, statistics = funcenv.rollout(venv, funcenv.random_policy(env), key, 10)
    assert_type(vstate, funcenv.VectorState[CartPoleState])
    assert_type(trajectory, funcenv.Trajectory[Arrays, Arrays])
    assert_type(trajectory.timestep.final_observation, Arrays)
    assert_type(trajectory.action, Arrays)
    assert_type(statistics, funcenv.RolloutStatistics)
    assert_type(funcenv.rollout(venv, funcenv.random_policy(env), key, 10, collect=None)[1], None)

    limited = wrappers.TimeLimit(env, 100)
    assert_type(limited.reset(key)[1].observation, Arrays)
    assert_type(wrappers.FlattenObservation(env).reset(key)[1].observation, Arrays)
    assert_type(funcenv.make("CartPole-v1"), funcenv.FuncEnv[Any, Any, Any])

    policy = funcenv.load_policy("runs/first", best=True)
    assert_type(funcenv.evaluate(env, policy, 10, key), funcenv.Evaluation)
    assert_type(funcenv.record(env, policy, key), funcenv.Replay)
    config = ppo.Config(env_id="CartPole-v1", learning_rate=1e-3)
    assert_type(config.hidden_sizes, tuple[int, ...])
    assert_type(run.start(config, "runs/first").final, FinalReturns | None)
    assert_type(adapters.make("CartPole-v1").step(0)[1:4], tuple[float, bool, bool])


def found_mistakes(key: jax.Array) -> None:
    """Make mistakes, each of which must be found."""
    env = CartPole()
    state, timestep = env.reset(key)
    CartPole(gravty=1.6)  # type: ignore[call-arg]  # planted
    env.gravity = 1.6  # type: ignore[misc]  # planted
    env.reset(0)  # type: ignore[arg-type]  # planted
    state.thta  # type: ignore[attr-defined]  # planted  # noqa: B018
    LunarLander(continous=True)  # type: ignore[call-arg]  # planted
    timestep.obs  # type: ignore[attr-defined]  # planted  # noqa: B018
    observation, reward, done, info = env.step(state, 0, key)  # type: ignore[misc]  # planted
    dqn.Config(lr=1e-3)  # type: ignore[call-arg]  # planted
    ppo.Config(lr=1e-3)  # type: ignore[call-arg]  # planted
    ppo.Config(learning_rate="fast")  # type: ignore[arg-type]  # planted
    funcenv.make_vec("CartPole-v1")  # type: ignore[attr-defined]  # planted
    funcenv.train.ppoo  # type: ignore[attr-defined]  # planted  # noqa: B018
    wrappers.FrameStack(env)  # type: ignore[attr-defined]  # planted
    spaces.Descrete(2)  # type: ignore[attr-defined]  # planted
    wrappers.TimeLimit(env, max_steps=3)  # type: ignore[call-arg]  # planted
    funcenv.FuncVectorEnv("CartPole-v1", 3)  # type: ignore[arg-type]  # planted
    funcenv.rollout(env, funcenv.random_policy(env), key, 3)  # type: ignore[call-overload]  # planted
    venv = funcenv.FuncVectorEnv(env, 2)
    trajectory = funcenv.rollout(venv, funcenv.random_policy(env), key, 3)[1]
    trajectory.reward  # type: ignore[attr-defined]  # planted  # noqa: B018
    venv.reset(key)[0].obs  # type: ignore[attr-defined]  # planted  # noqa: B018
    adapters.ShmemVecEnv  # type: ignore[attr-defined]  # planted  # noqa: B018
    funcenv.load_policy("runs/first")(timestep)  # type: ignore[call-arg]  # planted
    run.start(ppo.Config(), "runs/first").mean  # type: ignore[attr-defined]  # planted  # noqa: B018
