"""Hindsight: goals come from the same episode, and rewards and ends follow from them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import wrappers
from funcenv.goals import GoalEnv
from funcenv.spaces import Box
from funcenv.train import dqn, sac, td3
from funcenv.train.loop import Learner
from funcenv.train.updates.hindsight import Hindsight
from funcenv.train.updates.replay_buffer import ReplayBuffer, Steps

NUM_ENVS, GAMMA, EPISODE = 3, 0.5, 5


class Clock(GoalEnv):
    """Its goals are moments; it ends at the goal, and is truncated 100 before it."""

    goal_space = view_space = Box(-jnp.inf, jnp.inf, (1,))
    ends: bool = False

    def is_success(self, achieved_goal, desired_goal):
        return (achieved_goal == desired_goal).all(-1)

    def compute_terminated(self, achieved_goal, desired_goal, info):
        return self.is_success(achieved_goal, desired_goal) & self.ends


def steps(first, num_steps):
    """Return steps at times `1000 env + time`, whose episodes begin at multiples of `EPISODE`; goals are negative."""
    time = first + jnp.arange(num_steps)[:, None]
    now = (time + 1000 * jnp.arange(NUM_ENVS)[None]).astype(float)
    done = jnp.broadcast_to(time % EPISODE == EPISODE - 1, now.shape)
    goal = -1 - now[..., None] // EPISODE

    def observed(now):
        return {"observation": now[..., None], "achieved_goal": now[..., None], "desired_goal": goal}

    return Steps(observed(now), now, -jnp.ones_like(now), jnp.zeros_like(done), done, observed(now + 1))


def drawn(hindsight, num_calls=7, n=1, capacity=12, batch_size=2000):
    """Return what is drawn from a buffer to which two steps were added a few times, as NumPy arrays."""
    buffer = ReplayBuffer.empty(jax.tree.map(lambda leaf: leaf[0], steps(0, 1)), capacity)
    for call in range(num_calls):
        buffer = buffer.add(steps(2 * call, 2))
    sample = jax.jit(ReplayBuffer.sample, static_argnums=(2, 3, 4))
    return jax.tree.map(np.asarray, sample(buffer, jax.random.key(0), batch_size, n, GAMMA, hindsight))


def rest_of_episode(now, newest):
    """Return the goals that are achieved from a step on until its episode ends, or until now."""
    env, time = divmod(int(now), 1000)
    last = min(time - time % EPISODE + EPISODE, newest)
    return {1000 * env + later for later in range(time + 1, last + 1)}


@pytest.mark.parametrize("num_calls", [4, 6, 7, 11])  # part of the ring, all of it, and after it has wrapped
def test_goals_are_achieved_later_in_the_same_episode(num_calls):
    batch = drawn(Hindsight(Clock(), share=1.0, horizon=EPISODE), num_calls)
    chosen: dict[int, set[int]] = {}
    for now, goal in zip(batch.action, batch.observation["desired_goal"][:, 0], strict=True):
        chosen.setdefault(int(now), set()).add(int(goal))
    assert len(chosen) == NUM_ENVS * min(2 * num_calls, 12)
    for now, goals in chosen.items():
        assert goals == rest_of_episode(now, 2 * num_calls), now
    np.testing.assert_array_equal(batch.observation["desired_goal"], batch.next_observation["desired_goal"])


@pytest.mark.parametrize(("num_goals", "share"), [(1, 0.5), (4, 0.8)])
def test_a_share_of_the_transitions_has_other_goals_with_their_rewards(num_goals, share):
    env = funcenv.wrappers.TimeLimit(Clock(), EPISODE)
    batch = drawn(Hindsight.of(env, num_goals))
    goal, now = batch.observation["desired_goal"][:, 0], batch.observation["achieved_goal"][:, 0]
    assert np.mean(goal >= 0) == pytest.approx(share, abs=0.04)
    kept = goal < 0
    np.testing.assert_array_equal(goal[kept], -1 - now[kept] // EPISODE)
    np.testing.assert_array_equal(batch.reward, np.where(goal == now + 1, 0, -1))
    assert (batch.discount == GAMMA).all()
    np.testing.assert_array_equal(batch.observation["observation"][:, 0], batch.action)


def test_windows_of_several_steps_end_with_the_episode_and_at_the_new_goal():
    for ends in False, True:
        batch = drawn(Hindsight(Clock(ends=ends), share=1.0, horizon=EPISODE), num_calls=10, n=3, capacity=20)
        for i, (now, goal) in enumerate(zip(batch.action, batch.observation["desired_goal"][:, 0], strict=True)):
            length = min(3, EPISODE - int(now) % 1000 % EPISODE)
            is_reached = goal <= now + length
            length = int(goal - now) if ends and is_reached else length
            rewards = [0 if now + k + 1 == goal else -1 for k in range(length)]
            assert batch.reward[i] == sum(GAMMA**k * reward for k, reward in enumerate(rewards))
            assert batch.discount[i] == (0 if ends and is_reached else GAMMA**length)
            assert batch.next_observation["achieved_goal"][i] == now + length


def test_an_end_at_the_own_goal_is_a_truncation_for_other_goals():
    """Where the first episode reached its goal, another goal bootstraps from the observation after it."""
    own = steps(0, EPISODE)
    reached = own.next_observation["achieved_goal"][-1, :]
    for observation in own.observation, own.next_observation:
        observation["desired_goal"] = jnp.broadcast_to(reached, observation["desired_goal"].shape)
    own = own._replace(terminated=own.done)
    buffer = ReplayBuffer.empty(jax.tree.map(lambda leaf: leaf[0], own), EPISODE).add(own)
    hindsight = Hindsight(Clock(ends=True), share=0.5, horizon=EPISODE)
    batch = buffer.sample(jax.random.key(0), 500, 1, GAMMA, hindsight)
    is_reached = np.asarray(batch.observation["desired_goal"] == batch.next_observation["achieved_goal"])[:, 0]
    np.testing.assert_array_equal(batch.discount == 0, is_reached)
    is_last = np.asarray(batch.action) % 1000 == EPISODE - 1
    assert is_reached[is_last].all() and not is_reached[~is_last].all() and is_reached[~is_last].any()


def test_without_hindsight_the_same_transitions_are_drawn_as_ever():
    """The environment has a law: with its own goals, rewards and ends are the stored ones."""
    plain, own = drawn(None), drawn(Hindsight(Clock(), share=0.0, horizon=EPISODE))
    assert set(plain.action) == set(own.action) and set(plain.reward) == set(own.reward) == {-1}
    np.testing.assert_array_equal(own.observation["desired_goal"][:, 0], -1 - own.action // EPISODE)


@pytest.mark.parametrize(
    ("env", "error", "message"),
    [
        (
            lambda: funcenv.make("CartPole-v1"),
            TypeError,
            r"needs an environment with goals .* got CartPole; set it to 0",
        ),
        (lambda: funcenv.make("BitFlip-v0", max_episode_steps=None), ValueError, "needs a time limit"),
        (
            lambda: wrappers.RepeatAction(funcenv.make("GoalReacher-v0"), 2),
            ValueError,
            "needs the reward of GoalReacher itself, which RepeatAction changes",
        ),
        (
            lambda: wrappers.FlattenObservation(funcenv.make("GoalReacher-v0")),
            ValueError,
            "needs the observation of GoalReacher itself, which FlattenObservation changes",
        ),
    ],
)
def test_environments_without_hindsight_are_refused(env, error, message):
    with pytest.raises(error, match=message):
        Hindsight.of(env(), 4)


def test_settings_are_refused():
    with pytest.raises(ValueError, match="hindsight_goals must be at least 0, got -1"):
        dqn.Config(hindsight_goals=-1)
    with pytest.raises(TypeError, match="hindsight_goals must be an integer"):
        dqn.Config(hindsight_goals=0.5)
    with pytest.raises(TypeError, match="needs an environment with goals"):
        dqn.Config(env_id="CartPole-v1", hindsight_goals=4).make_env()
    with pytest.raises(ValueError, match="RepeatAction changes"):
        sac.Config(env_id="GoalReacher-v0", action_repeat=2, hindsight_goals=4).make_env()


TINY = {"num_envs": 4, "num_steps": 2, "hidden_sizes": (8,), "buffer_size": 64, "minibatch_size": 8}
TINY |= {"learning_starts": 16, "num_gradient_steps": 2, "n_step": 3, "total_timesteps": 8 * 12}


@pytest.mark.parametrize(
    ("algorithm", "env_id"),
    [
        (dqn, "BitFlip-v0"),
        pytest.param(sac, "GoalReacher-v0", marks=pytest.mark.exhaustive),
        pytest.param(td3, "GoalReacher-v0", marks=pytest.mark.exhaustive),
    ],
)
def test_every_algorithm_with_a_replay_buffer_learns_from_other_goals(algorithm, env_id):
    config = algorithm.Config(env_id=env_id, **TINY)
    without, within = (Learner(algorithm, dataclasses.replace(config, hindsight_goals=goals)) for goals in (0, 4))
    states = [learner.advance(learner.init(funcenv.key(0)), 4)[0] for learner in (without, within)]
    first = [state.buffer.steps.action[:, :2] for state in states]  # before learning begins
    np.testing.assert_allclose(*first, rtol=1e-4, atol=1e-6)
    leaves = [jax.tree.leaves(state.learned) for state in states]
    assert all(np.isfinite(leaf).all() for leaf in leaves[1])
    assert any((a != b).any() for a, b in zip(*leaves, strict=True))


@pytest.mark.dear
def test_hindsight_solves_ten_bits_in_a_few_thousand_steps():
    config = dqn.Config(
        env_id="BitFlip-v0",
        env_params={"num_bits": 10},
        max_episode_steps=10,
        total_timesteps=20_000,
        hidden_sizes=(64, 64),
        gamma=0.95,
        n_step=1,
        hindsight_goals=4,
    )
    learner = Learner(dqn, config)
    state, _ = learner.advance_to(learner.init(funcenv.key(0)), config.num_updates)
    played = funcenv.evaluate(learner.env, learner.agent(state), 200, funcenv.key(1))
    assert played.terminated.mean() > 0.9
