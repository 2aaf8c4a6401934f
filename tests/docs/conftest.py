"""The tools in docs/, which are scripts and no package."""

import importlib
import importlib.util
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def load(path):
    """A script as a module, under a name that clashes with nothing."""
    spec = importlib.util.spec_from_file_location(f"funcenv_docs_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def docs():
    """The folder."""
    return ROOT / "docs"


@pytest.fixture(scope="session")
def run_page():
    """docs/run_page.py."""
    return load(ROOT / "docs" / "run_page.py")


@pytest.fixture(scope="session")
def environment_pages():
    """docs/generate_environments.py."""
    return load(ROOT / "docs" / "generate_environments.py")


@pytest.fixture(scope="session")
def gallery():
    """docs/make_gallery.py."""
    return load(ROOT / "docs" / "make_gallery.py")


@pytest.fixture
def example():
    """A script of docs/examples, by name."""
    return lambda name: load(ROOT / "docs" / "examples" / f"{name}.py")


@pytest.fixture
def registries():
    """Environments that a page registers are gone after it."""
    import gymnasium

    import funcenv.adapters.gymnasium  # noqa: F401  (registers the built-in ones with Gymnasium)

    funcenv.spec("CartPole-v1")  # loads the entry points
    specs = importlib.import_module("funcenv.registry")._specs  # funcenv.registry is the view of it
    ours, theirs = dict(specs), dict(gymnasium.registry)
    yield
    for present, before in (specs, ours), (gymnasium.registry, theirs):
        present.clear()
        present.update(before)
