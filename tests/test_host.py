"""Simulators on the host: batches, threads, dtypes, errors, forks, precision."""

import logging
import multiprocessing
import os
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.checker import find_problems
from funcenv.host import Pool, from_words, host_call, to_words
from tests.support.tiny_envs import Tiny

DT = 0.1


class Springs:
    """A simulator of many springs, with a state that calls change."""

    made = 0

    def __init__(self, num):
        Springs.made += 1
        self.state = np.full((num, 2), np.nan)

    def step(self, forces):
        x, v = self.state.T
        v += DT * (forces - x)
        x += DT * v


springs = Pool(Springs)


def step_springs(words, forces):
    with springs.borrow(len(words)) as simulator:
        simulator.state[:] = from_words(words)
        simulator.step(forces.astype(np.float64))
        return to_words(simulator.state), simulator.state.astype(np.float32)


RESULT = (jax.ShapeDtypeStruct((4,), np.uint32), jax.ShapeDtypeStruct((2,), np.float32))


class SpringState(funcenv.PyTreeNode):
    """A spring."""

    words: jax.Array  # the bits of position and velocity, 64-bit floats
    seen: jax.Array  # position and velocity


class SpringEnv(Tiny):
    """Keep a spring that is pushed at its rest length, in a simulator on the host."""

    differentiable = False
    stiff: float = 1.0
    observation_space = funcenv.spaces.Box(-np.inf, np.inf, (2,))
    action_space = funcenv.spaces.Box(-1.0, 1.0, ())

    def initial(self, key):
        start = jax.random.uniform(key, (), jnp.float32)
        words = jnp.zeros(4, jnp.uint32)
        return self._step(words, start)

    def transition(self, state, action, key):
        del key
        return self._step(state.words, action)

    def _step(self, words, force):
        force = (jnp.asarray(force, float) * self.stiff).astype(jnp.float32)
        return SpringState(*host_call(step_springs, RESULT, words, force))

    def observation(self, state, key):
        del key
        return state.seen

    def reward(self, state, action, next_state):
        del state, action
        return -(next_state.seen[0] ** 2)

    def terminal(self, state):
        return jnp.abs(state.seen[0]) > 10.0


def simulate(forces):
    """Step one spring in plain Python with 64-bit floats."""
    x = v = 0.0
    for force in forces.astype(np.float64):
        v += DT * (force - x)
        x += DT * v
    return np.array([x, v])


@jax.jit
def play(forces):
    def step(words, force):
        words, seen = host_call(step_springs, RESULT, words, force)
        return words, seen

    return jax.lax.scan(step, jnp.zeros(4, jnp.uint32), forces)


def random_forces(*shape):
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize("x64", [False, True])
def test_states_are_exact_in_either_precision(x64):
    """A scan of 200 calls equals the loop in 64-bit floats, bit for bit."""
    forces = random_forces(200)
    with jax.enable_x64(x64):
        words, seen = jax.device_get(play(forces))
    np.testing.assert_array_equal(from_words(words), simulate(forces))
    assert seen.dtype == np.float32


def test_floats_of_64_bits_travel_in_full_where_a_context_enables_them():
    def scale(values, counts):
        return values * np.pi, counts * 3

    def call(value, count):
        result = jax.ShapeDtypeStruct((2,), np.float64), jax.ShapeDtypeStruct((), np.int64)
        return host_call(scale, result, value, count)

    values, counts = np.random.default_rng(0).normal(size=(5, 2)), np.arange(5) + 2**40
    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(call))(jnp.asarray(values), jnp.asarray(counts))
        assert [leaf.dtype for leaf in found] == [np.float64, np.int64]
        np.testing.assert_array_equal(found[0], values * np.pi)
        np.testing.assert_array_equal(found[1], counts * 3)
        np.testing.assert_array_equal(call(jnp.asarray(values[0]), jnp.asarray(counts[0]))[0], values[0] * np.pi)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "float16", "int32", "uint32", "float32"])
def test_numbers_of_every_kind_arrive_as_they_were(dtype):
    values = np.random.default_rng(0).integers(-100, 100, (4, 3)).astype(dtype)

    def look(rows, more):
        assert rows.dtype == dtype
        np.testing.assert_array_equal(rows.reshape(-1, 3), values[: len(rows)])
        return rows[:, ::-1], more

    result = jax.ShapeDtypeStruct((3,), dtype), jax.ShapeDtypeStruct((2, 0), np.float32)
    found, empty = jax.vmap(lambda row: host_call(look, result, row, jnp.zeros((2, 0))))(jnp.asarray(values))
    np.testing.assert_array_equal(found, values[:, ::-1])
    assert empty.shape == (4, 2, 0)


