"""What goes wrong between this node and an upstream, under its name here and in words of ours.

Owns the mapping from the library's failures to notice codes. It must not pass on the library's own
words: they may hold addresses or bytes of an answer.
"""

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from policies.decision import Leg
from proxy.config import UpstreamSettings
from proxy.connector import NotLocal
from proxy.errors import Refused


def unsent(upstream: UpstreamSettings, error: Exception) -> Refused:
    """The refusal for a failure before the status was there."""
    if isinstance(getattr(error, "os_error", None), NotLocal):
        return Refused("home-not-local", reason="its address is not at home")
    return gone(upstream, _reason(error))


def gone(upstream: UpstreamSettings, reason: str) -> Refused:
    """The refusal for an upstream that cannot be had; `reason` is ours and safe to show."""
    code = "upstream-unreachable" if upstream.leg is Leg.CLOUD else "home-unavailable"
    return Refused(code, upstream=upstream.name, reason=reason)


def late(upstream: UpstreamSettings, phase: str) -> Refused:
    """The refusal for an upstream that lets us wait; `phase` says for what."""
    return Refused("upstream-timeout", upstream=upstream.name, phase=f" ({phase})")


def _reason(error: Exception) -> str:
    match error:
        case aiohttp.ClientConnectorDNSError():
            return "its name is not known"
        case aiohttp.ClientSSLError():
            return "no secure connection"
        case TimeoutError():
            return "no connection in time"
        case aiohttp.ClientConnectorError():
            return "no connection"
        case HttpProcessingError():
            return "what it answered is not HTTP"
        case _:
            return "it closed the connection before it answered"
