"""Work beside a block is done when the block is left, whatever happens in either."""

import contextvars
import threading

import jax
import jax.numpy as jnp
import pytest

from funcenv._compile import store
from funcenv._compile.beside import beside
from funcenv._compile.verified import Refusal, VerifiedProgram


def test_no_thread_is_left_after_the_block():
    before, may_end = threading.active_count(), threading.Event()
    with beside(may_end.wait) as done:
        assert not done.done() and threading.active_count() == before + 1
        may_end.set()
    assert done.result() and threading.active_count() == before


def test_context_variables_hold_in_both_threads():
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(3)
    with beside(variable.get) as value:
        assert value.result() == 3


def test_an_error_of_the_work_is_raised_at_the_end_of_the_block():
    entered = []
    with pytest.raises(ZeroDivisionError), beside(lambda: 1 // 0):
        entered.append(True)
    assert entered


def test_an_error_of_the_block_comes_first_and_waits_for_the_work():
    done = []
    with pytest.raises(KeyError), beside(lambda: done.append(True)):
        raise KeyError
    assert done


def test_a_reference_is_compiled_in_this_thread_while_another_compiles_the_program():
    threads = []

    def make(meanwhile, x):
        traced = jax.jit(lambda x: x + x).trace(x)
        return store.compile_kept(None, lambda: traced, meanwhile=meanwhile)

    def reference(x):
        threads.append(threading.current_thread())
        return jax.jit(lambda x: 2 * x)

    program = VerifiedProgram(make, lambda program, plain, x: bool(program(x) == plain(x)), reference=reference)
    assert program.get(jnp.int32(3))(jnp.int32(4)) == 8 and threads == [threading.main_thread()]


def test_a_program_that_fails_to_compile_is_refused_after_its_reference():
    def make(meanwhile, x):
        meanwhile()
        raise Refusal("it does not compile")

    program = VerifiedProgram(make, lambda *_: True, reference=lambda x: x)
    for _ in range(2):
        with pytest.raises(Refusal, match="does not compile"):
            program.get(1)
