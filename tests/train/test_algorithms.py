"""What every built-in algorithm does: it learns analytic values, is reproducible, and says which actions it takes."""

import dataclasses
import functools
import importlib.metadata

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.train import alphazero, ars, dqn, plr, pqn, q_learning, recurrent_ppo, reinforce, run, sac, simba, td3, tqc
from funcenv.train.algorithm import algorithm_names, find_algorithm
from funcenv.train.loop import Learner, train
from tests.support.rings import GAMMA, SETTINGS, VALUES, register_rings, ring_id, secret_view
from tests.support.rotation import rotated
from tests.support.training import same_states, stop_after_a_call, with_memory

register_rings()

ON_POLICY = {"num_envs": 4, "num_steps": 8, "hidden_sizes": (8,)}
OFF_POLICY = {"num_envs": 4, "num_steps": 2, "hidden_sizes": (8,), "buffer_size": 64, "minibatch_size": 8}
OFF_POLICY |= {"learning_starts": 16, "num_gradient_steps": 2, "n_step": 3}
TINY = {
    "alphazero": alphazero.Config(
        **ON_POLICY, num_minibatches=2, num_epochs=2, num_simulations=4, total_timesteps=32 * 6
    ),
    "ars": ars.Config(**ON_POLICY | {"num_steps": 40}, total_timesteps=160 * 6),  # in fewer, no pole falls
    "dqn": dqn.Config(**OFF_POLICY, total_timesteps=8 * 12),
    "plr": plr.Config(
        **ON_POLICY, num_minibatches=2, num_epochs=2, total_timesteps=32 * 6, level_buffer=8, minimum_fill=0.25
    ),
    "pqn": pqn.Config(**ON_POLICY, num_minibatches=2, num_epochs=2, total_timesteps=32 * 6),
    "q_learning": q_learning.Config(env_id=ring_id("RingThatEnds"), num_envs=4, num_steps=8, total_timesteps=32 * 6),
    "recurrent_ppo": recurrent_ppo.Config(
        **ON_POLICY, memory_size=8, num_minibatches=2, num_epochs=2, total_timesteps=32 * 6
    ),
    "reinforce": reinforce.Config(**ON_POLICY, total_timesteps=32 * 6),
    "sac": sac.Config(**OFF_POLICY, env_id="Pendulum-v1", total_timesteps=8 * 12),
    "simba": simba.Config(**OFF_POLICY, env_id="Pendulum-v1", residual_width=8, total_timesteps=8 * 12),
    "td3": td3.Config(**OFF_POLICY, env_id="Pendulum-v1", total_timesteps=8 * 12),
    "tqc": tqc.Config(**OFF_POLICY, env_id="Pendulum-v1", total_timesteps=8 * 12),
}
"""Configurations of a few updates, of which those with a replay buffer fill it and learn in most."""

ALWAYS = ("pqn", "td3")
"""One algorithm that learns from each batch once, and one with a replay buffer; the others rotate."""

OFF_POLICY_RING = {"learning_rate": 2e-2, "target_rate": 0.05, "num_gradient_steps": 4, "total_timesteps": 8 * 400}
RINGS = {
    "alphazero": {"learning_rate": 1e-2, "total_timesteps": 32 * 300},
    "dqn": OFF_POLICY_RING | {"epsilon_end": 1.0, "anneal_learning_rate": False},
    "plr": {
        "curriculum": "uniform",
        "learning_rate": 1e-2,
        "normalize_reward": False,
        "normalize_advantage": False,  # noise alone, where no action is better
        "total_timesteps": 128 * 150,
        "num_envs": 8,
        "num_steps": 16,
        "num_epochs": 4,
        "num_minibatches": 4,
    },
    "pqn": {"learning_rate": 3e-2, "anneal_learning_rate": False, "total_timesteps": 32 * 300, "epsilon_end": 1.0},
    "q_learning": {"epsilon_end": 1.0, "total_timesteps": 32 * 200},
    "recurrent_ppo": {
        "learning_rate": 1e-2,
        "normalize_reward": False,
        "normalize_advantage": False,  # noise alone, where no action is better
        "total_timesteps": 128 * 150,
        "num_envs": 8,
        "num_steps": 16,
        "num_epochs": 4,
        "num_minibatches": 4,
    },
    "reinforce": {"learning_rate": 2e-2, "value_coefficient": 1.0, "max_grad_norm": 10.0, "total_timesteps": 32 * 1200},
    "sac": OFF_POLICY_RING | {"initial_temperature": 1e-6, "target_entropy": 1e3},
    "simba": OFF_POLICY_RING
    | {"initial_temperature": 1e-6, "target_entropy": 1e3, "normalize_reward": False, "max_value": 12.0},
    "td3": OFF_POLICY_RING,
    "tqc": OFF_POLICY_RING | {"initial_temperature": 1e-6, "target_entropy": 1e3, "num_quantiles": 5},
}
"""Settings with which an algorithm learns the values of a ring; all others are tiny."""

