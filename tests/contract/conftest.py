"""Which environments the contract tests visit, all by the registry: see `tests.support.environments`.

- `case`: every environment that differs from the others, in every variant; of heavy classes one, and the others rotate.
- `compiled_case`: one of each light class; the other cases rotate, deep stacks among them. A heavy class has one case.
- `recording`: a recorded run of each class; those of heavy classes rotate.
- `env_id`: every id.
"""

import pytest

from tests.support import environments
from tests.support.recording import record


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = set(metafunc.fixturenames)
    if "case" in names:
        metafunc.parametrize("case", environments.by_weight(environments.cases()))
    if "compiled_case" in names:
        first = [id for id in environments.first_of_each_class() if not environments.is_heavy(id)]
        always = [environments.Case(id, "made") for id in first]
        made = [environments.Case(id, "made") for id in environments.first_of_each_class()]
        cases = [case for case in environments.cases() if case in made or not environments.is_heavy(case.id)]
        metafunc.parametrize("compiled_case", environments.rotating(cases, always))
    if "recording" in names:
        recorded = environments.heavy_rotating(environments.first_of_each_class())
        metafunc.parametrize("recording", recorded, indirect=True)
    if "env_id" in names:
        metafunc.parametrize("env_id", environments.ids())


@pytest.fixture
def recording(request):
    return record(request.param)
