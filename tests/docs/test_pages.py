"""Every page does what it shows: its code runs from top to bottom, and its tables name calls that are run."""

import contextlib
import os
import pathlib
import re
import subprocess
import sys

import jax
import matplotlib
import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
GUIDES = sorted((ROOT / "docs" / "guides").glob("from_*.md"))
USES_KEYS_ONCE = {"jax_for_rl", "from_gymnax", "from_brax", "from_gymnasium"}
LANGUAGES = {"python", "pycon", "sh", "text", "toml"}


def name(page):
    return str(page.relative_to(ROOT))


DEAR = ("<!-- shell: run -->", "<!-- environment: ", "total_timesteps")


def dear(page):
    """Mark a page that trains an agent, or runs in a process of its own."""
    text = page.read_text()
    marks = [pytest.mark.dear] if any(word in text for word in DEAR) else []
    return pytest.param(page, marks=marks, id=name(page))


@pytest.mark.parametrize("page", [dear(page) for page in PAGES])
def test_the_code_of_a_page_runs(page, run_page, registries, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")  # gymnasium.utils.play, which other tests import, chooses a backend with windows
    environment = run_page.markers(page).get("environment")
    if environment is None:
        run_page.run_page(page, using_keys_once if page.stem in USES_KEYS_ONCE else nothing_around)
    else:  # it must be set before JAX starts
        command = [sys.executable, "-W", "error", str(ROOT / "docs" / "run_page.py"), str(page)]
        strict = {"JAX_NUMPY_DTYPE_PROMOTION": "strict", "JAX_NUMPY_RANK_PROMOTION": "raise"}
        variables = {**os.environ, **strict, **dict([environment.split("=", 1)])}
        result = subprocess.run(command, env=variables, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr


def nothing_around(block):
    return contextlib.nullcontext()


def using_keys_once(block):
    """Let JAX refuse a key that is used twice; it takes those of mapped scans for reused."""
    return jax.debug_key_reuse(not ("jax.vmap(" in block.text and "scan" in block.text))


def test_the_guide_on_environments_names_everything_that_playing_reads(run_page):
    page = ROOT / "docs" / "guides" / "writing_environments.md"
    rows = re.findall(r"^\| `(\w+)", page.read_text().partition("## Draw it and play it")[2], re.MULTILINE)
    assert rows == ["scene", "action_names", "get_keys_to_action", "render_fps"]
    code = "".join(block.text for block in run_page.blocks(page) if "class DrawnBoat" in block.text)
    assert all(row in code for row in rows)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_has_a_language_that_says_whether_it_runs(page, run_page):
    assert page.read_text().count("\n```") == 2 * len(run_page.blocks(page))
    assert {block.language for block in run_page.blocks(page)} <= LANGUAGES


@pytest.mark.parametrize("page", [page for page in GUIDES if "\n| |" in page.read_text()], ids=name)
def test_every_call_of_a_migration_table_is_run_below_it(page, run_page):
    code = squeezed("".join(block.text for block in run_page.blocks(page) if block.language == "python"))
    rows = [line.strip("|").split("|") for line in page.read_text().splitlines() if line.startswith("|")]
    assert any("funcenv" in cell for cell in rows[0])
    ours = [i for i, title in enumerate(rows[0]) if "funcenv" in title]
    calls = [call for row in rows[2:] for i in ours for call in re.findall(r"`([^`]+)`", row[i])]
    assert len(calls) > 15
    missing = [call for call in calls if squeezed(call) not in code and not call.isidentifier()]
    assert not missing


def squeezed(text):
    return re.sub(r"\s", "", text)


def test_a_page_that_is_wrong_fails(run_page, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```pycon\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(run_page.PageError, match="Expected:\n    3\nGot:\n    2"):
        run_page.run_page(page)
    page.write_text("```sh\nfalse\n```\n")
    with pytest.raises(run_page.PageError, match="add <!-- shell: run -->"):
        run_page.run_page(page)
    page.write_text("<!-- shell: run -->\n```sh\necho so; false\n```\n")
    with pytest.raises(run_page.PageError, match="exits with 1:\nso"):
        run_page.run_page(page)
    page.write_text("\n\n```python\nx = 1\nassert x == 2\n```\n")
    with pytest.raises(AssertionError) as caught:
        run_page.run_page(page)
    assert caught.traceback[-1].lineno + 1 == 5  # the line of the page


def test_blocks_share_names(run_page, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n```pycon\n>>> y = x + 1\n>>> y\n2\n```\n```python\nassert y == 2\n```\n")
    assert run_page.run_page(page)["y"] == 2
