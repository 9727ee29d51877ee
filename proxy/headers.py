"""Which request headers go on, which stay, and which are credentials.

Owns the lists. It must not know an upstream or a client token. A header that is on no list goes on
as it came: betas and vendors' own headers are never filtered.
"""

from collections.abc import Sequence
from typing import Final

Headers = tuple[tuple[str, str], ...]
"""Name and value as they stood on the wire, in order, repeated ones kept."""

HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "http2-settings",
    }
)
"""RFC 9110, 7.6.1; for one connection alone, in both directions."""

_OURS: Final = frozenset(
    {
        # The outbound door writes these anew: it may send another body than the one that came.
        "host",
        "content-length",
        "content-encoding",
        "expect",
        # A coded answer could not be read by observers and filters.
        "accept-encoding",
        "cookie",
    }
)
_FORWARDING: Final = frozenset(
    {
        "forwarded",
        "via",
        "x-real-ip",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-originating-ip",
        "true-client-ip",
        "fastly-client-ip",
        "cdn-loop",
        # Of the page that called here: upstreams would judge by it who may call them.
        "origin",
        "referer",
        "sec-fetch-site",
    }
)
_STAYING: Final = HOP_BY_HOP | _OURS | _FORWARDING
_DROPPED_PREFIXES: Final = (
    "x-transom-",
    "x-forwarded",
    "x-original-",
    "x-envoy-",
    "cf-",
)
_PASSING_PREFIX: Final = "cf-aig-"
"""Written by callers for Cloudflare's AI gateway, unlike what its edge adds."""
_CREDENTIAL_ENDINGS: Final = (
    *("api-key", "apikey", "api_key", "auth-key", "subscription-key"),
    *("auth-token", "access-token", "private-token"),
    *("-auth", "-authorization"),
)
_CREDENTIAL_NAMES: Final = frozenset({"authorization", "x-amz-security-token"})


def split(headers: Sequence[tuple[str, str]]) -> tuple[Headers, Headers]:
    """What goes on to any upstream, and the credentials, which go where `auth` allows it."""
    passing: list[tuple[str, str]] = []
    credentials: list[tuple[str, str]] = []
    named = _named_by_connection(headers)
    for pair in headers:
        low = pair[0].lower()
        # SECURITY: client tokens and the node's own words never leave.
        if low in _STAYING or _is_dropped(low) or low in named:
            continue
        (credentials if is_credential(low) else passing).append(pair)
    return tuple(passing), tuple(credentials)


def _is_dropped(low: str) -> bool:
    return low.startswith(_DROPPED_PREFIXES) and not low.startswith(_PASSING_PREFIX)


def is_credential(name: str) -> bool:
    """Whether a header of this name says who pays: it goes only where `auth` allows it."""
    low = name.lower()
    return (
        low.endswith(_CREDENTIAL_ENDINGS)
        or low in _CREDENTIAL_NAMES
        or low.startswith("anthropic-auth")
    )


def token_in(name: str, value: str) -> str:
    """The bare token that a credential header shows."""
    scheme, _, token = value.partition(" ")
    bearer = name.lower() == "authorization" and scheme.lower() == "bearer"
    return (token if bearer else value).strip()


def _named_by_connection(headers: Sequence[tuple[str, str]]) -> set[str]:
    return {
        token.strip().lower()
        for name, value in headers
        if len(name) == 10 and name.lower() == "connection"
        for token in value.split(",")
    }
