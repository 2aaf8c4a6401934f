"""Different environments in one vector: rows as of the environments alone, common spaces, and bad input."""

import functools
import math
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import AutoresetMode, FuncVectorEnv
from funcenv.adapters import FunctionalVectorEnv
from funcenv.checker import find_problems
from funcenv.envs import Acrobot, CartPole, FrozenLake, MountainCar, Pendulum, Taxi
from funcenv.spaces import Box, Discrete
from funcenv.train import ppo
from funcenv.train import run as train_run
from funcenv.train.runs.metrics import read_metrics
from funcenv.union import TaskStates, Union
from funcenv.wrappers import NormalizeObservation, TimeLimit, TransformReward
from tests.support.tiny_envs import Counter, Echo, Tiny

NUM_STEPS = 40
SIZES = 3, 2, 2


class Walk(Tiny):
    """Goes a random way; ends far from the start. All of its numbers are integers."""

    limit: int = 4
    observation_space = Box(-9, 9, (3, 2), np.int32)

    def initial(self, key):
        return jax.random.randint(key, (), -1, 2, jnp.int32)

    def transition(self, state, action, key):
        moved = state + jax.random.randint(key, (), -1, 2, jnp.int32) + jnp.asarray(action == 1, jnp.int32)
        return jnp.clip(moved, -8, 8)

    def observation(self, state, key):
        return jnp.full((3, 2), state + jax.random.randint(key, (), 0, 2, jnp.int32))

    def reward(self, state, action, next_state):
        return next_state.astype(float)

    def terminal(self, state):
        return jnp.abs(state) >= self.limit

    def state_info(self, state):
        return {"number": state, "own": state}


CLASSIC = TimeLimit(CartPole(), 15), TimeLimit(Acrobot(), 12), TimeLimit(MountainCar(), 9)


def classic():
    return Union(CLASSIC)


funcenv.register("test/Classic-v0", classic)


def actions_of(num_envs, highest=2):
    return np.random.default_rng(0).integers(0, highest, (NUM_STEPS, num_envs)).astype(np.int32)


@functools.partial(jax.jit, static_argnums=2)
def play(venv, vstate, step, actions):
    return jax.lax.scan(lambda vstate, action: step(venv, vstate, action), vstate, actions)


def run(venv, keys, actions):
    """Return the first time step and those of the actions, by steps in a compiled loop."""
    vstate, first = jax.jit(venv.reset)(keys)
    vstate, timesteps = play(venv, vstate, FuncVectorEnv.step, actions)
    return vstate, first, timesteps


def rows_of(tree, rows, axis=1):
    return jax.tree.map(lambda leaf: leaf[(slice(None),) * axis + (rows,)], tree)


def assert_same(found, expected):
    jax.tree.map(np.testing.assert_array_equal, found, expected)


