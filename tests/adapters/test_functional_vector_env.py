"""The stateful vector environment: seeding, outputs, blocks of steps, copies, and the order of calls."""

import copy
import pickle
import sys
import threading
import types

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import AutoresetMode, FuncVectorEnv
from funcenv.adapters import FunctionalEnv, make_vec
from funcenv.adapters.engine.seeding import np_random, seed_to_key
from funcenv.adapters.error import ClosedEnvironment, ConcurrentUse, ResetNeeded
from funcenv.adapters.functional_vector_env import FunctionalVectorEnv
from funcenv.adapters.vector_env import VectorEnv
from funcenv.envs import CartPole
from funcenv.wrappers import TimeLimit
from tests.support.tiny_envs import Tiny

CARTPOLE = TimeLimit(CartPole(), max_episode_steps=12)
ACTIONS = np.random.default_rng(0).integers(0, 2, (25, 3))


def build(mode=AutoresetMode.SAME_STEP, num_envs=3, **kwargs):
    return FunctionalVectorEnv(CARTPOLE, num_envs, autoreset_mode=mode, **kwargs)


def play(envs, actions=ACTIONS):
    return [envs.step(row) for row in actions]


def assert_equal(ours, theirs):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    jax.tree.map(np.testing.assert_array_equal, ours, theirs)


@pytest.fixture
def envs():
    return build()


@pytest.mark.parametrize("seed", [3, 2**100 + 7, [5, 2**70, 0]])
def test_environment_i_is_the_single_one_seeded_with_its_seed_and_the_pure_one_with_its_key(envs, seed):
    seeds = seed if isinstance(seed, list) else [seed + i for i in range(3)]
    observations, _ = envs.reset(seed=seed)
    rows = play(envs)

    keys = jnp.stack([seed_to_key(one) for one in seeds])
    pure = FuncVectorEnv(CARTPOLE, 3)
    step = jax.jit(pure.step)
    vstate, timestep = jax.jit(pure.reset)(keys)
    assert (jax.random.key_data(envs.state.key) == jax.random.key_data(keys)).all()
    np.testing.assert_allclose(timestep.observation, observations, atol=1e-6)
    for actions, (observation, reward, terminated, truncated, _) in zip(ACTIONS, rows, strict=True):
        vstate, timestep = step(vstate, jnp.asarray(actions, jnp.int32))
        np.testing.assert_allclose(timestep.observation, observation, atol=1e-5)
        np.testing.assert_array_equal(timestep.reward, reward)
        np.testing.assert_array_equal(timestep.terminated, terminated)
        np.testing.assert_array_equal(timestep.truncated, truncated)

    for i, one in enumerate(seeds):
        single = FunctionalEnv(CARTPOLE)
        np.testing.assert_allclose(single.reset(seed=one)[0], observations[i], atol=1e-6)
        for actions, row in zip(ACTIONS, rows, strict=True):
            last, reward, terminated, truncated, _ = single.step(int(actions[i]))
            assert (reward, terminated, truncated) == (row[1][i], row[2][i], row[3][i])
            if terminated or truncated:
                np.testing.assert_allclose(last, row[4]["final_obs"][i], atol=1e-5)
                last, _ = single.reset()
            np.testing.assert_allclose(last, row[0][i], atol=1e-5)


def test_an_unseeded_batch_can_be_replayed_and_seeds_are_told(envs):
    first = envs.reset()[0]
    rows = play(envs)
    root = envs.np_random_seed
    assert isinstance(root, int) and envs.np_random_seed != build().np_random_seed
    np.testing.assert_array_equal(envs.reset(seed=root)[0], first)
    assert_equal(play(envs), rows)
    assert (envs.reset()[0] != first).any()
    envs.reset(seed=[4, 5, 6])
    assert envs.np_random_seed == (4, 5, 6)
    envs.reset(seed=envs.np_random_seed)
    envs.reset(seed=1, options={"reset_mask": np.array([True, False, False])})
    assert envs.np_random_seed == (4, 5, 6)  # of the batch
    again = envs.reset(seed=np.int64(4))[0]
    assert envs.np_random_seed == 4
    np.testing.assert_array_equal(again, envs.reset(seed=np.array([4, 5, 6]))[0])


def test_a_generator_that_is_set_steers_the_batch(envs):
    envs.np_random = np_random(11)[0]
    assert envs.np_random_seed == -1
    first = envs.reset()[0]
    single = FunctionalEnv(CARTPOLE)
    single.np_random = np_random(11)[0]
    alone = single.reset()[0]
    keys = [jax.random.key_data(one) for one in (single.state.key, envs.state.key[0])]
    np.testing.assert_array_equal(*keys)
    np.testing.assert_allclose(alone, first[0], atol=1e-7)  # XLA may round otherwise for another size of batch
    assert len(np.unique(first, axis=0)) == 3
    following = envs.reset()[0]
    envs.np_random = np_random(11)[0]
    np.testing.assert_array_equal(envs.reset()[0], first)
    np.testing.assert_array_equal(envs.reset()[0], following)


