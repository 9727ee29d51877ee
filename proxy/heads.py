"""The head of a message of HTTP/1.1 as it stands on the wire.

Owns the last look at what is written there. It must not know which headers there are, or whose.
"""

from collections.abc import Iterable


def head(first: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """The lines of a head and the empty one behind them. Raises `ValueError` for what could not be
    told from two heads, and for what is no UTF-8."""
    lines = [first, *map(": ".join, headers)]
    text = "\r\n".join(lines)
    # SECURITY: a line break within a part would begin a header, or a message, of its own.
    if text.count("\n") >= len(lines) or text.count("\r") >= len(lines) or "\0" in text:
        raise ValueError("a header holds what cannot stand in one")
    # SECURITY: strictly; dropping what is no UTF-8 would send something else than was screened.
    return f"{text}\r\n\r\n".encode()
