"""A trainer of another library on our CartPole, in its own virtual environment: prints a line of JSON.

A trainer returns its mean return at the end and the line of its program that makes the environment.
"""

import contextlib
import importlib.metadata
import json
import pathlib
import runpy
import sys
import tempfile
import time

import numpy as np

import funcenv
from funcenv.envs import register_envs

NUM_EPISODES = 100  # over which the last returns are averaged, where the trainer does not evaluate


def purejaxrl(checkout):
    """Run `purejaxrl/ppo.py` of a checkout with one line changed."""
    folder = pathlib.Path(checkout) / "purejaxrl"
    sys.path.insert(0, str(folder))
    program = (folder / "ppo.py").read_text()
    before, after = 'gymnax.make(config["ENV_NAME"])', 'funcenv.to_gymnax(config["ENV_NAME"], api="0.0")'
    if before not in program:
        raise SystemExit(f"{folder / 'ppo.py'} does not contain {before}")
    names = {"__name__": "__main__", "funcenv": funcenv}
    program = program.replace(before, after).replace('"DEBUG": True', '"DEBUG": False')
    exec(compile(program, "ppo.py", "exec"), names)  # noqa: S102  # It is the program that is measured.
    metrics = names["out"]["metrics"]
    returns = np.asarray(metrics["returned_episode_returns"])[np.asarray(metrics["returned_episode"])]
    return {"steps": 499_712, "return": returns[-NUM_EPISODES:].mean(), "line": f"env, env_params = {after}"}


def cleanrl(checkout, script, steps):
    """Run a script of a checkout of CleanRL as it is, and evaluate the most likely or most valuable actions."""
    import gymnasium
    import torch

    torch.set_num_threads(1)
    env_id = "funcenv.adapters.gymnasium:funcenv/CartPole-v1"
    sys.argv = [f"{script}.py", "--env-id", env_id, "--total-timesteps", steps, "--no-cuda"]
    program = pathlib.Path(checkout).resolve() / "cleanrl" / f"{script}.py"
    # It prints its speed, and writes a folder "runs".
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(sys.stderr):
        names = runpy.run_path(str(program), run_name="__main__")

    def act(observation):
        observation = torch.Tensor(observation)[None]
        network = names["agent"].actor if script == "ppo" else names["q_network"]
        return network(observation).argmax(-1).item()

    env, returns = gymnasium.make(env_id), []
    for seed in range(30):
        observation, _ = env.reset(seed=seed)
        total, ended = 0.0, False
        while not ended:
            observation, reward, terminated, truncated, _ = env.step(act(observation))
            total, ended = total + reward, terminated or truncated
        returns.append(total)
    return {"steps": int(steps), "return": np.mean(returns), "line": f"--env-id {env_id}"}


def rejax():
    """Train by Rejax's PPO with its settings for CartPole."""
    import jax
    from rejax import PPO

    env, params = funcenv.to_gymnax("CartPole-v1", api="0.0")
    settings = {"num_envs": 64, "num_steps": 64, "num_minibatches": 16, "num_epochs": 16, "learning_rate": 1e-3}
    steps = 262_144
    ppo = PPO.create(env=env, env_params=params, total_timesteps=steps, eval_freq=steps, **settings)
    _, (_, returns) = jax.jit(ppo.train)(jax.random.PRNGKey(0))
    line = 'env, params = funcenv.to_gymnax("CartPole-v1", api="0.0")'
    return {"steps": steps, "return": np.asarray(returns)[-1].mean(), "line": line}


def brax():
    """Train by brax's PPO, whose continuous policy chooses the action of the larger number.

    brax 0.14.2 calls a function that JAX 0.10 no longer has; it is put back here, for one device.
    """
    import jax
    import jax.numpy as jnp

    jax.device_put_replicated = lambda tree, devices: jax.tree.map(lambda leaf: jnp.stack([leaf] * len(devices)), tree)
    from brax.training.agents.ppo import train as ppo

    env = funcenv.to_brax("CartPole-v1", max_episode_steps=-1)
    rewards = []
    steps = 1_000_000
    ppo.train(
        environment=env,
        num_timesteps=steps,
        episode_length=500,
        num_envs=64,
        num_evals=2,
        learning_rate=1e-3,
        entropy_cost=1e-2,
        discounting=0.99,
        unroll_length=16,
        batch_size=64,
        num_minibatches=4,
        num_updates_per_batch=4,
        normalize_observations=True,
        progress_fn=lambda _, metrics: rewards.append(metrics["eval/episode_reward"]),
    )
    return {"steps": steps, "return": rewards[-1], "line": 'env = funcenv.to_brax("CartPole-v1", max_episode_steps=-1)'}


