"""The class of `to_torchrl`; TorchRL must be installed to import this module."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from funcenv.adapters.registration import make_vec
from funcenv.func_env import AnyEnv
from funcenv.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

torch = importlib.import_module("torch")
specs = importlib.import_module("torchrl.data")
tensordict = importlib.import_module("tensordict")
EnvBase = importlib.import_module("torchrl.envs").EnvBase


class TorchRLEnv(EnvBase):  # type: ignore[misc, valid-type]  # It is imported by name.
    """A `torchrl.envs.EnvBase` over copies of an environment, as `to_torchrl` returns it.

    Args:
        env: a functional environment or an id.
        num_envs: the number of copies, which is the batch size; None for one without a batch size.
        categorical_action_encoding: whether discrete actions are integers; they are one-hot otherwise, as in `GymEnv`.
        device: where observations and rewards go; by default where JAX computes them.
        **arguments: those of `funcenv.adapters.make_vec`.

    Attributes:
        envs: the stateful vector environment.
    """

    def __init__(
        self,
        env: AnyEnv | str,
        num_envs: int | None = None,
        categorical_action_encoding: bool = False,
        device: Any = None,
        **arguments: Any,
    ) -> None:
        batch_size = torch.Size([] if num_envs is None else [num_envs])
        super().__init__(device=device, batch_size=batch_size)
        self.envs = make_vec(env, num_envs or 1, autoreset_mode="Disabled", output="torch", **arguments)
        self._has_numbers = isinstance(self.envs.single_action_space, Discrete | MultiDiscrete)
        self._is_categorical = categorical_action_encoding
        self._next_seed: int | None = None
        observation_space, action_space = self.envs.single_observation_space, self.envs.single_action_space
        self._is_composite = isinstance(observation_space, Dict)
        observation = spec_of(observation_space)
        if not self._is_composite:
            observation = specs.Composite({"observation": observation})
        self.observation_spec = self._batch_spec(observation)
        self.action_spec = self._batch_spec(_action_spec(action_space, categorical_action_encoding))
        self.reward_spec = self._batch_spec(specs.Unbounded((1,), dtype=torch.float32))
        flag = functools.partial(specs.Categorical, 2, shape=(1,), dtype=torch.bool)
        self.full_done_spec = self._batch_spec(
            specs.Composite({name: flag() for name in ("done", "terminated", "truncated")})
        )

    def close(self, **kwargs: Any) -> None:
        """Close the environments."""
        self.envs.close()
        super().close(**kwargs)

    def _batch_spec(self, spec: Any) -> Any:
        spec = spec.expand(*self.batch_size, *spec.shape)
        return spec if self.device is None else spec.to(self.device)

    def _reset(self, tensordict: Any = None, **kwargs: Any) -> Any:
        del kwargs
        options = {}
        mask = None if tensordict is None else tensordict.get("_reset", None)
        if mask is not None and not mask.all():
            options["reset_mask"] = mask.reshape(-1).numpy(force=True)
        observation, _ = self.envs.reset(seed=self._next_seed, options=options)
        self._next_seed = None
        never = torch.zeros(self.envs.num_envs, dtype=torch.bool)
        return self._result(observation, terminated=never, truncated=never)

    def _step(self, tensordict: Any) -> Any:
        action = tensordict.get("action")
        if self._has_numbers and not self._is_categorical:
            action = self.action_spec.to_categorical(action)
        action = action.reshape(self.envs.action_space.shape)
        observation, reward, terminated, truncated, _ = self.envs.step(action)
        return self._result(observation, reward=reward, terminated=terminated, truncated=truncated)

    def _set_seed(self, seed: int | None) -> None:
        self._next_seed = seed

    def _result(self, observation: Any, **columns: Any) -> Any:
        columns["done"] = columns["terminated"] | columns["truncated"]
        observation = _named(observation)
        entries = observation if self._is_composite else {"observation": observation}
        entries = tensordict.TensorDict(entries, [self.envs.num_envs])
        for name, values in columns.items():
            entries[name] = values.unsqueeze(-1)
        entries = entries.reshape(self.batch_size)
        return entries if self.device is None else entries.to(self.device)


@functools.singledispatch
def spec_of(space: Any) -> Any:
    """Return the spec of the members of a space.

    Raises:
        TypeError: the space has no counterpart.
    """
    raise TypeError(f"{space!r} has no counterpart among the specs of TorchRL; wrap the environment to change it")


@spec_of.register
def _(space: Discrete) -> Any:
    if space.start != 0:
        return specs.Bounded(space.start, space.start + space.n - 1, (), dtype=_dtype(space))
    return specs.Categorical(space.n, dtype=_dtype(space))


@spec_of.register
def _(space: Box) -> Any:
    if np.isfinite(space.low).all() and np.isfinite(space.high).all():
        low, high = (torch.as_tensor(np.array(bound)) for bound in (space.low, space.high))
        return specs.Bounded(low, high, space.shape, dtype=_dtype(space))
    return specs.Unbounded(space.shape, dtype=_dtype(space))


@spec_of.register
def _(space: MultiDiscrete) -> Any:
    if np.any(space.start):
        raise TypeError(f"TorchRL has no spec for {space!r}, which does not start at 0; wrap the environment")
    return specs.MultiCategorical(torch.as_tensor(np.array(space.nvec)), dtype=_dtype(space))


@spec_of.register
def _(space: MultiBinary) -> Any:
    return specs.Binary(shape=space.shape, dtype=_dtype(space))


@spec_of.register
def _(space: Dict) -> Any:
    return specs.Composite({str(key): spec_of(part) for key, part in space.spaces.items()})


@spec_of.register
def _(space: Tuple) -> Any:
    return specs.Composite({str(i): spec_of(part) for i, part in enumerate(space.spaces)})


def _action_spec(space: Any, is_categorical: bool) -> Any:
    if is_categorical or not isinstance(space, Discrete | MultiDiscrete):
        return spec_of(space)
    if isinstance(space, Discrete) and space.start == 0:
        return specs.OneHot(space.n, dtype=torch.bool)
    if isinstance(space, MultiDiscrete):
        return specs.MultiOneHot(np.asarray(space.nvec).tolist(), dtype=torch.bool)
    return spec_of(space)


def _named(observation: Any) -> Any:
    """Return an observation with dictionaries in place of tuples, whose entries are named by their numbers."""
    if isinstance(observation, tuple):
        observation = dict(enumerate(observation))
    if isinstance(observation, dict):
        return {str(key): _named(part) for key, part in observation.items()}
    return observation


def _dtype(space: Any) -> Any:
    return getattr(torch, np.dtype(space.dtype).name)
