"""Which rollouts run as a single kernel, what they keep in memory, and when they are compiled."""

import functools
import itertools
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import AutoresetMode, FuncEnv, FuncVectorEnv, spaces
from funcenv._compile import single_kernel
from funcenv._compile.chunks import Chunks
from funcenv._compile.host_jit import is_slow_to_compile
from funcenv._compile.jaxpr import iter_eqns
from funcenv._compile.rollout import as_policy, program
from funcenv._compile.rollout.play import plain_program, reset_program, to_cached_array, verified_rollout
from funcenv._compile.rollout.program import RolloutArgs, RolloutSpec, plain_steps, run_steps, split_keys
from funcenv._compile.rollout.step import acts_outside, policy_actions, reads_observation, single_kernel_actions
from funcenv._compile.rollout.verify import matches_reference
from funcenv._compile.single_kernel import compile_single_kernel
from funcenv._compile.verified import recorded_choices
from funcenv.envs import Acrobot, CartPole
from funcenv.rollout import _WHOLE_EPISODES as WHOLE_EPISODES
from funcenv.statistics import EPISODE_TOTALS
from funcenv.wrappers import TimeLimit
from tests.support.jax_features import KERNELS_SCATTER

pytestmark = pytest.mark.fast_path

ENV = TimeLimit(CartPole(), 9)
QUICKLY = {"xla_backend_optimization_level": 0}


def played(venv, policy=None, num_steps=12, collect=None):
    """Return the result of a rollout, and why it is not a kernel."""
    with recorded_choices() as choices:
        result = funcenv.rollout(
            venv, policy or funcenv.random_policy(venv), funcenv.key(0), num_steps, collect=collect
        )
    (choice,) = choices
    assert (choice.entry, choice.num_envs) == ("rollout", venv.num_envs)
    return result, choice.refusal


def rollout_args(venv):
    keys, policy_keys = split_keys(funcenv.key(0), venv.num_envs, True)
    return RolloutArgs(venv, funcenv.random_policy(venv), keys, policy_keys)


class Walk(FuncEnv):
    """A walk on the line whose methods can be replaced."""

    @property
    def observation_space(self):
        return spaces.Box(-np.inf, np.inf, (4,))

    @property
    def action_space(self):
        return spaces.Discrete(2)

    def initial(self, key):
        return jax.random.normal(key, (4,), jnp.float32)

    def transition(self, state, action, key):
        return state + jax.random.normal(key, (4,), jnp.float32)

    def observation(self, state, key):
        return state

    def reward(self, state, action, next_state):
        return next_state.sum()

    def terminal(self, state):
        return jnp.abs(state).max() > 3


class Sorted(Walk):
    def observation(self, state, key):
        return jnp.sort(state)


class Board(Walk):
    """Scatters, which XLA writes out as loops."""

    def transition(self, state, action, key):
        return state.at[action].set(jax.random.uniform(key, (), jnp.float32, 0, 3.2))


@pytest.mark.dear
def test_what_cannot_be_one_function_runs_as_before():
    (_, observations, _), refusal = played(FuncVectorEnv(Sorted(), 5), num_steps=3, collect=observation_of)
    assert refusal == "a kernel cannot hold the operation sort"
    assert (jnp.diff(observations) >= 0).all()


def observation_of(timestep, action):
    return timestep.observation


def test_scatters_and_matrix_products_can():
    weights = jnp.ones((4, 64), jnp.float32) / 8

    def network(observation, key):
        return jnp.argmax(jnp.tanh(observation @ weights) @ weights.T[:, :2]).astype(jnp.int32)

    assert played(FuncVectorEnv(Walk(), 300), network)[1] is None
    refusal = played(FuncVectorEnv(Board(), 300), network)[1]
    assert refusal == (None if KERNELS_SCATTER else "XLA cannot compile it to one kernel")


