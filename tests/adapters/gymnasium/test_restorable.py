"""Gymnasium environments whose state is restored for each call: equal to the original, refused where it fails."""

import functools
import pickle
import threading

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import FuncVectorEnv
from funcenv.adapters.gymnasium import from_gymnasium
from funcenv.adapters.gymnasium.snapshots import Snapshots


def play_functional(env, keys, actions):
    """Return the results of an episode in each row, in one compiled program."""

    def step(state, action):
        state, timestep = env.step(state, action, funcenv.key(0))
        return state, (timestep.observation, timestep.reward, timestep.terminated, timestep.truncated)

    def row(key, actions):
        state, timestep = env.reset(key)
        return timestep.observation, jax.lax.scan(step, state, actions)[1]

    return jax.jit(jax.vmap(row))(keys, actions)


def play_original(env, seed, actions):
    first = env.reset(seed=seed)[0]
    return first, [np.stack(column) for column in zip(*(env.step(action)[:4] for action in actions), strict=True)]


@pytest.mark.parametrize("id", ["CartPole-v1", "Blackjack-v1", "FrozenLake-v1", "HalfCheetah-v5", "Ant-v5"])
def test_rows_of_a_batch_are_episodes_of_the_original(id):
    env, theirs = funcenv.make(f"gymnasium/{id}"), gymnasium.make(id).unwrapped
    keys = jax.random.split(funcenv.key(1), 3)
    num_steps = 6 if theirs.spec.reward_threshold or theirs.spec.max_episode_steps else 1
    actions = jax.vmap(lambda key: jax.vmap(env.action_space.sample)(jax.random.split(key, num_steps)))(keys)
    firsts, rows = play_functional(env, keys, actions)
    for i, key in enumerate(keys):
        seed = int(jax.random.bits(jax.random.split(key)[0], (), jnp.uint32) >> 1)
        first, columns = play_original(theirs, seed, np.asarray(actions[i]))
        np.testing.assert_array_equal(jax.tree.map(lambda leaf: leaf[i], firsts), np.float32(first))  # noqa: B023
        for ours, column in zip(jax.tree.leaves(rows[1:]), columns[1:], strict=True):
            np.testing.assert_array_equal(ours[i], column.astype(ours.dtype))


def test_autoreset_training_loops_and_the_checker_take_it():
    env = funcenv.make("gymnasium/Pendulum-v1", max_episode_steps=10)
    venv = FuncVectorEnv(env, num_envs=2)
    _, trajectory, statistics = funcenv.rollout(venv, funcenv.random_policy(env), funcenv.key(0), num_steps=25)
    assert int(statistics.count) == 4 and trajectory.timestep.observation.shape == (25, 2, 3)
    lake = from_gymnasium("FrozenLake-v1")
    assert {finding.code for finding in funcenv.checker.check.find_problems(lake, funcenv.key(0))} <= {
        "action-undefined"
    }


def test_limits_of_gymnasium_are_truncations_and_belong_to_the_state():
    env = funcenv.make("gymnasium/Pendulum-v1")
    assert isinstance(env, funcenv.FuncEnv) and env.host.env.spec.max_episode_steps == 200
    env = from_gymnasium("Pendulum-v1", max_episode_steps=3, g=0.0)
    state, _ = env.reset(funcenv.key(0))
    step = jax.jit(env.step)
    for _ in range(2):
        state, timestep = step(state, jnp.zeros(1), funcenv.key(0))
        assert not timestep.done
    for _ in range(2):
        assert step(state, jnp.zeros(1), funcenv.key(0))[1].truncated


class Counter(gymnasium.Env):
    """Counts, with a total outside of the episode and a generator in use."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self):
        self.total, self.resets = 0, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.total, self.resets = 0, self.resets + 1
        return self._observe(), {}

    def step(self, action):
        self.total += action
        return self._observe(), 1.0, self.total > 9, False, {"total": self.total, "name": "x", "half": 0.5}

    def _observe(self):
        return np.array([self.total + self.resets / 10, self.np_random.normal()], np.float32)


def test_an_initial_state_does_not_depend_on_the_episodes_before():
    env = from_gymnasium(Counter)
    for _ in range(3):
        assert env.reset(funcenv.key(0))[1].observation[0] == np.float32(0.1)


def test_chosen_entries_of_the_info_are_kept():
    env = from_gymnasium(Counter, info=("total", "half"))
    state, timestep = env.reset(funcenv.key(0))
    assert timestep.info == {"total": 0, "half": 0}
    _, timestep = env.step(state, jnp.int32(2), funcenv.key(0))
    assert timestep.info == {"total": 2, "half": 0.5} and timestep.info["half"].dtype == np.float32
    with pytest.raises(ValueError, match="has no 'pace'; it has total, name, half"):
        from_gymnasium(Counter, info=("pace",))
    with pytest.raises(ValueError, match="which is no array of numbers"):
        from_gymnasium(Counter, info=("name",))


class Locked(Counter):
    """A counter with an attribute that cannot be pickled."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


