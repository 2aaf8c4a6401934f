"""What importing the package must not do, and which way imports point."""

import ast
import os
import pathlib
import subprocess
import sys

import pytest

import funcenv

ROOT = pathlib.Path(__file__).parent.parent
HEAVY = ("flax", "optax", "orbax", "chex", "matplotlib", "pygame", "gymnasium", "tyro", "rich", "PIL")


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


def test_listing_and_making_environments_starts_no_backend():
    assert "CartPole-v1" in run("import funcenv.cli; funcenv.cli.main(['list'])")
    run("import funcenv\nfor id in (funcenv.spec('CartPole-v1').id, *funcenv.registry): funcenv.make(id)")


@pytest.mark.parametrize("folder", ["envs", "adapters"])
def test_the_folders_at_top_level_are_not_importable_by_their_bare_name(folder):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {folder}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"import funcenv.{folder}" in result.stderr


# Each layer may import those before it; the command line, last, may import all.
LAYERS = (
    ("struct", "checks", "cost", "trigonometry"),
    ("random",),
    ("fused", "cuda_graph"),
    ("spaces", "scene"),
    ("func_env",),
    ("wrappers", "vector", "resets", "checker", "checked"),
    ("engine",),
    ("rollout", "registry"),
    ("replay", "train", "bench"),
    ("envs",),
    ("adapters",),
    ("cli", "__main__", "__init__"),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "funcenv":
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]


def sources():
    for folder, prefix in (("funcenv", ""), ("envs", "envs/"), ("adapters", "adapters/")):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield pytest.param(
                path, (prefix + str(path.relative_to(ROOT / folder))).split("/")[0].removesuffix(".py"), id=str(path)
            )


@pytest.mark.parametrize(("path", "layer"), list(sources()))
def test_imports_point_down(path, layer):
    assert layer in LEVEL, f"{layer} has no place in the layers yet: add it to LAYERS"
    for name in imports(path):
        if name in LEVEL:
            assert LEVEL[name] <= LEVEL[layer], f"{path} is of layer {layer} and imports {name}, which stands above it"


@pytest.mark.parametrize("path", [param.values[0] for param in sources()], ids=str)
def test_no_private_jax(path):
    assert "jax._src" not in path.read_text()