@pytest.mark.parametrize("num_envs", [1, 6])
def test_a_kernel_multiplies_for_one_environment_after_another(num_envs):
    """Products of two matrices are loops over scalars there: such rollouts took up to 40 times as long."""
    weights = jnp.linspace(-1.0, 1.0, 20, dtype=jnp.float32).reshape(4, 5)

    def network(seen, key):
        return seen @ weights + jax.random.uniform(key, (5,))

    policy, step = as_policy(network), jnp.uint32(3)
    keys = jax.random.split(funcenv.key(0), num_envs)
    seen = jax.random.normal(funcenv.key(1), (num_envs, 4))
    together = policy_actions(policy, keys, step, seen)
    np.testing.assert_allclose(single_kernel_actions(policy, keys, step, seen), together, rtol=1e-5)
    kernel = jax.make_jaxpr(functools.partial(single_kernel_actions, policy))(keys, step, seen)
    products = [eqn for eqn in iter_eqns(kernel.jaxpr) if eqn.primitive.name == "dot_general"]
    assert [[operand.aval.shape for operand in eqn.invars] for eqn in products] == [[(4,), (4, 5)]]


def test_what_multiplies_nothing_acts_in_all_environments_at_once():
    policy, keys = as_policy(lambda seen, key: jnp.sin(seen)), jax.random.split(funcenv.key(0), 6)
    kernel = jax.make_jaxpr(functools.partial(single_kernel_actions, policy))(keys, jnp.uint32(0), jnp.zeros((6, 4)))
    assert "scan" not in {eqn.primitive.name for eqn in iter_eqns(kernel.jaxpr)}


@pytest.mark.parametrize(("num_envs", "outside"), [(1, False), (2, False), (3, True)])
def test_networks_that_are_large_together_act_outside_of_kernels(num_envs, outside):
    """Each of these takes 100,000 operations in an environment, which a kernel may compute for two of them."""
    matrix, image = jnp.ones((4, 12_500)), jnp.ones((1, 1, 31, 51))  # and 30 x 50 x 8 operations count eightfold
    policies = [
        lambda seen, key: (seen @ matrix)[0],
        lambda seen, key: jax.lax.conv(image, seen.reshape(1, 1, 2, 2), (1, 1), "VALID")[0, 0, 0, 0],
    ]
    keys = jax.random.split(funcenv.key(0), num_envs)
    for policy in policies:
        assert acts_outside(as_policy(policy), jnp.zeros((num_envs, 4)), keys) is outside


def wide(seen, key):
    """Choose an action by a network that acts outside of kernels in two environments or more."""
    weights = jnp.linspace(-1, 1, 4 * 20_000, dtype=jnp.float32).reshape(4, 20_000)
    noise = jax.random.normal(key, (), jnp.float32)
    return (jnp.tanh(seen @ weights).mean() + noise > 0).astype(jnp.int32)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_loop_of_kernels_plays_what_the_plain_program_plays(mode, monkeypatch):
    """Compare chunks, with and without a trajectory, and a rollout that goes on."""
    monkeypatch.setattr("funcenv._compile.chunks.MAX_CHUNK_ENVS", 16)
    venv = FuncVectorEnv(ENV, 20, mode)

    def play(key):
        vstate, observations, first = funcenv.rollout(venv, wide, key, 12, collect=observation_of)
        last, _, second = funcenv.rollout(venv, wide, key, 30, vstate=vstate, collect=None)
        return last.replace(key=None), observations, first, second

    with recorded_choices() as choices:
        ours = play(funcenv.key(0))
    assert choices == [("rollout", 20, None)]
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    theirs = play(funcenv.key(0))
    assert theirs[2].count >= 20 and theirs[3].count >= 40
    for a, b in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_whole_episodes_of_a_network_are_those_of_the_plain_program(monkeypatch):
    with recorded_choices() as choices:
        ours = funcenv.evaluate(ENV, wide, 5, funcenv.key(3))
    assert choices == [("evaluate", 5, None)]
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    theirs = funcenv.evaluate(ENV, wide, 5, funcenv.key(3))
    for a, b in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_loop_of_kernels_needs_the_kernel_and_a_policy_that_calls_no_host():
    """Several threads might call the host at once."""
    differs = "the kernel's results differ from the plain program's"
    assert played(FuncVectorEnv(Impure(), 3), wide)[1] == differs

    def calling(seen, key):
        kind = jax.ShapeDtypeStruct((), jnp.int32)
        return jax.pure_callback(lambda action: action, kind, wide(seen, key), vmap_method="sequential")

    assert played(FuncVectorEnv(ENV, 3), calling)[1] == "the program calls the host"


