"""Environments behind the interface of TorchRL (Bou et al., 2023); tensors share the memory of JAX's arrays."""

from __future__ import annotations

import importlib
from typing import Any

from funcenv.func_env import AnyEnv
from funcenv.interop.imported import import_library


def to_torchrl(env: AnyEnv | str, num_envs: int | None = None, **arguments: Any) -> Any:
    """Return a `torchrl.envs.EnvBase` for copies of an environment.

    Observations are in the entry "observation", or in the entries of a `Dict` space. Terminations and truncations have
    entries of their own. Collectors reset the environments that ended, each by its own stream of random numbers.

    Args:
        env: a functional environment or an id.
        num_envs: the number of copies, which is the batch size; None for one without a batch size.
        **arguments: `device`, where observations and rewards go, by default where JAX computes them;
            `categorical_action_encoding=True` for discrete actions that are integers and not one-hot; and those of
            `funcenv.adapters.make_vec`, such as `gravity=1.6`.

    Raises:
        ModuleNotFoundError: TorchRL is not installed.
        TypeError: a space has no counterpart among the specs.
    """
    import_library("torchrl", (0, 8))
    module = importlib.import_module("funcenv.interop.torchrl.env")
    return module.TorchRLEnv(env, num_envs, **arguments)
