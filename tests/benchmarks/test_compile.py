"""The committed table of what a first step costs, and the equations that it allows."""

import json

import pytest

from tests.support import environments

MAX_GROWTH = 1.1  # of the equations of a step over the table


@pytest.fixture(scope="module")
def table(benchmarks):
    return json.loads(benchmarks.compile.RESULTS.read_text())["rows"]


def test_every_class_of_environments_has_a_row_and_so_have_ids_with_larger_programs(benchmarks, table):
    first_ids = environments.first_of_each_class()
    ours = [type(environments.bare(id)).__module__.startswith("funcenv.envs.") for id in first_ids]
    assert set(table) == {id for id, is_ours in zip(first_ids, ours, strict=True) if is_ours} | {
        *benchmarks.compile.LARGER
    }


@pytest.mark.parametrize("id", [*environments.sampled(environments.first_of_each_class()), "BipedalWalkerHardcore-v3"])
def test_a_step_has_at_most_a_tenth_more_equations_than_the_table_says(table, id):
    assert environments.num_equations(id) <= MAX_GROWTH * table[id]["equations"], "update it by benchmarks/compile.py"


def test_a_step_is_measured_and_written(benchmarks, table, tmp_path):
    cost = benchmarks.compile.measure("CliffWalking-v1")
    assert (
        cost.equations == environments.num_equations("CliffWalking-v1") and cost.hlo_instructions > cost.equations / 10
    )
    page = tmp_path / "page.md"
    page.write_text(f"above\n{benchmarks.compile.START}\nold\n{benchmarks.compile.END}\nbelow\n")
    benchmarks.compile.write_table(page, {"CliffWalking-v1": cost._asdict()})
    text = page.read_text()
    assert text.startswith("above\n") and text.endswith("\nbelow\n") and "old" not in text
    assert f"| CliffWalking-v1 | {cost.equations:,} |" in text
