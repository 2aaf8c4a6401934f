"""A fused program gives what the plain one gives, or is not used."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv._compile import single_kernel as fused
from funcenv._compile.single_kernel import SingleKernel
from funcenv.adapters import FunctionalEnv

pytestmark = pytest.mark.fast_path


funcenv.spec("CartPole-v1")  # the registry fills when it is first asked


@pytest.mark.parametrize("id", funcenv.registry)
def test_a_step_and_a_reset_of_every_environment_are_one_function(id):
    """They compare themselves with the plain ones, and would not be chosen if they differed."""
    env = FunctionalEnv(funcenv.make(id))
    env.reset(seed=0)
    env.step(env.action_space.sample())
    env.reset()
    assert not env._programs.step.is_plain and not env._programs.reset.is_plain


@pytest.mark.parametrize("id", ["CartPole-v1", "Blackjack-v1", "Pendulum-v1"])
def test_fused_programs_show_what_plain_ones_show(id):
    env = FunctionalEnv(funcenv.make(id))
    env.reset(seed=0)
    programs, words = env._programs, env._words
    rng = np.random.default_rng(0)
    for _ in range(20):
        action = rng.uniform(-2, 2, 1).astype(np.float32) if id == "Pendulum-v1" else jnp.int32(rng.integers(2))
        plain, marked = (program(words, action) for program in (programs.step._plain, programs.step.marked))
        for a, b in zip(*map(jax.tree.leaves, map(programs._layout.read, (plain, marked))), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        words = programs.reset(plain) if any(programs.read_scalars(np.asarray(plain))[1:]) else plain


def test_a_program_that_gives_another_result_is_not_used(monkeypatch):
    monkeypatch.setattr(fused, "fuse", lambda function: lambda *args: function(*args) + 1)
    add = SingleKernel(lambda x: x + 2)
    assert add(jnp.int32(1)) == 3 and add.program is add._plain
    assert add(jnp.int32(1)) == 3


def test_a_program_that_does_not_compile_is_not_used(monkeypatch):
    def fails(function):
        def marked(*args):
            raise jax.errors.JaxRuntimeError("INTERNAL: not supported")

        return marked

    monkeypatch.setattr(fused, "fuse", fails)
    add = SingleKernel(lambda x: x + 2)
    assert add(jnp.int32(1)) == 3 and add.program is add._plain


def test_errors_of_the_function_itself_are_not_hidden():
    def wrong(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        SingleKernel(wrong)(jnp.int32(1))


def test_it_can_be_turned_off():
    code = "from funcenv._compile.single_kernel import SingleKernel; f = SingleKernel(lambda x: x + 1); f(1); assert f.program is f._plain"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "FUNCENV_NO_FAST_PATH": "1"}, check=True)
