"""Environments of other JAX libraries as functional environments, and the other way.

The libraries are imported when they are asked for, and are not installed with this package.
"""

from funcenv.interop.brax import from_brax, from_playground, to_brax
from funcenv.interop.craftax import from_craftax
from funcenv.interop.envelope import from_envelope, to_envelope
from funcenv.interop.gymnax import GymnaxEnv, GymnaxParams, from_gymnax, to_gymnax
from funcenv.interop.imported import ImportedEnv, ImportedState
from funcenv.interop.jaxmarl import ImportedMultiAgentEnv, from_jaxmarl
from funcenv.interop.jumanji import from_jumanji
from funcenv.interop.navix import from_navix
from funcenv.interop.pgx import from_pgx
from funcenv.interop.xminigrid import from_xminigrid

__all__ = [
    "GymnaxEnv",
    "GymnaxParams",
    "ImportedEnv",
    "ImportedMultiAgentEnv",
    "ImportedState",
    "from_brax",
    "from_craftax",
    "from_envelope",
    "from_gymnax",
    "from_jaxmarl",
    "from_jumanji",
    "from_navix",
    "from_pgx",
    "from_playground",
    "from_xminigrid",
    "to_brax",
    "to_envelope",
    "to_gymnax",
]
