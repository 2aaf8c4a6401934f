"""Planning with the environment itself as the model: branches, tree search, and search over sequences of actions.

A state is a value, so a search may step from it as often as it likes and leaves the played environment as it is.
"""

from funcenv.search.model import Branches, branch
from funcenv.search.shooting import ShootingPolicy, make_shooting
from funcenv.search.tree import SearchPolicy, SearchResult, make_search
from funcenv.search.values import Playouts, playouts

__all__ = [
    "Branches",
    "Playouts",
    "SearchPolicy",
    "SearchResult",
    "ShootingPolicy",
    "branch",
    "make_search",
    "make_shooting",
    "playouts",
]
