"""The rotation of exhaustive tests."""

from types import SimpleNamespace

import pytest

from tests.support import rotation


def test_the_tests_of_a_group_are_in_the_same_part(monkeypatch):
    def chosen(part, mark):
        monkeypatch.setenv(rotation.PART, str(part))
        items = [SimpleNamespace(nodeid=f"tests/test_file.py::test_{i}[Env-v0]") for i in range(12)]
        return [rotation._is_chosen(item, mark) for item in items]

    together, apart = pytest.mark.exhaustive(group="Env-v0").mark, pytest.mark.exhaustive.mark
    parts = range(rotation.NUM_PARTS)
    assert sorted(sum(chosen(part, together)) for part in parts) == [0] * (rotation.NUM_PARTS - 1) + [12]
    assert sum(sum(chosen(part, apart)) for part in parts) == 12
    assert max(sum(chosen(part, apart)) for part in parts) < 12