@pytest.mark.parametrize("num_envs", [1, 3])
def test_arrays_are_fresh_and_writable(num_envs):
    envs, untouched = build(num_envs=num_envs), build(num_envs=num_envs)
    assert_equal(untouched.reset(seed=0), envs.reset(seed=0))
    for row in ACTIONS[:, :num_envs]:
        ours, theirs = envs.step(row), untouched.step(row)
        assert_equal(ours, theirs)
        for leaf in jax.tree.leaves(ours):
            assert leaf.flags.writeable
            leaf[...] = 0
    assert ours[0].dtype == np.float32 and ours[2].dtype == bool


def test_infos_hold_the_ends_only_where_there_is_one(envs):
    envs.reset(seed=0)
    seen = 0
    for observation, _, terminated, truncated, infos in play(envs):
        ended = terminated | truncated
        assert bool(infos) == ended.any()
        if ended.any():
            seen += 1
            np.testing.assert_array_equal(infos["_final_obs"], ended)
            np.testing.assert_array_equal(infos["final_obs"][~ended], observation[~ended])
            assert infos["final_info"] == {} and infos["final_obs"].dtype == np.float32
    assert seen


@pytest.mark.parametrize("mode", AutoresetMode)
def test_jax_output_holds_the_same_numbers(mode):
    ours, theirs = build(mode, output="jax"), build(mode)
    assert_equal(ours.reset(seed=0), theirs.reset(seed=0))
    for row in ACTIONS[:10]:
        mine, other = ours.step(jnp.asarray(row)), theirs.step(row)
        assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(mine))
        np.testing.assert_allclose(mine[0], other[0], atol=1e-6)
        assert_equal(mine[1:4], other[1:4])
        if mode is AutoresetMode.SAME_STEP:
            np.testing.assert_array_equal(mine[4]["_final_obs"], other[2] | other[3])
        if mode is AutoresetMode.DISABLED and (other[2] | other[3]).any():
            mask = {"reset_mask": other[2] | other[3]}
            assert_equal(ours.reset(options=mask), theirs.reset(options=mask))


class Tensor:
    """The part of a torch tensor that the adapter uses, over NumPy."""

    def __init__(self, array):
        self.array = array
        self.shape, self.dtype = array.shape, array.dtype

    def detach(self):
        return self

    def to(self, dtype):
        return Tensor(self.array.astype(dtype))

    def contiguous(self):
        return self

    def is_floating_point(self):
        return self.array.dtype.kind == "f"

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_torch_output_shares_memory(monkeypatch):
    torch = types.ModuleType("torch")
    sources = []

    def from_dlpack(array):
        sources.append(array)
        return Tensor(np.from_dlpack(array))

    torch.from_dlpack, torch.clone, torch.int32 = from_dlpack, lambda tensor: tensor, np.int32
    monkeypatch.setitem(sys.modules, "torch", torch)
    ours, theirs = build(output="torch"), build()
    np.testing.assert_array_equal(ours.reset(seed=0)[0].array, theirs.reset(seed=0)[0])
    for row in ACTIONS:
        sources.clear()
        observation, *_, infos = ours.step(Tensor(row))
        np.testing.assert_allclose(observation.array, theirs.step(row)[0], atol=1e-5)
        assert observation.array.ctypes.data == sources[0].unsafe_buffer_pointer()
        assert isinstance(infos["final_obs"], Tensor)


def test_torch_is_asked_for_only_when_it_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="pip install torch"):
        build(output="torch")


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("options", [None, {"low": 0.1, "high": 0.15}])
def test_a_block_of_steps_equals_the_steps(mode, options):
    block, single = build(mode), build(mode)
    num_steps = 4 if mode is AutoresetMode.DISABLED else 25
    block.reset(seed=0, options=options and dict(options))
    single.reset(seed=0, options=options and dict(options))
    actions = np.tile([[0], [1]], (13, 3))[:num_steps] if mode is AutoresetMode.DISABLED else ACTIONS
    *arrays, infos = block.rollout(actions)
    rows = play(single, actions)
    for i, array in enumerate(arrays):
        assert array.dtype == rows[0][i].dtype and array.flags.writeable
        np.testing.assert_allclose(array, np.stack([row[i] for row in rows]), atol=1e-5)
    for number, row in enumerate(rows):
        for name, value in row[4].items():
            if name != "final_info":
                np.testing.assert_allclose(infos[name][number], value, atol=1e-5)
    assert ("final_obs" in infos) == (mode is AutoresetMode.SAME_STEP)
    np.testing.assert_array_equal(block.state.num_calls, single.state.num_calls)
    np.testing.assert_allclose(block.rollout(actions[:1])[0][0], single.step(actions[0])[0], atol=1e-5)


