"""Records, assertions and serialization of chex and flax work with environments, states and time steps."""

import chex
import flax
import flax.serialization
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole
from tests.support.tiny_envs import Tiny


@chex.dataclass(frozen=True)
class ChexState:
    """A state as chex declares one."""

    count: jax.Array


@flax.struct.dataclass
class FlaxState:
    """A state as flax declares one."""

    count: jax.Array


class ChexCounter(Tiny):
    """Counts steps in a state of chex."""

    State = ChexState

    def initial(self, key):
        return self.State(count=jnp.zeros((), jnp.int32))

    def transition(self, state, action, key):
        return state.replace(count=state.count + 1)

    def observation(self, state, key):
        return state.count.astype(jnp.float32)[None]

    def terminal(self, state):
        return state.count >= 5


class FlaxCounter(ChexCounter):
    """Counts steps in a state of flax."""

    State = FlaxState


@pytest.mark.parametrize("env", [ChexCounter(), FlaxCounter()], ids=["chex", "flax"])
def test_states_of_other_libraries_are_carried_by_rollouts(env):
    venv = funcenv.FuncVectorEnv(env, 2)
    vstate, trajectory, _ = funcenv.rollout(venv, funcenv.random_policy(env), funcenv.key(0), num_steps=12)
    assert isinstance(vstate.env_state, env.State)
    chex.assert_shape(trajectory.timestep.observation, (12, 2, 1))
    assert trajectory.timestep.terminated.sum() == 4
    chex.assert_tree_all_finite(trajectory.timestep.observation)


def test_a_step_is_traced_once():
    env = CartPole()
    step = jax.jit(chex.assert_max_traces(env.step, n=1))
    state, _ = env.reset(funcenv.key(0))
    for number in range(3):
        state, timestep = step(state, number % 2, funcenv.key(number))
    chex.assert_trees_all_equal_shapes_and_dtypes(state, env.initial(funcenv.key(1)))
    chex.assert_scalar_in(float(timestep.reward), 0.0, 1.0)


class TestVariants(chex.TestCase):
    """A reset gives the same with and without compilation, as chex's variants run it."""

    @chex.variants(with_jit=True, without_jit=True)
    def test_reset(self):
        state, timestep = self.variant(CartPole().reset)(funcenv.key(0))
        np.testing.assert_allclose(jax.tree.leaves(state), timestep.observation, rtol=1e-6)


def test_states_are_serialized_by_flax():
    """Whoever stores states of records with flax's bytes gets them back."""
    state = FlaxCounter().initial(funcenv.key(0)).replace(count=jnp.int32(3))
    restored = flax.serialization.from_bytes(state, flax.serialization.to_bytes(state))
    chex.assert_trees_all_equal(restored, state)
    leaves, structure = jax.tree.flatten(CartPole().initial(funcenv.key(0)))
    stored = flax.serialization.msgpack_serialize({"leaves": leaves})
    again = jax.tree.unflatten(structure, flax.serialization.msgpack_restore(stored)["leaves"])
    chex.assert_trees_all_equal(again, CartPole().initial(funcenv.key(0)))


def test_fields_of_flax_are_fields_here():
    class Grid(funcenv.PyTreeNode):
        wind: float = 0.0
        size: int = flax.struct.field(pytree_node=False, default=4)

    assert jax.tree.leaves(Grid(wind=1.5)) == [1.5]