def torchrl():
    """Train with the parts of TorchRL's PPO tutorial: collector, GAE, replay buffer, `ClipPPOLoss`."""
    import torch
    from tensordict.nn import TensorDictModule
    from torch import nn
    from torchrl.collectors import Collector
    from torchrl.data import LazyTensorStorage, ReplayBuffer, SamplerWithoutReplacement
    from torchrl.envs import Compose, RewardSum, StepCounter, TransformedEnv, check_env_specs
    from torchrl.modules import OneHotCategorical, ProbabilisticActor, ValueOperator
    from torchrl.objectives import ClipPPOLoss
    from torchrl.objectives.value import GAE

    torch.manual_seed(0)
    torch.set_num_threads(1)
    frames_per_batch, steps = 1024, 100_352
    env = TransformedEnv(funcenv.to_torchrl("CartPole-v1", 8, device="cpu"), Compose(StepCounter(), RewardSum()))
    check_env_specs(env)

    def network(outputs):
        return nn.Sequential(nn.LazyLinear(64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))

    policy = ProbabilisticActor(
        TensorDictModule(network(2), ["observation"], ["logits"]),
        in_keys=["logits"],
        spec=env.action_spec,
        distribution_class=OneHotCategorical,
        return_log_prob=True,
    )
    value = ValueOperator(network(1), in_keys=["observation"])
    example = env.reset()
    policy(example), value(example)
    collector = Collector(env, policy, frames_per_batch=frames_per_batch, total_frames=steps)
    buffer = ReplayBuffer(
        storage=LazyTensorStorage(frames_per_batch), sampler=SamplerWithoutReplacement(), batch_size=128
    )
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=value, average_gae=True)
    loss_module = ClipPPOLoss(policy, value, clip_epsilon=0.2, entropy_coeff=0.01)
    optimizer = torch.optim.Adam(loss_module.parameters(), 1e-3)
    returns = []
    for batch in collector:
        for _ in range(8):
            advantage(batch)
            buffer.extend(batch.reshape(-1))
            for _ in range(frames_per_batch // 128):
                losses = loss_module(buffer.sample())
                loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                loss.backward()
                nn.utils.clip_grad_norm_(loss_module.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        returns += batch["next", "episode_reward"][batch["next", "done"]].tolist()
    collector.shutdown()
    line = 'base_env = funcenv.to_torchrl("CartPole-v1", 8, device="cpu")'
    return {"steps": steps, "return": np.mean(returns[-NUM_EPISODES:]), "line": line}


def bsuite():
    """Train bsuite's actor-critic in JAX, an agent for dm_env, by bsuite's own loop."""
    from bsuite.baselines import experiment
    from bsuite.baselines.jax import actor_critic

    env = funcenv.to_dm_env("CartPole-v1", seed=0)
    agent = actor_critic.default_agent(env.observation_spec(), env.action_spec())
    returns = []

    class Counted:
        """The environment, which keeps the returns of its episodes."""

        def __getattr__(self, name):
            return getattr(env, name)

        def reset(self):
            returns.append(0.0)
            return env.reset()

        def step(self, action):
            timestep = env.step(action)
            returns[-1] += timestep.reward or 0.0
            return timestep

    experiment.run(agent, Counted(), num_episodes=600)
    return {
        "steps": int(sum(returns)),
        "return": np.mean(returns[-NUM_EPISODES:]),
        "line": 'env = funcenv.to_dm_env("CartPole-v1", seed=0)',
    }


def tianshou():
    """Train by tianshou's DQN, as in its example for CartPole, over Gymnasium's interface."""
    import gymnasium
    import torch
    from tianshou.algorithm import DQN
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv
    from tianshou.trainer import OffPolicyTrainerParams
    from tianshou.utils.net.common import Net

    import funcenv.adapters.gymnasium  # noqa: F401  (registers the ids)

    torch.manual_seed(0)
    torch.set_num_threads(1)
    make = [lambda: gymnasium.make("funcenv/CartPole-v1")] * 10
    envs, test_envs = DummyVectorEnv(make), DummyVectorEnv(make)
    envs.seed(0), test_envs.seed(100)
    space = gymnasium.make("funcenv/CartPole-v1")
    net = Net(state_shape=space.observation_space.shape, action_shape=2, hidden_sizes=[128, 128, 128])
    policy = DiscreteQLearningPolicy(model=net, action_space=space.action_space, eps_training=0.1, eps_inference=0.0)
    algorithm = DQN(
        policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.9, n_step_return_horizon=3, target_update_freq=320
    )
    collector = Collector(algorithm, envs, VectorReplayBuffer(20_000, 10), exploration_noise=True)
    test_collector = Collector(algorithm, test_envs, exploration_noise=False)
    epochs, steps = 4, 10_000
    algorithm.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            test_collector=test_collector,
            max_epochs=epochs,
            epoch_num_steps=steps,
            collection_step_num_env_steps=10,
            test_step_num_episodes=5,
            batch_size=64,
            update_step_num_gradient_steps_per_sample=0.1,
            test_in_training=False,
        )
    )
    test_collector.reset()
    returns = test_collector.collect(n_episode=30).returns
    line = 'envs = DummyVectorEnv([lambda: gymnasium.make("funcenv/CartPole-v1") for _ in range(10)])'
    return {"steps": epochs * steps, "return": returns.mean(), "line": line}


def rllib():
    """Train by RLlib's PPO over the Gymnasium interface."""
    import gymnasium
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.tune.registry import register_env

    import funcenv.adapters.gymnasium  # noqa: F401  (registers the ids)

    register_env("cartpole", lambda _: gymnasium.make("funcenv/CartPole-v1"))
    config = (
        PPOConfig()
        .environment("cartpole")
        .env_runners(num_env_runners=0)
        .training(lr=3e-4, train_batch_size_per_learner=2048, minibatch_size=256, num_epochs=8)
        .debugging(seed=0)
    )
    algorithm, rounds = config.build_algo(), 40
    for _ in range(rounds):
        result = algorithm.train()
    line = 'register_env("cartpole", lambda _: gymnasium.make("funcenv/CartPole-v1"))'
    return {"steps": rounds * 2048, "return": result["env_runners"]["episode_return_mean"], "line": line}


def main(trainer, package, *args):
    register_envs()
    start = time.process_time()
    trainers = [purejaxrl, cleanrl, rejax, brax, torchrl, bsuite, tianshou, rllib]
    row = {function.__name__: function for function in trainers}[trainer.partition("-")[0]](*args)
    row |= {"return": float(row["return"]), "cpu": time.process_time() - start}
    print(json.dumps({"trainer": trainer, "version": f"{package} {importlib.metadata.version(package)}", **row}))


if __name__ == "__main__":
    main(*sys.argv[1:])
