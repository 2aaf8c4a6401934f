"""The environments that the site documents: their classes, ids, titles and families."""

from __future__ import annotations

import dataclasses
import importlib
import re
from typing import Any

from environment_docstrings import parse_docstring

import funcenv

PACKAGE = "funcenv.envs"  # the site documents the environments of this package


@dataclasses.dataclass(frozen=True)
class EnvPage:
    """An environment class and the ids that are registered for it."""

    build: Any
    specs: tuple[funcenv.EnvSpec, ...]

    @property
    def name(self) -> str:
        """File name of the page, without its ending: the module, or the words of the class if its ids have a namespace.

        Modules of several packages may have one name, such as that of Gymnasium's and dm_control's Hopper.
        """
        words = split_words(self.build.__name__).lower().replace(" ", "_")
        return words if self.specs[0].namespace else str(self.build.__module__.rpartition(".")[2])

    @property
    def title(self) -> str:
        """Name of the environment: as its docstring spells it, or the words of the class's name."""
        name = self.build.__name__.removeprefix("Suite")  # the beginning of the names of dm_control's classes
        spelled, words = parse_docstring(self.build)[0], split_words(name)
        return spelled if spelled.replace(" ", "") == self.build.__name__ else words

    @property
    def family(self) -> str:
        """Title of the environments among which this one is listed."""
        return family_of(self.specs[0])


def env_pages(package: str = PACKAGE) -> list[EnvPage]:
    """Return a page for each class that a package has registered, in the order of registration."""
    found: dict[Any, list[funcenv.EnvSpec]] = {}
    for spec in specs_of(package):
        found.setdefault(spec.load(), []).append(spec)
    return [EnvPage(build, tuple(specs)) for build, specs in found.items()]


def specs_of(package: str) -> list[funcenv.EnvSpec]:
    """Return the specifications that a package has registered."""
    return [spec for spec in funcenv.registry.values() if str(spec.entry_point).startswith(f"{package}.")]


def by_family(package: str = PACKAGE) -> dict[str, list[EnvPage]]:
    """Return the pages of each family."""
    families: dict[str, list[EnvPage]] = {}
    for page in env_pages(package):
        families.setdefault(page.family, []).append(page)
    return families


def family_of(spec: funcenv.EnvSpec) -> str:
    """Return the family of an id: its package, or its namespace if the package has several.

    >>> family_of(funcenv.spec("MinAtar/Asterix-v1")), family_of(funcenv.spec("arcade/Pong-v0"))
    ('MinAtar', 'Arcade')
    """
    package = str(spec.entry_point).partition(":")[0].rpartition(".")[0]
    own = package.rpartition(".")[2]
    is_divided = len({one.namespace for one in specs_of(package)}) > 1
    return str(spec.namespace) if is_divided and spec.namespace != own else family_title(package)


def family_title(package: str) -> str:
    """Return the title of a package of environments: its name, spelled as its docstring spells it.

    >>> [family_title(f"funcenv.envs.{name}") for name in ("box2d", "toy_text", "dm_control")]
    ['Box2D', 'Toy text', 'dm_control']
    """
    words = package.rpartition(".")[2].replace("_", " ")
    docstring = importlib.import_module(package).__doc__ or ""
    spelled = re.search(words.replace(" ", "[ _-]"), docstring, flags=re.IGNORECASE)
    title = spelled[0] if spelled else words
    return title if "_" in title else title[0].upper() + title[1:]


def split_words(name: str) -> str:
    """Return the words of a class's name.

    >>> split_words("SpaceInvaders")
    'Space Invaders'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


def animated(page: EnvPage) -> list[funcenv.EnvSpec]:
    """Return the ids of a class that have an animation: all, or the first one if they differ in their tasks only.

    >>> [len(animated(page)) for page in env_pages() if page.title in ("CartPole", "Walker")]
    [2, 1]
    """
    return list(page.specs[:1] if "task" in page.specs[0].kwargs else page.specs)


def animation_name(env_id: str) -> str:
    """Return the name of an id's animation in docs/assets/gallery; docs/make_gallery.py writes it."""
    return f"{env_id.replace('/', '-')}.gif"
