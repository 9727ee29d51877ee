"""What a browser wants to hear before a page of another origin may call and read the answer.

Owns the words of the Fetch standard (CORS, Private Network Access). It must not know which origins
are welcome: the door says so. Nothing here lets anybody in; a browser without these answers keeps
the page from reading, and the door judges every request by itself.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

Pairs = tuple[tuple[str, str], ...]

ASKS: Final = "access-control-request-method"
"""The header that makes an OPTIONS request a browser's question whether a page may call."""

_PREFIX: Final = "access-control-"
_NAMES: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~, \t-]{0,2048}")
_KEEP: Final = "600"  # seconds for which a browser may remember the answer


def asks(method: str, headers: Mapping[str, object]) -> bool:
    """Whether a request is a browser's question and no request of a client. `headers`: keys in
    lower case, or without case."""
    return method == "OPTIONS" and "origin" in headers and ASKS in headers


def grant(origin: str) -> Pairs:
    """For every answer to a page of this origin, refusals too. Without it the page would see
    nothing but that something failed. No cookie is ever asked for."""
    return (
        ("access-control-allow-origin", origin),
        ("access-control-expose-headers", "*"),
        ("vary", "Origin"),
    )


def leave(headers: Mapping[str, str]) -> Pairs:
    """The rest of the answer to the question: what it asks for, and for how long. The door has let
    the method and the address pass."""
    found = [("access-control-allow-methods", headers[ASKS]), ("access-control-max-age", _KEEP)]
    names = headers.get("access-control-request-headers", "")
    if names and _NAMES.fullmatch(names):
        found.append(("access-control-allow-headers", names))
    if headers.get("access-control-request-private-network") == "true":
        found.append(("access-control-allow-private-network", "true"))
    return tuple(found)


def without(headers: Iterable[tuple[str, str]]) -> Pairs:
    """An upstream's answer without its own word on this, which was about another listener: a
    browser that reads two of them takes neither."""
    return tuple(pair for pair in headers if not pair[0].lower().startswith(_PREFIX))
