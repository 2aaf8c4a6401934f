"""The guide on goals has the figures of the committed runs."""

import json
import pathlib
import runpy

import pytest

ROOT = pathlib.Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("file", sorted((DOCS / "assets" / "goals").glob("*.json")), ids=lambda file: file.stem)
def test_the_guide_has_the_figures_of_the_runs(file):
    table = runpy.run_path(str(ROOT / "benchmarks" / "studies" / "goals.py"))["table"]
    page = (DOCS / "guides" / "goals.md").read_text()
    results = json.loads(file.read_text())
    lines = table(results).splitlines()
    assert len(lines) == sum(map(len, results.values()))
    for line in lines:
        _, task, hindsight, *figures, _ = (cell.strip() for cell in line.split("|"))
        assert f"| {hindsight} | {' | '.join(figures)} |" in page, task
