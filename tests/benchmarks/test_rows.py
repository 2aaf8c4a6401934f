"""Rows of tables that several runs measure."""

import argparse


def test_rows_of_earlier_runs_are_kept_in_order(benchmarks, tmp_path, monkeypatch):
    monkeypatch.setattr(benchmarks.rows, "FOLDER", tmp_path / "cache")

    def keep(*rows):
        return [row["of"] for row in benchmarks.rows.keep_rows("table", list(rows), "id", ["a", "b", "c"])]

    assert keep({"id": "c", "of": 1}) == [1]
    assert keep({"id": "a", "of": 2}, {"id": "gone", "of": 3}) == [2, 1]
    assert keep({"id": "c", "of": 4}) == [2, 4] == keep()


def test_interpreters_are_named_by_flags(benchmarks):
    parser = argparse.ArgumentParser()
    benchmarks.harness.add_pythons(parser)
    given = parser.parse_args(["--python", "brax=/a/python", "--python", "pgx=/b"])
    assert benchmarks.harness.pythons(given) == {"brax": "/a/python", "pgx": "/b"}
    assert benchmarks.harness.run_peer("none", "none.py", python="/usr/bin/false") == {"error": "no message"}


def test_the_tables_hold_results_and_errors(benchmarks):
    row = {"id": "x/Y", "version": "x 1", "trajectories": "equal", "findings": "", "ratio": 1.0, "date": "today"}
    table = benchmarks.interop.table([row, {"id": "x/Z", "error": "broken", "date": "today"}])
    assert "| `x/Y` | x 1 | equal | nothing | 1.00x | today |" in table and "| `x/Z` | | | broken | | today |" in table
    trained = {"name": "X", "version": "x 1", "line": "make()", "steps": 1000, "return": 9.5, "cpu": 1, "date": "today"}
    assert "| X | x 1 | `make()` | 1,000 | 9.5 | 1 | today |" in benchmarks.trainers.table([trained])
