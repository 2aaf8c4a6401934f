"""The table of rows, the command that measures them, and tables that several runs measure."""

import json

import pytest


def test_every_row_has_workers_and_libraries_that_exist_and_a_name_of_its_own(benchmarks):
    workers = {path.stem for path in (benchmarks.harness.HERE / "workers").glob("*.py")} | {"c"}
    for plan in (benchmarks.programs.QUICK, benchmarks.programs.FULL):
        for name, table in benchmarks.rows.TABLES.items():
            rows = list(table.rows(plan))
            assert len({row.name for row in rows}) == len(rows) > 0, name
            for program in (program for row in rows for program in row.programs):
                assert program.worker in workers and json.dumps(dict(program.options))
                assert not program.library or program.library in benchmarks.libraries.REQUIREMENTS


def test_the_command_measures_the_rows_that_were_asked_for(benchmarks, tmp_path, monkeypatch, capsys):
    Program, Row, Table = benchmarks.programs.Program, benchmarks.programs.Row, benchmarks.programs.Table
    started = []

    class Stub:
        """A worker that takes a CPU second for each of its steps."""

        def __init__(self, program):
            self.name, self.steps = program.name, program.options["steps"]
            self.facts = {"steps": self.steps, "prepare_cpu": 1.0, "first_cpu": 2.0, "once_cpu": 0.5}

        def run(self):
            return {"cpu": self.steps * (1 + (self.name == "peer")), "wall": 1.0, "result": None}

        def close(self):
            pass

    def start(program, variables, pythons):
        started.append((program.name, dict(program.options), "JAX_COMPILATION_CACHE_DIR" in variables))
        if program.name == "absent":
            raise benchmarks.libraries.LibraryError("pip install absent")
        return Stub(program)

    def rows(plan):
        for env in ("A-v0", "B-v0"):
            yield Row(tuple(Program(name, "none", {"steps": 4}) for name in ("ours", "peer", "absent")), {"env": env})

    monkeypatch.setattr(Program, "start", start)
    tables = {"turns": Table(rows, "turns"), "starts": Table(rows, "starts", is_start=True)}
    monkeypatch.setattr(benchmarks.run, "TABLES", tables)
    path = tmp_path / "results.json"
    command = ["--only", "B-", "--rounds", "2", "--json", str(path), "--all-cores"]
    benchmarks.run.main(["turns", *command, "--set", "steps=8", "other=1"])
    (row,) = json.loads(path.read_text())["turns"]
    assert row["env"] == "B-v0" and row["peers"]["peer"]["ratio_of_first"] == 2
    assert row["peers"]["absent"] == {"error": "pip install absent"}
    assert started == [(name, {"steps": 8}, False) for name in ("ours", "peer", "absent")]
    assert "| B-v0 | peer | 0.500 | 2,000,000 | 2.00 (2.00 to 2.00) | 1.00 + 2.00 | 2.50 |" in capsys.readouterr().out
    started.clear()
    benchmarks.run.main(["starts", *command, "--programs", "peer", "--update"])
    assert started == 2 * [("ours", {"steps": 4}, True), ("peer", {"steps": 4}, True)]
    results = json.loads(path.read_text())
    assert results["starts"][0]["peers"]["ours"]["compile_cpu"] == 2.5 and results["turns"] == [row]
    with pytest.raises(SystemExit):
        benchmarks.run.main(["no such table"])
    assert "the tables are turns, starts" in capsys.readouterr().err


def test_rows_of_earlier_runs_are_kept_in_order(benchmarks, tmp_path):
    def keep(*rows):
        kept = benchmarks.isolated.keep_rows("table", list(rows), "id", ["a", "b", "c"], tmp_path / "cache")
        return [row["of"] for row in kept]

    assert keep({"id": "c", "of": 1}) == [1]
    assert keep({"id": "a", "of": 2}, {"id": "gone", "of": 3}) == [2, 1]
    assert keep({"id": "c", "of": 4}) == [2, 4] == keep()


def test_a_worker_that_prints_nothing_has_an_error_in_its_row(benchmarks):
    row = benchmarks.isolated.run_isolated("none", "none.py", pythons={"none": "/usr/bin/false"})
    assert row.pop("date") and row == {"error": "no message"}


def test_the_tables_hold_results_and_errors(benchmarks):
    row = {"id": "x/Y", "version": "x 1", "trajectories": "equal", "findings": "", "ratio": 1.0, "date": "today"}
    table = benchmarks.interop.table([row, {"id": "x/Z", "error": "broken", "date": "today"}])
    assert "| `x/Y` | x 1 | equal | nothing | 1.00x | today |" in table and "| `x/Z` | | | broken | | today |" in table
    trained = {"name": "X", "version": "x 1", "line": "make()", "steps": 1000, "return": 9.5, "cpu": 1, "date": "today"}
    assert "| X | x 1 | `make()` | 1,000 | 9.5 | 1 | today |" in benchmarks.trainers.table([trained])