CHOICES = {name: settings | {"gamma": GAMMA} for name, settings in RINGS.items()} | {
    "ars": {"hidden_sizes": (), "noise": 0.3, "learning_rate": 0.1, "num_steps": 8, "total_timesteps": 32 * 100}
}
"""Settings with which an algorithm finds the best action."""


def values(learner, state):
    """Return a function that estimates the value of an observation."""
    agent = learner.agent(state)
    if learner.algorithm is alphazero:
        return lambda observation: alphazero.unsquash(agent.observe(observation)[1])
    if learner.algorithm is reinforce:
        return lambda observation: agent.observe(observation)[1]
    if learner.algorithm is plr:
        return lambda observation: agent.value(agent.features(observation))
    if learner.algorithm is recurrent_ppo:
        return lambda observation: agent.value(agent.features(with_memory(agent, observation)))
    if learner.algorithm in (pqn, dqn, q_learning):
        return agent.values
    networks = learner.config.make_network(learner.env)
    params = jax.tree.map(lambda leaf: leaf[0], state.learned.critics.params)

    def value(observation):
        # The action that the policy takes, and has learned about.
        features = agent.features(observation)
        action = agent.mode(features) if learner.algorithm is td3 else agent.policy(features).mode()
        found = networks.critics.apply(params, features, action)
        if learner.algorithm is simba:
            return simba.bin_mean(found, learner.config.max_value)
        return found.mean(-1) if learner.algorithm is tqc else found  # the mean of quantiles

    return value


def test_these_tests_cover_every_algorithm():
    """Leave out those that learn from a dataset, of `test_offline.py`, and random search, which learns no values."""
    assert set(TINY) | {"ppo"} == set(RINGS) | {"ppo", "ars"} == set(algorithm_names()) - {"bc", "iql"}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("algorithm", rotated(RINGS, ALWAYS))
def test_truncation_bootstraps_and_termination_does_not(algorithm, name):
    env_id = ring_id(name, is_continuous=TINY[algorithm].env_id == "Pendulum-v1")
    config = dataclasses.replace(TINY[algorithm], env_id=env_id, gamma=GAMMA, **RINGS[algorithm])
    config = dataclasses.replace(config, **SETTINGS.get(name, {}))
    if algorithm != "q_learning":
        config = dataclasses.replace(config, hidden_sizes=())  # linear in a one-hot observation, which is a table
    learner = Learner(algorithm, config)
    state, _ = train(algorithm, config, funcenv.key(0))
    estimate = jax.jit(values(learner, state))
    for observation, value in VALUES[name].items():
        np.testing.assert_allclose(estimate(jnp.int32(observation)), value, rtol=0.03)


WITH_CRITICS = tuple(name for name in RINGS if getattr(TINY[name], "has_critic", False) and name != "plr")


@pytest.mark.parametrize("algorithm", rotated(WITH_CRITICS, ALWAYS))
def test_critics_see_what_the_agent_does_not_need(algorithm):
    env_id = ring_id("RingWithSecret", is_continuous=TINY[algorithm].env_id == "Pendulum-v1")
    settings = {"env_id": env_id, "gamma": GAMMA, "hidden_sizes": (), "critic_observation": "secret"}
    learner = Learner(algorithm, dataclasses.replace(TINY[algorithm], **RINGS[algorithm] | settings))
    state, _ = train(algorithm, learner.config, funcenv.key(0))
    estimate, agent = jax.jit(values(learner, state)), learner.agent(state)
    for place, value in VALUES["RingThatEnds"].items():
        for secret in range(2):
            shown = {"observation": jnp.int32(place), "critic_observation": secret_view(place, secret)}
            np.testing.assert_allclose(estimate(shown), value * (1 + secret), rtol=0.03)
            alone = agent(with_memory(agent, jnp.int32(place)), funcenv.key(1))
            jax.tree.map(np.testing.assert_array_equal, agent(with_memory(agent, shown), funcenv.key(1)), alone)
    evaluation = funcenv.evaluate(funcenv.make(env_id), agent, 8, funcenv.key(2))  # an environment without secrets
    assert set(np.asarray(evaluation.episode_length)) == {1, 2}


