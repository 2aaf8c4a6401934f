"""The stateful environment: seeding, the order of calls, actions, snapshots, and agreement with the pure one."""

import copy
import pickle
import threading

import cloudpickle
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import AutoresetMode, FuncVectorEnv
from funcenv.adapters import FunctionalEnv
from funcenv.adapters.engine.seeding import np_random, seed_to_key
from funcenv.adapters.error import ClosedEnvironment, ConcurrentUse, ResetNeeded
from funcenv.envs import CartPole
from funcenv.spaces import Box
from funcenv.wrappers import FlattenObservation, TimeLimit
from tests.support.programs import programs_of

CARTPOLE = TimeLimit(CartPole(), max_episode_steps=12)


def trace(env, actions):
    """Return the results of a sequence of actions, with a reset at the end of each episode."""
    rows = []
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        rows.append((np.asarray(observation).tolist(), reward, terminated, truncated, sorted(info)))
        if terminated or truncated:
            rows.append(np.asarray(env.reset()[0]).tolist())
    return rows


ACTIONS = np.random.default_rng(0).integers(0, 2, 40).tolist()


@pytest.fixture
def env():
    return FunctionalEnv(CARTPOLE)


def test_a_step_gives_python_values_and_fresh_writable_arrays(env):
    observation, info = env.reset(seed=0)
    following, reward, terminated, truncated, info = env.step(1)
    assert type(reward) is float and type(terminated) is bool and type(truncated) is bool and info == {}
    assert following.dtype == np.float32 and env.observation_space.contains(following)
    kept = following.copy()
    observation[:] = 9
    following_again = env.step(1)[0]
    following_again[:] = 9
    np.testing.assert_array_equal(following, kept)
    assert following.flags.writeable


@pytest.mark.parametrize("id", ["FrozenLake-v1", "Taxi-v4", "Blackjack-v1", "Pendulum-v1"])
def test_observations_and_infos_are_what_gymnasium_shows(id):
    import gymnasium

    ours, theirs = FunctionalEnv(funcenv.make(id)), gymnasium.make(id)
    for a, b in zip(ours.reset(seed=0), theirs.reset(seed=0), strict=True):
        assert jax.tree.structure(a) == jax.tree.structure(b)
    theirs.action_space.seed(0)
    action = theirs.action_space.sample()
    a, b = ours.step(action), theirs.step(action)
    assert [type(part) for part in (a[0], *a[2:])] == [type(part) for part in (b[0], *b[2:])]
    assert sorted(a[4]) == sorted(b[4]) and type(a[1]) is float
    if isinstance(b[0], tuple):
        assert all(type(part) is int for part in a[0])


FLAT = {"z": jnp.float32(0.1), "count": jnp.int32(-3), "bits": jnp.uint32(2**32 - 1), "flag": jnp.array(True)}


@pytest.mark.parametrize("entries", [FLAT, {**FLAT, "place": jnp.array([1.0, 2.0])}, {"inner": {"z": FLAT["z"]}}])
def test_infos_hold_scalars_of_their_dtypes(entries):
    class Telling(CartPole):
        def state_info(self, state):
            return entries

    telling = FunctionalEnv(Telling())
    for info in (telling.reset(seed=0)[1], telling.step(1)[4]):
        assert jax.tree.structure(info) == jax.tree.structure(entries)
        jax.tree.map(np.testing.assert_array_equal, info, entries)
        flat = info.get("inner", info)
        kinds = {"z": np.float32, "count": np.int32, "bits": np.uint32, "flag": bool, "place": np.ndarray}
        assert {name: type(entry) for name, entry in flat.items()} == {name: kinds[name] for name in flat}


def test_seeds_replay_and_resets_go_on(env):
    env.reset(seed=3)
    first = trace(env, ACTIONS)
    env.reset(seed=3)
    assert trace(env, ACTIONS) == first
    assert trace(env, ACTIONS) != first


def test_an_unseeded_environment_can_be_replayed(env):
    observation, _ = env.reset()
    assert env.np_random_seed > 0
    np.testing.assert_array_equal(env.reset(seed=env.np_random_seed)[0], observation)
    other = FunctionalEnv(CARTPOLE)
    assert (other.reset()[0] != observation).any()


