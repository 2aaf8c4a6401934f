"""The name `gymnasium.utils.env_checker` for `funcenv.adapters.check_env`."""

from funcenv.adapters.checking.env_checker import check_env

__all__ = ["check_env"]
