"""An extension of mkdocstrings that documents records, their fields and the examples in docstrings.

    theta: Float[Array, ""]  # from upright, clockwise [rad]

The comment of a field becomes its documentation. Every subclass of `PyTreeNode` is given the `__init__` that it has at
run time, because mkdocstrings reads the source without importing it. Interpreter sessions (`>>>`) become code blocks.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import griffe

RECORD = "funcenv.struct.PyTreeNode"

_COMMENT = re.compile(r"\s# (?!noqa|type:)(.*?)(?:\s+# (?:noqa|type:).*)?$")
_SESSION = re.compile(r"(^[ ]*>>> .*\n(?:.*\S.*\n?)*)", flags=re.MULTILINE)


def comment_of(lines: list[str], number: int) -> str:
    """Return the comment at the end of a line (counted from 1), without comments for ruff and mypy.

    >>> comment_of(["l: float = 1.0  # length [m]  # noqa: E741"], 1)
    'length [m]'
    """
    found = _COMMENT.search(lines[number - 1])
    return found[1].strip() if found else ""


def field_comments(cls: type) -> dict[str, str]:
    """Return the comment of every field of a record class, or else that of its bases, by name."""
    comments: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if "__dataclass_fields__" in vars(base):
            lines = inspect.getsource(base).splitlines()
            body = ast.parse(textwrap.dedent("\n".join(lines))).body[0]
            for node in getattr(body, "body", ()):
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    inherited = comments.get(node.target.id, "")
                    comments[node.target.id] = comment_of(lines, node.end_lineno or node.lineno) or inherited
    return comments


def escaped(text: str) -> str:
    r"""Return text whose brackets are escaped, so that they are not links; code is left unchanged.

    >>> print(escaped("in [0, 1], as `x[0]`"))
    in \[0, 1\], as `x[0]`
    """
    parts = re.split(r"(`[^`]*`|^    .*$)", text, flags=re.MULTILINE)
    return "".join(part if i % 2 else re.sub(r"([\[\]])", r"\\\1", part) for i, part in enumerate(parts))


def fenced(text: str) -> str:
    r"""Return a docstring whose interpreter sessions are code blocks.

    >>> fenced("Add one.\n\n>>> 1 + 1\n2").replace("`", "'")
    "Add one.\n\n'''pycon\n>>> 1 + 1\n2\n'''\n"
    """

    def fence(match: re.Match[str]) -> str:
        indent = " " * (len(match[1]) - len(match[1].lstrip(" ")))
        return f"{indent}```pycon\n{match[1].rstrip()}\n{indent}```\n"

    return _SESSION.sub(fence, text)


class Docstrings(griffe.Extension):
    """The extension that mkdocs.yml names."""

    def on_attribute_instance(self, *, node: Any, attr: griffe.Attribute, **kwargs: Any) -> None:
        """Document a field by its comment, when griffe reads an attribute."""
        if attr.docstring is None and isinstance(node, ast.AnnAssign) and isinstance(attr.parent, griffe.Class):
            number = node.end_lineno or node.lineno
            if comment := comment_of(list(attr.lines_collection[attr.filepath]), number):
                text = escaped(comment[0].upper() + comment[1:]) + "."
                attr.docstring = griffe.Docstring(text, parent=attr, lineno=number)

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Make code blocks of the examples, when griffe has read all modules."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Give every record class its `__init__`, when griffe has read a package."""
        for cls in _classes(pkg):
            bases = [
                base for base in _bases(cls) if base.path == RECORD or RECORD in {far.path for far in _bases(base)}
            ]
            if bases and "__init__" not in cls.members:
                cls.set_member("__init__", _init(cls, _fields([*reversed(_bases(cls)), cls])))


def _classes(module: griffe.Module | griffe.Class) -> Iterator[griffe.Class]:
    for member in list(module.members.values()):
        if not member.is_alias and isinstance(member, (griffe.Module, griffe.Class)):
            if isinstance(member, griffe.Class):
                yield member
            yield from _classes(member)


def _bases(cls: griffe.Class) -> list[griffe.Class]:
    """Return the base classes of a class within this package, the nearest first."""
    found: list[griffe.Class] = []
    for base in cls.bases:
        path = str(getattr(base, "canonical_path", base))
        if not path.startswith("funcenv."):
            continue
        try:
            above: Any = cls.modules_collection[path]
        except KeyError:  # a class of another library, which is imported by name
            continue
        above = above.final_target if above.is_alias else above
        if isinstance(above, griffe.Class):
            found += [above, *_bases(above)]
    return found


def _fields(classes: list[griffe.Class]) -> dict[str, griffe.Parameter]:
    fields: dict[str, griffe.Parameter] = {}
    for cls in classes:
        for name, member in cls.members.items():
            labels = member.labels
            if not isinstance(member, griffe.Attribute) or member.annotation is None or "property" in labels:
                continue
            if "class-attribute" in labels and "instance-attribute" not in labels:  # a ClassVar
                continue
            kind = griffe.ParameterKind.positional_or_keyword
            fields[name] = griffe.Parameter(name, annotation=member.annotation, kind=kind, default=_default(member))
    return fields


def _default(attribute: griffe.Attribute) -> Any:
    """Return the default of a field written as `name: type = value` or `= field(default=value)`."""
    value = attribute.value
    if isinstance(value, griffe.ExprCall) and str(value.function).rpartition(".")[2] == "field":
        given = {getattr(argument, "name", None): getattr(argument, "value", None) for argument in value.arguments}
        return given.get("default")
    return value


def _init(cls: griffe.Class, fields: dict[str, griffe.Parameter]) -> griffe.Function:
    own = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    parameters = griffe.Parameters(own, *fields.values())
    return griffe.Function("__init__", parent=cls, parameters=parameters, returns="None", lineno=0, endlineno=0)