def test_setting_the_generator_steers_the_environment(env):
    expected = env.reset(seed=11)[0]
    env.reset(seed=0)
    env.np_random = np_random(11)[0]
    assert env.np_random_seed == -1
    np.testing.assert_array_equal(env.reset()[0], expected)


def test_large_and_numpy_seeds_do_not_alias(env):
    starts = [env.reset(seed=seed)[0].tolist() for seed in (5, 2**32 + 5, 2**70 + 5, np.int64(6), np.uint64(2**63))]
    assert len({tuple(start) for start in starts}) == 5


@pytest.mark.parametrize(("seed", "error"), [(-1, ValueError), (0.5, TypeError)])
def test_a_bad_seed_changes_nothing(env, seed, error):
    env.reset(seed=0)
    twin = copy.deepcopy(env)
    with pytest.raises(error, match="a seed must be"):
        env.reset(seed=seed)
    assert trace(env, ACTIONS) == trace(twin, ACTIONS)


def test_it_lives_as_the_pure_vector_environment_given_the_same_key(env):
    venv = FuncVectorEnv(CARTPOLE, 3, AutoresetMode.SAME_STEP)
    keys = jnp.stack([seed_to_key(20 + i) for i in range(3)])
    step = jax.jit(venv.step)
    vstate, first = venv.reset(keys)
    rows = []
    for action in ACTIONS:
        vstate, timestep = step(vstate, jnp.full(3, action, jnp.int32))
        rows.append(timestep)
    for i in range(3):
        np.testing.assert_allclose(env.reset(seed=20 + i)[0], first.observation[i], rtol=1e-6)
        for action, row in zip(ACTIONS, rows, strict=True):
            observation, reward, terminated, truncated, _ = env.step(action)
            np.testing.assert_allclose(observation, row.final_observation[i], rtol=1e-5, atol=1e-6)
            assert (reward, terminated, truncated) == (row.reward[i], row.terminated[i], row.truncated[i])
            if terminated or truncated:
                np.testing.assert_allclose(env.reset()[0], row.observation[i], rtol=1e-5, atol=1e-6)


def test_step_is_compiled_once(env):
    env.reset(seed=0)
    env.step(0)
    before = programs_of(env).step.num_compilations()
    trace(env, ACTIONS)
    env.reset(seed=1)
    trace(env, [np.int64(1), np.array(0), 1])
    assert programs_of(env).step.num_compilations() == before == 1


def test_equal_environments_share_compiled_code(env):
    assert programs_of(FunctionalEnv(TimeLimit(CartPole(), 12))) is programs_of(env)
    assert programs_of(FunctionalEnv(TimeLimit(CartPole(gravity=1.6), 12))) is not programs_of(env)


def test_calls_out_of_order_are_refused(env):
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(0)
    with pytest.raises(ResetNeeded, match="there is no state yet"):
        env.state  # noqa: B018
    env.reset(seed=0)
    while not any(env.step(1)[2:4]):
        pass
    with pytest.raises(ResetNeeded, match="after an episode's end"):
        env.step(0)
    env.reset()
    env.step(0)


@pytest.mark.parametrize("action", [2, -1, 0.5, 1.0, "left", None, np.array([1]), np.True_, np.float32(1)])
def test_actions_outside_a_discrete_space_are_refused_and_change_nothing(env, action):
    env.reset(seed=0)
    twin = copy.deepcopy(env)
    with pytest.raises(ValueError, match=r"is not in Discrete\(2\)"):
        env.step(action)
    assert trace(env, ACTIONS) == trace(twin, ACTIONS)


def test_a_bool_is_an_integer_as_gymnasium_has_it(env):
    twin, theirs = copy.deepcopy(env), gymnasium.make("CartPole-v1")
    env.reset(seed=0), twin.reset(seed=0), theirs.reset(seed=0)
    for action in (True, False):
        assert action in env.action_space and action in theirs.action_space
        np.testing.assert_array_equal(env.step(action)[0], twin.step(int(action))[0])
        theirs.step(action)


