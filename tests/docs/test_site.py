"""The site builds without a warning, and without anything from elsewhere."""

import html
import os
import pathlib
import re
import subprocess
import sys

import pytest

from funcenv.cli import COMMANDS

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "FUNCENV_DOCS_NOTEBOOKS": "source"}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


@pytest.mark.dear
def test_nothing_is_fetched_when_a_page_is_read(site):
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert not re.search(r"<(script|img|iframe)[^>]+src=\"(https?:)?//", text), page
        assert not re.search(r"<link[^>]+href=\"(https?:)?//", text), page
        assert "font-family" not in text and "fonts.g" not in text, page


def test_every_public_name_is_rendered(site, api_pages):
    for stem, paths in api_pages.items():
        built = (site / "api" / f"{stem}.html").read_text()
        for path in paths:
            assert f'id="{path}"' in built, f"{path} is not rendered: it has no docstring"


def test_scripts_of_the_documentation_are_no_part_of_the_site(site):
    assert not list(site.rglob("*.py"))


def test_every_page_is_in_it(site):
    excluded = re.findall(r"^  /(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE)  # exclude_docs
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs")
        assert str(name) in excluded or (site / name.with_suffix(".html")).exists(), f"{page} is not built"
    for name in "cartpole", "taxi":
        assert "Parameters" in (site / "environments" / f"{name}.html").read_text()


def test_every_command_and_notebook_has_its_page(site):
    commands = (site / "cli.html").read_text()
    for name in COMMANDS:
        assert f'id="funcenv-{name}"' in commands
    assert "--total-timesteps" in commands
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"notebooks/{notebook.name}" in (site / "notebooks" / f"{notebook.stem}.html").read_text()
    for name in "changelog", "contributing":
        assert (site / f"{name}.html").exists()
    assert not (site / "package.html").exists()


def test_no_group_of_guides_has_more_than_eight():
    listed = (ROOT / "mkdocs.yml").read_text().partition("  - Guides:")[2].partition("\n  - ")[0]
    groups = re.split(r"^      - .*:$", listed, flags=re.MULTILINE)[1:]
    assert len(groups) >= 5 and all(1 <= group.count(".md") <= 8 for group in groups)
    assert sum(group.count(".md") for group in groups) == listed.count(".md")


OVERFLOW = """
const scrolled = "pre, table, .equations, .md-typeset__scrollwrap, .md-typeset__table, .highlight";
const inside = element => element.closest(scrolled);
return [...document.querySelectorAll("article *")]
    .filter(one => one.getBoundingClientRect().right > innerWidth + 1 && !inside(one))
    .map(one => one.outerHTML.slice(0, 120));
"""
PHONE = ["index", "tutorial", "installation", "gallery", "cli", "architecture", "environments/taxi", "benchmarks_suite"]
PHONE += ["why", "zoo", "comparison", "environments/ant", "environments/acrobot"]
WIDE = [*PHONE, "environments/index", "guides/from_gymnasium", "guides/training", "benchmarks", "benchmarks_games"]
TABLES = """
return [...document.querySelectorAll(".md-typeset__scrollwrap")]
    .filter(one => one.scrollWidth > one.clientWidth + 1)
    .map(one => one.scrollWidth + " > " + one.clientWidth + ": " + one.innerText.slice(0, 60));
"""
MISSING = """
const images = [...document.querySelectorAll("article img, header img")];
images.forEach(image => image.loading = "eager");
return Promise.all(images.map(image => image.decode().then(() => null, () => image.src)))
    .then(found => found.filter(one => one));
"""


def test_no_page_is_wider_than_a_phone(site, browser):
    browser.look(width=390, height=800, mobile=True)
    for name in PHONE:
        browser.open(site / f"{name}.html")
        assert browser.run("return document.documentElement.scrollWidth") == 390, name
        assert browser.run(OVERFLOW) == [], name


def test_every_table_and_image_is_on_the_page(site, browser):
    browser.look(width=1280, height=800)
    for name in WIDE:
        browser.open(site / f"{name}.html")
        assert browser.run(TABLES) == [], name
        assert browser.run(MISSING) == [], name


def test_the_front_page_says_all_on_one_screen(site, browser):
    browser.look(width=1280, height=800)
    browser.open(site / "index.html")
    bottom = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom"
    for selector in (".claim", ".front img", ".front figure:last-of-type svg", ".readers"):
        assert browser.run(bottom, selector) <= 800, selector
    assert browser.run("return document.querySelectorAll('.readers pre').length") == 3
    assert browser.run("return document.querySelectorAll('figure.chart svg').length") == 2


def test_links_lead_to_files_and_anchors_of_the_site(site):
    pages = {page: page.read_text() for page in site.rglob("*.html") if page.name != "404.html"}  # has absolute links
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    for page, text in pages.items():
        for link in re.findall(r'(?:href|src)="([^":]+)"', text):
            path, _, anchor = html.unescape(link).partition("#")
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{page.relative_to(site)}: {link}"
            if anchor and target.suffix == ".html" and not anchor.startswith("__"):
                assert anchor in anchors[target], f"{page.relative_to(site)}: {link}"


def test_the_colours_are_those_of_the_system(site, browser):
    lightness = []
    for dark in False, True:
        browser.look(width=1280, height=800, dark=dark)
        browser.open(site / "index.html")
        background = browser.run("return getComputedStyle(document.body).backgroundColor")
        lightness.append(max(map(int, re.findall(r"\d+", background)[:3])))
    assert lightness[0] > 240 and lightness[1] < 60