class Impure(Walk):
    """An environment that is another one each time that it is traced."""

    def reward(self, state, action, next_state):
        return jnp.float32(next(COUNT))


COUNT = itertools.count()


def test_a_program_that_differs_is_not_used():
    assert played(FuncVectorEnv(Impure(), 3))[1] == "the kernel's results differ from the plain program's"


@pytest.mark.parametrize("num_envs", [3, 300])
def test_one_wrong_return_is_found(num_envs):
    spec, args = (
        RolloutSpec(EPISODE_TOTALS, None, 0, Chunks(num_envs, num_envs)),
        rollout_args(FuncVectorEnv(ENV, num_envs)),
    )
    vstate = args.venv.reset(args.keys)[0].replace(key=None)
    program = jax.jit(functools.partial(run_steps, spec))

    def spoilt(*args):
        result = program(*args)
        wrong = result.vstate.episode_return.at[-1].mul(1.001)
        return result._replace(vstate=result.vstate.replace(episode_return=wrong))

    assert matches_reference(program, spec, args, vstate, False, 2)
    assert not matches_reference(spoilt, spec, args, vstate, False, 2)


def test_verification_lasts_until_an_episode_ends():
    """Up to the first end, and no further."""
    venv, numbers = FuncVectorEnv(ENV, 3), []
    spec = RolloutSpec(EPISODE_TOTALS, None, 0, Chunks.fit(3, 100))
    args = rollout_args(venv)
    keys = args.keys
    vstate = venv.reset(keys)[0].replace(key=None)
    program = jax.jit(functools.partial(run_steps, spec))

    def watched(*arguments):
        numbers.append(int(arguments[-2]))
        return program(*arguments)

    assert matches_reference(watched, spec, args, vstate, False, 1000)
    assert max(numbers) == 8


@pytest.mark.parametrize(
    ("collect", "possible"),
    [
        (lambda timestep, action: timestep.reward, True),
        (lambda timestep, action: (timestep.done, jnp.where(timestep.done, 0, timestep.reward), action), True),
        (lambda timestep, action: timestep.reward - timestep.reward.mean(), False),
        (lambda timestep, action: timestep.observation.sum(axis=1), False),  # it is, but that is not easy to see
    ],
)
def test_chunks_need_a_collect_that_keeps_environments_apart(collect, possible):
    _, refusal = played(FuncVectorEnv(ENV, 300), collect=collect, num_steps=3)
    assert refusal == (None if possible else "collect may mix environments")


def test_a_single_chunk_takes_any_collect():
    venv = FuncVectorEnv(ENV, 7)

    def mean(timestep, action):
        return timestep.observation.mean()

    plain = jax.jit(
        lambda key: funcenv.rollout(venv, funcenv.random_policy(venv), key, 12, collect=mean),
        compiler_options=QUICKLY,
    )
    (_, ours, _), refusal = played(venv, collect=mean)
    assert refusal is None
    np.testing.assert_allclose(ours, plain(funcenv.key(0))[1], atol=1e-6)


def test_plain_means_plain(monkeypatch):
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    assert played(FuncVectorEnv(ENV, 3))[1] == "switched off by FUNCENV_NO_FAST_PATH"


