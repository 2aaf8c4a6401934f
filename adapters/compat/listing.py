"""A listing of all ids in Gymnasium's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from funcenv.adapters.registration import registry
from funcenv.registry import EnvSpec


def pprint_registry(
    print_registry: Mapping[str, EnvSpec] | None = None,
    *,
    num_cols: int = 3,
    exclude_namespaces: Sequence[str] | None = None,
    disable_print: bool = False,
) -> str | None:
    """Print all ids by namespace, as `gymnasium.pprint_registry` does; `funcenv.pprint_registry` returns a table.

    Args:
        print_registry: Specifications by id; by default all that are registered.
        num_cols: Number of columns.
        exclude_namespaces: Namespaces to leave out. The namespace of an id without one is the module of its family.
        disable_print: Whether to return the text instead.

    >>> from funcenv.adapters import spec
    >>> pprint_registry({"CartPole-v1": spec("CartPole-v1"), "Pendulum-v1": spec("Pendulum-v1")})
    ===== classic_control =====
    CartPole-v1 Pendulum-v1
    """
    print_registry = registry if print_registry is None else print_registry
    ids: dict[str, list[str]] = {}
    for one in print_registry.values():
        ids.setdefault(_namespace(one), []).append(one.id)
    width = max((len(one.id) for one in print_registry.values()), default=0)
    blocks = []
    for namespace, names in ids.items():
        if namespace not in (exclude_namespaces or ()):
            names = [name.ljust(width) for name in sorted(names)]
            rows = [" ".join(names[start : start + num_cols]).rstrip() for start in range(0, len(names), num_cols)]
            blocks.append("\n".join([f"===== {namespace} =====", *rows]))
    text = "\n".join(blocks)
    if disable_print:
        return text
    print(text)
    return None


def _namespace(spec: EnvSpec) -> str:
    """Return the namespace of an id, or the third part of the module that it comes from, as Gymnasium does."""
    if spec.namespace is not None:
        return spec.namespace
    module = spec.entry_point.partition(":")[0] if isinstance(spec.entry_point, str) else spec.entry_point.__module__
    parts = module.split(".")
    return parts[2] if len(parts) > 2 else parts[-1]
