"""The compiled functions of stateful environments: the one place where tests reach for them."""


def programs_of(env):
    """Return the compiled functions of a `FunctionalEnv` or `FunctionalVectorEnv`."""
    return env._face.programs if hasattr(env, "_face") else env._programs
