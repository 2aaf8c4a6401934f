"""Public names and their signatures are those of a committed list. A change is a decision (docs/stability.md).

`python -m tests.static.test_signatures` writes the list.
"""

import enum
import importlib
import inspect
import pathlib
import re

LIST = pathlib.Path(__file__).with_name("signatures.txt")
PACKAGES = (
    "funcenv",
    "funcenv.spaces",
    "funcenv.wrappers",
    "funcenv.scene",
    "funcenv.replay",
    "funcenv.random",
    "funcenv.interop",
    "funcenv.checker",
    "funcenv.verify",
    "funcenv.datasets",
    "funcenv.envs",
    "funcenv.adapters",
    "funcenv.adapters.wrappers",
    "funcenv.adapters.gymnasium",
)


def signatures():
    """Return a line for each public name."""
    return [
        f"{package}.{name}{_signature(getattr(importlib.import_module(package), name))}"
        for package in PACKAGES
        for name in sorted(importlib.import_module(package).__all__)
    ]


def _signature(value):
    """Return the parameters with their defaults; annotations are left to the type checker."""
    if inspect.ismodule(value) or not callable(value):
        return ""
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return f" {[member.value for member in value]}"
    try:
        found = inspect.signature(value)
    except ValueError:  # a class of Python itself
        return ""
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in found.parameters.values()
        if not parameter.name.startswith("_")
    ]
    text = str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    text = re.sub(r"frozenset\(\{[^}]*\}\)", "frozenset", text)  # in an order of its own in every process
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def test_public_signatures_change_only_on_purpose():
    recorded, seen = LIST.read_text().splitlines(), signatures()
    gone, new = [line for line in recorded if line not in seen], [line for line in seen if line not in recorded]
    assert not gone and not new, (
        "public signatures changed. If that is meant, write them again with `python -m tests.static.test_signatures`, "
        "and say so in the changelog; docs/stability.md has the rules.\n"
        + "\n".join([*(f"- {line}" for line in gone), *(f"+ {line}" for line in new)])
    )


if __name__ == "__main__":
    LIST.write_text("\n".join(signatures()) + "\n")
