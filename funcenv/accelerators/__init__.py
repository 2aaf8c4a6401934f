"""Programs for accelerators that need not be there: compiled by their own compilers, read, and saved."""

from funcenv._compile.options import graph_options
from funcenv.accelerators.programs import ENV_PROGRAMS, compile_env, compile_policy, compile_update
from funcenv.accelerators.saved import SUFFIX, load, save
from funcenv.accelerators.topologies import describe, mesh_of, require_compilable

__all__ = [
    "ENV_PROGRAMS",
    "SUFFIX",
    "compile_env",
    "compile_policy",
    "describe",
    "graph_options",
    "load",
    "compile_update",
    "mesh_of",
    "require_compilable",
    "save",
]
