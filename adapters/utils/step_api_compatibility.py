"""The name `gymnasium.utils.step_api_compatibility` for the conversions of what `step` returns."""

from __future__ import annotations

from typing import Any

from funcenv.adapters.compat.results import step_api_compatibility

__all__ = ["convert_to_done_step_api", "convert_to_terminated_truncated_step_api", "step_api_compatibility"]


def convert_to_terminated_truncated_step_api(step_returns: tuple[Any, ...], is_vector_env: bool = False) -> Any:
    """Convert the result of `step` to five values.

    >>> convert_to_terminated_truncated_step_api((3, 1.0, True, {}))
    (3, 1.0, True, False, {})
    """
    return step_api_compatibility(step_returns, True, is_vector_env)


def convert_to_done_step_api(step_returns: tuple[Any, ...], is_vector_env: bool = False) -> Any:
    """Convert the result of `step` to four values.

    >>> convert_to_done_step_api((3, 1.0, True, False, {}))
    (3, 1.0, True, {'TimeLimit.truncated': False})
    """
    return step_api_compatibility(step_returns, False, is_vector_env)