def test_blocks_may_be_lists_and_are_never_empty(envs):
    envs.reset(seed=0)
    assert envs.rollout([[0, 1, 1], [1, 0, 0]])[0].shape == (2, 3, 4)
    for bad in ([], 1, np.zeros((0, 3), int), [0, 1, 1]):
        with pytest.raises(ValueError, match="shape"):
            envs.rollout(bad)


def test_a_block_of_compound_observations():
    func_env = funcenv.make("Blackjack-v1")
    block, single = (FunctionalVectorEnv(func_env, 3, autoreset_mode="SameStep") for _ in range(2))
    block.reset(seed=0)
    single.reset(seed=0)
    observations, *_, infos = block.rollout(ACTIONS[:6])
    for number, row in enumerate(play(single, ACTIONS[:6])):
        assert_equal(tuple(part[number] for part in observations), row[0])
        for i in np.flatnonzero(row[2]):
            assert infos["final_obs"][number, i] == row[4]["final_obs"][i]
            assert type(infos["final_obs"][number, i][0]) is int


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e)), cloudpickle.loads])
@pytest.mark.parametrize("options", [None, {"gravity": 50.0}])
def test_a_copy_goes_on_identically(envs, copied, options):
    envs.reset(seed=2, options=options)
    play(envs, ACTIONS[:5])
    twin = copied(cloudpickle.dumps(envs)) if copied is cloudpickle.loads else copied(envs)
    assert_equal(play(twin), play(envs))
    assert_equal(twin.reset(), envs.reset())
    assert twin.metadata == envs.metadata and twin.np_random_seed == 2
    fresh = pickle.loads(pickle.dumps(build()))
    with pytest.raises(ResetNeeded):
        fresh.step(ACTIONS[0])


@pytest.mark.parametrize("generator", ["rbg", "threefry2x32"])
def test_a_state_brings_its_generator(envs, generator):
    theirs = build()
    theirs.reset(seed=2)
    theirs.state = theirs.state.replace(key=jax.random.split(jax.random.key(9, impl=generator), 3))
    play(theirs, ACTIONS[:5])
    twin = pickle.loads(pickle.dumps(theirs))
    envs.reset(seed=0)
    envs.state = theirs.state
    assert str(jax.random.key_impl(envs.state.key)) == generator
    rows = play(theirs)
    assert any((row[2] | row[3]).any() for row in rows)  # begun anew, so drawn
    assert_equal(play(twin), rows)
    assert_equal(play(envs), rows)


def test_a_state_can_be_set_again(envs):
    envs.reset(seed=2)
    play(envs, ACTIONS[:5])
    state = envs.state
    rows = play(envs)
    envs.state = state
    assert_equal(play(envs), rows)
    other = build(AutoresetMode.DISABLED)
    other.reset(seed=0)
    other.state = state.replace(done=jnp.array([True, False, True]))
    with pytest.raises(ResetNeeded, match=r"\[0, 2\]"):
        other.step(ACTIONS[0])


def test_a_step_can_be_started_and_awaited(envs):
    plain = build()
    envs.reset(seed=0)
    plain.reset(seed=0)
    for row in ACTIONS[:5]:
        envs.step_async(row)
        assert_equal(envs.step_wait(), plain.step(row))
    with pytest.raises(RuntimeError, match="step_async"):
        envs.step_wait()
    envs.step_async(ACTIONS[0])
    for call in (lambda: envs.step(ACTIONS[0]), lambda: envs.step_async(ACTIONS[0]), envs.reset):
        with pytest.raises(RuntimeError, match="step_wait"):
            call()
    assert_equal(envs.step_wait(), plain.step(ACTIONS[0]))


def test_order_of_calls(envs):
    for call in (lambda: envs.step(ACTIONS[0]), lambda: envs.rollout(ACTIONS), lambda: envs.state):
        with pytest.raises(ResetNeeded):
            call()
    with pytest.raises(ResetNeeded, match="reset_mask"):
        envs.reset(options={"reset_mask": np.array([True, True, False])})
    disabled = build(AutoresetMode.DISABLED)
    disabled.reset(seed=0)
    with pytest.raises(ResetNeeded, match="DISABLED"):
        play(disabled)
    disabled.reset(options={"reset_mask": disabled.state.done})
    disabled.step(ACTIONS[0])
    envs.close()
    envs.close()
    assert envs.closed
    for call in (envs.reset, lambda: envs.step(ACTIONS[0])):
        with pytest.raises(ClosedEnvironment):
            call()


