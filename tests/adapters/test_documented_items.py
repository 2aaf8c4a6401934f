"""Every item that the reference API documents works as its pages print it, or differs as the guide says."""

import importlib

import pytest

import funcenv
from tests.support import documented_items
from tests.support.documented_items import ITEMS


@pytest.fixture
def registered():
    """Forget the registrations of an item."""
    funcenv.spec("CartPole-v1")  # loads the entry points
    module = importlib.import_module("funcenv.registry")
    specs, before = module._specs, dict(module._specs)
    yield
    specs.clear()
    specs.update(before)


@pytest.mark.parametrize("item", ITEMS, ids=[f"{one.page}: {one.name}" for one in ITEMS])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_documented_item(item, registered):
    item.run()


def test_the_guide_lists_these_items():
    page = documented_items.PAGE.read_text()
    advice = "run python -m tests.support.documented_items"
    assert page == documented_items.page_text(page, documented_items.table()), advice


def test_no_item_is_listed_twice():
    names = [(one.page, one.name) for one in ITEMS]
    assert len(set(names)) == len(names) > 123
