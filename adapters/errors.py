"""What goes wrong when a stateful environment is used out of order."""


class ResetNeeded(RuntimeError):
    """`step` or `render` was called before `reset`, or after an episode's end."""


class ClosedEnvironment(RuntimeError):
    """An environment was used after `close`."""


class ConcurrentUse(RuntimeError):
    """One environment was used by two threads at once."""