@pytest.mark.parametrize("action", [[np.nan], 0.5, [0.1, 0.1], [[0.1]], ["a"], [1j]])
def test_actions_outside_a_box_are_refused(action):
    env = FunctionalEnv(funcenv.make("Pendulum-v1"))
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"Box\(-2.0, 2.0, \(1,\), float32\)"):
        env.step(action)
    env.step(np.array([0.5]))
    env.step([1])


@pytest.mark.parametrize("options", [float("nan"), 3, "x", [("gravity", 1)], False])
def test_reset_options_are_a_dict_and_nothing_changes_otherwise(env, options):
    envs = funcenv.adapters.make_vec("CartPole-v1", 2)
    for one in (env, envs):
        one.reset(seed=0)
        before = one.state
        with pytest.raises(TypeError, match=r"reset takes options as a dict, .*, got .*; leave them out"):
            one.reset(seed=1, options=options)
        assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), one.state, before))


@pytest.mark.parametrize("mode", [None, "same", 3])
def test_a_mode_of_a_vector_environment_is_one_of_those_listed(mode):
    with pytest.raises(ValueError, match=r"autoreset_mode must be one of AutoresetMode.NEXT_STEP, .*, got "):
        funcenv.adapters.make_vec("CartPole-v1", 2, autoreset_mode=mode)


def test_a_snapshot_leads_the_same_way_again(env):
    env.reset(seed=0)
    env.step(1)
    snapshot = env.state
    first = trace(env, ACTIONS)
    env.state = snapshot
    assert trace(env, ACTIONS) == first
    other = FunctionalEnv(CARTPOLE)
    other.state = snapshot
    assert trace(other, ACTIONS) == first


def test_a_snapshot_may_be_made_by_hand(env):
    env.reset(seed=0)
    snapshot = env.state
    fallen = snapshot.env_state.replace(env_state=snapshot.env_state.env_state.replace(theta=jnp.float32(1.0)))
    env.state = snapshot._replace(env_state=fallen)
    with pytest.raises(ResetNeeded):
        env.step(0)


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env)), lambda env: cloudpickle.loads(cloudpickle.dumps(env))],
    ids=["deepcopy", "pickle", "cloudpickle"],
)
def test_a_copy_goes_on_identically(env, duplicate):
    env.reset(seed=0)
    env.step(1)
    twin = duplicate(env)
    assert trace(twin, ACTIONS) == trace(env, ACTIONS)
    np.testing.assert_array_equal(twin.reset()[0], env.reset()[0])
    assert twin.np_random.random() == env.np_random.random() and twin.np_random_seed == env.np_random_seed


def test_options_are_parameters_of_one_episode(env):
    observation, _ = env.reset(seed=0, options={"low": 0.2, "high": 0.21})
    assert ((observation >= 0.2) & (observation <= 0.21)).all()
    env.reset(seed=0, options={"force_mag": 0.0, "low": 0.0, "high": 0.0})
    assert env.step(1)[0].tolist() == [0, 0, 0, 0]
    plain = env.reset(seed=0)[0]
    np.testing.assert_array_equal(plain, FunctionalEnv(CARTPOLE).reset(seed=0)[0])
    assert env.step(1)[0].any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lo": 1.0}, "reset option 'lo' is not a parameter of CartPole; it has: gravity"),
        ({"low": 9.0}, "must not exceed"),
    ],
)
def test_bad_options_are_refused_and_change_nothing(env, options, message):
    env.reset(seed=0)
    twin = copy.deepcopy(env)
    with pytest.raises(ValueError, match=message):
        env.reset(options=options)
    assert trace(env, ACTIONS) == trace(twin, ACTIONS)


def test_close_can_be_called_twice_and_ends_its_use(env):
    with env:
        env.reset(seed=0)
    assert env.closed
    env.close()
    for call in (lambda: env.step(0), env.reset):
        with pytest.raises(ClosedEnvironment, match="make a new one"):
            call()


def test_one_environment_in_two_threads_is_refused(env):
    env.reset(seed=0)
    twin = copy.deepcopy(env)
    env._lock.acquire()  # as a call in another thread holds it
    with pytest.raises(ConcurrentUse, match="give each thread one of its own"):
        env.step(0)
    env._lock.release()
    assert trace(env, ACTIONS) == trace(twin, ACTIONS)


