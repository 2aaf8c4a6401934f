"""Errors that stateful environments raise when they are used incorrectly."""


class ResetNeeded(RuntimeError):
    """Raised when `step` or `render` precedes `reset`, or when `step` follows an episode's end."""


class ClosedEnvironment(RuntimeError):
    """Raised when an environment is used after `close`."""


class ConcurrentUse(RuntimeError):
    """Raised when two threads use one environment at the same time."""


class ForkedProcess(RuntimeError):
    """Raised when an environment is used in a process that was forked after JAX had started."""
