"""The architecture page: its diagram has every layer, and the files and names that it mentions exist."""

import importlib
import re

import pytest


@pytest.fixture(scope="module")
def text(docs):
    return (docs / "architecture.md").read_text()


@pytest.mark.dear
def test_the_picture_has_every_module_of_every_layer(architecture):
    diagram = architecture.diagram()
    for layer in architecture.load_layers():
        assert layer["about"] in diagram
        for module in layer["modules"]:
            assert importlib.import_module(module).__doc__, f"{module} needs a docstring for the map of the modules"
            assert f"<code>{module.removeprefix('funcenv.')}</code>" in diagram
            assert f"| `{module}` | " in architecture.module_table()
    assert diagram.index("Composition root") < diagram.index("Adapters") < diagram.index("Ground")  # highest first


def test_every_file_exists(text, docs):
    paths = re.findall(r"`((?:funcenv|envs|adapters|benchmarks|tests|docs)/[\w./]*)`", text)
    assert len(paths) > 15
    missing = [path for path in paths if not (docs.parent / path).exists()]
    assert not missing


def test_every_function_is_defined_in_the_file_beside_it(text, docs):
    rows = re.findall(r"^\| \d+ \| `([\w/]+\.py)` \| .*?`(?:(\w+)\.)?(\w+)`", text, flags=re.MULTILINE)
    assert len(rows) > 10
    for path, class_name, function in rows:
        source = (docs.parent / path).read_text()
        assert re.search(rf"^ *(def|class) {function}\b", source, flags=re.MULTILINE), f"{path} lacks {function}"
        assert not class_name or f"class {class_name}" in source, f"{path} does not define {class_name}"
