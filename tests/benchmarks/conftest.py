"""The scripts in `benchmarks/`, which are not a package."""

import importlib
import pathlib
import types

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "benchmarks"
SCRIPTS = (
    "harness",
    "libraries",
    "programs",
    "rows",
    "run",
    "c_program",
    "goals",
    "plots",
    "report",
    "machine",
    "compile",
    "hardware",
    "accelerator_page",
)
STUDIES = ("isolated", "interop", "trainers", "compile")


@pytest.fixture(scope="session")
def benchmarks():
    """Import the scripts by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER / "studies")
        patch.syspath_prepend(FOLDER)
        yield types.SimpleNamespace(**{name: importlib.import_module(name) for name in (*SCRIPTS, *STUDIES)})
