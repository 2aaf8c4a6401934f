"""MuJoCo's own images, drawn by OpenGL where the environment variable `MUJOCO_GL` says how.

MuJoCo reads the variable when it is imported: "egl" draws on a GPU without a display, "osmesa" in software, and "glfw"
needs a display. Without it, the scene of an environment is drawn instead, which needs nothing.
"""

from __future__ import annotations

import copy
import functools
import os
import threading
import warnings
from typing import Any, NamedTuple

import numpy as np

from funcenv.envs.mujoco.model import CompiledModel, Model, import_mujoco, load_model
from funcenv.struct import NDArray

_OFF = ("", "0", "disable", "disabled", "false", "off")
_REMEDY = (
    "before Python starts, set MUJOCO_GL to egl (on a GPU), osmesa (in software, with the library OSMesa) or glfw "
    "(with a display), or to nothing for the scene of the environment"
)
_drawing = threading.Lock()


class Shot(NamedTuple):
    """A camera and the options of a drawing.

    Args:
        camera: the number of a camera of the model, or -1 for the free one.
        config: attributes of the free camera and their values.
        follow: the entries of qpos, as coordinates x and y, that the free camera moves with.
        max_geom: how many geoms are drawn at most.
        options: flags of `MjvOption` and their values.
    """

    camera: int
    config: tuple[tuple[str, Any], ...]
    follow: tuple[int, ...]
    max_geom: int
    options: tuple[tuple[int, bool], ...]


def uses_opengl() -> bool:
    """Return whether `MUJOCO_GL` asks for MuJoCo's own images."""
    return os.environ.get("MUJOCO_GL", "").lower().strip() not in _OFF


def camera_number(model: Model, camera_id: int | None, camera_name: str | None) -> int:
    """Return the number of a camera, or -1 for the free one, which is the default.

    Raises:
        ValueError: both are given, or the model has no such camera.
    """
    if camera_id is not None and camera_name is not None:
        raise ValueError(f"camera_id={camera_id} and camera_name={camera_name!r} name two cameras; leave one out")
    names = [model.mjmodel.camera(number).name for number in range(model.mjmodel.ncam)]
    if camera_name is not None and camera_name not in names:
        raise ValueError(f"{model.path} has no camera {camera_name!r}; its cameras are {names}")
    if camera_id is not None and not -1 <= camera_id < len(names):
        last = len(names) - 1
        raise ValueError(f"camera_id must be from -1 to {last} in {model.path}, got {camera_id}; -1 is the free camera")
    if camera_name is not None:
        return names.index(camera_name)
    return -1 if camera_id is None else camera_id


def draw_image(
    xml_file: str | CompiledModel,
    qpos: NDArray,
    shot: Shot,
    size: tuple[int, int],
    changes: dict[str, NDArray] | None = None,
    depth: NDArray | None = None,
) -> NDArray:
    """Draw a model in a pose, with some fields of the model changed, uint8 `[height, width, 3]`.

    An array `depth`, float32 `[height, width]`, is filled with OpenGL's depth of each pixel: 0 at the near plane of the
    camera, 1 at the far one.

    Raises:
        RuntimeError: OpenGL does not work as `MUJOCO_GL` says.
    """
    mujoco, model = import_mujoco(), load_model(xml_file)
    with _drawing:  # OpenGL draws for one thread at a time
        canvas = _canvas(xml_file, size, shot.max_geom, threading.get_ident())
        canvas.data.qpos[:] = qpos
        for field, numbers in (changes or {}).items():
            changed = getattr(canvas.mjmodel, field)
            changed[:] = np.asarray(numbers).reshape(changed.shape)
        if "hfield_data" in (changes or {}):
            for number in range(canvas.mjmodel.nhfield):
                mujoco.mjr_uploadHField(canvas.mjmodel, canvas.renderer._mjr_context, number)
        mujoco.mj_forward(canvas.mjmodel, canvas.data)
        options = mujoco.MjvOption()
        for flag, value in shot.options:
            options.flags[flag] = value
        canvas.renderer.update_scene(canvas.data, _camera(model, shot, qpos, canvas.middle), options)
        image: NDArray = canvas.renderer.render().copy()
        if depth is not None:
            context = canvas.renderer._mjr_context
            context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZERONEAR
            mujoco.mjr_readPixels(None, depth, mujoco.MjrRect(0, 0, size[1], size[0]), context)
            depth[:] = depth[::-1].copy()  # OpenGL's first row is the lowest
    return image


def warn_of_scene(arguments: list[str]) -> None:
    """Warn that arguments for MuJoCo's own images have no effect, because the scene is drawn."""
    warnings.warn(
        f"{', '.join(arguments)} have no effect on the image of the scene, which is drawn without MUJOCO_GL; {_REMEDY}",
        UserWarning,
        stacklevel=2,
    )


class _Canvas(NamedTuple):
    """The renderer of images of one model and size."""

    renderer: Any
    mjmodel: Any  # copy of the model, whose fields may change
    data: Any
    middle: NDArray  # centres of the geoms in the model's own pose


@functools.lru_cache(maxsize=8)
def _canvas(xml_file: str | CompiledModel, size: tuple[int, int], max_geom: int, thread: int) -> _Canvas:
    del thread  # An OpenGL context belongs to the thread that made it.
    mujoco, mjmodel = import_mujoco(), copy.copy(load_model(xml_file).mjmodel)
    height, width = size
    buffer = mjmodel.vis.global_
    buffer.offheight, buffer.offwidth = max(buffer.offheight, height), max(buffer.offwidth, width)
    try:
        renderer = mujoco.Renderer(mjmodel, height, width, max_geom)
    except Exception as error:  # every OpenGL backend raises another type
        reason = str(error).strip() or type(error).__name__
        means = os.environ.get("MUJOCO_GL")
        raise RuntimeError(f"MuJoCo cannot draw with MUJOCO_GL={means}: {reason}; {_REMEDY}") from None
    data = mujoco.MjData(mjmodel)
    mujoco.mj_forward(mjmodel, data)
    return _Canvas(renderer, mjmodel, data, np.median(data.geom_xpos, axis=0))


def _camera(model: Model, shot: Shot, qpos: NDArray, middle: NDArray) -> Any:
    """Return the camera of the model, or the free one where Gymnasium puts it, moved with the robot."""
    mujoco = import_mujoco()
    camera = mujoco.MjvCamera()
    if shot.camera >= 0:
        camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, shot.camera
        return camera
    camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FREE, -1
    camera.lookat[:], camera.distance = middle, model.mjmodel.stat.extent
    for name, value in shot.config:
        if np.ndim(value):
            getattr(camera, name)[:] = value
        else:
            setattr(camera, name, value)
    for axis, index in enumerate(shot.follow):
        camera.lookat[axis] += qpos[index] - model.init_qpos[index]
    return camera
