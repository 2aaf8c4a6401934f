"""The pictures of the tutorial are those that its code writes."""

import pytest

from tests.docs.conftest import ROOT, load


@pytest.fixture(scope="module")
def make_tutorial():
    return load(ROOT / "docs" / "make_tutorial.py")


def test_its_code_writes_every_picture(make_tutorial, docs, run_page):
    code = "".join(block.text for block in run_page.blocks(docs / "tutorial.md") if block.language == "python")
    pictures = make_tutorial.pictures()
    assert len(pictures) == 3
    for name in pictures:
        assert f'"{name}"' in code
        assert (docs / "assets" / "tutorial" / name).exists(), "run docs/make_tutorial.py"
