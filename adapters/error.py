"""Errors of the stateful interfaces, also under the names of `gymnasium.error`."""

from funcenv.forking import ForkedProcess
from funcenv.registry import UnregisteredEnv


class Error(Exception):
    """Base of the errors that say how a stateful environment is used."""


class ResetNeeded(Error, RuntimeError):
    """Raised when `step` or `render` precedes `reset`, or when `step` follows an episode's end."""


class ClosedEnvironment(Error, RuntimeError):
    """Raised when an environment is used after `close`."""


class ConcurrentUse(Error, RuntimeError):
    """Raised when two threads use one environment at the same time."""


# Gymnasium's names for the errors that are raised here in the same situations
ClosedEnvironmentError = ClosedEnvironment
DependencyNotInstalled = ModuleNotFoundError
DeprecatedEnv = NameNotFound = NamespaceNotFound = VersionNotFound = UnregisteredEnv
InvalidAction = InvalidBound = InvalidProbability = UnsupportedMode = RegistrationError = ValueError
AlreadyPendingCallError = NoAsyncCallError = RuntimeError

__all__ = [
    "AlreadyPendingCallError",
    "ClosedEnvironment",
    "ClosedEnvironmentError",
    "ConcurrentUse",
    "DependencyNotInstalled",
    "DeprecatedEnv",
    "Error",
    "ForkedProcess",
    "InvalidAction",
    "InvalidBound",
    "InvalidProbability",
    "NameNotFound",
    "NamespaceNotFound",
    "NoAsyncCallError",
    "RegistrationError",
    "ResetNeeded",
    "UnregisteredEnv",
    "UnsupportedMode",
    "VersionNotFound",
]
