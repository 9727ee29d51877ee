"""Where this node is called: asked of the running node, else read from the configuration.

Owns the address that clients are given. It must not know a client.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from proxy.config import examine
from proxy.config.addresses import literal
from proxy.config.sources import state_folder
from proxy.control import NoNode, ask
from proxy.leaving import Leaving, leaving, told

PLACE: Final = "YOUR-TOKEN"
"""Stands for a client's token, which the node itself does not know: it keeps a hash."""


class Unknown(Exception):
    """The address cannot be told; the message says why."""


@dataclass(frozen=True, slots=True)
class Address:
    """`origin`: scheme, host and port. `names`: further names that the node answers to. `token`:
    whether it asks for a client token. `version`: of the running node, empty if none runs.
    `leaving`: how much leaves there; None where a node of another version does not say."""

    origin: str
    names: tuple[str, ...] = ()
    token: bool = False
    version: str = ""
    leaving: Leaving | None = field(default=None, compare=False)

    @property
    def url(self) -> str:
        """What clients are given, without a trailing slash."""
        return f"{self.origin}/t/{PLACE}" if self.token else self.origin


def find(given: Path | None, environ: Mapping[str, str]) -> Address:
    """The address of the running node, unless the configuration file `given` is asked about; else
    the one that a node would have. Raises `Unknown`, and `Invalid` for the configuration."""
    if given is None:
        try:
            return _running(ask(state_folder(environ), "health"))
        except NoNode:
            pass
    config = examine(given, environ).config
    if not config.listen.port:
        raise Unknown("no node runs, and with listen.port = 0 its port is not known before it does")
    origin = _origin(config.listen.host, config.listen.port)
    names, token = config.listen.names, bool(config.clients)
    return Address(origin, names, token, leaving=leaving(config))


def _running(facts: Mapping[str, object]) -> Address:
    names, url = facts.get("names"), str(facts.get("url", ""))
    host, _, port = url.removeprefix("http://").rpartition(":")
    return Address(
        _origin(host, int(port)) if port.isdecimal() else url,
        tuple(map(str, names)) if isinstance(names, list) else (),
        facts.get("token") is True,
        str(facts.get("version", "")),
        told(facts.get("leaving")),
    )


def _origin(host: str, port: int) -> str:
    """A listener on every address is called by the loopback one, which its door knows."""
    plain = host.strip("[]")
    address = literal(plain)
    if address is not None and address.is_unspecified:
        plain = "127.0.0.1" if address.version == 4 else "::1"
    return f"http://[{plain}]:{port}" if ":" in plain else f"http://{plain}:{port}"