def test_two_environments_in_two_threads_do_not_interfere():
    traces = {}

    def live(seed):
        env = FunctionalEnv(CARTPOLE)
        env.reset(seed=seed)
        traces[seed] = trace(env, ACTIONS * 3)

    threads = [threading.Thread(target=live, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in (1, 2):
        env = FunctionalEnv(CARTPOLE)
        env.reset(seed=seed)
        assert trace(env, ACTIONS * 3) == traces[seed]


def test_str_shows_the_stack():
    stacked = FlattenObservation(TimeLimit(CartPole(), 12))
    assert str(FunctionalEnv(stacked)) == "<FlattenObservation<TimeLimit<CartPole>>>"
    spec = funcenv.spec("CartPole-v1")
    env = FunctionalEnv(stacked, spec=spec)
    assert str(env) == repr(env) == "<FlattenObservation<TimeLimit<CartPole<CartPole-v1>>>>"
    env.gravity = 1.6
    assert repr(env) == "<FlattenObservation<TimeLimit<CartPole<CartPole-v1, gravity=1.6>>>>"


def test_x64_keeps_double_precision_in_the_state():
    with jax.enable_x64(True):
        env = FunctionalEnv(funcenv.make("Pendulum-v1"))
        observation, _ = env.reset(seed=0)
        _, reward, *_ = env.step([0.5])
        assert observation.dtype == np.float32 and env.state.env_state.env_state.theta.dtype == jnp.float64
        assert reward != float(np.float32(reward))


def test_an_unknown_render_mode_is_named():
    with pytest.raises(ValueError, match="render_mode must be one of"):
        FunctionalEnv(CARTPOLE, render_mode="hologram")


@pytest.mark.parametrize("generator", ["rbg", "threefry2x32"])
def test_a_state_brings_its_generator(generator):
    theirs, ours = FunctionalEnv(TimeLimit(CartPole(), 12)), FunctionalEnv(TimeLimit(CartPole(), 12))
    for env in (theirs, ours):
        env.reset(seed=0)
    theirs.state = theirs.state._replace(key=jax.random.key(9, impl=generator))
    twin = pickle.loads(pickle.dumps(theirs))
    ours.state = theirs.state
    pure = TimeLimit(CartPole(), 12).reset(jax.random.fold_in(jax.random.key(9, impl=generator), 1))[1].observation
    for env in (theirs, twin, ours):
        assert str(jax.random.key_impl(env.state.key)) == generator
        np.testing.assert_allclose(env.reset()[0], pure, atol=1e-6)
    env.reset(seed=0)
    assert str(jax.random.key_impl(env.state.key)) == "threefry"


def test_the_default_generator_is_that_of_the_reset():
    env = FunctionalEnv(TimeLimit(CartPole(), 12))
    first, _ = env.reset(seed=0)
    with jax.default_prng_impl("rbg"):
        second, _ = env.reset(seed=0)
        assert str(jax.random.key_impl(env.state.key)) == "rbg"
        env.step(1)
    assert (first != second).any()
    np.testing.assert_array_equal(env.reset(seed=0)[0], first)


@pytest.mark.parametrize("kind", [FunctionalEnv, funcenv.adapters.FunctionalVectorEnv])
def test_only_functional_environments_become_stateful(kind):
    with pytest.raises(
        TypeError, match=f"{kind.__name__} takes a FuncEnv, got a stateful FunctionalEnv; pass the func"
    ):
        kind(FunctionalEnv(CartPole()))
    with pytest.raises(
        TypeError, match=f"{kind.__name__} takes a FuncEnv, got FuncVectorEnv; pass the one environment"
    ):
        kind(FuncVectorEnv(CartPole(), 2))


def test_observations_have_the_dtype_of_their_space_without_64_bits_in_jax():
    class Wide(CartPole):
        observation_space = Box(-np.inf, np.inf, (4,), np.float64)

    env = FunctionalEnv(Wide())
    for observation in env.reset(seed=0)[0], env.step(0)[0]:
        assert observation.dtype == np.float64 and observation in env.observation_space
