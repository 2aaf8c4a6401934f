"""The compilation of models that are not files of this package: XML text, files, `MjSpec` and `MjModel`."""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from funcenv.envs.mujoco.model import CompiledModel, import_mujoco, require_no_plugins


def compile_mjcf(mjcf: Any, name: str = "the model") -> CompiledModel:
    """Compile a model.

    Args:
        mjcf: XML text, which begins with `<`; the path of an XML file; a `mujoco.MjSpec` or a `mujoco.MjModel`, which
            are copied; or a model that is compiled already, which is returned.
        name: the model in messages.

    Raises:
        ImportError: MuJoCo is not installed, or in a version that was not compared.
        FileNotFoundError: there is no such file.
        TypeError: `mjcf` is something else.
        ValueError: MuJoCo cannot compile the model; the message is MuJoCo's, with the line.

    >>> compiled = compile_mjcf("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>", "a ball")
    >>> compiled.mjmodel.ngeom
    1
    >>> compile_mjcf("<mujoco><worldbody><geom sice='1'/></worldbody></mujoco>", "a ball")
    Traceback (most recent call last):
        ...
    ValueError: MuJoCo cannot compile a ball; correct it: XML Error: Schema violation: unrecognized attribute: 'sice'
    Element 'geom', line 1
    """
    if isinstance(mjcf, CompiledModel):
        return mjcf
    mujoco = import_mujoco()
    if isinstance(mjcf, str) and mjcf.lstrip().startswith("<"):
        return compile_text(mjcf, name)
    if isinstance(mjcf, str | os.PathLike):
        path = pathlib.Path(mjcf).expanduser().resolve()
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}; pass the path of a MuJoCo XML file, or XML text")
        return _compiled(lambda: mujoco.MjModel.from_xml_path(str(path)), str(path))
    if isinstance(mjcf, mujoco.MjSpec):
        return _compiled(lambda: mjcf.copy().compile(), name)
    if isinstance(mjcf, mujoco.MjModel):
        return identified(mjcf.__copy__(), name)
    raise TypeError(f"mjcf must be XML text, a path, an MjSpec or an MjModel, got {mjcf!r}; pass one of them")


@functools.lru_cache(maxsize=64)
def compile_text(text: str, name: str, assets: tuple[tuple[str, bytes], ...] = ()) -> CompiledModel:
    """Compile XML text, once in each process, with the contents of the files that it includes."""
    mujoco = import_mujoco()
    return _compiled(lambda: mujoco.MjModel.from_xml_string(text, dict(assets)), name)


def identified(mjmodel: Any, name: str) -> CompiledModel:
    """Return a model with the hash of its content.

    Raises:
        ValueError: the model uses plugins.
    """
    require_no_plugins(mjmodel, name)
    mujoco = import_mujoco()
    content = np.empty(mujoco.mj_sizeModel(mjmodel), np.uint8)
    mujoco.mj_saveModel(mjmodel, None, content)
    return CompiledModel(name, hashlib.sha256(content.tobytes()).hexdigest(), mjmodel)


def _compiled(compile: Callable[[], Any], name: str) -> CompiledModel:
    try:
        return identified(compile(), name)
    except ValueError as error:
        raise ValueError(f"MuJoCo cannot compile {name}; correct it: {str(error).strip()}") from None
