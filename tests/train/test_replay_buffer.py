"""The replay buffer keeps the latest steps, and draws windows that lie within an episode."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.train import dqn
from funcenv.train.loop import Learner
from funcenv.train.updates.replay_buffer import ReplayBuffer, Steps
from tests.support.training import same_states

NUM_ENVS, GAMMA = 3, 0.5


def steps(first, num_steps, truncated_every=5, terminated_every=7):
    """Return steps whose observations are `1000 env + time`, and whose rewards are 1."""
    time = first + jnp.arange(num_steps)[:, None]
    observation = (time + 1000 * jnp.arange(NUM_ENVS)[None]).astype(float)
    terminated = jnp.broadcast_to(time % terminated_every == 0, observation.shape)
    done = terminated | jnp.broadcast_to(time % truncated_every == 0, observation.shape)
    return Steps(observation, observation, jnp.ones_like(observation), terminated, done, observation + 0.5)


def filled(capacity, num_calls, num_steps):
    buffer = ReplayBuffer.empty(jax.tree.map(lambda leaf: leaf[0], steps(0, 1)), capacity)
    add = jax.jit(ReplayBuffer.add)
    for call in range(num_calls):
        buffer = add(buffer, steps(call * num_steps, num_steps))
    return buffer


@pytest.mark.parametrize(("num_calls", "oldest"), [(3, 0), (6, 0), (7, 2), (11, 10)])
@pytest.mark.parametrize("n", [1, 3])
def test_transitions_come_from_the_latest_steps_and_end_with_episodes(num_calls, oldest, n):
    buffer = filled(capacity=12, num_calls=num_calls, num_steps=2)
    assert buffer.size == min(2 * num_calls, 12)
    drawn = jax.jit(ReplayBuffer.sample, static_argnums=(2, 3, 4))(buffer, jax.random.key(0), 500, n, GAMMA)
    time, env = np.asarray(drawn.observation) % 1000, np.asarray(drawn.observation) // 1000
    assert set(time) == set(range(oldest, 2 * num_calls - n + 1)) and set(env) == set(range(NUM_ENVS))
    for i in range(500):
        length = next((k + 1 for k in range(n) if (time[i] + k) % 5 == 0 or (time[i] + k) % 7 == 0), n)
        last = time[i] + length - 1
        assert drawn.next_observation[i] == 1000 * env[i] + last + 0.5
        assert drawn.reward[i] == sum(GAMMA**k for k in range(length))
        assert drawn.discount[i] == (0 if last % 7 == 0 else GAMMA**length)


@pytest.mark.parametrize("num_seeds", [None, 2])
def test_a_loop_updates_a_buffer_in_place(num_seeds):
    def loop(buffer):
        return jax.lax.fori_loop(0, 50, lambda i, buffer: buffer.add(steps(2 * i, 2)), buffer)

    buffer = filled(capacity=4096, num_calls=1, num_steps=2)
    if num_seeds is not None:
        loop, buffer = jax.vmap(loop), jax.tree.map(lambda leaf: jnp.stack([leaf] * num_seeds), buffer)
    memory = jax.jit(loop).lower(buffer).compile().memory_analysis()
    assert memory.temp_size_in_bytes < sum(leaf.nbytes for leaf in jax.tree.leaves(buffer.steps)) / 10


def test_a_buffer_that_holds_one_window_draws_no_other():
    drawn = filled(capacity=8, num_calls=1, num_steps=4).sample(jax.random.key(0), 64, num_steps=4, gamma=0.9)
    assert (np.asarray(drawn.observation) % 1000 == 0).all()


def test_the_capacity_of_a_buffer_is_known_when_a_program_is_traced():
    buffer = filled(capacity=6, num_calls=1, num_steps=2)
    assert jax.eval_shape(lambda buffer: jnp.zeros(buffer.capacity), buffer).shape == (6,)


def test_a_donated_buffer_is_updated_in_place():
    buffer = filled(capacity=4096, num_calls=1, num_steps=2)
    add = jax.jit(ReplayBuffer.add, donate_argnums=0)
    addresses = [leaf.unsafe_buffer_pointer() for leaf in jax.tree.leaves(buffer.steps)]
    buffer = add(buffer, steps(2, 2))
    assert addresses == [leaf.unsafe_buffer_pointer() for leaf in jax.tree.leaves(buffer.steps)]


@pytest.mark.parametrize("num_gradient_steps", [1, 2])
def test_an_update_does_not_copy_the_buffer(num_gradient_steps):
    """A compiled call copies what is not donated; the loop over updates writes to the buffer in place."""
    config = dqn.Config(buffer_size=8 * 333, num_gradient_steps=num_gradient_steps, hidden_sizes=(8,))
    learner = Learner(dqn, config)
    program = learner.lower(learner.init(funcenv.key(0))).compile().as_text()
    loops = program.split("\nENTRY ")[0]
    assert "[333,8]{1,0} fusion(" in loops, "the loop writes to the buffer"
    assert not re.findall(r"\[333,8.* copy\(", loops)


@pytest.mark.dear
def test_a_donated_train_state_is_updated_in_place():
    learner = Learner(dqn, dqn.Config(buffer_size=8 * 333, hidden_sizes=(8,)))
    state = learner.compile(learner.init(funcenv.key(0)), donate=True)
    kept, agents = learner.advance(state, 1)[0], learner.agents(state)  # both are other arrays
    before = [leaf.unsafe_buffer_pointer() for leaf in jax.tree.leaves(state.buffer.steps)]
    donated, _ = learner.advance(state, 1, donate=True)
    assert before == [leaf.unsafe_buffer_pointer() for leaf in jax.tree.leaves(donated.buffer.steps)]
    same_states(donated, kept)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(agents.params))
    with pytest.raises(RuntimeError, match="deleted"):
        learner.advance(state, 1)
