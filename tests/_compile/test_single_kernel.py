"""A single-kernel program returns what the plain one returns, or is not used."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv._compile import single_kernel
from funcenv._compile.host_split import DirectProgram, SplitProgram
from funcenv._compile.single_kernel import SingleKernel
from funcenv.adapters import FunctionalEnv

pytestmark = pytest.mark.fast_path


funcenv.spec("CartPole-v1")  # the registry fills when it is first asked


TOO_LARGE = ("LunarLander", "CarRacing", "BipedalWalker")  # rigid bodies


@pytest.mark.parametrize("id", [id for id in funcenv.registry if not id.startswith(TOO_LARGE)])
def test_a_step_and_a_reset_of_every_environment_are_single_kernels(id):
    """They compare themselves with the plain ones, and would not be chosen if they differed.

    A step that calls the host is divided at the call instead. So is a reset, if its noise is rounded alike in its parts
    and in the whole, which depends on the compiler flags of the tests.
    """
    env = FunctionalEnv(funcenv.make(id))
    env.reset(seed=0)
    env.step(env.action_space.sample())
    env.reset()
    step, reset = env._programs.step, env._programs.reset
    calls_host = isinstance(step._plain, SplitProgram | DirectProgram)
    assert calls_host or not (step.is_plain or reset.is_plain)


@pytest.mark.parametrize("id", ["CartPole-v1", "Blackjack-v1", "Pendulum-v1"])
def test_single_kernels_return_what_plain_programs_return(id):
    env = FunctionalEnv(funcenv.make(id))
    env.reset(seed=0)
    programs, packed = env._programs, env._packed
    rng = np.random.default_rng(0)
    for _ in range(20):
        action = rng.uniform(-2, 2, 1).astype(np.float32) if id == "Pendulum-v1" else jnp.int32(rng.integers(2))
        plain, marked = (program(packed, action) for program in (programs.step._plain, programs.step.kernel))
        for a, b in zip(*map(jax.tree.leaves, map(programs._layout.read, (plain, marked))), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        packed = programs.reset(plain) if any(programs.read_scalars(np.asarray(plain))[1:]) else plain


def test_a_program_that_gives_another_result_is_not_used(monkeypatch):
    monkeypatch.setattr(single_kernel, "mark_single_kernel", lambda function, style: lambda *args: function(*args) + 1)
    add = SingleKernel(lambda x: x + 2)
    assert add(jnp.int32(1)) == 3 and add.is_plain
    assert add(jnp.int32(1)) == 3


def test_a_program_that_does_not_compile_is_not_used(monkeypatch):
    def fails(function, style):
        def marked(*args):
            raise jax.errors.JaxRuntimeError("INTERNAL: not supported")

        return marked

    monkeypatch.setattr(single_kernel, "mark_single_kernel", fails)
    add = SingleKernel(lambda x: x + 2)
    assert add(jnp.int32(1)) == 3 and add.is_plain


def test_errors_of_the_function_itself_are_not_hidden():
    def wrong(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        SingleKernel(wrong)(jnp.int32(1))


def test_it_can_be_turned_off():
    imported = "from funcenv._compile.single_kernel import SingleKernel"
    code = f"{imported}; f = SingleKernel(lambda x: x + 1); f(1); assert f.is_plain"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "FUNCENV_NO_FAST_PATH": "1"}, check=True)


def test_every_new_shape_is_verified():
    """A kernel that is right for one shape and wrong for another is given up."""
    double = SingleKernel(lambda x: x * 2 if x.ndim == 0 else x * 3, plain=lambda x: x * 2)
    assert double(jnp.int32(4)) == 8 and not double.is_plain
    np.testing.assert_array_equal(double(jnp.arange(3)), [0, 2, 4])
    assert double.is_plain and double(jnp.int32(5)) == 10


def test_large_programs_are_not_attempted():
    def function(x):
        for _ in range(single_kernel.MAX_EQUATIONS + 1):
            x = jax.lax.neg(x)
        return x

    assert not single_kernel.is_supported(jax.make_jaxpr(function)(1.0).jaxpr)
