"""Checks that a version is ready to be released, and enters the addresses of its repository.

python .ci/release.py check 0.1.0                version, changelog and citation agree
python .ci/release.py urls https://HOST/OWNER/REPOSITORY
"""

from __future__ import annotations

import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACES = {
    "pyproject.toml": r'^version = "(.+)"$',
    "funcenv/__init__.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
}
"""The files that name the version, and how."""


def main(arguments: list[str]) -> int:
    """Check or enter, and return the exit status."""
    match arguments:
        case ["check", version]:
            problems = problems_of(version)
            print("\n".join(problems) or f"{version} is ready")
            return int(bool(problems))
        case ["urls", url]:
            path = ROOT / "pyproject.toml"
            path.write_text(with_urls(path.read_text(), url))
            return 0
    print(__doc__, file=sys.stderr)
    return 2


def problems_of(version: str, root: pathlib.Path = ROOT) -> list[str]:
    """Return what speaks against the release of a version."""
    found = []
    for name, pattern in PLACES.items():
        match = re.search(pattern, (root / name).read_text(), re.MULTILINE)
        if match is None or match[1] != version:
            found.append(f"{name} names the version {match and match[1]}, not {version}")
    changelog = (root / "CHANGELOG.md").read_text()
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE):
        found.append(
            f"CHANGELOG.md has no section ## [{version}] - YYYY-MM-DD; rename [Unreleased], and begin a new one"
        )
    return found


def with_urls(project: str, url: str) -> str:
    """Return the text of pyproject.toml with `[project.urls]`.

    Raises:
        ValueError: The address is none of a repository, or the addresses are there already.
    """
    if not re.fullmatch(r"https://[\w.-]+/[\w.-]+/[\w.-]+", url):
        raise ValueError(f"the address of a repository is https://HOST/OWNER/REPOSITORY, got {url}")
    if "urls" in tomllib.loads(project)["project"]:
        raise ValueError("pyproject.toml has [project.urls] already; take a fresh checkout")
    urls = f"""[project.urls]
Repository = "{url}"
Changelog = "{url}/blob/main/CHANGELOG.md"
Issues = "{url}/issues"

[project.scripts]"""
    return project.replace("[project.scripts]", urls, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