@pytest.mark.parametrize("algorithm", rotated(TINY, ALWAYS))
def test_the_best_action_is_found(algorithm):
    """The median of five agents is compared, because a quarter of the continuous ones is further away."""
    is_continuous = TINY[algorithm].env_id == "Pendulum-v1"
    env_id = ring_id("Choice", is_continuous)
    settings = {name: value for name, value in CHOICES[algorithm].items() if name != "target_entropy"}
    config = dataclasses.replace(TINY[algorithm], env_id=env_id, num_seeds=5, **settings)
    state, _ = train(algorithm, config, funcenv.key(0))
    agents = Learner(algorithm, config).agents(state)
    act = jax.jit(
        jax.vmap(lambda agent, observation: agent(with_memory(agent, observation), funcenv.key(1)), (0, None))
    )
    for observation in range(2):
        actions = act(agents, jnp.int32(observation))
        action = np.median(actions["action"] if isinstance(actions, dict) else actions, axis=0)
        np.testing.assert_allclose(action, [1] if is_continuous else 1, atol=0.25 if is_continuous else 0)


@pytest.mark.parametrize("algorithm", rotated(TINY, ALWAYS))
def test_a_seed_learns_the_same_alone_and_beside_others(algorithm):
    one, two = (dataclasses.replace(TINY[algorithm], num_seeds=num_seeds) for num_seeds in (1, 2))
    both, _ = train(algorithm, two, funcenv.key(0))
    alone, _ = train(algorithm, one, funcenv.key(0))
    agents = [Learner(algorithm, one).agent(state) for state in (both, alone)]
    same = functools.partial(np.testing.assert_allclose, rtol=1e-3, atol=1e-4)
    jax.tree.map(same, *agents)
    other = Learner(algorithm, two).agent(both, 1)
    assert any((a != b).any() for a, b in zip(*map(jax.tree.leaves, (agents[0], other)), strict=True))


@pytest.mark.parametrize("algorithm", rotated(TINY, ALWAYS))
def test_a_run_that_was_stopped_and_resumed_is_bitwise_the_same(algorithm, tmp_path, console, monkeypatch):
    config = TINY[algorithm]
    whole = run.start(config, tmp_path / "whole", replay_episodes=0, console=console)
    with monkeypatch.context() as patch:
        stop_after_a_call(patch)
        stopped = run.start(config, tmp_path / "run", replay_episodes=0, console=console)
    assert not stopped.finished
    resumed = run.resume(stopped.folder, replay_episodes=0, console=console)
    assert resumed.finished
    same_states(resumed.state, whole.state)


@pytest.mark.parametrize("algorithm", rotated(TINY, ALWAYS))
def test_training_uses_no_key_twice_and_changes_parameters(algorithm):
    """A search of mctx hands one key to both sides of a choice, which the checker takes for a second use."""
    with jax.debug_key_reuse(algorithm != "alphazero"):
        learner = Learner(algorithm, TINY[algorithm])
        before = learner.init(funcenv.key(0))
        state, metrics = learner.advance(before, 100)
        agent = learner.agent(state, explore=True)
        assert funcenv.evaluate(learner.env, agent, 2, funcenv.key(1), max_steps=20).episode_length.shape == (2,)
    assert np.isfinite(metrics["loss"]).all() and (metrics["loss"][-1] != 0).all()
    changed = [(a != b).any() for a, b in zip(*map(jax.tree.leaves, (learner.agent(before), agent)), strict=True)]
    assert all(changed[:2])
    action = jax.jit(agent)(learner.env.observation_space.sample(funcenv.key(2)), funcenv.key(3))
    assert learner.env.action_space.contains(action)


@pytest.mark.parametrize("algorithm", rotated(TINY, ALWAYS))
def test_updates_move_nothing_between_host_and_device(algorithm):
    learner = Learner(algorithm, TINY[algorithm])
    state, num_updates = learner.init(funcenv.key(0)), jax.device_put(np.int32(2))
    program = learner.lower(state)
    # Calls of Python, which no guard notices.
    words = ("callback", "infeed", "outfeed", "stablehlo.send", "stablehlo.recv")
    assert not [word for word in words if word in program.as_text()]
    advance = program.compile()
    with jax.transfer_guard("disallow"):
        state, _ = advance(state, num_updates)
    assert learner.num_updates_done(state) == 2


@pytest.mark.parametrize(
    ("algorithm", "env_id", "message"),
    [
        (
            "pqn",
            "Pendulum-v1",
            r"pqn takes Discrete actions, got Box\(.*; these take them: ars, bc, iql, plr, ppo, recurrent_ppo, rein",
        ),
        (
            "dqn",
            "Pendulum-v1",
            r"dqn takes Discrete actions, got Box\(.*; "
            r"these take them: ars, bc, iql, plr, ppo, recurrent_ppo, reinforce",
        ),
        (
            "sac",
            "CartPole-v1",
            r"sac takes .* with bounds, got Discrete\(2\); these take them: alphazero, ars, bc, dqn, iql, plr, ppo",
        ),
        ("sac", "test/Strange-v0", "sac takes .*, got Tuple.*; wrap the environment with TransformAction"),
    ],
)
def test_an_algorithm_says_which_others_take_the_actions(algorithm, env_id, message):
    config = find_algorithm(algorithm).Config(env_id=env_id)
    with pytest.raises(ValueError, match=message):
        Learner(algorithm, config)


