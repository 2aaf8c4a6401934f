"""The code on Gymnasium's pages over `funcenv.adapters`: `python .ci/gymnasium_docs.py CHECKOUT`.

CHECKOUT is a folder with Gymnasium's repository. The Python blocks of each page of its introduction and its API run one
after another in one process, with `funcenv.adapters` in place of `gymnasium`, and `funcenv.adapters.gym` in place of
`gym`, in every import; nothing else changes. Blocks that fail are compared with the second table of
`docs/guides/reference_tests.md`; the script ends with status 1 if they differ. Blocks that train for more than a minute
are stopped, and not judged.
"""

from __future__ import annotations

import argparse
import doctest
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from gymnasium_tests import Failure, print_groups, rewrite, table_rows

BEGIN = "<!-- table: python .ci/gymnasium_docs.py -->"
FOLDERS = ("introduction", "api")
BLOCK = re.compile(r"^( *)```(?:python|py)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
RUNNER = """
import json, signal, sys, types

def stop(number, frame):
    raise TimeoutError("the block did not end")

signal.signal(signal.SIGALRM, stop)
page, errors = types.ModuleType("page"), {}
sys.modules["page"] = page
page.__name__ = "page"
for number, code in enumerate(json.load(open("blocks.json")), 1):
    signal.alarm(60)
    try:
        exec(compile(code, f"block {number}", "exec"), vars(page))
    except BaseException as error:
        errors[number] = f"{type(error).__name__}: {error}"
    signal.alarm(0)
    json.dump(errors, open("errors.json", "w"))
"""


def blocks(page: pathlib.Path) -> list[str]:
    """Return the Python blocks of a page as programs."""
    found = []
    for indent, text in BLOCK.findall(page.read_text()):
        lines = [line.removeprefix(indent) for line in text.splitlines()]
        code = "\n".join(lines) + "\n"
        found.append(doctest.script_from_examples(code) if ">>> " in code else code)
    return found


def run_page(page: pathlib.Path, name: str) -> tuple[list[Failure], int]:
    """Run the blocks of a page, and return the failures and the number of blocks."""
    programs = []
    for code in blocks(page):
        try:
            programs.append(rewrite(code))
        except SyntaxError:
            programs.append(code)  # the error appears when the block runs
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "blocks.json").write_text(json.dumps(programs))
        (place / "reference_names.py").write_text(
            "import importlib\n\ndef take(module, name):\n"
            "    found = importlib.import_module(module)\n"
            "    return getattr(found, name) if hasattr(found, name) else importlib.import_module(f'{module}.{name}')\n"
        )
        (place / "runner.py").write_text(RUNNER)
        environment = {"FUNCENV_NO_FAST_PATH": "1", "JAX_PLATFORMS": "cpu", "SDL_VIDEODRIVER": "dummy", **os.environ}
        environment |= {"MPLBACKEND": "agg"}
        command = [sys.executable, "runner.py"]
        subprocess.run(command, cwd=place, env=environment, check=False, capture_output=True)
        errors = json.loads((place / "errors.json").read_text()) if (place / "errors.json").exists() else {}
    return [Failure(f"{name}::{number}", error) for number, error in errors.items()], len(programs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    docs = parser.parse_args().checkout / "docs"
    failures: list[Failure] = []
    num_blocks = 0
    for page in sorted(page for folder in FOLDERS for page in (docs / folder).rglob("*.md")):
        wrong, found = run_page(page, str(page.relative_to(docs)))
        failures, num_blocks = failures + wrong, num_blocks + found
    judged = [failure for failure in failures if not failure.message.startswith("TimeoutError")]
    print(f"{num_blocks - len(failures)} of {num_blocks} blocks ran, {len(failures) - len(judged)} were stopped")
    print_groups(judged, table_rows(BEGIN), [""])


if __name__ == "__main__":
    main()