def assert_rows_equal(found, expected, task, size):
    """Compare time steps of a group of rows with those of the environment alone."""
    for name in ("reward", "terminated", "truncated", "episode_return", "episode_length"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in ("observation", "final_observation"):
        seen, own = getattr(found, name), getattr(expected, name)
        np.testing.assert_array_equal(seen["observation"][..., :size], own)
        np.testing.assert_array_equal(seen["observation"][..., size:], 0)
        np.testing.assert_array_equal(seen["task"], task)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_each_row_lives_as_in_its_environment_alone(mode):
    """Bit for bit: steps, resets, final observations, returns."""
    venv = FuncVectorEnv(Union(CLASSIC, shares=SIZES), sum(SIZES), mode)
    keys, actions = jax.random.split(funcenv.key(0), 7), actions_of(7)
    vstate, first, steps = run(venv, keys, actions)
    ended, start = 0, 0
    for task, (env, size) in enumerate(zip(CLASSIC, SIZES, strict=True)):
        rows = slice(start, start + size)
        start += size
        own_vstate, own_first, own = run(FuncVectorEnv(env, size, mode), keys[rows], actions[:, rows])
        num_numbers = env.observation_space.shape[0]
        assert_rows_equal(rows_of(first, rows, 0), own_first, task, num_numbers)
        assert_rows_equal(rows_of(steps, rows), own, task, num_numbers)
        assert_same(vstate.env_state.states[task], own_vstate.env_state)
        assert_same(vstate.num_calls[rows], own_vstate.num_calls)
        ended += own.done.sum()
    assert ended > 10


def walks():
    return Union([Walk(), Walk(limit=2), Counter(goal=5)], shares=(2, 1, 1))


def test_compiled_steps_equal_plain_ones():
    """Integers are equal bit for bit; the observations of the two kinds become vectors of one length."""
    venv, keys, actions = FuncVectorEnv(walks(), 8), jax.random.split(funcenv.key(1), 8), actions_of(8)
    assert venv.single_observation_space["observation"].shape == (6,)
    vstate, first, steps = run(venv, keys, actions)
    plain_vstate, timestep = venv.reset(keys)
    assert_same(timestep, first)
    for t in range(12):
        plain_vstate, timestep = venv.step(plain_vstate, actions[t])
        assert_same(timestep, jax.tree.map(lambda leaf, t=t: leaf[t], steps))


def test_rollout_and_evaluate_play_each_group():
    union = walks()
    venv = FuncVectorEnv(union, 8)

    def policy(observation, key):
        return (observation["observation"].sum() > 0).astype(jnp.int32) + observation["task"] // 2

    vstate, kept, statistics = funcenv.rollout(venv, policy, funcenv.key(2), NUM_STEPS)
    _, _, steps = run(venv, jax.random.split(jax.random.split(funcenv.key(2))[0], 8), kept.action)
    assert_same(kept.timestep, steps)
    returns = np.asarray(steps.episode_return)[np.asarray(steps.done)]
    assert statistics.count == len(returns) > 10
    np.testing.assert_allclose(statistics.mean_return, returns.mean(), rtol=1e-6)

    def mean(timestep, action):
        return timestep.reward.mean()

    _, means, same = funcenv.rollout(venv, policy, funcenv.key(2), NUM_STEPS, collect=mean)
    np.testing.assert_allclose(means, steps.reward.mean(1), rtol=1e-6)
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-5), same, statistics)
    traced = jax.jit(lambda key: funcenv.rollout(venv, policy, key, NUM_STEPS))(funcenv.key(2))
    assert_same((traced[0].replace(key=None), traced[1]), (vstate.replace(key=None), kept))
    on, _, _ = funcenv.rollout(venv, policy, funcenv.key(3), 5, vstate=vstate, collect=None)
    assert int(on.num_calls.sum()) > int(vstate.num_calls.sum())

    evaluation = funcenv.evaluate(union, policy, 8, funcenv.key(2))
    assert evaluation.finished.all()
    for row in range(8):
        (end,) = np.flatnonzero(np.asarray(steps.done[:, row]))[:1]
        assert evaluation.episode_return[row] == steps.episode_return[end, row]


def test_some_rows_are_reset():
    """Masks, streams that go on without a key, and what an environment remembers from one episode to the next."""
    union = Union([Walk(), NormalizeObservation(Counter(goal=5))])
    venv = FuncVectorEnv(union, 4, AutoresetMode.DISABLED)
    keys, actions = jax.random.split(funcenv.key(1), 4), jnp.ones(4, jnp.int32)
    vstate, _ = venv.reset(keys)
    vstate, stepped = venv.step(vstate, actions)
    mask = jnp.array([True, False, False, True])
    after, timestep = venv.reset(vstate=vstate, mask=mask)
    assert after.num_calls.tolist() == [3, 2, 2, 3]
    assert_same(rows_of(timestep.observation, slice(1, 3), 0), rows_of(stepped.observation, slice(1, 3), 0))
    for task, env in enumerate(union.envs):
        rows, own = slice(2 * task, 2 * task + 2), FuncVectorEnv(env, 2, AutoresetMode.DISABLED)
        own_vstate, _ = own.step(own.reset(keys[rows])[0], actions[rows])
        own_after, _ = own.reset(vstate=own_vstate, mask=mask[rows])
        assert_same(after.env_state.states[task], own_after.env_state)
    assert_same(venv.observation(after), timestep.observation)
    everywhere, _ = venv.reset(vstate=after)
    assert everywhere.num_calls.tolist() == [4, 3, 3, 4]


