"""Equations of docstrings as MathML, which browsers draw without a script.

    theta_acc = (g sin theta - cos theta temp) / (l (4/3 - m cos^2 theta / M))

An indented block of a docstring whose lines are all equations becomes one `<math>` element. Numbers at the end of a
name are its index, `_dot` and `_acc` are derivatives with respect to time, and a prime marks the next step. A slash
between spaces divides the whole product on its left; a slash without spaces divides its two neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

GREEK = {
    name: chr(code)
    for name, code in {
        **{"alpha": 0x3B1, "beta": 0x3B2, "gamma": 0x3B3, "delta": 0x3B4, "epsilon": 0x3B5, "eta": 0x3B7},
        **{"theta": 0x3B8, "lambda": 0x3BB, "mu": 0x3BC, "pi": 0x3C0, "sigma": 0x3C3, "tau": 0x3C4, "phi": 0x3C6},
        **{"psi": 0x3C8, "omega": 0x3C9},
    }.items()
}
FUNCTIONS = ("sin", "cos", "tan", "exp", "log", "max", "min")
DOTS = {"dot": "\u02d9", "acc": "\u00a8"}  # accents of the first and the second derivative

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([A-Za-z]\w*'?)|( / |/|[-+^(),=]))")
_BLOCK = re.compile(r"(?:^    .*\n?)+", flags=re.MULTILINE)


class NotAnEquation(ValueError):
    """Text that is no equation."""


def with_equations(text: str) -> str:
    """Return a docstring whose blocks of equations are MathML; other indented blocks stay as they are.

    >>> print(with_equations("    v' = v - g t").partition("<math")[0])
    <div class="equations">
    >>> with_equations("    . . S")
    '    . . S'
    """
    return _BLOCK.sub(lambda match: _block(match[0]), text)


def blocks_of(text: str) -> list[str]:
    """Return the blocks of equations of a docstring, as MathML."""
    found = (_block(match[0]) for match in _BLOCK.finditer(text))
    return [block for block in found if block.startswith("<div")]


def to_mathml(equation: str) -> tuple[str, str]:
    """Return both sides of an equation, in MathML without the element `<math>`.

    >>> to_mathml("a = b / 2")
    ('<mi>a</mi>', '<mfrac><mi>b</mi><mn>2</mn></mfrac>')
    """
    tokens = _Tokens(equation)
    left = _sum(tokens)
    tokens.take("=")
    right = _sum(tokens)
    if tokens.next:
        raise NotAnEquation(f"{equation!r} does not end before {tokens.next!r}")
    return left, right


def _block(text: str) -> str:
    try:
        sides = [to_mathml(line) for line in text.splitlines() if line.strip()]
    except NotAnEquation:
        return text
    rows = "".join(f"<mtr><mtd>{left}</mtd><mtd><mo>=</mo></mtd><mtd>{right}</mtd></mtr>" for left, right in sides)
    ending = "\n" if text.endswith("\n") else ""
    return (
        f'<div class="equations"><math display="block"><mtable displaystyle="true">{rows}</mtable></math></div>{ending}'
    )


class _Tokens:
    """The tokens of an equation, read from left to right."""

    def __init__(self, text: str) -> None:
        self._rest = self._split(text)
        self.next = ""
        self.take("")

    def take(self, expected: str | None = None) -> str:
        """Return the next token, and move on."""
        if expected is not None and self.next != expected:
            raise NotAnEquation(f"expected {expected!r}, found {self.next!r}")
        taken, self.next = self.next, next(self._rest, "")
        return taken

    @staticmethod
    def _split(text: str) -> Iterator[str]:
        place, text = 0, text.strip()
        while place < len(text):
            match = _TOKEN.match(text, place)
            spaced = re.compile(r" / ").match(text, place)
            match = spaced or match
            if match is None:
                raise NotAnEquation(f"{text!r} has an unknown sign at {text[place:]!r}")
            yield match[0] if spaced else match[0].strip()
            place = match.end()


def _sum(tokens: _Tokens) -> str:
    parts = []
    while True:
        if tokens.next in ("+", "-"):
            sign = "\u2212" if tokens.take() == "-" else "+"
            parts.append(f"<mo>{sign}</mo>")
        parts.append(_product(tokens))
        if tokens.next not in ("+", "-"):
            return _row(parts)


def _product(tokens: _Tokens) -> str:
    parts = [_quotient(tokens)]
    while True:
        if tokens.next == " / ":
            tokens.take()
            parts = [f"<mfrac>{_row(map(_bare, parts))}{_bare(_quotient(tokens))}</mfrac>"]
        elif tokens.next == "(" or tokens.next[:1].isalnum():
            parts += ['<mspace width="0.17em"/>', _quotient(tokens)]
        else:
            return _row(parts)


def _quotient(tokens: _Tokens) -> str:
    above = _power(tokens)
    if tokens.next != "/":
        return above
    tokens.take()
    return f"<mfrac>{_bare(above)}{_bare(_power(tokens))}</mfrac>"


def _power(tokens: _Tokens) -> str:
    name = tokens.next
    base = _factor(tokens)
    if tokens.next == "^":
        tokens.take()
        base = _to_the(base, tokens.take())
    if name not in FUNCTIONS:
        return base
    return _row([base, '<mspace width="0.17em"/>', _power(tokens)])


def _to_the(base: str, power: str) -> str:
    """Return a power, whose exponent stands above the index of the base."""
    if match := re.fullmatch(r"<msub>(.*)</msub>", base):
        return f"<msubsup>{match[1]}<mn>{power}</mn></msubsup>"
    return f"<msup>{base}<mn>{power}</mn></msup>"


def _factor(tokens: _Tokens) -> str:
    token = tokens.take()
    if token == "(":
        inside = _sum(tokens)
        tokens.take(")")
        stretchy = "" if "<mfrac>" in inside else ' stretchy="false"'
        return f"<mrow><mo{stretchy}>(</mo>{inside}<mo{stretchy}>)</mo></mrow>"
    if token[:1].isdigit():
        return f"<mn>{token}</mn>"
    if not token[:1].isalpha():
        raise NotAnEquation(f"expected a number or a name, found {token!r}")
    return _name(token)


def _name(token: str) -> str:
    """Return a name with its index and its derivatives.

    >>> _name("x_acc"), _name("d1")
    ('<mover accent="true"><mi>x</mi><mo>¨</mo></mover>', '<msub><mi>d</mi><mn>1</mn></msub>')
    """
    prime, token = token.endswith("'"), token.rstrip("'")
    stem, _, ending = token.partition("_")
    letters, index = re.fullmatch(r"([A-Za-z]+)(\d*)", stem).groups() if stem.isalnum() else (stem, "")
    if ending and ending not in DOTS:
        raise NotAnEquation(f"{token!r} ends in none of {', '.join(DOTS)}")
    text = f"<mi>{GREEK.get(letters, letters)}{chr(0x2032) if prime else ''}</mi>"
    text = f'<mover accent="true">{text}<mo>{DOTS[ending]}</mo></mover>' if ending else text
    return f"<msub>{text}<mn>{index}</mn></msub>" if index else text


def _bare(text: str) -> str:
    """Return the contents of a part of a fraction, which needs no parentheses."""
    match = re.fullmatch(r"<mrow><mo[^>]*>\(</mo>(.*)<mo[^>]*>\)</mo></mrow>", text)
    return f"<mrow>{match[1]}</mrow>" if match and _is_balanced(match[1]) else text


def _is_balanced(text: str) -> bool:
    depth = 0
    for sign in re.findall(r"<mo[^>]*>([()])</mo>", text):
        depth += 1 if sign == "(" else -1
        if depth < 0:
            return False
    return depth == 0


def _row(parts: Iterator[str] | list[str]) -> str:
    listed = list(parts)
    return listed[0] if len(listed) == 1 else f"<mrow>{''.join(listed)}</mrow>"
