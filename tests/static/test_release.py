"""What a release needs: one version everywhere, and workflows whose every line can run."""

import importlib.util
import re
import subprocess
import tomllib

import pytest
import yaml

import funcenv
from tests.support.sources import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SPEC = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
release = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(release)


def lines():
    """Return the shell lines of all workflows."""
    jobs = [job for path in WORKFLOWS for job in yaml.safe_load(path.read_text())["jobs"].values()]
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def test_the_version_is_the_same_everywhere():
    problems = release.problems_of(funcenv.__version__)
    assert [one for one in problems if "CHANGELOG" not in one] == []  # which is unreleased until its version is


@pytest.mark.parametrize("line", lines())
def test_every_line_of_a_workflow_is_shell_and_names_what_exists(line):
    subprocess.run(["bash", "-n", "-c", line], check=True)
    for name in re.findall(r"(?<![\w/])(?:\.ci|tests)/[\w./]+", line):
        assert (ROOT / name).exists(), f"{line} names {name}"
    for extra in re.findall(r"\.\[(\w+)\]", line):
        assert extra in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_a_version_without_a_section_in_the_changelog_is_not_ready():
    assert any("## [99.0.0]" in one for one in release.problems_of("99.0.0"))
    assert len(release.problems_of("99.0.0")) == 4


def test_addresses_are_entered_once():
    text = (ROOT / "pyproject.toml").read_text()
    project = release.with_urls(text, "https://example.org/lab/funcenv")
    assert tomllib.loads(project)["project"]["urls"]["Issues"] == "https://example.org/lab/funcenv/issues"
    assert tomllib.loads(project)["project"]["scripts"] == tomllib.loads(text)["project"]["scripts"]
    with pytest.raises(ValueError, match="already"):
        release.with_urls(project, "https://example.org/lab/funcenv")
    with pytest.raises(ValueError, match="got ftp"):
        release.with_urls(text, "ftp://example.org")
