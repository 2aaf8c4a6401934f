"""Access to the tools in docs/, which are scripts and not a package."""

import importlib
import importlib.util
import pathlib
import re
import sys

import pytest

from tests.support.registries import restored
from tests.support.temporary_package import temporary_package

ROOT = pathlib.Path(__file__).parents[2]


def load(path):
    """Import a script under a name that clashes with nothing."""
    spec = importlib.util.spec_from_file_location(f"funcenv_docs_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def docs():
    return ROOT / "docs"


@pytest.fixture(scope="session")
def run_page():
    return load(ROOT / "docs" / "run_page.py")


@pytest.fixture(scope="session")
def environment_pages():
    return load(ROOT / "docs" / "generate_environments.py")


@pytest.fixture(scope="session")
def result_tables():
    import result_tables  # in docs/, which is on pytest's path

    return result_tables


@pytest.fixture(scope="session")
def measure_returns():
    return load(ROOT / "docs" / "measure_returns.py")


@pytest.fixture(scope="session")
def export_agents():
    return load(ROOT / "docs" / "export_agents.py")


@pytest.fixture(scope="session")
def architecture():
    return load(ROOT / "docs" / "generate_architecture.py")


@pytest.fixture(scope="session")
def gallery():
    return load(ROOT / "docs" / "make_gallery.py")


@pytest.fixture
def example():
    """Return a function that imports a script of docs/examples."""
    return lambda name: load(ROOT / "docs" / "examples" / f"{name}.py")


@pytest.fixture(scope="session")
def api_pages(docs, environment_pages):
    """Return the paths that each page of docs/api documents, by the name of the page."""
    texts = {page.stem: page.read_text() for page in sorted((docs / "api").glob("*.md"))}
    assert "<!-- api -->" in texts["envs"]
    texts["envs"] = texts["envs"].replace("<!-- api -->", environment_pages.api_listing())
    return {stem: re.findall(r"^::: (\S+)$", text, flags=re.MULTILINE) for stem, text in texts.items()}


@pytest.fixture(scope="session")
def documented(api_pages):
    """Return every path that the API pages document."""
    return [path for paths in api_pages.values() for path in paths]


@pytest.fixture
def package(tmp_path):
    """Install a package with one environment that this library has never seen."""
    with temporary_package(tmp_path) as package:
        yield package


@pytest.fixture
def registries():
    """Restore both registries after a page that registers environments."""
    import funcenv.adapters.gymnasium  # noqa: F401  (registers the built-in environments with Gymnasium)

    with restored():
        yield
