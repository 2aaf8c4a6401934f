"""Programs for a GPU: the options that XLA knows, and what happens where they cannot be used."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import FuncVectorEnv
from funcenv._compile import cuda_graph
from funcenv._compile.cuda_graph import CudaGraphJit, graph_options
from funcenv._compile.host_jit import HostJit


def add_up(numbers, times):
    return jax.lax.fori_loop(0, times, lambda i, total: total + numbers * i, jnp.zeros_like(numbers))


@pytest.fixture
def gpu(monkeypatch):
    """JAX says that its default backend is a GPU. The options are all that follows, and a CPU takes them too."""
    monkeypatch.delenv("FUNCENV_NO_FAST_PATH")
    monkeypatch.setattr(cuda_graph.jax, "default_backend", lambda: "gpu")


@pytest.fixture
def captured(monkeypatch):
    """Return the options of every program that is compiled for a CUDA graph."""
    made = []

    def options():
        made.append(graph_options())
        return made[-1]

    monkeypatch.setattr(cuda_graph, "graph_options", options)
    return made


def test_this_xla_knows_the_option():
    assert "WHILE" in graph_options()["xla_gpu_enable_command_buffer"].split(",")


def test_a_graph_gives_what_the_plain_program_gives(gpu, captured):
    program, numbers = CudaGraphJit(add_up, static_argnames=["times"]), jnp.arange(3.0)
    for times in (4, 4, 5):
        np.testing.assert_array_equal(program(numbers, times), numbers * sum(range(times)))
    assert len(captured) == 1


def test_elsewhere_nothing_is_captured(captured, monkeypatch):
    monkeypatch.delenv("FUNCENV_NO_FAST_PATH")
    assert CudaGraphJit(add_up)(jnp.float32(2), 3) == 6
    assert not captured


def test_plain_means_plain(gpu, captured, monkeypatch):
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    assert CudaGraphJit(add_up)(jnp.float32(2), 3) == 6
    assert not captured


def test_a_part_of_a_traced_function_has_no_options_of_its_own(gpu, captured):
    program = CudaGraphJit(add_up, static_argnames=["times"])
    assert jax.jit(lambda number: program(number, 3))(2.0) == 6
    assert jax.grad(lambda number: program(number, 3))(2.0) == 3
    np.testing.assert_array_equal(jax.vmap(lambda number: program(number, 3))(jnp.arange(2.0)), [0, 3])
    assert not captured


def test_where_xla_refuses_the_plain_program_runs_from_then_on(gpu, monkeypatch):
    monkeypatch.setattr(cuda_graph, "graph_options", lambda: {"xla_no_such_option": True})
    program = CudaGraphJit(add_up)
    assert program(jnp.float32(2), 3) == 6
    monkeypatch.setattr(program, "_captured", None)  # is not asked again
    assert program(jnp.float32(2), 4) == 12


def test_what_fails_in_either_way_fails(gpu):
    def fail(number):
        raise RuntimeError("no such number")

    program = CudaGraphJit(lambda x: jax.pure_callback(fail, jax.ShapeDtypeStruct((), jnp.float32), x))
    for _ in range(2):
        with pytest.raises(jax.errors.JaxRuntimeError, match="no such number"):
            program(jnp.float32(1)).block_until_ready()


def test_errors_of_the_function_come_through(gpu):
    with pytest.raises(TypeError, match="add"):
        CudaGraphJit(lambda number: jnp.add(number))(1.0)


def roll_out(env, policy, key):
    return funcenv.rollout(FuncVectorEnv(env, 3), policy, key, 12, collect=lambda timestep, action: action)[1]


def evaluate(env, policy, key):
    return funcenv.evaluate(env, policy, 3, key).episode_length


@pytest.mark.parametrize("play", [roll_out, evaluate])
def test_rollouts_and_evaluations_are_captured(gpu, captured, monkeypatch, play):
    module = importlib.import_module("funcenv._compile.rollout.play")  # the package has a function of that name
    fresh = HostJit(module.plain_program.__wrapped__, static_argnames=("accumulator", "num_steps", "collect"))
    monkeypatch.setattr(module, "plain_program", fresh)
    env = funcenv.make("CartPole-v1", max_episode_steps=9)
    policy, key = funcenv.random_policy(env), funcenv.key(0)
    ours = play(env, policy, key)
    assert len(captured) == 1
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    jax.tree.map(np.testing.assert_array_equal, ours, play(env, policy, key))
    assert len(captured) == 1