def test_wrappers_go_outside_and_parameters_are_batched():
    """Row i takes parameter i, whatever its group."""
    union = Union([Walk(limit=np.array([4, 2, 9, 9])), Counter(goal=np.array([9, 9, 3, 7]))])
    env = TransformReward(TimeLimit(union, 6), lambda reward: 2 * reward)
    keys, actions = jax.random.split(funcenv.key(3), 4), actions_of(4)
    _, _, steps = run(FuncVectorEnv(env, 4), keys, actions)
    alone = (Walk(limit=4), Walk(limit=2), Counter(goal=3), Counter(goal=7))
    for row, own in enumerate(alone):
        own_env = FuncVectorEnv(TransformReward(TimeLimit(own, 6), lambda reward: 2 * reward), 1)
        _, _, expected = run(own_env, keys[row : row + 1], actions[:, row : row + 1])
        np.testing.assert_array_equal(steps.reward[:, row], expected.reward[:, 0])
        np.testing.assert_array_equal(steps.truncated[:, row], expected.truncated[:, 0])


def test_a_union_by_itself_is_one_of_its_environments():
    union, key = walks(), funcenv.key(0)
    state, timestep = union.replace(task=2).reset(key)
    own_state, own = Counter(goal=5).reset(key)
    assert state == TaskStates((None, None, own_state)) and timestep.observation["task"] == 2
    np.testing.assert_array_equal(timestep.observation["observation"], [*own.observation, 0, 0, 0, 0])
    assert FuncVectorEnv(union.replace(task=2), 3).reset(key)[1].info["task"].tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match=r"in task 1 got a state of task 2; use union.replace\(task=2\)"):
        union.replace(task=1).observation(state, key)


@pytest.mark.parametrize("task", [None, 0])
def test_the_checker_finds_nothing(task):
    union = Union([Walk(), Walk(limit=2)], task=task)
    assert [str(finding) for finding in find_problems(union, funcenv.key(0))] == []


def test_every_parameter_is_used_in_some_task():
    findings = find_problems(Union([CartPole(), Acrobot()]), funcenv.key(0), run=False)
    assert [str(finding) for finding in findings] == []


def test_a_union_is_pickled():
    union = walks()
    assert jax.tree.structure(pickle.loads(pickle.dumps(union))) == jax.tree.structure(union)
    vstate, _ = FuncVectorEnv(union, 8).reset(funcenv.key(0))
    assert_same(pickle.loads(pickle.dumps(vstate.env_state)), vstate.env_state)


def test_a_run_trains_on_a_union(tmp_path):
    """Its page shows episodes of the first task, and its metrics have the returns of each task."""
    config = ppo.Config(
        env_id="test/Classic-v0", num_envs=6, num_steps=32, total_timesteps=384, hidden_sizes=(8,), eval_every=192
    )
    result = train_run.start(config, tmp_path / "run", replay_episodes=1)
    assert result is not None and (tmp_path / "run" / "replay.html").exists()
    last = read_metrics(tmp_path / "run" / "metrics.csv")[-1]
    episodes = [float(last[f"episodes_of_task_{task}"]) for task in range(3)]
    assert episodes[0] > 0 and sum(episodes) == float(last["episodes"])
    returns = [float(last[f"mean_return_of_task_{task}"]) for task in range(3)]
    assert [math.isnan(value) for value in returns] == [count == 0 for count in episodes]
    expected = sum(count * value for count, value in zip(episodes, returns, strict=True) if count)
    assert math.isclose(expected / sum(episodes), float(last["mean_return"]), rel_tol=1e-5)


