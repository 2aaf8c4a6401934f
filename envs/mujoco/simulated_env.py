"""What environments that MuJoCo simulates have in common: backends, cameras, images, and names of motors."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Array, Float

from funcenv.checks import require_size
from funcenv.envs.mujoco import mjx
from funcenv.envs.mujoco.joint_names import in_words
from funcenv.envs.mujoco.model import CompiledModel, Model, load_model
from funcenv.envs.mujoco.mujoco_image import Shot, camera_number, draw_image, uses_opengl, warn_of_scene
from funcenv.envs.mujoco.mujoco_scene import View, free_view
from funcenv.func_env import FuncEnv
from funcenv.keyboard import motor_keys
from funcenv.sharding import target_platform
from funcenv.spaces import Box
from funcenv.struct import NDArray, field

State = TypeVar("State", bound=Any)
Obs = TypeVar("Obs")

DEFAULT_SIZE = 480  # side of an image [pixels]


class SimulatedEnv(FuncEnv[State, Float[Array, "nu"], Obs]):
    """The base class of environments that MuJoCo simulates.

    A subclass defines the properties `source` and `dt`, and its states have a field `qpos`.
    """

    width: int = field(pytree_node=False, default=DEFAULT_SIZE, kw_only=True)  # width of MuJoCo's images [pixels]
    height: int = field(pytree_node=False, default=DEFAULT_SIZE, kw_only=True)  # height of MuJoCo's images [pixels]
    camera_id: int | None = field(pytree_node=False, default=None, kw_only=True)  # a camera of the model
    camera_name: str | None = field(pytree_node=False, default=None, kw_only=True)  # the same by name
    max_geom: int = field(pytree_node=False, default=1000, kw_only=True)  # geoms in an image of MuJoCo's
    visual_options: Any = field(pytree_node=False, default=None, kw_only=True)  # flags of `MjvOption`, by number
    backend: str = field(pytree_node=False, default="auto", kw_only=True)  # "auto", "c" or "mjx"; see `simulator`
    num_threads: int | None = field(pytree_node=False, default=None, kw_only=True)  # None for one on each CPU

    view: ClassVar[View | None] = None  # camera of `scene`; None for the free camera of the model
    mjx_fault: ClassVar[str] = ""  # why MJX cannot simulate the environment, if it cannot

    def check_simulation(self) -> None:
        """Raise an error unless sizes, backend and camera suit the model; for `__post_init__`."""
        require_size("width", self.width)
        require_size("height", self.height)
        if self.num_threads is not None:
            require_size("num_threads", self.num_threads)
        if self.backend not in ("auto", "c", "mjx"):
            raise ValueError(f'backend must be "auto", "c" or "mjx", got {self.backend!r}; leave it out for "auto"')
        if self.backend == "mjx" and self.mjx_fault:
            raise ValueError(
                f'{type(self).__name__} does not run with backend="mjx": {self.mjx_fault}; use backend="c"'
            )
        object.__setattr__(self, "visual_options", hashable(self.visual_options))
        camera_number(self.model, self.camera_id, self.camera_name)
        if self.backend == "mjx":
            mjx.require_simulable(self.source)

    @property
    def simulator(self) -> str:
        """The simulator: "c", MuJoCo's C library on the CPU, or "mjx", MuJoCo in JAX on JAX's own device.

        `backend="auto"` chooses "c" in programs for CPUs, and for models that MJX cannot simulate, else "mjx".
        """
        if self.backend != "auto":
            return self.backend
        return "c" if self.mjx_fault or target_platform() == "cpu" else "mjx"

    @property
    def calls_host(self) -> bool:
        """True for the library."""
        return self.simulator == "c"

    @property
    def differentiable(self) -> bool | None:
        """False for the library; None for MJX, whose derivatives may be infinite where contacts begin."""
        return False if self.simulator == "c" else None

    @property
    def source(self) -> str | CompiledModel:
        """The model as `load_model` takes it."""
        raise NotImplementedError(f"{type(self).__name__} must define the property source")

    @property
    def model(self) -> Model:
        """The compiled model."""
        return load_model(self.source)

    @property
    def dt(self) -> float:
        """Simulated time of a step [s]."""
        raise NotImplementedError(f"{type(self).__name__} must define the property dt")

    @property
    def action_space(self) -> Box:
        """The range of the controls."""
        return Box(*self.model.ctrlrange)

    @property
    def render_fps(self) -> float:
        """Steps in a second of simulated time, rounded as Gymnasium does."""
        return int(np.round(1.0 / self.dt))

    @property
    def action_names(self) -> tuple[str, ...]:
        """The joints that the actuators move, in words."""
        mjmodel = self.model.mjmodel
        moved = [mjmodel.actuator(index) for index in range(mjmodel.nu)]
        joints = [mjmodel.joint(int(one.trnid[0])).name if one.trntype[0] == 0 else "" for one in moved]
        pairs = zip(joints, moved, strict=True)
        return tuple(in_words(joint or one.name) or f"actuator {i}" for i, (joint, one) in enumerate(pairs))

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return keys for full control of one motor each, or for 1 and -1 where a control is unbounded."""
        space = self.action_space
        return motor_keys(np.nan_to_num(space.low, neginf=-1.0), np.nan_to_num(space.high, posinf=1.0))

    @property
    def image_size(self) -> tuple[int, int] | None:
        """Height and width, where MuJoCo draws or where they are not the defaults."""
        size = self.height, self.width
        return size if uses_opengl() or size != (DEFAULT_SIZE, DEFAULT_SIZE) else None

    def host_image(self, state: State, size: tuple[int, int]) -> NDArray | None:
        """Return MuJoCo's own image if the environment variable `MUJOCO_GL` says how to draw it, else None."""
        names = ("camera_id", "camera_name", "visual_options")
        given = [f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name) is not None]
        if not uses_opengl():
            if given:
                warn_of_scene(given)
            return None
        return self._drawn(state, size)

    @property
    def draws_depth(self) -> bool:
        """True where MuJoCo draws."""
        return uses_opengl()

    def host_rgbd(self, state: State, size: tuple[int, int]) -> tuple[NDArray, NDArray]:
        """Return MuJoCo's own image and OpenGL's depth: 0 at the near plane of the camera, 1 at the far one."""
        depth = np.empty(size, np.float32)
        return self._drawn(state, size, depth), depth

    def _drawn(self, state: State, size: tuple[int, int], depth: NDArray | None = None) -> NDArray:
        camera = camera_number(self.model, self.camera_id, self.camera_name)
        options = self.visual_options or ()
        shot = Shot(camera, self.camera_config, self.followed, self.max_geom, options)
        qpos = np.asarray(state.qpos, np.float64)
        return draw_image(self.source, qpos, shot, size, self.drawn_changes(state), depth)

    @property
    def scene_view(self) -> View:
        """The camera of the scene: the class attribute `view`, or the free camera of the model."""
        return self.view or free_view(self.model.mjmodel)

    @property
    def followed(self) -> tuple[int, ...]:
        """The entries of qpos, as coordinates x and y, that the camera of an image moves with."""
        return self.scene_view.follow

    @property
    def camera_config(self) -> tuple[tuple[str, Any], ...]:
        """Attributes of the free camera and their values."""
        return ()

    def drawn_changes(self, state: State) -> dict[str, NDArray]:
        """Return the fields of the model that an image of this state has otherwise; none by default."""
        del state
        return {}


def hashable(config: Any) -> Any:
    """Return a dict of numbers and arrays as a tuple of pairs, so that compiled programs can be found by it."""
    if not isinstance(config, dict):
        return config
    return tuple(
        (name, tuple(np.asarray(value).tolist()) if np.ndim(value) else value) for name, value in config.items()
    )