def test_installed_packages_offer_algorithms_by_name(monkeypatch):
    installed = importlib.metadata.entry_points(group="funcenv.algorithms")
    ours = importlib.metadata.EntryPoint("ours", "funcenv.train.algorithms.pqn", "funcenv.algorithms")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [*installed, ours])
    assert {"ours", "ppo", "dqn"} <= set(algorithm_names())
    assert find_algorithm("ours") is pqn and find_algorithm("dqn") is dqn


@pytest.mark.parametrize(
    ("algorithm", "settings", "message"),
    [
        ("pqn", {"num_minibatches": 3}, r"num_minibatches must divide num_envs \* num_steps, got 3"),
        ("pqn", {"q_lambda": 1.5}, r"q_lambda must lie in \[0, 1\]"),
        ("pqn", {"hidden_sizes": (0,)}, "hidden_sizes must hold numbers of at least 1"),
        ("pqn", {"epsilon_fraction": 0.0}, "epsilon_fraction must be a finite number above 0"),
        ("recurrent_ppo", {"num_minibatches": 32}, "num_minibatches must divide num_envs, got 32 for 16"),
        ("recurrent_ppo", {"cell": "rnn"}, "cell must be one of gru, lstm, got 'rnn'"),
        ("dqn", {"num_quantiles": -1}, "num_quantiles must be at least 0, got -1; 0 learns the mean alone"),
        ("dqn", {"minibatch_size": 0}, "minibatch_size must be at least 1"),
        ("dqn", {"learning_starts": 16, "n_step": 3}, "learning_starts must fill n_step steps"),
        ("dqn", {"learning_starts": 2000, "buffer_size": 1000}, "not more than the buffer holds, got 2000"),
        ("sac", {"initial_temperature": 0.0}, "initial_temperature must be a finite number above 0"),
        ("q_learning", {"learning_rate": 2.0}, r"learning_rate must lie in \[0, 1\]"),
        ("td3", {"policy_delay": 0}, "policy_delay must be at least 1"),
        ("td3", {"min_noise": 2.0}, "min_noise must not exceed max_noise"),
        ("simba", {"num_bins": 1}, "num_bins must be at least 2"),
        ("simba", {"max_value": 0.0}, "max_value must be a finite number above 0"),
        ("sac", {"critic_steps": 0}, "critic_steps must be at least 1"),
        ("sac", {"residual_width": -1}, "residual_width must be at least 0"),
        ("tqc", {"num_quantiles": 0}, "num_quantiles must be at least 1"),
        ("tqc", {"num_quantiles": 2}, "dropped_quantiles must be less than num_quantiles, got 2 of 2"),
        ("reinforce", {"gamma": -0.1}, r"gamma must lie in \[0, 1\]"),
        ("sac", {"noise_correlation": 1.0}, "noise_correlation must be at least 0 and below 1"),
    ],
)
def test_invalid_configurations_are_refused(algorithm, settings, message):
    with pytest.raises(ValueError, match=message):
        find_algorithm(algorithm).Config(**settings)


def test_tables_need_numbered_states():
    with pytest.raises(
        ValueError,
        match=r"q_learning takes Discrete observations, got Box.*: ars, dqn, plr, ppo, pqn, recurrent_ppo, reinforce",
    ):
        Learner(q_learning, q_learning.Config(env_id="CartPole-v1"))


def test_q_learning_moves_values_towards_the_mean_of_their_targets():
    config = dataclasses.replace(TINY["q_learning"], num_steps=1, total_timesteps=4, learning_rate=0.5, gamma=GAMMA)
    learner = Learner(q_learning, config)
    before = learner.init(funcenv.key(0))
    before = before.replace(table=jnp.arange(6.0).reshape(1, 3, 2))
    table = np.asarray(learner.advance(before, 1)[0].table[0])
    targets = {0: 1 + GAMMA * 3, 1: 1.0}  # state 1 leads to the terminal state 2
    changed = np.argwhere(table != before.table[0])
    assert len(changed)
    for state, action in changed:  # every visit of a state has the same target
        np.testing.assert_allclose(table[state, action], (2 * state + action + targets[state]) / 2, rtol=1e-6)
