"""Every item that the reference API documents works as its pages print it, or differs as the guide says."""

import pytest

from tests.support import documented_items
from tests.support.documented_items import ITEMS


@pytest.mark.parametrize("item", ITEMS, ids=[f"{one.page}: {one.name}" for one in ITEMS])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_documented_item(item, separate_registry):
    item.run()


def test_the_guide_lists_these_items():
    page = documented_items.PAGE.read_text()
    advice = "run python -m tests.support.documented_items"
    assert page == documented_items.page_text(page, documented_items.table()), advice


def test_no_item_is_listed_twice():
    names = [(one.page, one.name) for one in ITEMS]
    assert len(set(names)) == len(names) > 123