def test_a_batch_is_one_call():
    sizes = []

    def noted(words, forces):
        sizes.append(len(words))
        return step_springs(words, forces)

    def step(words, force):
        return host_call(noted, RESULT, words, force)[0]

    words, forces = jnp.zeros((2, 3, 4), jnp.uint32), jnp.asarray(random_forces(2, 3))
    stepped = jax.jit(jax.vmap(jax.vmap(step)))(words, forces)
    assert sizes == [6]
    alone = [[step(words[i, j], forces[i, j]) for j in range(3)] for i in range(2)]
    np.testing.assert_array_equal(stepped, alone)
    shared = jax.jit(jax.vmap(jax.vmap(step, (None, 0)), (0, None)))(words[:, 0], forces[0])
    assert shared.shape == (2, 3, 4)
    assert sizes[-1] == 6


def test_an_environment_meets_the_contract():
    assert find_problems(SpringEnv(), funcenv.key(0)) == []


def test_rollouts_take_the_plain_program(monkeypatch):
    """A call to the host cannot be a part of a single kernel, and the engine knows."""
    monkeypatch.delenv("FUNCENV_NO_FAST_PATH", raising=False)
    env = funcenv.wrappers.TimeLimit(SpringEnv(), 7)
    venv = funcenv.FuncVectorEnv(env, 5)
    key = funcenv.key(0)
    result = funcenv.rollout(venv, funcenv.random_policy(env), key, 20)
    expected = jax.jit(lambda: funcenv.rollout(venv, funcenv.random_policy(env), key, 20))()
    jax.tree.map(np.testing.assert_array_equal, jax.device_get(result[1]), jax.device_get(expected[1]))


def test_resets_call_the_host_only_for_environments_that_need_one():
    """A batch of 40 in which one episode ends resets a block of 16, and where none ends, nothing."""
    sizes = []

    def noted(words, forces):
        sizes.append(len(words))
        return step_springs(words, forces)

    class Noted(SpringEnv):
        """Counts calls."""

        def _step(self, words, force):
            return SpringState(*host_call(noted, RESULT, words, jnp.asarray(force, jnp.float32)))

    venv = funcenv.FuncVectorEnv(Noted(), 40)
    vstate, _ = jax.jit(venv.reset)(funcenv.key(0))
    for far, expected in ((0.0, [40]), (100.0, [40, 16])):
        words = vstate.env_state.words.at[3].set(to_words(np.array([far, 0.0])))
        sizes.clear()
        _, timestep = jax.jit(venv.step)(vstate.replace(env_state=vstate.env_state.replace(words=words)), jnp.zeros(40))
        assert int(timestep.done.sum()) == (far > 10)
        assert sizes == expected


@pytest.mark.parametrize(
    "result, message",
    [
        (lambda words, force: words, "returned the structure"),
        (lambda words, force: (words, words), r"returned uint32\[1, 4\] to host_call instead of float32\[1, 2\]"),
        (lambda words, force: (words[0], force), r"returned uint32\[4\] to host_call instead of uint32\[1, 4\]"),
        (lambda words, force: (words.astype(int), force), "cast with astype"),
        (lambda words, force: 1 / 0, "division by zero"),
        (lambda words, force: words.fill(0), "read-only"),
    ],
)
def test_errors_come_out_with_their_message(result, message, caplog):
    caplog.set_level(logging.CRITICAL, "jax._src.callback")
    function = jax.jit(lambda words: host_call(result, RESULT, words, jnp.float32(0)))
    with pytest.raises(jax.errors.JaxRuntimeError, match=message):
        jax.block_until_ready(function(jnp.zeros(4, jnp.uint32)))


def test_bad_calls_are_refused_at_once():
    wide = jax.ShapeDtypeStruct((), np.float64)
    with pytest.raises(ValueError, match="needs jax_enable_x64; return its bits as 32-bit words"):
        host_call(step_springs, wide, jnp.zeros(4))
    with pytest.raises(ValueError, match="needs an argument"):
        host_call(step_springs, RESULT)
    words = jnp.zeros(4, jnp.uint32)
    with pytest.raises(TypeError, match="step_springs runs on the host and has no derivative"):
        jax.grad(lambda force: host_call(step_springs, RESULT, words, force)[1].sum())(1.0)


def test_a_function_may_fill_its_results():
    """Flags and narrow numbers as well, with signs, in any batch."""
    shapes = {"sum": jax.ShapeDtypeStruct((2,), np.float32), "negative": jax.ShapeDtypeStruct((), np.int8)}
    shapes["large"] = jax.ShapeDtypeStruct((3,), np.bool_)

    def fill(out, x, y):
        np.add(x, y[:, None], out=out["sum"])
        out["negative"][:] = -y
        out["large"][:, 1] = y > 2

    x, y = jnp.arange(8.0).reshape(2, 2, 2), jnp.arange(4.0).reshape(2, 2)
    found = jax.jit(jax.vmap(jax.vmap(lambda x, y: host_call(fill, shapes, x, y, fills=True))))(x, y)
    np.testing.assert_array_equal(found["sum"], x + y[..., None])
    assert found["negative"].dtype == jnp.int8 and found["negative"].tolist() == [[0, -1], [-2, -3]]
    assert found["large"].tolist() == [[[False] * 3] * 2, [[False] * 3, [False, True, False]]]


