"""The notebooks as pages of the site, with the outputs of their cells.

mkdocs calls `on_files` while it builds the site (`hooks:` in mkdocs.yml), and `python docs/render_notebooks.py` runs
the notebooks alone. A notebook whose cell raises fails the build, so building the site tests the notebooks. The pages
are kept in `.cache/notebooks/` until a notebook or a source file of the package changes.

With `FUNCENV_DOCS_NOTEBOOKS=source` nothing runs, and the pages have the outputs that the notebooks have in the
repository. `python docs/render_notebooks.py --write` runs the notebooks and stores those: text, and small images.
"""

from __future__ import annotations

import base64
import concurrent.futures
import hashlib
import html
import io
import logging
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
REPOSITORY = os.environ.get("FUNCENV_REPOSITORY_URL", "")  # the setting of mkdocs.yml
TIMEOUT_SECONDS = 300  # time limit of a cell
MAX_LINES, MAX_PIXELS = 40, 560  # bounds of an output in the repository: lines of text, width of an image
LOG = logging.getLogger("mkdocs.hooks")

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


def store_outputs(path: pathlib.Path) -> None:
    """Run a notebook, and store its outputs in its file: the ends of long texts are cut, and images are made small."""
    import nbformat

    notebook, executed = read(path), execute(path)
    for cell, run in zip(notebook.cells, executed.cells, strict=True):
        if cell.cell_type == "code":
            cell.outputs = joined([one for output in run.outputs if (one := small_output(output)) is not None])
    nbformat.write(notebook, path)


def joined(outputs: list[Any]) -> list[Any]:
    """Return outputs in which printed text that follows other printed text is one."""
    merged: list[Any] = []
    for output in outputs:
        if merged and output.output_type == merged[-1].output_type == "stream":
            merged[-1].text = _cut(merged[-1].text + output.text)
        else:
            merged.append(output)
    return merged


def small_output(output: Any) -> Any:
    """Return an output with what a repository displays of it, or None: no warnings, and no pages with scripts."""
    import nbformat

    if output.output_type == "stream":
        return (
            nbformat.v4.new_output("stream", name="stdout", text=_cut(output.text)) if output.name == "stdout" else None
        )
    data = output.get("data", {})
    if "image/png" in data:
        small = {"image/png": small_image(data["image/png"]), "text/plain": "an image"}
        return nbformat.v4.new_output("display_data", small)
    if "srcdoc" in data.get("text/html", ""):
        return nbformat.v4.new_output("display_data", {"text/plain": "a replay with controls: run the cell to see it"})
    if "text/plain" not in data:
        return None
    return nbformat.v4.new_output("display_data", {"text/plain": _cut(data["text/plain"])})


def small_image(data: str) -> str:
    """Return a PNG of at most `MAX_PIXELS` pixels in width and 64 colours, on white."""
    from PIL import Image

    image = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA")
    image.thumbnail((MAX_PIXELS, MAX_PIXELS))
    page = Image.new("RGBA", image.size, "white")
    page.alpha_composite(image)
    content = io.BytesIO()
    page.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(content, "PNG", optimize=True)
    return base64.b64encode(content.getvalue()).decode()


def _cut(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(lines[:MAX_LINES]) + ("...\n" if len(lines) > MAX_LINES else "")


def to_page(notebook: Any, name: str, repository: str = "") -> Page:
    """Convert a notebook to Markdown, with a link to Colab if the repository is on GitHub.

    Args:
        notebook: the notebook.
        name: its file name, without its ending.
        repository: the address of the repository, or an empty string.
    """
    page = Page(name)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            among_pages = re.sub(r"\]\((\w+)\.ipynb\)", r"](\1.md)", cell.source)
            page.parts.append(among_pages.replace("](../docs/", "](../"))
        else:
            page.parts.append(f"```python\n{cell.source}\n```")
            page.parts += [text for output in cell.outputs if (text := _shown(output, page))]
    source = f"notebooks/{name}.ipynb"
    note = f"This page is the notebook `{source}` of the repository, with the outputs of its cells."
    page.parts.insert(1, f"*{note}*{colab_link(repository, source)}")
    return page


def colab_link(repository: str, source: str) -> str:
    """Return a link that opens a file of a repository on GitHub in Colab, or nothing.

    >>> colab_link("https://github.com/me/funcenv/", "notebooks/a.ipynb").splitlines()[-1].partition(")")[0]
    '[Open in Colab](https://colab.research.google.com/github/me/funcenv/blob/main/notebooks/a.ipynb'
    """
    found = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?", repository)
    if found is None:
        return ""
    address = f"https://colab.research.google.com/github/{found[1]}/blob/main/{source}"
    return (
        f'\n\n[Open in Colab]({address}){{ .md-button }} and run `!pip install "funcenv[notebooks]"` in the first cell.'
    )


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
    found = hashlib.sha256(f"{sys.version} {REPOSITORY}".encode())
    sources = (file for folder in ("funcenv", "envs", "adapters") for file in sorted((ROOT / folder).rglob("*.py")))
    for file in (path, pathlib.Path(__file__), *sources):
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def rendered(path: pathlib.Path) -> pathlib.Path:
    """Return the folder with the page of a notebook, which is run if the folder is not there."""
    folder = CACHE / f"{path.stem}-{digest(path)}"
    if not folder.exists():
        LOG.info(f"Running {path.name}")
        page = to_page(execute(path), path.stem, REPOSITORY)
        LOG.info(f"{path.name} has run")
        for outdated in CACHE.glob(f"{path.stem}-*"):
            shutil.rmtree(outdated)
        partial = folder.with_suffix(".partial")
        page.write(partial)
        partial.rename(folder)
    return folder


def unexecuted(path: pathlib.Path) -> pathlib.Path:
    """Return a folder with the page of a notebook that was not run, with the outputs that are stored in it."""
    folder = CACHE / "source"
    to_page(read(path), path.stem, REPOSITORY).write(folder)
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
    if "--write" in sys.argv[1:]:
        for notebook in NOTEBOOKS:
            store_outputs(notebook)
            print(f"{notebook.name}: {notebook.stat().st_size / 1000:.0f} kB", flush=True)
        sys.exit()
    for name, folder in folders().items():
        print(f"{name}: {folder.relative_to(ROOT)}")
