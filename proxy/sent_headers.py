"""The headers that a request leaves with: what no leg gets, who gets a credential.

Owns the last look at them. The door has sorted them; what would do harm is kept out here as well.
It must not know an endpoint.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from proxy.config import UpstreamSettings
from proxy.errors import Refused
from proxy.headers import HOP_BY_HOP, is_credential

Headers = Sequence[tuple[str, str]]

_REWRITTEN: Final = frozenset(
    {"host", "content-length", "content-encoding", "accept-encoding", "expect", "cookie"}
)
_LONE: Final = re.compile("[\ud800-\udfff]")


def whole(headers: Headers) -> Headers:
    """Everything that is sent. Raises `Refused("door-refused")`."""
    # The exchange writes no such thing; here it is an error that says what is wrong.
    text = "".join([name + value for name, value in headers])
    if not text.isascii() and _LONE.search(text):
        raise Refused("door-refused", reason="a header holds what cannot be sent")
    return [*headers, ("accept-encoding", "identity")]


def plain(headers: Headers) -> list[tuple[str, str]]:
    """Headers for any leg. The door has sorted them; what would do harm is kept out here too."""
    return [pair for pair in headers if not _stays(pair[0])]


@lru_cache(256)
def _stays(name: str) -> bool:
    low = name.lower()
    # SECURITY: a credential comes in by its own list alone.
    if is_credential(name) or low.startswith("x-transom-"):
        return True
    return low in HOP_BY_HOP or low in _REWRITTEN


_KEY_HEADERS: Final[Mapping[str, tuple[str, str]]] = {
    "anthropic": ("x-api-key", ""),
    "openai": ("authorization", "Bearer "),
    "ollama": ("authorization", "Bearer "),
}


def credentials_for(upstream: UpstreamSettings, callers: Headers, family: str) -> Headers:
    """The credential headers for an upstream, given the caller's own. `family`: the endpoint's."""
    # SECURITY: the caller's credentials go nowhere but where the owner said so.
    if upstream.auth == "caller":
        return callers
    if upstream.auth == "key":
        name, scheme = _KEY_HEADERS[family]
        return [(name, f"{scheme}{upstream.key or ''}")]
    return []
