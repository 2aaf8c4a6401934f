"""Loading of MuJoCo and of models: the installed version, the packaged XML files, and those of users."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import pathlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from funcenv.struct import NDArray

ASSETS = pathlib.Path(__file__).resolve().parent / "assets"
PACKAGED = tuple(sorted(path.name for path in ASSETS.glob("*.xml")))
VERSION = "3.17"
INSTALL = 'pip install "funcenv[mujoco]"'
_NO_BATCHES = "it has no batches of simulations (mjbatch.h), which came with 3.17"
_NOT_COMPARED = "its results have not been compared with Gymnasium's"
_KNOWN_FAULTS = {
    "4.0.0": "it has a wrong Newton Hessian for sparse Jacobians, and integrates free joints differently with RK4"
}


@dataclasses.dataclass(frozen=True)
class CompiledModel:
    """A model that was compiled from something else than a packaged file; those of equal content are equal."""

    name: str = dataclasses.field(compare=False)  # the model in messages
    digest: str  # hash of MuJoCo's binary form of the model
    mjmodel: Any = dataclasses.field(compare=False, repr=False)  # mujoco.MjModel; never changed


class Model(NamedTuple):
    """A compiled model and the file that it came from."""

    path: str  # path of the file, or the name of a `CompiledModel`
    content: bytes  # content of the file; empty for a `CompiledModel`
    mjmodel: Any  # mujoco.MjModel; never changed
    init_qpos: NDArray  # positions after a reset, float64 [nq]

    @property
    def ctrlrange(self) -> tuple[NDArray, NDArray]:
        """Lower and upper bounds of the controls, float32 `[nu]`, as Gymnasium has them in the action space."""
        low, high = self.mjmodel.actuator_ctrlrange.astype(np.float32).T
        return low, high

    def require_scalable_geoms(self) -> None:
        """Raise `ValueError` if a geom has points of its own, which no size scales: a mesh or a height field."""
        kinds = import_mujoco().mjtGeom
        if {int(kinds.mjGEOM_MESH), int(kinds.mjGEOM_HFIELD)} & set(self.mjmodel.geom_type.tolist()):
            raise ValueError(f"size_scale cannot scale the meshes of {self.path}; scale them in the file")

    def body_id(self, body: int | str) -> int:
        """Return the number of a body that is named or numbered.

        Raises:
            ValueError: the model has no such body.
        """
        names = [self.mjmodel.body(index).name for index in range(self.mjmodel.nbody)]
        if isinstance(body, str) and body in names:
            return names.index(body)
        if not isinstance(body, str) and 0 <= body < len(names):
            return int(body)
        raise ValueError(f"{self.path} has no body {body!r}; its bodies are {', '.join(map(repr, names))}")


@functools.cache
def import_mujoco() -> Any:
    """Return the module `mujoco`.

    Raises:
        ImportError: it is not installed, or in a version that does not simulate as Gymnasium's environments do.
    """
    try:
        import mujoco
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"MuJoCo environments need mujoco: {INSTALL}", name=error.name) from None
    require_version(mujoco.__version__)
    return mujoco


def require_version(version: str, package: str = "mujoco") -> None:
    """Raise `ImportError` unless results with this version of MuJoCo, or of MJX, were compared with Gymnasium's.

    >>> require_version("4.0.0")
    Traceback (most recent call last):
        ...
    ImportError: MuJoCo environments need mujoco 3.17, got 4.0.0: it has a wrong Newton Hessian for sparse Jacobians,
    and integrates free joints differently with RK4; pip install "funcenv[mujoco]"
    """
    if version == VERSION or version.startswith(f"{VERSION}."):
        return
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    reason = _KNOWN_FAULTS.get(version) or (_NO_BATCHES if numbers < [3, 17] else _NOT_COMPARED)
    raise ImportError(f"MuJoCo environments need {package} {VERSION}, got {version}: {reason}; {INSTALL}")


@functools.cache
def load_model(xml_file: str | CompiledModel) -> Model:
    """Return the compiled model of an XML file, which each process reads once.

    Args:
        xml_file: the name of a packaged file, such as "ant.xml", or a path, as `find_file` takes them; or a model that
            is compiled already.

    Raises:
        ImportError: see `import_mujoco`.
        FileNotFoundError: there is no such file.
        ValueError: MuJoCo cannot compile it.
    """
    mujoco = import_mujoco()
    if isinstance(xml_file, CompiledModel):
        return Model(xml_file.name, b"", xml_file.mjmodel, np.array(xml_file.mjmodel.qpos0))
    path = find_file(xml_file)
    content = path.read_bytes()
    try:
        with without_warnings() if xml_file in PACKAGED else contextlib.nullcontext():
            mjmodel = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise ValueError(f"MuJoCo cannot compile {path}; correct the file: {str(error).strip()}") from None
    require_no_plugins(mjmodel, str(path))
    return Model(str(path), content, mjmodel, np.array(mjmodel.qpos0))


def require_no_plugins(mjmodel: Any, name: str) -> None:
    """Raise `ValueError` if a model uses plugins."""
    if mjmodel.nplugin:
        raise ValueError(f"{name} uses plugins, whose state cannot be carried; remove them")


@functools.cache
def library() -> Any:
    """Return MuJoCo's C library, which the module `mujoco` has loaded."""
    folder = pathlib.Path(import_mujoco().__file__).parent
    path, *_ = (path for pattern in ("libmujoco*", "mujoco.dll") for path in sorted(folder.glob(pattern)))
    return ctypes.CDLL(str(path))


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
    """Silence MuJoCo's warnings, which go to the terminal and to a log file in the working directory."""
    ignore = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda message: None)
    handler = ctypes.c_void_p.in_dll(library(), "mju_user_warning")
    before, handler.value = handler.value, ctypes.cast(ignore, ctypes.c_void_p).value
    try:
        yield
    finally:
        handler.value = before


def require_unchanged(model: Model) -> None:
    """Raise `ValueError` if the file of a model has changed since it was loaded."""
    if pathlib.Path(model.path).read_bytes() != model.content:
        raise ValueError(
            f"{model.path} has changed since it was loaded, and compiled programs hold the earlier model; save the new "
            "one under another name"
        )


def find_file(xml_file: str) -> pathlib.Path:
    """Return the path of an XML file, as `load_model` finds it.

    >>> find_file("ant.xml").name
    'ant.xml'
    >>> find_file("and.xml")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no packaged model 'and.xml'; the packaged ones are ant.xml, ...
    """
    if not isinstance(xml_file, str):
        raise TypeError(f"xml_file must be a string, got {xml_file!r}; pass the name of a file")
    own = xml_file.startswith((".", "/", "~")) or pathlib.PureWindowsPath(xml_file).is_absolute()
    path = pathlib.Path(xml_file).expanduser().resolve() if own else ASSETS / xml_file
    if path.is_file():
        return path
    if own:
        raise FileNotFoundError(f"there is no file {path}; pass the path of a MuJoCo XML file")
    raise FileNotFoundError(
        f"there is no packaged model {xml_file!r}; the packaged ones are {', '.join(PACKAGED)}, and the path of "
        "your own begins with './', '/' or '~'"
    )
