"""Rules between settings: who may listen where, which credentials go where, which names exist.

Owns what can only be seen of several settings together. It must not know how they are read.
"""

from collections.abc import Sequence

from policies.decision import Leg
from proxy.config import addresses, keys
from proxy.config.addresses import read_base
from proxy.config.keys import Key
from proxy.config.model import Config, UpstreamSettings
from proxy.config.reading import Reading, Row
from proxy.local.addresses import is_local
from proxy.problems import near


def check(reading: Reading, config: Config) -> None:
    """Complain in `reading` of everything that does not fit together in `config`."""
    _check_listener(reading, config)
    _check_unique(reading.rows("upstream"), keys.UP_NAME)
    _check_unique(reading.rows("client"), keys.CLIENT_NAME)
    _check_unique(reading.rows("client"), keys.CLIENT_TOKEN)
    by_name = {upstream.name: upstream for upstream in config.upstreams}
    for row in reading.rows("upstream"):
        # Of two with one name the second is already complained of.
        upstream = by_name.get(str(row.table.get("name"))) if row.sound else None
        if upstream:
            _check_upstream(row, upstream, config)
    _check_fallback(reading, config.fallback.upstream, by_name)
    for row in reading.rows("route"):
        _check_route(row, reading, by_name)


def _check_fallback(reading: Reading, name: str, upstreams: dict[str, UpstreamSettings]) -> None:
    """Only what was written can be wrong: a node without a model at home refuses instead."""
    way, upstream = tuple(keys.FALLBACK.path.split(".")), upstreams.get(name)
    if reading.written(keys.FALLBACK) and upstream is None:
        homes = [each.name for each in upstreams.values() if each.leg is Leg.LOCAL]
        reading.complain(way, f"there is no such upstream{near(name, homes)}")
    elif reading.written(keys.FALLBACK) and upstream and upstream.leg is not Leg.LOCAL:
        # SECURITY: what must not leave would leave.
        reading.complain(way, "is a cloud; only a local upstream answers what must not leave")


def _check_listener(reading: Reading, config: Config) -> None:
    listen = config.listen
    # SECURITY: whoever reaches the listener spends the owner's keys and reads along.
    if not addresses.is_loopback(listen.host) and not reading.rows("client"):
        reading.complain(
            ("listen", "host"),
            "others can reach this address, and there is no [[client]] to tell them apart",
            "give each client a token: [[client]] with name and token_sha256",
        )
    if reading.rows("upstream"):
        return
    for upstream in config.upstreams:
        if _is_us(upstream, config):
            reading.complain(
                ("listen", "port"), f"the default upstream `{upstream.name}` has this very address"
            )


def _check_unique(rows: Sequence[Row], key: Key[str]) -> None:
    seen: set[str] = set()
    for row in rows:
        value = row.table.get(key.name)
        if not isinstance(value, str):
            continue
        if value.lower() in seen:
            row.complain(key, "expected different values, but one stands there twice")
        seen.add(value.lower())


def _check_upstream(row: Row, upstream: UpstreamSettings, config: Config) -> None:
    if _is_us(upstream, config):
        row.complain(keys.UP_BASE_URL, "is our own listener: requests would go round for ever")
    if upstream.leg is not Leg.LOCAL:
        return
    if upstream.auth != "none":
        row.complain(keys.UP_AUTH, "a local upstream never gets credentials", "leave `auth` out")
    host = read_base(upstream.base_url).host
    if addresses.literal(host) is not None and not is_local(host, tailnet=config.tailnet):
        row.complain(
            keys.UP_BASE_URL,
            "is not an address of this house",
            'write leg = "cloud", or local.tailnet = true for an address of a tailnet',
        )


def _is_us(upstream: UpstreamSettings, config: Config) -> bool:
    base, listen = read_base(upstream.base_url), config.listen
    if base.port == listen.port and listen.port and base.host in listen.names:
        return True
    return addresses.is_own_listener(base.host, base.port, listen.host, listen.port)


def _check_route(row: Row, reading: Reading, upstreams: dict[str, UpstreamSettings]) -> None:
    name, dialect, client = (row.table.get(key) for key in ("upstream", "dialect", "client"))
    written = [up.table.get("name") for up in reading.rows("upstream")] or list(upstreams)
    if isinstance(name, str) and name not in written:
        known = [other for other in written if isinstance(other, str)]
        row.complain(keys.ROUTE_UPSTREAM, f"there is no such upstream{near(name, known)}")
    elif row.sound and dialect and name in upstreams and dialect not in upstreams[name].dialects:
        row.complain(keys.ROUTE_DIALECT, "the upstream of this route does not speak it")
    clients = [other.table.get("name") for other in reading.rows("client")]
    if isinstance(client, str) and not set(client) & set("*?[") and client not in clients:
        known = [other for other in clients if isinstance(other, str)]
        row.complain(keys.ROUTE_CLIENT, f"there is no such client{near(client, known)}")
