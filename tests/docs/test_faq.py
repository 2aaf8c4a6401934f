"""Every error on the page of common errors is the one that its code raises."""

import doctest
import os
import re

import pytest

from tests.docs.conftest import ROOT, load

PAGE = ROOT / "docs" / "faq.md"
CASES = [
    tuple(block.text.rstrip().split("\n", 1))
    for block in load(ROOT / "docs" / "run_page.py").blocks(PAGE)
    if block.language == "text"
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(scope="module")
def names():
    """Return what the page defines before and between its errors."""
    import gymnasium

    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    defined = {"gymnasium": gymnasium, "__name__": "page"}
    for block in blocks:
        exec(block, defined)
    exec("import funcenv.adapters.gymnasium", defined)
    return defined


def shown(error):
    """Return an error as Python prints it, without what JAX adds about its own frames."""
    notes = [note for note in getattr(error, "__notes__", []) if not note.startswith("---")]
    return "\n".join([f"{type(error).__name__}: {error}", *notes])


def test_there_are_twenty():
    assert len(CASES) >= 20


@pytest.mark.parametrize(("code", "message"), CASES, ids=[code.removeprefix(">>> ")[:60] for code, _ in CASES])
def test_an_error_is_the_one_on_the_page(code, message, names, monkeypatch):
    for variable in "DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER":
        monkeypatch.delenv(variable, raising=False)
    assert code.startswith(">>> ") and os.linesep not in code
    with pytest.raises(Exception) as caught:  # noqa: B017, PT011  (the page says which)
        exec(code.removeprefix(">>> "), names)
    assert doctest.OutputChecker().check_output(message + "\n", shown(caught.value) + "\n", FLAGS), shown(caught.value)
