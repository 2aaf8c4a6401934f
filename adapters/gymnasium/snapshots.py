"""The state of an environment of Gymnasium as bytes, so that the environment can go back to it.

The attributes of the environment and of its wrappers are pickled. Some values stay where they are and are only
referred to: spaces, functions, models and windows. Of those that hold a state, such as the generators of spaces,
MuJoCo's data and the emulator of Atari games, the content is saved beside them.
"""

from __future__ import annotations

import io
import pickle
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from funcenv.struct import NDArray

_Place = tuple[int, str]  # The number of a wrapper, and the name of an attribute whose value stays.
_STAYING_TYPES: tuple[type, ...] = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.ModuleType,
    gymnasium.Space,
    gymnasium.envs.registration.EnvSpec,
)
_STAYING_MODULES = ("ale_py", "gymnasium.envs.mujoco.mujoco_rendering", "mujoco", "pygame")
# What steps of MuJoCo environments read of the step before, in addition to the state of integration.
_FRAMES = ("xpos", "xquat", "xmat", "xipos", "ximat", "geom_xpos", "geom_xmat", "site_xpos", "site_xmat", "subtree_com")
_FORCES = ("cinert", "cvel", "cfrc_ext", "qfrc_actuator", "qfrc_constraint", "qacc", "actuator_force", "sensordata")


class Snapshots:
    """Saves and restores the state of an environment with its wrappers.

    Args:
        env: the environment.
        get_state: returns the state of `env.unwrapped`, anything that can be pickled, in place of its attributes.
            Its generator `np_random` is saved as well.
        set_state: takes `env.unwrapped` and such a state, and returns to it.

    >>> env = gymnasium.make("CartPole-v1")
    >>> snapshots, _ = Snapshots(env), env.reset(seed=0)
    >>> content = snapshots.save()
    >>> before = env.step(0)[0]
    >>> snapshots.restore(content)
    >>> bool((env.step(0)[0] == before).all())
    True
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        get_state: Callable[[Any], Any] | None = None,
        set_state: Callable[[Any, Any], None] | None = None,
    ) -> None:
        self._layers = [env]
        while isinstance(self._layers[-1], gymnasium.Wrapper):
            self._layers.append(self._layers[-1].env)
        self._get_state, self._set_state = get_state, set_state
        self._staying: dict[_Place, Any] = {}

    def save(self) -> bytes:
        """Return the present state.

        Raises:
            TypeError: an attribute cannot be pickled.
        """
        attributes = [self._attributes(number) for number in range(len(self._layers))]
        for number, values in enumerate(attributes):
            for name, value in values.items():
                if _stays(value):
                    self._staying[number, name] = value
        places = {id(value): place for place, value in self._staying.items()}
        contents = {place: _content(value) for place, value in self._staying.items() if _has_content(value)}
        try:
            return _pickle((contents, attributes), places)
        except Exception as error:
            for number, values in enumerate(attributes):
                for name, value in values.items():
                    try:
                        _pickle(value, places)
                    except Exception:
                        owner = type(self._layers[number]).__name__
                        raise TypeError(f"the attribute {name} of {owner} cannot be pickled: {error}") from None
            raise

    def restore(self, content: bytes) -> None:
        """Return to a state that `save` returned."""
        contents, attributes = _Unpickler(io.BytesIO(content), self._staying).load()
        for place, value in contents.items():
            _set_content(self._staying[place], value)
        for number, values in enumerate(attributes):
            layer = self._layers[number]
            if number == len(self._layers) - 1 and self._set_state is not None:
                layer.np_random = values["np_random"]
                self._set_state(layer, values["state"])
                continue
            inner = {"env": vars(layer)["env"]} if isinstance(layer, gymnasium.Wrapper) else {}
            vars(layer).clear()
            vars(layer).update({**values, **inner})

    def _attributes(self, number: int) -> dict[str, Any]:
        """Return what is saved of a wrapper or of the environment itself, which comes last."""
        layer = self._layers[number]
        if number == len(self._layers) - 1 and self._get_state is not None:
            return {"np_random": layer.np_random, "state": self._get_state(layer)}
        values = dict(vars(layer))
        if isinstance(layer, gymnasium.Wrapper):
            del values["env"]
        return values


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, places: dict[int, _Place]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._places = places

    def persistent_id(self, obj: Any) -> _Place | None:
        return self._places.get(id(obj))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, staying: dict[_Place, Any]) -> None:
        super().__init__(file)
        self._staying = staying

    def persistent_load(self, pid: _Place) -> Any:
        return self._staying[pid]


def _pickle(value: Any, places: dict[int, _Place]) -> bytes:
    file = io.BytesIO()
    _Pickler(file, places).dump(value)
    return file.getvalue()


def _stays(value: Any) -> bool:
    return isinstance(value, _STAYING_TYPES) or type(value).__module__.startswith(_STAYING_MODULES)


def _has_content(value: Any) -> bool:
    return isinstance(value, gymnasium.Space) or type(value).__name__ in ("MjData", "ALEInterface")


class _MujocoContent(NamedTuple):
    state: NDArray
    results: dict[str, NDArray]


def _content(value: Any) -> Any:
    """Return the state of MuJoCo's data, of an emulator, or of the generators of a space."""
    if isinstance(value, gymnasium.Space):
        return [space._np_random for space in _with_parts(value)]
    if type(value).__name__ == "ALEInterface":
        return value.cloneState(include_rng=True)
    mujoco = sys.modules["mujoco"]  # which the environment has imported
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(value.model, kind))
    mujoco.mj_getState(value.model, value, state, kind)
    return _MujocoContent(state, {name: getattr(value, name).copy() for name in _FRAMES + _FORCES})


def _set_content(value: Any, content: Any) -> None:
    if isinstance(value, gymnasium.Space):
        for space, generator in zip(_with_parts(value), content, strict=True):
            space._np_random = generator
    elif isinstance(content, _MujocoContent):
        mujoco = sys.modules["mujoco"]  # which the environment has imported
        mujoco.mj_setState(value.model, value, content.state, mujoco.mjtState.mjSTATE_INTEGRATION)
        for name, array in content.results.items():
            getattr(value, name)[:] = array
    else:
        value.restoreState(content)


def _with_parts(space: gymnasium.Space[Any]) -> Iterator[Any]:
    """Yield a space and the spaces that it consists of."""
    yield space
    parts = getattr(space, "spaces", ())
    for part in parts.values() if isinstance(parts, dict) else parts:
        yield from _with_parts(part)