class Hidden(Counter):
    """A counter whose total is where nobody looks."""

    totals = {}

    @property
    def total(self):
        return self.totals.get("one", 0)

    @total.setter
    def total(self, value):
        self.totals["one"] = value


def test_what_cannot_be_restored_goes_forward_only_and_says_why():
    for kind, reason in [
        (Locked, "the attribute lock of Locked cannot be pickled"),
        (Hidden, "a restored state of .* leads to other results; it consists of more than the attributes"),
    ]:
        env = from_gymnasium(kind)
        assert env.reset(funcenv.key(0))[1].observation.shape == (2,)
        with pytest.raises(TypeError, match=reason):
            jax.vmap(env.reset)(jax.random.split(funcenv.key(0)))
        with pytest.raises(TypeError, match=f"{reason}.*; pass get_state and set_state"):
            from_gymnasium(kind, pure=True)
        with pytest.raises(ValueError, match=f"{reason}.*so its info cannot be kept"):
            from_gymnasium(kind, info=("total",))


def restore_total(env, state):
    env.total, env.resets = state


@pytest.mark.parametrize("kind", [Locked, Hidden])
def test_functions_that_read_and_write_the_state_make_it_pure(kind):
    env = from_gymnasium(kind, get_state=lambda env: (env.total, env.resets), set_state=restore_total)
    expected = from_gymnasium(Counter)
    keys = jax.random.split(funcenv.key(3), 2)
    actions = jnp.array([[0, 1, 2], [2, 2, 2]], jnp.int32)
    (_, ours), (_, theirs) = (play_functional(one, keys, actions) for one in (env, expected))
    np.testing.assert_array_equal(np.floor(ours[0][..., 0]), [[0, 1, 3], [2, 4, 6]])  # behind the point: resets
    np.testing.assert_array_equal(ours[0][..., 1], theirs[0][..., 1])
    with pytest.raises(TypeError, match="cannot return to a state"):
        from_gymnasium(kind, get_state=lambda env: 0, set_state=lambda env, state: None)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="get_state and set_state belong together"):
        from_gymnasium(Counter, get_state=lambda env: 0)
    with pytest.raises(TypeError, match="g: arguments of gymnasium.make need an id"):
        from_gymnasium(Counter, g=3)

    class Odd(Counter):
        observation_space = type("Cone", (gymnasium.Space,), {})()

    with pytest.raises(TypeError, match="Cone"):
        from_gymnasium(Odd)
    with pytest.raises(ValueError, match="no render mode"):
        env = from_gymnasium(Counter)
        env.render(env.reset(funcenv.key(0))[0])


def test_a_state_without_room_is_an_error():
    env = from_gymnasium(Counter, max_state_bytes=16)
    with pytest.raises(jax.errors.JaxRuntimeError, match="16 that are reserved; pass max_state_bytes"):
        jax.block_until_ready(env.reset(funcenv.key(0))[0])


def test_environments_of_one_id_share_programs_and_pickle():
    env = funcenv.make("gymnasium/FrozenLake-v1", is_slippery=False)
    assert env == funcenv.make("gymnasium/FrozenLake-v1", is_slippery=False) != funcenv.make("gymnasium/FrozenLake-v1")
    copy = pickle.loads(pickle.dumps(env))
    assert copy == env and hash(copy) == hash(env)
    assert copy.step(env.reset(funcenv.key(0))[0], jnp.int32(2), funcenv.key(0))[1].observation == 1


def test_spaces_and_functions_stay_while_generators_return():
    env = gymnasium.wrappers.TransformReward(gymnasium.make("CartPole-v1"), lambda reward: 2 * reward)
    snapshots = Snapshots(env)
    env.reset(seed=0)
    env.action_space.seed(0)
    content, space = snapshots.save(), env.action_space
    drawn = [env.action_space.sample() for _ in range(9)]
    snapshots.restore(content)
    assert env.action_space is space and [env.action_space.sample() for _ in range(9)] == drawn
    assert env.step(0)[1] == 2.0


def test_pictures_are_those_of_states():
    env = from_gymnasium(functools.partial(gymnasium.make, "FrozenLake-v1", render_mode="ansi", is_slippery=False))
    first, _ = env.reset(funcenv.key(0))
    later, _ = env.step(first, jnp.int32(2), funcenv.key(0))
    texts = [env.render(state) for state in (first, later, first)]
    assert texts[0].split("\n")[1:] == texts[2].split("\n")[1:] != texts[1].split("\n")[1:]
