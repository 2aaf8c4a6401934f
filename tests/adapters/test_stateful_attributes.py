"""An environment names the attributes that only its stateful interface has."""

import jax.numpy as jnp
import pytest

from funcenv import adapters
from funcenv.stateful import StatefulAttribute, constant
from funcenv.wrappers import TimeLimit
from tests.support.tiny_envs import Counter


class Named(Counter):
    """A counter with a constant, an attribute that can be set, one that cannot, and the last action."""

    @property
    def stateful_attributes(self):
        return {
            "table": constant(lambda: [self.goal]),
            "number": StatefulAttribute(lambda view: int(view.state), lambda number: jnp.int32(number)),
            "rest": StatefulAttribute(lambda view: self.goal - int(view.state)),
            "last": StatefulAttribute(lambda view: view.action),
        }


@pytest.fixture
def env():
    env = adapters.FunctionalEnv(TimeLimit(Named(), 20))
    env.reset(seed=0)
    return env


def test_attributes_read_the_state_and_the_last_action(env):
    assert (env.number, env.rest, env.last) == (0, 10, None)
    env.step(2)
    assert (env.number, env.rest, env.last) == (2, 8, 2)
    env.reset()
    assert (env.number, env.last) == (0, None)


def test_setting_an_attribute_sets_the_innermost_state(env):
    env.step(1)
    env.number = 7
    assert env.number == 7
    env.step(2)
    assert (env.number, env.rest) == (9, 1)


def test_an_attribute_that_only_reads_cannot_be_set(env):
    with pytest.raises(AttributeError, match="rest"):
        env.rest = 3


def test_constants_are_kept_until_a_parameter_changes(env):
    assert env.table == [10] and env.table is env.table
    env.goal = 4
    assert env.table == [4]


def test_the_attributes_are_listed_and_found_by_name(env):
    assert {"table", "number", "rest", "last"} <= set(dir(env))
    assert env.has_wrapper_attr("number") and env.get_wrapper_attr("number") == 0
    assert env.unwrapped.number == 0


def test_other_environments_do_not_have_them():
    assert not adapters.FunctionalEnv(Counter()).has_wrapper_attr("number")
