"""Addresses as they are written in a configuration: base URLs, hosts, origins, this machine.

Owns how an address is read and compared. It must not know a setting, and resolves no name.
"""

import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_HOST: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
    r"(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*\.?"
)
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PREFIX: Final = re.compile(r"(?:/[A-Za-z0-9._~-]+)*")
_APP_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]{0,40}://[a-z0-9._-]{1,253}")
_PORTS: Final = {"http": 80, "https": 443}

VENDORS: Final = ("https://api.anthropic.com", "https://api.openai.com", "https://ollama.com")
"""The vendors' own addresses: what the caller's credentials are made for."""


@dataclass(frozen=True, slots=True)
class Base:
    """A base URL. `host`: lower-case, without brackets. `path`: empty or with a leading slash."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def url(self) -> str:
        """Without trailing slash; the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"

    @property
    def is_vendor(self) -> bool:
        return self.url in VENDORS


def read_base(text: str) -> Base:
    """A base URL as clients write it; a trailing `/v1` is folded. `ValueError` names what is wrong
    and holds nothing of the text, which may carry a password."""
    if not text.isascii() or re.search(r"[\s\\\x00-\x20\x7f]", text):
        raise ValueError("expected an address of printable ASCII without blanks or backslashes")
    try:
        parts = urlsplit(text)
        host, port = (parts.hostname or ""), parts.port
    except ValueError:
        raise ValueError("expected an address such as https://api.example.com") from None
    if parts.scheme not in _PORTS:
        raise ValueError("expected an address that begins with http:// or https://")
    if "@" in parts.netloc:
        raise ValueError("an address must not hold a user name or password; use `auth` and `key`")
    if "?" in text or "#" in text:
        raise ValueError("an address must not hold a query or a fragment")
    if port == 0 or not read_host(host):
        raise ValueError("expected a host name or an IP address, and a port from 1 to 65535")
    path = parts.path.rstrip("/").removesuffix("/v1")
    if not _PREFIX.fullmatch(path) or any(step in {".", ".."} for step in path.split("/")):
        raise ValueError("a path prefix may hold letters, digits, and . _ ~ - between slashes")
    return Base(parts.scheme, host, port or _PORTS[parts.scheme], path)


def read_host(host: str) -> bool:
    """Whether `host`, lower-case and without brackets, is an IP address or a host name."""
    if literal(host) is not None:
        return "%" not in host
    # SECURITY: 2130706433, 0x7f.1 and the like are addresses to a resolver, names to a reader.
    return _HOST.fullmatch(host) is not None and not _NUMBER.fullmatch(
        host.rstrip(".").rpartition(".")[2]
    )


def literal(host: str) -> IPAddress | None:
    """The IP address that `host` spells, None if it is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def read_origin(text: str) -> bool:
    """Whether `text` is a browser's Origin: scheme, host and port, lower-case, nothing else. Apps
    that are built as web pages have schemes of their own."""
    if not text.startswith(("http://", "https://")):
        return _APP_ORIGIN.fullmatch(text) is not None
    try:
        base = read_base(text)
    except ValueError:
        return False
    return not base.path and text in {base.url, f"{base.url}:{base.port}"}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a listener on `host`."""
    address = literal(host)
    return host == "localhost" if address is None else address.is_loopback


def is_own_listener(host: str, port: int, listen_host: str, listen_port: int) -> bool:
    """Whether a connection to `host`:`port` would reach our listener. Port 0 is not known yet."""
    if port != listen_port or listen_port == 0:
        return False
    target, listener = _plain(host), _plain(listen_host)
    if _is_unspecified(listener):
        return _is_this_machine(target)
    # A connection to 0.0.0.0 is one to this machine's loopback.
    target = "localhost" if _is_unspecified(target) else target
    loopback = {"localhost", "127.0.0.1", "::1"}
    return target == listener or (
        {target, listener} <= loopback and "localhost" in {target, listener}
    )


def _plain(host: str) -> str:
    address = literal(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return host.rstrip(".") if address is None else str(address)


def _is_unspecified(host: str) -> bool:
    address = literal(host)
    return address is not None and address.is_unspecified


def _is_this_machine(host: str) -> bool:
    address = literal(host)
    if address is None:
        return host in _own_names()
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    # Only an address of this machine can be bound; a datagram socket sends nothing by that.
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0))
    except OSError:
        return False
    return True


def _own_names() -> set[str]:
    name = socket.gethostname().lower()
    return {"localhost", name, name.partition(".")[0], f"{name}.local"}
