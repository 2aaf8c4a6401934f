"""Text that a terminal shows as it is."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    r"""Return a text with its control characters written as escapes, except for line breaks and tabs.

    Names in files that somebody else made could otherwise move the cursor, change the title of a terminal or reverse
    the direction of writing.

    >>> printable("a\x1b[31mred\nb")
    'a\\x1b[31mred\nb'
    """
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character
    return ascii(character)[1:-1]