def test_one_batch_in_two_threads_is_refused(envs):
    envs.reset(seed=0)
    errors = []

    def use():
        try:
            envs.step(ACTIONS[0])
        except ConcurrentUse as error:
            errors.append(error)

    with envs._lock:
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
    assert len(errors) == 1
    envs.step(ACTIONS[0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: build(num_envs=0), ValueError, "num_envs"),
        (lambda: build("Sometimes"), ValueError, "Sometimes"),
        (lambda: build(output="tensorflow"), ValueError, "numpy, jax, torch"),
        (lambda: build(render_mode="hologram"), ValueError, "render_mode"),
        (lambda: build().reset(seed=-1), ValueError, "-1"),
        (lambda: build().reset(seed=1.5), TypeError, "1.5"),
        (lambda: build().reset(seed="abc"), TypeError, "abc"),
        (lambda: build().reset(seed=[1, 2]), ValueError, "num_envs=3"),
        (lambda: build().reset(options={"wind": 1.0}), ValueError, "wind"),
        (lambda: build().reset(options={"sutton_barto_reward": True}), ValueError, "compile-time"),
        (lambda: build().reset(options={"length": -1.0}), ValueError, "length"),
        (lambda: build().reset(options={"gravity": np.ones(4)}), ValueError, "num_envs=3"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("mask", "error"),
    [(np.ones(3), TypeError), (np.ones(2, bool), ValueError), (np.zeros(3, bool), ValueError), (None, TypeError)],
)
def test_bad_masks(envs, mask, error):
    envs.reset(seed=0)
    with pytest.raises(error, match="reset_mask"):
        envs.reset(options={"reset_mask": mask})


def test_options_are_not_changed_and_what_it_is_can_be_read(envs):
    envs.reset(seed=0)
    options = {"reset_mask": np.array([True, False, False]), "low": -0.01}
    envs.reset(options=options)
    assert list(options) == ["reset_mask", "low"]
    assert isinstance(envs, VectorEnv) and envs.unwrapped is envs
    assert repr(envs) == "FunctionalVectorEnv(num_envs=3)"
    assert repr(make_vec("CartPole-v1", 2)) == "FunctionalVectorEnv(CartPole-v1, num_envs=2)"
    assert envs.observation_space.shape == (3, 4) and envs.single_observation_space.shape == (4,)
    actions = envs.action_space.sample()
    assert actions in envs.action_space
    envs.step(actions)
    assert VectorEnv.metadata == {"render_modes": []}
    with pytest.raises(NotImplementedError):
        VectorEnv().render()


class Compound(Tiny):
    """Observations of 64-bit floats and integers beside others, which JAX computes with 32 bits."""

    differentiable = False

    def initial(self, key):
        return jax.random.uniform(key, (), float)

    def transition(self, state, action, key):
        return state + 1

    def observation(self, state, key):
        row = jnp.stack([state, state + 1])
        return {"wide": row.astype(float), "pair": (row.astype(jnp.float32), jnp.int32(3))}

    def reward(self, state, action, next_state):
        return jnp.float32(0)

    def terminal(self, state):
        return state > 2

    @property
    def observation_space(self):
        box = funcenv.spaces.Box
        pair = funcenv.spaces.Tuple([box(-9, 9, (2,)), funcenv.spaces.Discrete(5)])
        return funcenv.spaces.Dict({"wide": box(-9, 9, (2,), np.float64), "pair": pair})


def test_observations_have_the_dtypes_of_the_space():
    """Observations of a reset, a step, a rollout, and the last ones of episodes."""
    envs = FunctionalVectorEnv(Compound(), 3, autoreset_mode=AutoresetMode.SAME_STEP)
    first, _ = envs.reset(seed=0)
    second = envs.step(np.zeros(3, int))[0]
    infos = [envs.step(np.zeros(3, int))[4] for _ in range(3)]
    final = next(info["final_obs"][0] for info in infos if "final_obs" in info)
    for observation in first, second, final:
        assert observation["wide"].dtype == np.float64 and observation["pair"][0].dtype == np.float32
    assert first["wide"].shape == (3, 2)
    single, _ = FunctionalEnv(Compound()).reset(seed=0)
    np.testing.assert_array_equal(single["wide"], first["wide"][0])


def test_a_first_reset_by_a_mask_of_all_environments_is_a_reset_of_all():
    envs, whole, some = (FunctionalVectorEnv(funcenv.make("CartPole-v1"), 3) for _ in range(3))
    expected, _ = whole.reset(seed=5)
    observations, _ = envs.reset(seed=5, options={"reset_mask": np.ones(3, bool)})
    np.testing.assert_array_equal(observations, expected)
    shuffled, infos = some.reset(np.array([2, 0, 1]), seed=5)
    np.testing.assert_array_equal(shuffled, expected[infos["env_id"]])
    assert envs.np_random_seed == whole.np_random_seed
