"""Error messages name the rule that was broken, the value that broke it, and the remedy.

These tests read every message out of the source and check its form; each lists all offenders. `tests/test_errors.py`
provokes errors and reads what they say.
"""

import ast
import builtins
import re

import pytest

from funcenv import adapters
from tests.support.sources import ROOT, sources

PROTOCOLS = {"AttributeError", "IndexError", "KeyError", "StopIteration"}  # Python has its own forms for these

# Two clauses, of which the second says what was given or what to do; or one that is the remedy: "call reset() first".
CLAUSES = re.compile(r"(; |, got |: |\. |, not )\S|\bmust define \w|\bcall \w+\(|\bneeds \S|\bdraws nothing until it ")
ABSENCE = re.compile(
    r"\b(call|cannot|need|needs|neither|none|both|first|nothing|no parameter|closed|another|traced|import)\b"
)


def errors():
    """Yield where each error is built, its class, and its message with {} in the place of values."""
    for path in sources().values():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args and is_error(name := ast.unparse(node.func)):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", name, message_of(node.args[0])


def is_error(name):
    kind = getattr(builtins, name, None) or getattr(adapters, name, None)
    known = isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, Warning)
    return known or re.fullmatch(r"[A-Z]\w+Error", name) is not None


def message_of(node):
    """Return the text of a literal, an f-string or a sum of these; None where it is computed."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = message_of(node.left), message_of(node.right)
        return None if None in parts else "".join(parts)
    return None


@pytest.fixture(scope="module")
def messages():
    """Every message by the place where it is written, None where it is computed."""
    return {where: text for where, name, text in errors() if name not in PROTOCOLS}


def offenders(messages, is_good):
    return "\n".join(f"{where}: {text}" for where, text in messages.items() if text is not None and not is_good(text))


def test_the_walk_reads_nearly_all_of_them(messages):
    computed = [where for where, text in messages.items() if text is None]
    assert len(messages) - len(computed) > 250
    assert len(computed) < 0.04 * len(messages), computed


def test_a_message_has_a_clause_beside_the_fault(messages):
    assert not offenders(messages, lambda text: CLAUSES.search(text) or re.fullmatch(r"import [\w.]+", text))


def test_a_message_shows_a_value_or_names_what_was_not_done(messages):
    assert not offenders(messages, lambda text: "{}" in text or ABSENCE.search(text))


def test_a_message_has_the_form_of_the_others(messages):
    """It begins small, or with a name, and has no mark at its end and no line breaks."""
    assert not offenders(messages, lambda text: not re.match(r"(Error|Invalid|Please|Bad|Wrong)\b", text))
    assert not offenders(messages, lambda text: not re.search(r"(?<!\.\.)[.!]$|\n|  ", text))
    assert not offenders(messages, lambda text: re.match(r"[a-z{\"'\[-]|[A-Z]\w*[ (.{]", text))
