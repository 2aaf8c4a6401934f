"""Reading and setting the parameters of each environment of a batch, as Gymnasium's vector environments do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from funcenv.adapters.engine.parameters import is_parameter, read_attribute
from funcenv.adapters.env import ActType, ObsType
from funcenv.adapters.rendering.batch import RenderedVectorEnv
from funcenv.func_env import AnyEnv
from funcenv.parameters import map_batched, parameter_axes

# Attributes of a single environment that the vector environment has under these names.
_OF_EACH = {
    "observation_space": "single_observation_space",
    "action_space": "single_action_space",
    **{name: name for name in ("metadata", "render_mode", "spec")},
}


class AttributedVectorEnv(RenderedVectorEnv[ObsType, ActType]):
    """The part of `FunctionalVectorEnv` that reads and sets attributes. A subclass defines `_set_parameters`."""

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment, such as a parameter.

        Raises:
            AttributeError: the environments do not have the attribute.

        >>> from funcenv.adapters import make_vec
        >>> make_vec("CartPole-v1", 2).get_attr("gravity")
        (9.8, 9.8)
        """
        if name in _OF_EACH:
            return (getattr(self, _OF_EACH[name]),) * self.num_envs
        return tuple(read_attribute(env, name) for env in self._single_envs())

    def set_attr(self, name: str, values: Any) -> None:
        """Set a parameter, from the next step on, and also in later episodes.

        This does not compile again, unless the parameter is static. Episodes go on, unless their states have other
        shapes with the new value; then `reset` must come next.

        Args:
            name: a parameter of the environments, or of a wrapper such as `TimeLimit`.
            values: one value for all, or a list, tuple or array with one for each environment.

        Raises:
            AttributeError: there is no such parameter.
            ValueError: there are more or fewer values than environments, values of a static parameter differ, or the
                environment rejects one.

        >>> from funcenv.adapters import make_vec
        >>> envs = make_vec("CartPole-v1", 2)
        >>> envs.set_attr("gravity", [9.8, 1.6])
        >>> [float(gravity) for gravity in envs.get_attr("gravity")]
        [9.8, 1.6]
        """
        if isinstance(values, (list, tuple)):
            if len(values) != self.num_envs:
                raise ValueError(
                    f"set_attr takes one value, or one for each of num_envs={self.num_envs}, got {len(values)} values"
                )
            values = self._joined(name, values)
        self._set_parameters({name: values})

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of each environment with these arguments, and return the results.

        As in Gymnasium, attributes that are not functions are returned. `call("render")` returns what `render` does.

        Raises:
            AttributeError: the environments do not have the attribute. `reset` and `step` are those of the batch.
        """
        if name == "render":
            frames = self.render(*args, **kwargs)
            return frames if isinstance(frames, tuple) else (frames,) * self.num_envs
        attributes = self.get_attr(name)
        return tuple(one(*args, **kwargs) if callable(one) else one for one in attributes)

    def _set_parameters(self, changes: dict[str, Any]) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _set_parameters(changes)")

    def _joined(self, name: str, values: list[Any] | tuple[Any, ...]) -> Any:
        """Return one value that stands for a value of each environment."""
        first = values[0]
        if all(value is first or (type(value) is type(first) and np.array_equal(value, first)) for value in values):
            return first
        if is_parameter(self.func_env, name) and not _is_leaf(self.func_env, name):
            raise ValueError(
                f"{name} is static, so all environments of a batch share it, got {values!r}; "
                "make a batch for each of its values"
            )
        return np.asarray(values)

    def _single_envs(self) -> Iterator[AnyEnv]:
        """Yield each environment with its own parameters."""
        env, num_envs = self.func_env, self.num_envs
        is_batched = bool(jax.tree.leaves(parameter_axes(env, num_envs)))
        for i in range(num_envs):
            yield map_batched(env, num_envs, _picker(i)) if is_batched else env


def _picker(i: int) -> Callable[[Any], Any]:
    return lambda leaf: np.asarray(leaf)[i]


def _is_leaf(func_env: AnyEnv, name: str) -> bool:
    """Return whether a parameter is a child of the pytree, so that programs take it as an argument."""
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(func_env)]
    return any(getattr(step, "name", "").lower() == name.lower() for path in paths for step in path)
