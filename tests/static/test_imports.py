"""What importing the package must not do, and which way imports point."""

import ast
import os
import subprocess
import sys
import tomllib

import pytest

import funcenv
from funcenv import wrappers
from tests.support.sources import ROOT, sources

HEAVY = ("flax", "optax", "orbax", "chex", "matplotlib", "pygame", "gymnasium", "rich", "PIL")


def run(code):
    environment = {**os.environ, "JAX_PLATFORMS": "no_such_platform"}  # whoever starts a backend fails
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_importing_starts_no_backend_and_loads_nothing_heavy():
    loaded = run(
        "import funcenv, funcenv.envs, funcenv.adapters, funcenv.cli, sys; print(*sorted(sys.modules))"
    ).split()
    assert not [name for name in loaded if name.split(".")[0] in HEAVY]


def test_every_public_name_is_there():
    assert all(getattr(funcenv, name) is not None for name in funcenv.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        funcenv.nothing  # noqa: B018


def test_what_stepping_does_not_need_is_imported_when_it_is_used():
    """Importing jax.extend, the drawing code and every wrapper takes longer than importing all the rest."""
    loaded = run("import funcenv, sys; print(*sys.modules)").split()
    assert not {"jax.extend", "funcenv.scene", "funcenv.wrappers.normalize", "funcenv.multi_agent"} & set(loaded)
    run("import funcenv; funcenv.scene.Circle; funcenv.wrappers.normalize.NormalizeReward; funcenv.multi_agent")
    assert {"scene", "multi_agent", *funcenv.__all__} <= set(dir(funcenv))


def test_every_wrapper_is_imported_by_its_name():
    for name in wrappers.__all__:
        assert getattr(wrappers, name).__name__ == name and name in dir(wrappers)
    assert {name for name in vars(wrappers) if name[0].isupper()} <= {*wrappers.__all__, "TYPE_CHECKING", "Any"}
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        wrappers.Nothing  # noqa: B018


def test_listing_and_making_environments_starts_no_backend():
    assert "CartPole-v1" in run("import funcenv.cli; funcenv.cli.main(['list'])")
    run("import funcenv\nfor id in funcenv.registry: funcenv.make(id)")


def test_making_an_environment_imports_its_family_only():
    loaded = run("import funcenv, sys; funcenv.make('CartPole-v1'); print(*sys.modules)").split()
    families = {name.split(".")[2] for name in loaded if name.startswith("funcenv.envs.")}
    assert "classic_control" in families
    assert not families & {"atari", "box2d", "mujoco", "toy_text"}


def test_every_environment_is_found_in_its_family():
    for name in funcenv.envs.__all__:
        assert getattr(funcenv.envs, name) is not None
    assert {"CartPole", "Ant", "Taxi", "LunarLander", "mujoco"} <= set(dir(funcenv.envs))
    with pytest.raises(AttributeError, match=r"'funcenv\.envs' has no attribute 'Nothing'"):
        funcenv.envs.Nothing  # noqa: B018


@pytest.mark.parametrize("folder", ["envs", "adapters"])
def test_the_folders_at_top_level_are_not_importable_by_their_bare_name(folder):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {folder}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"import funcenv.{folder}" in result.stderr


LAYERS = tomllib.loads((ROOT / "docs" / "layers.toml").read_text())["layer"]
LEVEL = {module: level for level, layer in enumerate(LAYERS) for module in layer["modules"]}


SOURCES = sources()


def imports(path):
    """Yield the modules of the package that a file imports, also inside functions and for type checkers alone."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in SOURCES)
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from whole & set(SOURCES)
            if node.module in SOURCES and whole - set(SOURCES):
                yield node.module


IMPORTS = {module: set(imports(path)) for module, path in SOURCES.items()}


def level(module):
    prefixes = [".".join(module.split(".")[:end]) for end in range(len(module.split(".")), 0, -1)]
    return next(LEVEL[prefix] for prefix in prefixes if prefix in LEVEL)


def test_every_module_has_a_layer_of_its_own():
    """Only the top level itself may fall back on the entry `funcenv`."""
    loose = [module for module in SOURCES if level(module) == LEVEL["funcenv"] and module not in LEVEL]
    assert not loose, f"add these to docs/layers.toml: {loose}"


def test_imports_point_down():
    upward = [
        f"{module} imports {name}"
        for module, names in IMPORTS.items()
        for name in sorted(names)
        if level(name) > level(module)
    ]
    assert not upward, "\n".join(upward)


def test_no_circles_of_files():
    components = [sorted(component) for component in strongly_connected(IMPORTS) if len(component) > 1]
    assert not components, components


def strongly_connected(graph):
    """Tarjan's algorithm."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in on_stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component = set()
            while node not in component:
                component.add(stack.pop())
            on_stack.difference_update(component)
            found.append(component)

    for node in graph:
        if node not in index:
            visit(node)
    return found


def test_the_search_for_circles_finds_one():
    assert {frozenset("ab"), frozenset("c")} == set(map(frozenset, strongly_connected({"a": "b", "b": "a", "c": "a"})))


def test_no_private_jax():
    assert not [str(path) for path in SOURCES.values() if "jax._src" in path.read_text()]
