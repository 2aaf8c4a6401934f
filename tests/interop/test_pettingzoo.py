"""Multi-agent environments behind PettingZoo's parallel interface, with that package's own tests."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest
from pettingzoo.utils.conversions import parallel_to_aec

import funcenv
from funcenv import adapters, to_pettingzoo
from funcenv.multi_agent import MultiAgentEnv
from funcenv.spaces import Box, Discrete
from funcenv.wrappers import TimeLimit

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # PettingZoo's tests import one of its own old modules
    from pettingzoo.test import parallel_api_test, parallel_seed_test


class Countdowns(MultiAgentEnv):
    """Each agent has a counter, and is out when it reaches 0; each step costs what an agent counts down."""

    agents = ("slow", "fast")

    @property
    def observation_spaces(self):
        return dict.fromkeys(self.agents, Box(-jnp.inf, jnp.inf, ()))

    @property
    def action_spaces(self):
        return dict.fromkeys(self.agents, Discrete(3))

    def initial(self, key):
        return {"slow": jnp.float32(6), "fast": jnp.float32(3)}

    def transition(self, state, action, key):
        return {agent: jnp.maximum(left - 1, 0) for agent, left in state.items()}

    def observation(self, state, key):
        return state

    def rewards(self, state, action, next_state):
        return {agent: next_state[agent] - state[agent] for agent in self.agents}

    def terminals(self, state):
        return {agent: left == 0 for agent, left in state.items()}


@pytest.mark.parametrize("env", ["MultiAgent/CoinGame-v0", Countdowns()], ids=["coins", "countdowns"])
def test_pettingzoos_own_tests_pass(env):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(to_pettingzoo(env), num_cycles=200)


def test_a_seed_replays():
    parallel_seed_test(lambda: to_pettingzoo("MultiAgent/CoinGame-v0"), num_cycles=20)


def test_agents_leave_when_they_terminate():
    env = to_pettingzoo(Countdowns())
    env.reset(seed=0)
    for left in (2, 1, 0):
        observations, rewards, terminations, truncations, infos = env.step({"slow": 0, "fast": 0})
        assert observations["fast"] == left and terminations == {"slow": False, "fast": left == 0}
    assert env.agents == ["slow"] and rewards == {"slow": -1.0, "fast": -1.0}
    observations, rewards, *_ = env.step({"slow": 2})
    assert rewards == {"slow": -1.0} and list(observations) == ["slow"]
    env.step({"slow": 2})
    *_, terminations, truncations, infos = env.step({"slow": 2})
    assert env.agents == [] and terminations == {"slow": True} and infos == {"slow": {}}


def test_a_time_limit_truncates_all():
    env = to_pettingzoo(TimeLimit(Countdowns(), 2))
    env.reset(seed=0)
    env.step({"slow": 0, "fast": 0})
    *_, terminations, truncations, _ = env.step({"slow": 0, "fast": 0})
    assert truncations == {"slow": True, "fast": True} and env.agents == [] and not any(terminations.values())


def test_the_turn_based_interface_of_pettingzoo_takes_it():
    env = parallel_to_aec(to_pettingzoo("MultiAgent/CoinGame-v0", render_mode="rgb_array"))
    env.reset(seed=1)
    for _ in range(10):
        env.step(env.action_space(env.agent_selection).sample())
    assert env.render().dtype == np.uint8
    env.close()


def test_bad_input_is_named():
    with pytest.raises(TypeError, match=r"to_pettingzoo takes a multi-agent environment, got CartPole"):
        to_pettingzoo("CartPole-v1")
    with pytest.raises(TypeError, match=r"to_pettingzoo takes a functional environment, got int; name an id"):
        to_pettingzoo(3)
    stateful = adapters.make(funcenv.make("MultiAgent/CoinGame-v0"))
    assert to_pettingzoo(stateful).possible_agents == ["red", "blue"]
