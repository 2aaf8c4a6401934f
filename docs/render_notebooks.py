"""The notebooks as pages of the site, with the outputs of their cells.

mkdocs calls `on_files` while it builds the site (`hooks:` in mkdocs.yml), and `python docs/render_notebooks.py` runs
the notebooks alone. A notebook whose cell raises fails the build, so building the site tests the notebooks. The pages
are kept in `.cache/notebooks/` until a notebook or a source file of the package changes.

With `FUNCENV_DOCS_NOTEBOOKS=source` nothing runs, and the pages have no outputs.
"""

from __future__ import annotations

import base64
import concurrent.futures
import hashlib
import html
import os
import pathlib
import re
import shutil
import sys
import tempfile
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CACHE = ROOT / ".cache" / "notebooks"
TIMEOUT_SECONDS = 300  # time limit of a cell

# Runs before the first cell: sharp plots without a background, in colours that can be read on white and on black.
SETUP = """
import matplotlib
matplotlib.rcParams.update({
    name: "#7f858d" for name in ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
})
matplotlib.rcParams.update({"figure.facecolor": "none", "axes.facecolor": "none"})
import matplotlib_inline.backend_inline
matplotlib_inline.backend_inline.set_matplotlib_formats("retina", bbox_inches=None)
"""


class Page:
    """A notebook as Markdown, and the files that it shows."""

    def __init__(self, name: str):
        self.name = name
        self.parts: list[str] = []
        self.files: dict[str, bytes] = {}

    def add_file(self, content: bytes, suffix: str) -> str:
        """Keep a file beside the page, and return its path relative to the page."""
        path = f"{self.name}_files/{len(self.files)}{suffix}"
        self.files[path] = content
        return path

    def write(self, folder: pathlib.Path) -> None:
        """Write the page and its files."""
        for path, content in {**self.files, f"{self.name}.md": "\n\n".join(self.parts).encode()}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)


def read(path: pathlib.Path) -> Any:
    """Return a notebook as a tree of dictionaries."""
    import nbformat

    return nbformat.read(path, as_version=4)


def execute(path: pathlib.Path) -> Any:
    """Run a notebook in an empty folder, and return it with its outputs."""
    import nbclient
    import nbformat

    notebook = read(path)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(SETUP))
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        client = nbclient.NotebookClient(
            notebook,
            timeout=TIMEOUT_SECONDS,
            resources={"metadata": {"path": folder}},
            extra_arguments=["--log-level=40"],
        )
        client.execute(env={**os.environ, **environment})
    del notebook.cells[0]
    return notebook


def to_page(notebook: Any, name: str) -> Page:
    """Convert a notebook to Markdown."""
    page = Page(name)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            page.parts.append(re.sub(r"\]\((\w+)\.ipynb\)", r"](\1.md)", cell.source))
        else:
            page.parts.append(f"```python\n{cell.source}\n```")
            page.parts += [text for output in cell.outputs if (text := _shown(output, page))]
    source = f"notebooks/{name}.ipynb"
    note = f"This page is the notebook `{source}` of the repository, with the outputs of its cells."
    page.parts.insert(1, f"*{note}*")
    return page


def _shown(output: Any, page: Page) -> str:
    if output.output_type == "stream":
        return _as_text(output.text) if output.name == "stdout" else ""
    data = output.get("data", {})
    if "text/html" in data:
        frame = re.search(r"<iframe[^>]*srcdoc=\"([^\"]*)\"", data["text/html"], flags=re.DOTALL)
        if frame is None:
            return f'<div class="output">{data["text/html"]}</div>'
        path = page.add_file(html.unescape(frame[1]).encode(), ".html")
        return f'<iframe class="replay" src="{path}" title="a replay with controls" loading="lazy"></iframe>'
    if "image/png" in data:
        path = page.add_file(base64.b64decode(data["image/png"]), ".png")
        width = output.get("metadata", {}).get("image/png", {}).get("width")
        size = f" width={width}" if width else ""
        return f"![Output of the cell above]({path}){{ .output{size} }}"
    return _as_text(data.get("text/plain", ""))


def _as_text(text: str) -> str:
    return f"``` {{ .text .output }}\n{text.rstrip()}\n```" if text.strip() else ""


def digest(path: pathlib.Path) -> str:
    """Return a hash of everything that the outputs of a notebook depend on, except installed packages."""
    found = hashlib.sha256(sys.version.encode())
    sources = (file for folder in ("funcenv", "envs", "adapters") for file in sorted((ROOT / folder).rglob("*.py")))
    for file in (path, pathlib.Path(__file__), *sources):
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def rendered(path: pathlib.Path) -> pathlib.Path:
    """Return the folder with the page of a notebook, which is run if the folder is not there."""
    folder = CACHE / f"{path.stem}-{digest(path)}"
    if not folder.exists():
        page = to_page(execute(path), path.stem)
        for outdated in CACHE.glob(f"{path.stem}-*"):
            shutil.rmtree(outdated)
        partial = folder.with_suffix(".partial")
        page.write(partial)
        partial.rename(folder)
    return folder


def unexecuted(path: pathlib.Path) -> pathlib.Path:
    """Return a folder with the page of a notebook that was not run."""
    folder = CACHE / "source"
    to_page(read(path), path.stem).write(folder)
    return folder


def folders() -> dict[str, pathlib.Path]:
    """Return the folder of each notebook's page, by the name of the notebook."""
    render = unexecuted if os.environ.get("FUNCENV_DOCS_NOTEBOOKS") == "source" else rendered
    CACHE.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        return dict(zip([path.stem for path in NOTEBOOKS], threads.map(render, NOTEBOOKS), strict=True))


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site (called by mkdocs)."""
    from mkdocs.structure.files import File

    for name, folder in folders().items():
        for path in (folder / f"{name}.md", *sorted((folder / f"{name}_files").glob("*"))):
            uri = f"notebooks/{path.relative_to(folder)}"
            files.append(
                File.generated(config, uri, content=path.read_bytes() if path.suffix != ".md" else path.read_text())
            )
    return files


if __name__ == "__main__":
    for name, folder in folders().items():
        print(f"{name}: {folder.relative_to(ROOT)}")