def test_other_numbers_of_steps_and_parameters_compile_nothing():
    traces = []

    class Traced(Board if KERNELS_SCATTER else Walk):
        scale: float = 1.0

        def reward(self, state, action, next_state):
            traces.append(1)
            return self.scale * next_state.sum()

    assert played(FuncVectorEnv(Traced(), 6), num_steps=5)[1] is None
    first = len(traces)
    for num_steps, scale in ((50, 2.0), (500, 3.0)):
        played(FuncVectorEnv(Traced(scale=scale), 6), num_steps=num_steps)
    assert len(traces) == first


@pytest.mark.parametrize(("num_envs", "bytes_per_env"), [(256, 600), (4096, 200)])
def test_memory_is_what_is_carried(num_envs, bytes_per_env):
    """Whatever the number of steps, which the program learns when it runs."""
    venv = FuncVectorEnv(funcenv.make("CartPole-v1"), num_envs)
    spec = RolloutSpec(EPISODE_TOTALS, None, 0, Chunks.fit(num_envs, 100))
    args = rollout_args(venv)
    vstate = jax.jit(venv.reset)(args.keys)[0].replace(key=None)
    program = compile_single_kernel(
        functools.partial(run_steps, spec), args, vstate, np.True_, np.uint32(0), np.int32(10**9)
    )
    memory = program.memory_analysis()
    state = sum(leaf.nbytes for leaf in jax.tree.leaves((vstate, EPISODE_TOTALS.init(venv, vstate))))
    assert memory.output_size_in_bytes <= state + 1024
    assert memory.temp_size_in_bytes + memory.output_size_in_bytes <= bytes_per_env * num_envs


def test_evaluations_are_those_of_the_plain_program():
    policy = funcenv.random_policy(ENV)
    ours = funcenv.evaluate(ENV, policy, 300, funcenv.key(3))
    plain = jax.jit(lambda key: funcenv.evaluate(ENV, policy, 300, key), compiler_options=QUICKLY)
    theirs = plain(funcenv.key(3))
    for a, b in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_policy_that_reads_the_observation_is_told_from_one_that_does_not():
    observation, keys = jnp.zeros((3, 2)), jax.random.split(funcenv.key(0), 3)
    reading = [lambda seen, key: seen, lambda seen, key: jax.jit(jnp.sum)(seen), lambda seen, key: (key, seen.sum())]
    blind = [lambda seen, key: jax.random.bits(key), lambda seen, key: jnp.zeros(seen.shape, seen.dtype)]
    assert all(reads_observation(as_policy(policy), observation, keys) for policy in reading)
    assert not any(reads_observation(as_policy(policy), observation, keys) for policy in blind)


@pytest.mark.dear
def test_skipped_observations_change_no_action():
    """The same actions, chosen by a policy that reads the observation and ignores it, and by one that does not."""
    space = ENV.action_space

    def reading(seen, key):
        return jnp.where(jnp.isfinite(seen).all(), space.sample(key), 5)

    venv = FuncVectorEnv(ENV, 300)
    one, other = (played(venv, policy, 40)[0] for policy in (reading, lambda seen, key: space.sample(key)))
    results = [(vstate.replace(key=None), statistics) for vstate, _, statistics in (one, other)]
    for a, b in zip(*map(jax.tree.leaves, results), strict=True):
        np.testing.assert_array_equal(a, b)


def test_scalars_are_converted_once_and_keep_their_value():
    device = jax.devices()[0]
    numbers = [0, 0.0, -0.0, False, True, 1, 1.0, 2.5, float("nan"), float("-inf"), -(2**31)]
    for number in numbers * 2:
        placed, expected = to_cached_array(device, number), jnp.asarray(number)
        np.testing.assert_array_equal(np.asarray(placed).tobytes(), np.asarray(expected).tobytes())
        assert (placed.dtype, placed.weak_type) == (expected.dtype, expected.weak_type)
        assert to_cached_array(device, number) is placed
    array = np.float32(3)
    assert to_cached_array(device, array) is array
    with jax.enable_x64(True):
        assert to_cached_array(device, 2.5).dtype == np.float64


