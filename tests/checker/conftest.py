"""The zoo is a package beside the tests; every test that asks for an `exhibit` visits all of it."""

import importlib.util
import pathlib
import sys
from types import ModuleType

import pytest


def _load_zoo() -> ModuleType:
    if "zoo" not in sys.modules:
        path = pathlib.Path(__file__).parent / "zoo" / "__init__.py"
        spec = importlib.util.spec_from_file_location("zoo", path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules["zoo"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["zoo"])
    return sys.modules["zoo"]


@pytest.fixture(scope="session")
def zoo() -> ModuleType:
    """The package `zoo`."""
    return _load_zoo()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "exhibit" in metafunc.fixturenames:
        exhibits = _load_zoo().EXHIBITS
        metafunc.parametrize("exhibit", exhibits, ids=[cls.__name__ for cls, _ in exhibits])
