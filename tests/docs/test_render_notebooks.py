"""The notebooks as pages: what their cells display, and a cell that raises."""

import base64
import io

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from PIL import Image

from tests.docs.conftest import ROOT, load

PIXEL = base64.b64encode(b"\x89PNG").decode()


@pytest.fixture(scope="module")
def render():
    return load(ROOT / "docs" / "render_notebooks.py")


def notebook(source, *outputs):
    cells = [
        nbformat.v4.new_markdown_cell("# Title"),
        nbformat.v4.new_markdown_cell("See [the next](02_next.ipynb), and the [guide](../docs/guides/goals.md)."),
        nbformat.v4.new_code_cell(source, outputs=list(outputs)),
    ]
    return nbformat.v4.new_notebook(cells=cells)


def test_text_images_and_replays_are_shown(render):
    replay = '<iframe srcdoc="&lt;p&gt;replay&lt;/p&gt;" width="5"></iframe>'
    image = nbformat.v4.new_output("display_data", {"image/png": PIXEL, "text/plain": "<Figure>"})
    image.metadata = {"image/png": {"width": 300}}
    page = render.to_page(
        notebook(
            "f()",
            nbformat.v4.new_output("stream", name="stdout", text="printed\n"),
            nbformat.v4.new_output("stream", name="stderr", text="a warning\n"),
            image,
            nbformat.v4.new_output("execute_result", {"text/html": replay, "text/plain": "Replay"}),
        ),
        "01_first",
    )
    text = "\n\n".join(page.parts)
    assert "[the next](02_next.md)" in text and "`notebooks/01_first.ipynb`" in text
    assert "```python\nf()\n```" in text and "``` { .text .output }\nprinted\n```" in text
    assert "warning" not in text and "<Figure>" not in text
    assert "](01_first_files/0.png){ .output width=300 }" in text
    assert page.files == {"01_first_files/0.png": b"\x89PNG", "01_first_files/1.html": b"<p>replay</p>"}
    assert 'src="01_first_files/1.html"' in text


def test_a_cell_that_raises_fails(render, tmp_path):
    nbformat.write(notebook("1 / 0"), tmp_path / "bad.ipynb")
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        render.execute(tmp_path / "bad.ipynb")


def test_a_page_depends_on_the_notebook_and_on_the_package(render, tmp_path, monkeypatch):
    first, second = tmp_path / "1.ipynb", tmp_path / "2.ipynb"
    nbformat.write(notebook("1"), first)
    nbformat.write(notebook("2"), second)
    assert render.digest(first) == render.digest(first) != render.digest(second)
    before = render.digest(first)
    (tmp_path / "funcenv").mkdir()
    (tmp_path / "funcenv" / "changed.py").write_text("x = 1")
    monkeypatch.setattr(render, "ROOT", tmp_path)
    assert render.digest(first) != before


def test_stored_outputs_are_small_and_without_scripts(render):
    content = io.BytesIO()
    Image.effect_noise((2000, 500), 90).save(content, "PNG")
    image = nbformat.v4.new_output("display_data", {"image/png": base64.b64encode(content.getvalue()).decode()})
    stored = Image.open(io.BytesIO(base64.b64decode(render.small_output(image)["data"]["image/png"])))
    assert stored.size == (560, 140)
    replay = nbformat.v4.new_output("display_data", {"text/html": '<iframe srcdoc="page"></iframe>'})
    assert "text/html" not in render.small_output(replay)["data"]
    long = nbformat.v4.new_output("stream", name="stdout", text="line\n" * 1000)
    assert render.small_output(long).text.count("\n") == render.MAX_LINES + 1
    words = [nbformat.v4.new_output("stream", name="stdout", text=f"{number}\n") for number in range(3)]
    assert [output.text for output in render.joined([*words, image])[:-1]] == ["0\n1\n2\n"]
    assert render.small_output(nbformat.v4.new_output("stream", name="stderr", text="a warning")) is None


def test_a_page_links_to_colab_where_the_repository_is_known(render):
    text = "\n\n".join(render.to_page(notebook("1"), "01_first", "https://github.com/me/funcenv").parts)
    assert "colab.research.google.com/github/me/funcenv/blob/main/notebooks/01_first.ipynb" in text
    assert "colab" not in "\n\n".join(render.to_page(notebook("1"), "01_first").parts)
