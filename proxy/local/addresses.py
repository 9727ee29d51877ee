"""Which addresses are at home: the one literal list.

Owns the list. It must not know a name or a socket: whoever asks brings the address of a peer.
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

LOCAL: Final = tuple(
    ip_network(network)
    for network in (
        "127.0.0.0/8",
        "::1/128",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "fc00::/7",
        "fe80::/10",
    )
)
TAILNET: Final = ip_network("100.64.0.0/10")


def is_local(address: str, *, tailnet: bool = False) -> bool:
    """Whether the IP address (as text, an IPv6 zone allowed) is at home.

    An IPv4 address written as IPv6 (`::ffff:10.0.0.1`) counts as what it is. `tailnet`: 100.64/10
    counts too. What is no address is not at home.
    """
    parsed = _parsed(address)
    if parsed is None:
        return False
    # SECURITY: a list, not `is_private`, which means other networks in every version of Python.
    return any(parsed in network for network in ((*LOCAL, TAILNET) if tailnet else LOCAL))


@lru_cache(256)
def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return parsed if mapped is None else mapped
