"""The models of the control suite, read from the installed package `dm_control`."""

from __future__ import annotations

import functools
import importlib.util
import pathlib
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from funcenv.envs.mujoco.mjcf import compile_text, identified
from funcenv.envs.mujoco.model import CompiledModel, import_mujoco, without_warnings

INSTALL = 'pip install "funcenv[dm-control]"'
_INCLUDED = ("./common/materials.xml", "./common/skybox.xml", "./common/visual.xml")


@functools.cache
def suite_folder() -> pathlib.Path:
    """Return the folder of the suite in the package `dm_control`, which is not imported.

    Raises:
        ImportError: it is not installed.
    """
    found = importlib.util.find_spec("dm_control")
    if found is None or found.origin is None:
        raise ModuleNotFoundError(
            f"the tasks of dm_control need the models in its package: {INSTALL}", name="dm_control"
        )
    return pathlib.Path(found.origin).parent / "suite"


def read_model(file: str) -> ElementTree.Element:
    """Return the XML of a model of the suite, such as "cheetah.xml"."""
    suite_folder()
    import_mujoco()
    return ElementTree.fromstring((suite_folder() / file).read_text())


def compile_model(
    tree: ElementTree.Element, name: str, adjust: Callable[[Any], None] | None = None, folder: str | None = None
) -> CompiledModel:
    """Compile a model.

    Args:
        tree: its XML, which may have been edited.
        name: the model in messages.
        adjust: changes fields of the compiled model, as a task does at the start of every episode.
        folder: the folder of the suite that has the meshes and textures of the model.
    """
    with without_warnings():
        compiled = compile_text(ElementTree.tostring(tree, encoding="unicode"), name, _assets(folder))
    if adjust is None:
        return compiled
    mjmodel = compiled.mjmodel.__copy__()
    adjust(mjmodel)
    return identified(mjmodel, name)


@functools.cache
def _assets(folder: str | None) -> tuple[tuple[str, bytes], ...]:
    """Return names and contents of the files that a model includes."""
    assets = [(included, (suite_folder() / included).read_bytes()) for included in _INCLUDED]
    files = sorted((suite_folder() / folder).iterdir()) if folder else []
    return (*assets, *((file.name, file.read_bytes()) for file in files))


@functools.cache
def suite_model(file: str) -> CompiledModel:
    """Return the model of a file of the suite, as it is."""
    return compile_model(read_model(file), f"dm_control's {file}")


@functools.cache
def hinges(source: CompiledModel) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the columns of all hinges of a model in qpos and in qvel."""
    mjmodel = source.mjmodel
    is_hinge = mjmodel.jnt_type == int(import_mujoco().mjtJoint.mjJNT_HINGE)
    return mjmodel.jnt_qposadr[is_hinge], mjmodel.jnt_dofadr[is_hinge]


def named(tree: ElementTree.Element, tag: str, name: str) -> tuple[ElementTree.Element, ElementTree.Element]:
    """Return an element with a name, and the element that contains it."""
    for parent in tree.iter():
        for child in parent.findall(tag):
            if child.get("name") == name:
                return child, parent
    raise ValueError(f"the model has no {tag} {name!r}; install the version of dm_control that has it: {INSTALL}")


def remove(tree: ElementTree.Element, tag: str, name: str) -> None:
    """Remove an element with a name from the tree."""
    element, parent = named(tree, tag, name)
    parent.remove(element)
