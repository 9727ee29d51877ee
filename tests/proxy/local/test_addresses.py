"""The one list of addresses at home."""

import pytest

from proxy.local.addresses import is_local


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.255.255",
        "::1",
        "10.0.0.0",
        "10.255.255.255",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "fc00::1",
        "fdff::1",
        "fe80::1",
        "fe80::1%eth0",
        "::ffff:127.0.0.1",
        "::ffff:192.168.1.1",
    ],
)
def test_what_is_at_home(address: str) -> None:
    """Both ends of each network, zones, and IPv4 written as IPv6."""
    assert is_local(address)


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "0.0.0.0",
        "::",
        "9.255.255.255",
        "11.0.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.255.255",
        "192.169.0.0",
        "169.254.169.254",
        "100.64.0.1",
        "198.18.0.1",
        "192.0.2.1",
        "240.0.0.1",
        "2001:db8::1",
        "fec0::1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "::ffff:8.8.8.8",
        "::127.0.0.1",
        "localhost",
        "127.1",
        "",
    ],
)
def test_what_is_not(address: str) -> None:
    """Neighbours of each network, other reserved ones, translated ones, and what is no address."""
    assert not is_local(address)


def test_a_tailnet_counts_where_the_owner_said_so() -> None:
    """100.64/10, both ends, and no more."""
    assert is_local("100.64.0.0", tailnet=True)
    assert is_local("100.127.255.255", tailnet=True)
    assert is_local("::ffff:100.64.0.1", tailnet=True)
    assert is_local("10.0.0.1", tailnet=True)
    assert not is_local("100.128.0.0", tailnet=True)
    assert not is_local("100.63.255.255", tailnet=True)