def test_gradients_pass_beside_a_call():
    """Only arguments of the call are refused."""
    words = jnp.zeros(4, jnp.uint32)

    def loss(weight):
        return weight * host_call(step_springs, RESULT, words, jnp.float32(1))[1][0]

    np.testing.assert_allclose(jax.jit(jax.grad(loss))(2.0), DT * DT, rtol=1e-6)


def test_simulators_are_made_once_and_lent_to_one_borrower():
    pool = Pool(lambda num: np.zeros(num), max_idle=2)
    with pool.borrow(1) as first, pool.borrow(1) as second:
        assert first is not second
    with pool.borrow(1) as again, pool.borrow(2):
        assert again is first
    with pool.borrow(1) as kept:  # the second was used least recently, and released
        assert kept is first
        with pool.borrow(1) as fresh:
            assert fresh is not second
    with pytest.raises(ValueError, match="broken"), pool.borrow(1) as broken:
        raise ValueError("broken")
    with pool.borrow(1) as fresh:
        assert fresh is not broken


def test_threads_get_simulators_of_their_own():
    forces = random_forces(8, 50)
    played = [None] * len(forces)

    def run(index):
        played[index] = from_words(np.asarray(play(forces[index])[0]))

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(forces))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(np.array(played), [simulate(row) for row in forces])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_a_forked_process_makes_simulators_of_its_own():
    """It does not wait for a lock that another thread of its parent held."""
    pool = Pool(lambda num: object())
    with pool.borrow(1) as parents:
        pass
    compares, may_go_on = threading.Event(), threading.Event()

    class Slow:
        """An argument that the pool compares, under its lock, with those of idle simulators."""

        def __eq__(self, other):
            compares.set()
            return not may_go_on.wait(30)

        __hash__ = object.__hash__

    def borrow():
        with pool.borrow(Slow()):
            pass

    borrower = threading.Thread(target=borrow)
    borrower.start()
    assert compares.wait(30)

    def child(queue):
        with pool.borrow(1) as simulator:
            queue.put(simulator is not parents)

    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    may_go_on.set()
    borrower.join(30)
    assert queue.get(timeout=30)
    process.join(30)
    assert process.exitcode == 0


SHARDED = """
import jax, jax.numpy as jnp, numpy as np
from tests.test_host import RESULT, host_call, step_springs
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("envs",))
sizes = []
def noted(words, forces):
    sizes.append(len(words))
    return step_springs(words, forces)
step = jax.vmap(lambda words, force: host_call(noted, RESULT, words, force)[0])
spec = jax.sharding.PartitionSpec("envs")
words, forces = jnp.zeros((6, 4), jnp.uint32), jnp.arange(6.0)
sharded = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=spec, out_specs=spec))(words, forces)
sharded = np.asarray(sharded)
assert sizes == [3, 3], sizes
assert (sharded == np.asarray(step(words, forces))).all()
"""


def test_each_device_calls_with_its_own_shard():
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
    subprocess.run([sys.executable, "-c", SHARDED], check=True, env={**os.environ, "XLA_FLAGS": flags})


def test_large_arguments_do_not_wait_for_themselves():
    """More than a hundred kB are handed to the host in a scan, on however few threads."""
    large = jnp.zeros((256, 512), jnp.float32)
    shape = jax.ShapeDtypeStruct((512,), np.float32)
    step = jax.vmap(lambda row: host_call(lambda rows: rows + np.float32(1), shape, row))
    final = jax.jit(lambda rows: jax.lax.scan(lambda rows, _: (step(rows), None), rows, length=30)[0])(large)
    assert (np.asarray(final) == 30).all()


ONE_THREAD = """
import jax, jax.numpy as jnp, numpy as np
from funcenv import host

host.MAX_COPY_SECONDS = 0.5
shape = jax.ShapeDtypeStruct((1000,), np.float32)
call = jax.jit(jax.vmap(lambda row: host.host_call(lambda rows: rows + 1, shape, row)))
rows = jnp.zeros((40, 1000))
for _ in range(1000):
    rows = call(rows * 1.0)
print(rows[0, 0])
"""


def test_a_call_that_waits_for_its_own_thread_says_so():
    environment = {**os.environ, "PJRT_NPROC": "1", "JAX_PLATFORMS": "cpu"}
    outcome = subprocess.run([sys.executable, "-c", ONE_THREAD], env=environment, capture_output=True, text=True)
    update = 'jax.config.update("jax_cpu_enable_async_dispatch", False)'
    if jax.__version_info__ >= (0, 12):  # JAX hands them over in time
        assert outcome.stdout == "1000.0\n", outcome.stderr
    else:
        assert "got no arguments within 0.5 s" in outcome.stderr and "PJRT_NPROC to 2 or more" in outcome.stderr
        assert update in outcome.stderr
    mended = f"import jax; {update}\n{ONE_THREAD}"
    outcome = subprocess.run([sys.executable, "-c", mended], env=environment, capture_output=True, text=True)
    assert outcome.stdout == "1000.0\n", outcome.stderr