def test_info_holds_what_all_have():
    union = Union([Walk(), Counter()])
    _, timestep = FuncVectorEnv(union, 2).reset(funcenv.key(0))
    assert sorted(timestep.info) == ["action_mask", "number", "task"]
    assert timestep.info["action_mask"].tolist() == [[1, 1, 0], [1, 1, 1]]
    _, timestep = FuncVectorEnv(Union([FrozenLake(), Taxi()]), 2).reset(funcenv.key(0))
    assert timestep.info["action_mask"][0].tolist() == [1, 1, 1, 1, 0, 0]
    assert "action_mask" not in FuncVectorEnv(Union([Walk(), Walk()]), 2).reset(funcenv.key(0))[1].info


def test_actions_beyond_a_task_are_clipped_to_it():
    union = Union([Echo(Discrete(3, start=-1)), Echo(Discrete(2, start=1))])
    assert union.action_space == Discrete(4, start=-1)
    for task, (action, expected) in enumerate([(2, 1), (-1, 1)]):
        state = union.replace(task=task).initial(funcenv.key(0))
        assert union.replace(task=task).transition(state, action, funcenv.key(0)).states[task] == expected
    boxes = Union([Echo(Box(-1, 1, (3,))), Echo(Box(-2, 2, (1,)))], task=0)
    assert boxes.action_space == Box([-2, -1, -1], [2, 1, 1]) == boxes.observation_space["observation"]
    action = jnp.array([1.5, -0.25, -2.0])
    state = boxes.transition(boxes.initial(funcenv.key(0)), action, funcenv.key(0))
    assert state.states[0].tolist() == [1.0, -0.25, -1.0]
    boxes = boxes.replace(task=1)
    assert boxes.transition(boxes.initial(funcenv.key(0)), action, funcenv.key(0)).states[1].tolist() == [1.5]


def test_rows_are_shared_in_a_ratio():
    assert Union([Walk()] * 3).group_sizes(8) == (2, 3, 3)
    assert Union([Walk()] * 3, shares=[8, 4, 4]).group_sizes(16) == (8, 4, 4)
    assert Union([Walk()] * 2, task=1).group_sizes(4) == (0, 4)
    assert Union([Walk()] * 2, shares=(3, 1)).tasks(4).tolist() == [0, 0, 0, 1]


def test_the_reset_strategy_is_that_of_each_group():
    assert FuncVectorEnv(classic(), 6).chosen_reset_strategy() == "select"
    assert FuncVectorEnv(classic(), 6, reset_strategy="lazy").chosen_reset_strategy() == "lazy"


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: Union([]), ValueError, "needs at least one environment, got none"),
        (lambda: Union(CartPole()), TypeError, r"takes a sequence of environments, such as \[CartPole\(\), Acrobot"),
        (lambda: Union(["CartPole-v1"]), TypeError, r"funcenv.make\('CartPole-v1'\)"),
        (lambda: Union([CartPole]), TypeError, r"as in CartPole\(\)"),
        (lambda: Union([classic(), CartPole()]), ValueError, "list all environments in one"),
        (lambda: Union([CartPole(), Pendulum()]), TypeError, r"one kind.*got Discrete\(2\) and Box.*DiscretizeAction"),
        (lambda: Union(CLASSIC, shares=(1, 2)), ValueError, "one number for each of 3 environments, got 2"),
        (lambda: Union(CLASSIC, shares=(1, 0, 2)), ValueError, r"shares\[1\] must be at least 1, got 0"),
        (lambda: Union(CLASSIC, shares=(1, 1.5, 2)), TypeError, r"shares\[1\]"),
        (lambda: Union(CLASSIC, shares=3), TypeError, "a sequence of integers, one for each environment, got 3"),
        (lambda: Union(CLASSIC, task=3), ValueError, "task must be at most 2, got 3"),
        (lambda: FunctionalVectorEnv(classic(), 6), ValueError, r"one environment in all rows, got a Union of 3; step"),
        (lambda: FuncVectorEnv(classic(), 2), ValueError, r"num_envs=2 gives groups of \(0, 1, 1\)"),
        (lambda: FuncVectorEnv(classic(), 6).subset(2, lambda x: x[:2]), ValueError, r"union.replace\(task=...\)"),
    ],
)
def test_bad_input_is_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()
