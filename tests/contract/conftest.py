"""Which environments the contract tests visit, all by the registry: see `tests.support.environments`.

- `case`: one id of each light class; the other environments and their variants rotate, and so do heavy classes.
- `compiled_case`: one id of each family; the other cases rotate, deep stacks among them. A heavy class has one case.
- `recording`: a recorded run of one id of each family; those of all other classes rotate.
- `env_id`: every id.
- `goal_env_id`: every id of an environment with goals.
"""

import pytest

import funcenv
from funcenv.goals import GoalEnv
from tests.support import environments
from tests.support.recording import record


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = set(metafunc.fixturenames)
    if "case" in names:
        metafunc.parametrize("case", environments.as_made(environments.cases()))
    if "compiled_case" in names:
        always = [environments.Case(id, "made") for id in environments.samples()]
        made = [environments.Case(id, "made") for id in environments.first_of_each_class()]
        cases = [case for case in environments.cases() if case in made or not environments.is_heavy(case.id)]
        metafunc.parametrize("compiled_case", environments.rotating(cases, always))
    if "recording" in names:
        recorded = environments.sampled(environments.first_of_each_class())
        metafunc.parametrize("recording", recorded, indirect=True)
    if "goal_env_id" in names:
        classes = {id: funcenv.spec(id).load() for id in environments.ids()}
        goal_ids = [id for id, build in classes.items() if isinstance(build, type) and issubclass(build, GoalEnv)]
        metafunc.parametrize("goal_env_id", goal_ids)
    if "env_id" in names:
        metafunc.parametrize("env_id", environments.ids())


@pytest.fixture
def recording(request):
    return record(request.param)
