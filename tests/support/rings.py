"""A chain of three states whose values are known, with each kind of ending, and for each kind of actions."""

import jax

import funcenv
from funcenv.spaces import Box, Discrete, Tuple
from tests.support.tiny_envs import Tiny

GAMMA = 0.9


class Ring(Tiny):
    """States 0 -> 1 -> 2 -> 0 with reward 1 a step. State 2 is terminal with `ends`; otherwise no state is."""

    ends: bool = funcenv.field(pytree_node=False, default=True)
    is_continuous: bool = funcenv.field(pytree_node=False, default=False)
    observation_space = Discrete(3)

    @property
    def action_space(self):
        return Box(-2.0, 2.0, (1,)) if self.is_continuous else Discrete(2)

    def initial(self, key):
        return jax.random.randint(key, (), 0, 2 if self.ends else 3)

    def transition(self, state, action, key):
        return (state + 1) % 3

    def reward(self, state, action, next_state):
        return 1.0

    def terminal(self, state):
        return (state == 2) & self.ends


class Lives(Ring):
    """A ring of games, in whose `info` a life is lost where state 2 is reached; a game begins with two lives."""

    def initial(self, key):
        return {"place": super().initial(key), "lives": jax.numpy.int32(2)}

    def transition(self, state, action, key):
        place = super().transition(state["place"], action, key)
        return {"place": place, "lives": state["lives"] - (place == 2)}

    def observation(self, state, key):
        return state["place"]

    def terminal(self, state):
        return state["lives"] == 0

    def state_info(self, state):
        return {"lives": state["lives"]}


class Secret(Ring):
    """A ring that ends, with reward 1 or 2 a step by a secret of the episode, which `info` tells with the place."""

    def initial(self, key):
        place_key, secret_key = jax.random.split(key)
        return {"place": super().initial(place_key), "secret": jax.random.randint(secret_key, (), 0, 2)}

    def transition(self, state, action, key):
        return state | {"place": super().transition(state["place"], action, key)}

    def observation(self, state, key):
        return state["place"]

    def reward(self, state, action, next_state):
        return 1.0 + state["secret"].astype(float)

    def terminal(self, state):
        return super().terminal(state["place"])

    def state_info(self, state):
        return {"secret": secret_view(state["place"], state["secret"])}


def secret_view(place, secret):
    """Return what tells a place and a secret, of which values are a linear function."""
    return jax.nn.one_hot(2 * place + secret, 6)


class Choice(Ring):
    """A ring whose episodes end after one step, with the reward -(action - 1)^2: action 1 is the best one."""

    def initial(self, key):
        return jax.random.randint(key, (), 0, 2)

    def transition(self, state, action, key):
        return jax.numpy.int32(2)

    def reward(self, state, action, next_state):
        return -((jax.numpy.asarray(action, float).sum() - 1.0) ** 2)


class Strange(Ring):
    """A ring whose actions no algorithm takes."""

    @property
    def action_space(self):
        return Tuple([Discrete(2), Discrete(2)])


VALUES = {
    # State 2 is terminal: V(1) = 1 and V(0) = 1 + gamma.
    "RingThatEnds": {0: 1 + GAMMA, 1: 1.0},
    # Truncated every 2 steps, but more rewards would follow: V = 1 / (1 - gamma) everywhere.
    "RingCutOff": dict.fromkeys(range(3), 1 / (1 - GAMMA)),
    # An agent that plays for its life ends in state 2, with which the next life begins: V(2) = 1 + gamma V(0).
    "RingOfLives": {0: 1 + GAMMA, 1: 1.0, 2: 1 + GAMMA * (1 + GAMMA)},
}
"""The value of each state, for every policy, by the name of the environment."""

SETTINGS = {"RingOfLives": {"terminal_on_life_loss": True}}
"""Settings with which an agent learns these values, by the name of the environment."""


def ring_id(name, is_continuous=False):
    """Return the id of a ring."""
    return f"test/{name}{'Continuous' if is_continuous else ''}-v0"


def register_rings():
    """Register the rings of `VALUES`, `Choice` and `Strange`."""
    for is_continuous in (False, True):
        kwargs = {"is_continuous": is_continuous}
        funcenv.register(ring_id("RingThatEnds", is_continuous), Ring, kwargs=kwargs)
        funcenv.register(ring_id("Choice", is_continuous), Choice, kwargs=kwargs)
        funcenv.register(ring_id("RingWithSecret", is_continuous), Secret, kwargs=kwargs)
        kwargs = kwargs | {"ends": False}
        funcenv.register(ring_id("RingOfLives", is_continuous), Lives, kwargs=kwargs)
        funcenv.register(ring_id("RingCutOff", is_continuous), Ring, max_episode_steps=2, kwargs=kwargs)
    funcenv.register("test/Strange-v0", Strange)
