"""Programs that are divided at their call to the host."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import adapters
from funcenv._compile.host_split import DirectProgram, SplitProgram, split_host_call
from funcenv._compile.single_kernel import SingleKernel
from funcenv.host import host_call
from tests.support.programs import programs_of
from tests.test_host import RESULT, SpringEnv, SpringState, step_springs

SCALAR = jax.ShapeDtypeStruct((), np.float32)


def root(x):
    return host_call(np.sqrt, SCALAR, x)


def test_a_divided_program_computes_the_same():
    """The call may be inside functions that are compiled, and what comes before it may also be needed after it."""
    scale = jnp.float32(3)

    def function(x, y):
        z = jax.jit(lambda x: jax.jit(root)(x * x) + scale)(x + 1)
        return jnp.stack([z, z * y, x])

    program = split_host_call(function, np.float32(1), np.float32(2))
    assert program is not None
    for x, y in ((2.0, 3.0), (4.0, 5.0)):
        np.testing.assert_array_equal(program(np.float32(x), np.float32(y)), function(x, y))


def weighted(x, y, weights):
    return np.stack([x[:, 0] * weights[:, 0], y * weights[:, 1]], axis=1)


PAIR = jax.ShapeDtypeStruct((2,), np.float32)


@pytest.mark.parametrize(
    "send, kind",
    [
        (lambda words, y: (jax.lax.slice(words, (2,), (4,)), y), DirectProgram),
        (lambda words, y: (words[1:3], jnp.squeeze(y[None])), DirectProgram),
        (lambda words, y: (words[:2], jnp.float32(5)), DirectProgram),
        (lambda words, y: (words[:2], y + 1), SplitProgram),
        (lambda words, y: (words[:2], jnp.clip(y, 0, 1)), SplitProgram),
        (lambda words, y: (words[::2][:2], y), SplitProgram),
        (lambda words, y: (jax.lax.dynamic_slice(words, (jnp.int32(y),), (2,)), y), SplitProgram),
    ],
    ids=["slices", "reshaped", "constant", "sum", "clip", "stride", "index"],
)
def test_nothing_is_computed_before_a_call_that_is_sent_arguments_as_they_are(send, kind):
    scale = jnp.float32([1, 2])

    def function(words, y):
        x, z = send(words, y)
        return host_call(weighted, PAIR, jax.lax.bitcast_convert_type(x, jnp.float32), z, scale) + y

    words, y = np.float32([1.5, -2, 3, 0]).view(np.uint32), np.float32(2)
    program = split_host_call(function, words, y)
    assert type(program) is kind
    for y in np.float32([0.5, 1.0]):
        np.testing.assert_array_equal(program(words, y), jax.jit(function)(words, y))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1,
        lambda x: root(root(x)),
        lambda x: jax.lax.scan(lambda x, _: (root(x), None), x, length=2)[0],
        lambda x: jax.lax.cond(x > 0, root, jnp.negative, x),
        lambda x: jax.pure_callback(np.sqrt, SCALAR, x),
    ],
    ids=["none", "two", "loop", "branch", "foreign"],
)
def test_other_programs_are_left_whole(function):
    assert split_host_call(function, np.float32(4)) is None


class DirectSpringEnv(SpringEnv):
    """A spring that is sent actions as they are."""

    def _step(self, words, force):
        return SpringState(*host_call(step_springs, RESULT, words, force))


@pytest.mark.fast_path
def test_the_first_call_returns_what_the_divided_program_returns():
    """The undivided program is compiled quickly and only compared, so that its rounding is never seen."""
    program = SingleKernel(lambda x, y: jnp.sin(x) * y + root(x) * y, splits=True)
    args = np.float32(2), np.float32(0.3)
    first = program(*args)
    assert program.is_divided
    np.testing.assert_array_equal(program(*args), first)


@pytest.mark.fast_path
@pytest.mark.parametrize("make", [SpringEnv, DirectSpringEnv])
def test_stateful_environments_call_the_host_directly(make, monkeypatch):
    """A divided step and a whole one give the same episode."""
    env = adapters.FunctionalEnv(funcenv.wrappers.TimeLimit(make(), 5))
    env.reset(seed=0)
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "1")
    whole = adapters.FunctionalEnv(funcenv.wrappers.TimeLimit(make(), 5))
    whole.reset(seed=0)
    monkeypatch.setenv("FUNCENV_NO_FAST_PATH", "0")
    for force in (0.5, -0.25, -0.25, -0.25):
        found, expected = (each.step(np.float32(force)) for each in (env, whole))
        np.testing.assert_array_equal(found[0], expected[0])
        assert found[1:4] == expected[1:4]
    assert (programs_of(env).step.is_divided, programs_of(whole).step.is_divided) == (True, False)
    assert env.step(np.float32(0.0))[3]
    env.reset()
