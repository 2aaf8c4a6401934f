"""The notebooks as they are in the repository; `make docs` runs them."""

import ast
import importlib
import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# Packages that `pip install "funcenv[notebooks]"` installs, and the standard library.
INSTALLED = {"flax", "gymnasium", "jax", "jaxtyping", "matplotlib", "mujoco", "numpy", "optax"}
OTHERS = INSTALLED | {"dataclasses", "pathlib", "typing"}


def cells(notebook, kind):
    return [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == kind]


def tree(notebook):
    """Return the syntax tree of all code of a notebook."""
    return ast.parse("\n\n".join("".join(cell["source"]) for cell in cells(notebook, "code")))


def imports(notebook):
    """Yield every imported path: `("funcenv.envs", "CartPole")`, or `("jax", None)` for `import jax`."""
    for node in ast.walk(tree(notebook)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module, alias.name) for alias in node.names)


def is_public(module, name, documented):
    """Return whether an import names a documented module, or a name that is documented or in its `__all__`."""
    path = module if name is None else f"{module}.{name}"
    if path in documented or any(one.startswith(f"{path}.") for one in documented):
        return True
    return name in getattr(importlib.import_module(module), "__all__", ())


def test_they_are_numbered():
    assert [int(notebook.name[:2]) for notebook in NOTEBOOKS] == list(range(1, 11))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stored_and_small(notebook):
    remedy = "run docs/render_notebooks.py --write"
    assert notebook.stat().st_size < 250_000, remedy
    outputs = [output for cell in cells(notebook, "code") for output in cell["outputs"]]
    assert len(outputs) >= 3 and all(cell["execution_count"] is None for cell in cells(notebook, "code")), remedy
    assert not any(output["output_type"] == "error" or "/tmp/" in json.dumps(output) for output in outputs), remedy
    metadata = json.loads(notebook.read_text())["metadata"]
    assert metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }, "an editor wrote its own settings into the notebook"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_only_public_names_are_imported(notebook, documented):
    for module, name in imports(notebook):
        package = module.partition(".")[0]
        assert not any(part.startswith("_") for part in f"{module}.{name}".split("."))
        assert package in OTHERS or package == "funcenv", f"{module} is not installed with funcenv[notebooks]"
        assert package != "funcenv" or is_public(module, name, documented), f"{module}.{name} is not in docs/api"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_private_attribute_is_used(notebook):
    private = [
        node.attr for node in ast.walk(tree(notebook)) if isinstance(node, ast.Attribute) and node.attr[0] == "_"
    ]
    assert not private


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_resolve(notebook):
    text = "\n".join("".join(cell["source"]) for cell in cells(notebook, "markdown"))
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links, "the last cell links to the next notebook"
    for link in links:
        assert (notebook.parent / link).is_file(), link


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_reads_like_an_article(notebook):
    every = json.loads(notebook.read_text())["cells"]
    assert "".join(every[0]["source"]).startswith("# ")
    assert len(cells(notebook, "markdown")) >= 0.7 * len(cells(notebook, "code"))
    assert len({cell["id"] for cell in every}) == len(every)


def test_what_is_private_is_found(documented):
    assert is_public("funcenv.envs", "CartPole", documented) and is_public("funcenv", "adapters", documented)
    assert is_public("funcenv.train", "ppo", documented) and is_public("funcenv.scene", "mosaic", documented)
    assert not is_public("funcenv._compile.rollout", None, documented)
    assert is_public("funcenv.checks", "require_size", documented)
    assert not is_public("funcenv.checks", "explain_calls", documented)
    assert not is_public("funcenv._compile.rollout.play", None, documented)
