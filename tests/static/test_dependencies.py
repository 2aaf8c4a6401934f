"""pyproject.toml declares what the modules import, and each message names the extra that installs what is missing."""

import ast
import re
import sys
import tomllib

import pytest

from tests.support.sources import ROOT, sources

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]

# Which extra serves the files of a folder; the base dependencies serve all others.
OWNERS = {
    "adapters/gymnasium/": "gymnasium",
    "adapters/playing/": "play",
    "adapters/rendering/": "render",
    "envs/atari/": "atari",
    "envs/dm_control/": "dm-control",
    "envs/mujoco/": "mujoco",
    "envs/robotics/": "robotics",
    "funcenv/accelerators/": "accelerators",
    "funcenv/cli/": "train",
    "funcenv/interop/figures.py": "train",  # Matplotlib; libraries that draw with it install it
    "funcenv/interop/minari.py": "minari",
    "funcenv/keyboard.py": "play",
    "funcenv/levels/files.py": "export",
    "funcenv/replay/": "render",
    "funcenv/scene/": "render",
    "funcenv/search/": "search",
    "funcenv/train/runs/exported.py": "export",
    "funcenv/train/runs/logs.py": "tensorboard",
    "funcenv/train/": "train",
}
# Where the name differs from that of the module.
DISTRIBUTIONS = {
    "PIL": "pillow",
    "envelope": "jax-envelope",
    "mujoco.mjx": "mujoco-mjx",
    "orbax": "orbax-checkpoint",
    "tensorboardX": "tensorboardx",
}
# served to those who have them
OFFERED = {
    "typing-extensions",  # for type checkers alone, which bring it
    "torch",
    "torchrl",
    "tensordict",
    "dm-env",
    "pettingzoo",
    "wandb",
    "brax",
    "craftax",
    "gymnax",
    "jumanji",
    "navix",
    "jax-envelope",
}
READ = {"dm-control", "gymnasium-robotics"}  # packages whose files are read, and which nothing imports
# jaxlib is declared because jax needs it in the same version
BASE_ALONE = {"jaxlib"}


def declared(requirements):
    """Return the distributions of a list of requirements, with those of the extras that it refers to."""
    found = set()
    for requirement in requirements:
        name, extras = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", requirement).groups()
        if name == "funcenv":
            found |= declared(entry for extra in extras.split(",") for entry in EXTRAS[extra])
        else:
            found.add(name.lower().replace("_", "-"))
    return found


def imported(path):
    """Yield the distributions that a file imports, also inside functions and by name."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "importlib.import_module":
            names = [node.args[0].value] if isinstance(node.args[0], ast.Constant) else []
        for name in names:
            module = name.partition(".")[0]
            if module not in sys.stdlib_module_names and module != "funcenv":
                renamed = [other for start, other in DISTRIBUTIONS.items() if f"{name}.".startswith(f"{start}.")]
                yield renamed[0] if renamed else module.replace("_", "-")


def owner(name):
    return next((extra for start, extra in OWNERS.items() if name.startswith(start)), None)


FILES = {str(path.relative_to(ROOT)): path for path in sources().values()}
BASE = declared(PROJECT["dependencies"])


def test_every_import_is_declared():
    missing = []
    for name, path in FILES.items():
        extra = owner(name)
        available = BASE | OFFERED | (declared(EXTRAS[extra]) if extra else set())
        missing += [
            f"{name} imports {one}, which {extra or 'base'} lacks" for one in imported(path) if one not in available
        ]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("extra", sorted(set(OWNERS.values())))
def test_every_extra_declares_only_what_its_modules_import(extra):
    own = declared(one for one in EXTRAS[extra] if not one.startswith("funcenv[")) - READ
    used = {one for name, path in FILES.items() if owner(name) == extra for one in imported(path)}
    assert own <= used, f"nothing of [{extra}] imports {own - used}"


def test_every_base_dependency_is_imported():
    used = {one for path in FILES.values() for one in imported(path)}
    assert used | BASE_ALONE >= BASE, f"nothing imports {BASE - BASE_ALONE - used}"


def test_all_is_the_sum_of_the_extras():
    extras = set(OWNERS.values()) - {
        "atari",
        "accelerators",
    }  # under the GPL, and of half a gigabyte: asked for by name
    assert declared(EXTRAS["all"]) == set.union(*(declared(EXTRAS[extra]) for extra in extras))


def test_a_message_names_an_extra_that_serves_the_file():
    wrong = []
    for name, path in FILES.items():
        for extra in re.findall(r"pip install \"funcenv\[([\w-]+)\]", path.read_text()):
            if extra != owner(name):
                wrong.append(f"{name} names [{extra}], but {owner(name)} serves it")
    assert not wrong, "\n".join(wrong)


def test_the_page_of_the_package_needs_no_other_file():
    text = (ROOT / PROJECT["readme"]).read_text()
    links = re.findall(r"\]\(([^)]+)\)|src=\"([^\"]+)\"", text)
    assert not [link for link in links if not "".join(link).startswith("https://")]
