"""The size of the suite, and the verdict on the messages of each file."""

import pytest

from tests.fuzz import cases
from tests.support.rotation import part


@pytest.hookimpl(trylast=True)  # the rotation chooses its part first
def pytest_configure(config):
    is_whole = config.getoption("--exhaustive") == "all" or any("::" in arg for arg in config.args)
    cases.use(None if is_whole else part())


@pytest.fixture(scope="module", autouse=True)
def messages(request):
    """Fail at the end of a file if more than `oracle.MAX_OBSCURE_SHARE` of its refusals have obscure messages."""
    yield
    ledger = getattr(request.module, "LEDGER", None)
    if ledger is not None:
        print(ledger.report())
        assert ledger.is_good, ledger.report()
