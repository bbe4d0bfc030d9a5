"""Text of users shown to people: names are any text, and not every character can be drawn, marked up or printed."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["LONE_SURROGATE", "one_line", "visible"]

LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair: no character, and not writable as UTF-8."""

# what XML 1.0 forbids, and the control characters that it merely discourages; tab and line ends stay
_INVISIBLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u2028\u2029]")
_LINE_BREAKING: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u2028\u2029]")
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return _SHORT.get(found[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def visible(text: str) -> str:
    r"""The text with each character that XML, HTML or a drawing cannot hold as an escape; tabs and line ends stay.

    >>> visible("a\x01b\ufffe")
    'a\\x01b\\ufffe'
    """
    return _INVISIBLE.sub(_escape, text)


def one_line(text: str) -> str:
    r"""As :func:`visible`, with tabs and line ends escaped as well: safe in a line of a table on a terminal.

    >>> one_line("a\nb\x1b[2J")
    'a\\nb\\x1b[2J'
    """
    return _LINE_BREAKING.sub(_escape, text)
