"""Stateful faces of the pure environments."""

if __name__ != "funcenv.adapters":
    raise ImportError("import funcenv.adapters")
