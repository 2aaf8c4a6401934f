"""Checks a program with pyright, as an editor does: `python -m tests.support.pyright PROGRAM [INTERPRETER]`.

Lines with the comment `# planted` hold mistakes that must be found, and no other line may have one. Comments that
ignore errors are for mypy, and pyright reads none of them.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SETTINGS = {"typeCheckingMode": "standard", "enableTypeIgnoreComments": False}


def mistakes(program, python=sys.executable):
    """Return what pyright says by line, outside of the tree, with the packages of an interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(program, folder)
        (pathlib.Path(folder) / "pyrightconfig.json").write_text(json.dumps(SETTINGS))
        command = [sys.executable, "-m", "pyright", "--pythonpath", str(python), "--outputjson", copy]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        raise RuntimeError(f"pyright failed: {done.stdout}{done.stderr}")
    found = json.loads(done.stdout)["generalDiagnostics"]
    return {one["range"]["start"]["line"] + 1: one["message"] for one in found}


def planted(program):
    """Return the numbers of the lines that hold a mistake."""
    lines = pathlib.Path(program).read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if "# planted" in line}


if __name__ == "__main__":
    found, expected = mistakes(*sys.argv[1:]), planted(sys.argv[1])
    wrong = [f"line {number}: {message}" for number, message in found.items() if number not in expected]
    wrong += [f"line {number}: pyright finds no mistake" for number in sorted(expected - set(found))]
    sys.exit("\n".join(wrong) or None)
