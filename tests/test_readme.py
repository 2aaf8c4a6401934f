"""The README's Python runs, from top to bottom."""

import pathlib
import re

README = pathlib.Path(__file__).parent.parent / "README.md"


def test_the_code_of_the_readme_runs():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(blocks) >= 3
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert names["trajectory"].timestep.observation.shape == (200, 64, 4)


def test_the_readme_is_short():
    assert len(README.read_text().splitlines()) < 200
