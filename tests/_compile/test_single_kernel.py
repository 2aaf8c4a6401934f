"""A single-kernel program returns what the plain one returns, or is not used."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv._compile.single_kernel import MAX_EQUATIONS, SingleKernel
from funcenv.adapters import FunctionalEnv
from tests.support import environments
from tests.support.programs import programs_of

pytestmark = pytest.mark.fast_path


@pytest.mark.parametrize("id", environments.sampled([id for id in environments.ids() if not environments.is_heavy(id)]))
def test_a_step_and_a_reset_of_every_environment_are_single_kernels(id):
    """They compare themselves with the plain ones, and would not be chosen if they differed.

    A step that calls the host is divided at the call instead. So is a reset, if its noise is rounded alike in its parts
    and in the whole, which depends on the compiler flags of the tests.
    """
    env = FunctionalEnv(funcenv.make(id))
    env.reset(seed=0)
    env.step(env.action_space.sample())
    env.reset()
    step, reset = programs_of(env).step, programs_of(env).reset
    assert step.is_divided or (step.refusal, reset.refusal) == (None, None)


@pytest.mark.parametrize("id", ["CartPole-v1", "Blackjack-v1", "Pendulum-v1"])
def test_single_kernels_return_what_plain_programs_return(id, monkeypatch):
    env = funcenv.make(id)
    ours = FunctionalEnv(env)
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    theirs = FunctionalEnv(env)
    observations = [each.reset(seed=0)[0] for each in (ours, theirs)]
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "0")
    ours.action_space.seed(0)
    for _ in range(20):
        np.testing.assert_allclose(*observations, rtol=1e-5, atol=1e-6)
        action = ours.action_space.sample()
        (first, *one), (second, *other) = (each.step(action) for each in (ours, theirs))
        np.testing.assert_allclose(one[0], other[0], rtol=1e-5, atol=1e-6)
        assert one[1:3] == other[1:3]
        observations = [each.reset()[0] for each in (ours, theirs)] if one[1] or one[2] else [first, second]


def test_a_program_that_gives_another_result_is_not_used():
    add = SingleKernel(lambda x: x + 3, plain=lambda x: x + 2)
    assert add(jnp.int32(1)) == 3 and add.refusal == "the kernel's results differ from the plain program's"
    assert add(jnp.int32(1)) == 3


def test_a_program_that_does_not_compile_is_not_used():
    def fails(x):
        raise jax.errors.JaxRuntimeError("INTERNAL: not supported")

    add = SingleKernel(fails, plain=lambda x: x + 2)
    assert add(jnp.int32(1)) == 3 and add.refusal == "XLA cannot compile it to one kernel"


def test_errors_of_the_function_itself_are_not_hidden():
    def wrong(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        SingleKernel(wrong)(jnp.int32(1))


def test_it_can_be_turned_off():
    imported = "from funcenv._compile.single_kernel import SingleKernel"
    code = f"{imported}; f = SingleKernel(lambda x: x + 1); f(1); assert 'FUNCENV_NO_FAST_PATH' in f.refusal"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "FUNCENV_NO_FAST_PATH": "1"}, check=True)


def test_every_new_shape_is_verified():
    """A kernel that is right for one shape and wrong for another is given up."""
    double = SingleKernel(lambda x: x * 2 if x.ndim == 0 else x * 3, plain=lambda x: x * 2)
    assert double(jnp.int32(4)) == 8 and double.refusal is None
    np.testing.assert_array_equal(double(jnp.arange(3)), [0, 2, 4])
    assert double.refusal is not None and double(jnp.int32(5)) == 10


def test_large_programs_are_not_attempted():
    def function(x):
        for _ in range(MAX_EQUATIONS + 1):
            x = jax.lax.neg(x)
        return x

    program = SingleKernel(function)
    assert program(1.0) == -1.0 and "more than the 5,000" in program.refusal


def test_large_products_of_matrices_are_not_attempted():
    multiply = SingleKernel(lambda rows: rows @ jnp.ones((16, 16)))
    np.testing.assert_array_equal(multiply(jnp.ones((2, 16))), jnp.full((2, 16), 16.0))
    assert multiply.refusal is None
    np.testing.assert_array_equal(multiply(jnp.ones((64, 16))), jnp.full((64, 16), 16.0))
    assert "products of matrices take 32,768 operations" in multiply.refusal
