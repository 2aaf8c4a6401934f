"""The command `funcenv list`, which lists all environments."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from funcenv.cli.flags import read
from funcenv.registry import all_specs, pprint_registry


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """List all environments, with time limits and reward thresholds."""

    json: bool = False
    """print all ids as a JSON list, those of families such as ALE included"""


def run(arguments: Sequence[str]) -> int:
    """Print the list, and return the exit status."""
    options: Options = read("list", Options, arguments)
    if not options.json:
        print(pprint_registry())
        return 0
    fields = ("id", "max_episode_steps", "reward_threshold")
    print(json.dumps([{name: getattr(spec, name) for name in fields} for spec in all_specs().values()], indent=2))
    return 0
