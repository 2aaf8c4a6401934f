"""The oracle tells clear refusals from obscure ones, and crashes from both; the suite is as large as documented."""

import importlib
import pathlib

import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.spaces import Box, Discrete
from tests.fuzz import cases
from tests.fuzz.oracle import REFUSED, Ledger

MIN_CASES = 10_000  # of the whole suite, in `make test-all`


def raw_jax_error(shape):
    return jnp.zeros(shape) + jnp.zeros(7)


def unnamed(level):
    raise ValueError("something is wrong; correct it")


@pytest.mark.parametrize(
    ("call", "arguments", "is_clear"),
    [
        (Discrete, {"n": 0}, True),  # names the parameter
        (Box, {"low": 1, "high": "x"}, True),  # shows the value
        (funcenv.make, {"id": "CartPoel-v1"}, True),
        (funcenv.key, {"sed": 0}, True),  # refused by Python for the signature
        (np.zeros, {"shape": -1}, False),  # raised in C, although it speaks of dimensions
        (raw_jax_error, {"shape": 3}, False),  # raised by JAX
        (unnamed, {"level": 3}, False),  # names nothing
    ],
)
def test_the_criterion(call, arguments, is_clear):
    ledger = Ledger("criterion")
    assert ledger.attempt(call, **arguments) is REFUSED
    assert (ledger.num_calls, ledger.num_refusals) == (1, 1)
    assert bool(ledger.obscure) is not is_clear


def test_the_share_of_obscure_messages_is_bounded():
    ledger = Ledger("share")
    for _ in range(97):
        ledger.attempt(Discrete, n=0)
    for _ in range(3):
        assert ledger.is_good
        ledger.attempt(np.zeros, shape=-1)
    assert ledger.is_good
    ledger.attempt(np.zeros, shape=-1)
    assert not ledger.is_good and "np.zeros" not in ledger.summary() and "4 with obscure messages" in ledger.report()


def test_what_is_no_refusal_passes_through():
    with pytest.raises(ZeroDivisionError):
        Ledger("crashes").attempt(lambda x: 1 / x, 0)
    assert Ledger("results").attempt(lambda x: x, 3) == 3


def test_a_hang_is_noticed():
    with pytest.raises(cases.Hang), cases.watch(seconds=0.05):
        while True:
            pass


def test_the_whole_suite_is_large():
    for path in sorted(pathlib.Path(__file__).parent.glob("test_*.py")):
        importlib.import_module(f"tests.fuzz.{path.stem}")
    assert sum(cases.DECLARED.values()) >= MIN_CASES, cases.DECLARED