DEVICES = """
import jax, numpy as np, funcenv

env = funcenv.make("CartPole-v1", max_episode_steps=9)
venv, policy = funcenv.FuncVectorEnv(env, 3), funcenv.random_policy(env)
for device in jax.devices() * 2:
    key = jax.device_put(funcenv.key(0), device)
    vstate, kept, statistics = funcenv.rollout(venv, policy, key, 12)
    assert all(leaf.devices() == {device} for leaf in jax.tree.leaves((vstate, kept, statistics)))
"""


@pytest.mark.dear
def test_a_rollout_stays_on_the_device_of_its_key():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "FUNCENV_NO_FAST_PATH": "0"}
    subprocess.run([sys.executable, "-c", DEVICES], check=True, env={**os.environ, **flags})


class Pictures(Walk):
    """The same, seen in pictures."""

    observation_space = spaces.Box(-np.inf, np.inf, (96, 96, 3))

    def observation(self, state, key):
        return jnp.full((96, 96, 3), state[0])


def test_a_large_program_is_not_traced_as_a_kernel_and_compiles_quickly(monkeypatch):
    venv = FuncVectorEnv(TimeLimit(Walk(), 9), 3)
    quick, reset = plain_program.quick, reset_program()
    (_, few, _), refusal = played(venv, collect=observation_of)
    before = quick.num_compilations(), reset.num_compilations()
    assert refusal is None
    verified_rollout.cache_clear()
    monkeypatch.setattr(single_kernel, "MAX_EQUATIONS", 3)
    (_, many, _), refusal = played(venv, collect=observation_of)
    assert "more than the 3 of a kernel" in refusal
    np.testing.assert_allclose(many, few, rtol=1e-5)
    assert (quick.num_compilations(), reset.num_compilations()) == (before[0] + 1, before[1] + 1)
    assert is_slow_to_compile(venv)
    assert not is_slow_to_compile(FuncVectorEnv(TimeLimit(Pictures(), 9), 3))


@pytest.mark.parametrize(("env", "steps"), [(ENV, 4), (Acrobot(), 1)])
def test_an_iteration_takes_several_small_steps_on_a_gpu(env, steps, monkeypatch):
    args = rollout_args(FuncVectorEnv(env, 3))

    def play(args):
        result = plain_steps(EPISODE_TOTALS, args, None, 10, lambda timestep, _: timestep.reward)
        return result._replace(vstate=result.vstate.replace(key=None))

    expected = jax.jit(play)(args)
    monkeypatch.setattr(program, "target_platform", lambda: "gpu")
    again = jax.jit(lambda args: play(args))  # JAX keeps the trace of a function
    scans = [eqn for eqn in iter_eqns(again.trace(args).jaxpr.jaxpr) if eqn.primitive.name == "scan"]
    assert steps in [eqn.params["unroll"] for eqn in scans]
    found = again(args)
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-5), found, expected)
    assert found.collected.shape == (10, 3)


@pytest.mark.parametrize(("num_steps", "num_together"), [(500, 10), (16, 16), (7, 7), (17, 1)])
def test_whole_episodes_are_played_on_in_slices_on_an_accelerator(num_steps, num_together, monkeypatch):
    """Steps after the end of an episode change none of its totals, and episodes are cut where they were."""
    venv = FuncVectorEnv(CartPole(), 3, AutoresetMode.DISABLED)
    args = rollout_args(venv)

    def play(args):
        return plain_steps(WHOLE_EPISODES, args, None, num_steps).totals

    expected = jax.jit(play)(args)
    monkeypatch.setattr(program, "target_platform", lambda: "tpu")
    again = jax.jit(lambda args: play(args))  # JAX keeps the trace of a function
    scans = [eqn.params["length"] for eqn in iter_eqns(again.trace(args).jaxpr.jaxpr) if eqn.primitive.name == "scan"]
    assert num_together in scans
    jax.tree.map(np.testing.assert_array_equal, again(args), expected)
