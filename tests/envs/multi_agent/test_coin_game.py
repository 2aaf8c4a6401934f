"""The rules of the Coin Game, cell by cell, and what one agent sees of it."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import FuncVectorEnv, envs
from funcenv.cli import main
from funcenv.envs import CoinGame
from funcenv.envs.multi_agent import CoinGameState
from funcenv.multi_agent import MultiAgentEnv
from funcenv.train import ppo
from funcenv.wrappers import OneAgent, TimeLimit
from funcenv.wrappers.base import layers

MOVES = [(0, -1), (0, 1), (-1, 0), (1, 0)]


def expected(places, coin, coin_is_red, actions):
    """Return places and rewards by the rules, in plain Python."""
    places = [tuple((np.array(place) + MOVES[action]) % 3) for place, action in zip(places, actions, strict=True)]
    rewards = [0.0, 0.0]
    for player, place in enumerate(places):
        if place == coin:
            rewards[player] += 1
            if coin_is_red != (player == 0):
                rewards[1 - player] -= 2
    return places, rewards


def test_every_state_and_action_follows_the_rules():
    env, key = CoinGame(), funcenv.key(0)
    cells = list(itertools.product(range(3), repeat=2))
    cases = [
        (red, blue, coin, is_red, actions)
        for red, blue, coin in itertools.product(cells, repeat=3)
        for is_red in (False, True)
        for actions in itertools.product(range(4), repeat=2)
        if coin not in (red, blue)
    ]
    state = CoinGameState(
        jnp.array([[red, blue] for red, blue, *_ in cases]),
        jnp.array([case[2] for case in cases]),
        jnp.array([case[3] for case in cases]),
    )
    actions = jnp.array([case[4] for case in cases])
    step = jax.jit(jax.vmap(lambda state, action: env.step(state, {"red": action[0], "blue": action[1]}, key)))
    following, timestep = jax.tree.map(np.asarray, step(state, actions))
    for i, (red, blue, coin, is_red, action) in enumerate(cases):
        places, rewards = expected([red, blue], coin, is_red, action)
        assert following.places[i].tolist() == [list(place) for place in places]
        assert [float(timestep.info["rewards"][agent][i]) for agent in env.agents] == rewards
        assert float(timestep.reward[i]) == sum(rewards)
        taken = coin in places
        assert bool(following.coin_is_red[i]) == (is_red != taken)
        assert tuple(following.coin[i].tolist()) == coin or taken
    assert not (following.coin[:, None] == following.places).all(-1).any()  # a coin is never below a player


def test_players_see_themselves_first():
    state = CoinGameState(jnp.array([[0, 0], [1, 2]]), jnp.array([2, 1]), jnp.array(True))
    observation = CoinGame().observation(state, funcenv.key(0))
    red, blue = (np.argwhere(observation[agent]).tolist() for agent in ("red", "blue"))
    assert red == [[0, 0, 0], [1, 1, 2], [2, 2, 1]] and blue == [[0, 1, 2], [1, 0, 0], [3, 2, 1]]


def test_new_coins_are_uniform_over_free_cells():
    env = CoinGame()
    state = CoinGameState(jnp.array([[0, 0], [2, 2]]), jnp.array([0, 1]), jnp.array(True))
    keys = jax.random.split(funcenv.key(1), 7000)
    coins = jax.jit(jax.vmap(lambda key: env.transition(state, {"red": 1, "blue": 1}, key).coin))(keys)
    counts = np.bincount(np.asarray(coins[:, 0] * 3 + coins[:, 1]), minlength=9)
    assert counts[1] == counts[6] == 0  # red moved to the right, blue around to the left
    np.testing.assert_allclose(counts[[0, 2, 3, 4, 5, 7, 8]], 1000, atol=5 * 1000**0.5)


def test_one_agent_plays_against_a_policy():
    env = OneAgent(TimeLimit(CoinGame(), 5), "blue", lambda agent, observation, key: jnp.int32(0))
    venv = FuncVectorEnv(env, 4)
    vstate, timestep = venv.reset(funcenv.key(0))
    step = jax.jit(venv.step)
    for _ in range(5):
        before = vstate
        vstate, timestep = step(vstate, jnp.array([0, 1, 2, 3]))
        assert timestep.observation.shape == (4, 4, 3, 3)
    assert timestep.truncated.all()
    state, action = jax.tree.map(lambda leaf: leaf[2], before.env_state), jnp.int32(2)
    following, alone = env.step(state, action, funcenv.key(3))
    _, joint = env.env.step(state.env_state, {"red": jnp.int32(0), "blue": action}, funcenv.key(3))
    assert float(alone.reward) == float(joint.info["rewards"]["blue"])
    assert following.actions == {"red": 0, "blue": 2}


def test_bad_input_is_named():
    with pytest.raises(TypeError, match="OneAgent wraps a multi-agent environment, got CartPole; leave it out"):
        OneAgent(envs.CartPole(), "red")
    with pytest.raises(TypeError, match="OneAgent wraps a multi-agent environment, got OneAgent; leave it out"):
        OneAgent(TimeLimit(OneAgent(CoinGame(), "red"), 9), "blue")
    with pytest.raises(ValueError, match="there is no agent 'green'; the agents are red, blue"):
        OneAgent(CoinGame(), "green")
    with pytest.raises(ValueError, match="size must be at least 2, got 1"):
        CoinGame(size=1)
    with pytest.raises(NotImplementedError, match="MultiAgentEnv must define agents, a tuple of names"):
        _ = MultiAgentEnv().agents


def test_training_takes_one_of_the_agents():
    config = ppo.Config(env_id="MultiAgent/CoinGame-v0")
    assert config.make_env().unwrapped == CoinGame()
    for agent, expected in (("", "red"), ("blue", "blue")):
        (layer,) = [
            one for one in layers(dataclasses.replace(config, agent=agent).make_env()) if isinstance(one, OneAgent)
        ]
        assert layer.agent == expected
    with pytest.raises(ValueError, match="there is no agent 'green'; the agents are red, blue"):
        dataclasses.replace(config, agent="green").make_env()
    with pytest.raises(ValueError, match="CartPole-v1 has a single agent, got agent='red'; leave it out"):
        ppo.Config(agent="red").make_env()


def test_training_takes_the_agent_that_a_registered_environment_has():
    funcenv.register("test/BluePlayer-v0", lambda: OneAgent(CoinGame(), "blue"), max_episode_steps=9)
    env = ppo.Config(env_id="test/BluePlayer-v0").make_env()
    assert [one.agent for one in layers(env) if isinstance(one, OneAgent)] == ["blue"]
    assert env.action_space == CoinGame().action_space["blue"]
    with pytest.raises(ValueError, match="test/BluePlayer-v0 has a single agent, got agent='red'; leave it out"):
        ppo.Config(env_id="test/BluePlayer-v0", agent="red").make_env()


def test_a_run_trains_one_of_the_agents(tmp_path, capsys):
    tiny = "--num-envs 4 --num-steps 8 --num-minibatches 1 --total-timesteps 64 --hidden-sizes 8 --replay-episodes 1"
    folder = str(tmp_path / "run")
    assert main(["train", "MultiAgent/CoinGame-v0", "--agent", "blue", "--run-dir", folder, *tiny.split()]) == 0
    assert main(["evaluate", folder, "--num-episodes", "2", "--json", "-"]) == 0
    assert '"returns"' in capsys.readouterr().out
