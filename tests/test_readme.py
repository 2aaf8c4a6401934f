"""Each Python block of the README runs alone, and its links lead to files."""

import importlib
import pathlib
import re

import pytest

import funcenv

README = pathlib.Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


@pytest.fixture
def registered():
    """Restore the registry after a block that registers an environment."""
    funcenv.spec("CartPole-v1")  # loads the entry points
    specs = importlib.import_module("funcenv.registry")._specs
    before = dict(specs)
    yield
    specs.clear()
    specs.update(before)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_of_the_readme_runs_alone(number, registered):
    exec(compile(BLOCKS[number], f"block {number + 1} of {README.name}", "exec"), {"__name__": "block"})


def test_the_shapes_in_the_comments_are_right():
    names: dict = {}
    exec(next(block for block in BLOCKS if "(500, 1024, 4)" in block), names)
    assert names["trajectory"].timestep.observation.shape == (500, 1024, 4)


def test_the_links_of_the_readme_lead_to_files():
    links = re.findall(r"\]\(([^)]+)\)|src=\"([^\"]+)\"", README.read_text())
    assert len(links) > 10
    missing = [one for pair in links if not (README.parent / (one := "".join(pair))).exists()]
    assert not missing


def test_the_readme_is_short():
    assert len(README.read_text().splitlines()) < 200
