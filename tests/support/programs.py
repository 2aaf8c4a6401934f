"""The compiled functions and the windows of stateful environments: the one place where tests reach for them."""


def programs_of(env):
    """Return the compiled functions of a `FunctionalEnv` or `FunctionalVectorEnv`."""
    return env._face.programs if hasattr(env, "_face") else env._session._programs


def window_of(env):
    """Return the window of an environment, or None if none is open."""
    return env._renderer.window
