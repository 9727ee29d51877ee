"""What may come in: upgrade, target, Host, Origin, client token, framing; and what goes on from it.

Owns every check that needs no body, and the split of the request's headers. Pure: it sees the
request line and the headers, never a socket, and holds what it needs of the configuration. It must
not know a dialect's bodies or an upstream's address. No refusal repeats what the client sent.
"""

import hmac
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Self

from msgspec import Struct
from msgspec.structs import replace

from proxy import browsers
from proxy.endpoints import Match, Treatment, match, nearest
from proxy.errors import Refused
from proxy.headers import Headers, is_credential, split, token_in
from proxy.memory import Memory
from proxy.sessions import name_of

if TYPE_CHECKING:
    from aiohttp import web

    from proxy.config import Config, Listen

HEAD_LIMIT: Final = 64 * 1024
"""Most bytes of request line and headers together."""

TOO_LARGE: Final = f"its headers are larger than {HEAD_LIMIT // 1024} kB"

HEADS: Final = 2**20
"""Bytes of heads that are remembered because they were admitted. In memory only."""

HEALTH: Final = "/healthz"
"""The one address that needs no client token."""

_BAD_PATH: Final = re.compile(r"[\\;#]|//|%(?!2[Ff]|3[Aa])")
_SLASH: Final = re.compile("%2[Ff]")
_PRINTABLE: Final = re.compile(r"[!-~]+")
_TOKEN_PATH: Final = re.compile(r"/t/([A-Za-z0-9._~\-]{1,256})(?=[/?]|$)")
_NAMES: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]*")
_UNFIT: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_LENGTH: Final = re.compile(r"[0-9]{1,15}")
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_ANY_ADDRESS: Final = frozenset({"0.0.0.0", "::", "[::]", ""})  # noqa: S104 — compared, not bound
_ONCE: Final = frozenset({"authorization", "x-api-key", "content-type", "expect", "origin"})


class Admitted(Struct, frozen=True):
    """A request that may come in.

    `client`: its configured name, `""` where no clients are configured. `headers` go to any
    upstream as they are, in order; `credentials` only where its `auth` says so; neither holds a
    client token. `codings`: the joined Content-Encoding. `length`: declared bytes, None if chunked.
    `awaits`: the client waits for `100 Continue` before it sends the body. `asks`: it is a
    browser's question whether a page may make this request, and goes nowhere. `session`: what its
    headers name its session.
    """

    match: Match
    client: str
    headers: Headers
    credentials: Headers
    codings: str | None = None
    length: int | None = 0
    awaits: bool = False
    asks: bool = False
    session: str = ""

    def __repr__(self) -> str:
        return f"<Admitted {self.match.endpoint.path}>"  # headers and credentials are in no repr

    @property
    def dialect(self) -> str:
        """Name of the dialect that reads the body."""
        return self.match.endpoint.dialect

    @property
    def has_body(self) -> bool:
        return self.length != 0

    def of(self, length: int) -> "Admitted":
        """The same with a body of `length` bytes."""
        return replace(self, length=length)


Raw = tuple[tuple[bytes, bytes], ...]
Head = tuple[str, str, Raw]
"""Method, target and headers, but for the length of a body."""


@dataclass(frozen=True, slots=True)
class Door:
    """The door of one listener under one configuration. `hosts` and `origins` in lower case.

    `clients`: (name, SHA-256 of its token). `by_key`: some upstream has a key of the node's own,
    so clients may show their token where an SDK puts its key. `session_header`: the owner's own.
    """

    hosts: frozenset[str]
    origins: frozenset[str]
    clients: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    by_key: bool = False
    opened: frozenset[str] = frozenset()
    session_header: str = ""
    known: "Memory[Head, Admitted]" = field(
        default_factory=lambda: Memory(HEADS), repr=False, compare=False
    )

    @classmethod
    def of(cls, config: "Config", port: int) -> Self:
        """`port` is the real one, which differs from the configured where that is 0."""
        names = tuple(_names(config.listen))
        return cls(
            hosts=frozenset((*names, *(f"{name}:{port}" for name in names if not _ported(name)))),
            origins=frozenset(_origins(config.listen, names, port)),
            clients=tuple((each.name, bytes.fromhex(each.token_sha256)) for each in config.clients),
            by_key=any(upstream.auth == "key" for upstream in config.upstreams),
            opened=frozenset(config.endpoints_open),
            session_header=config.session_header,
        )

    def admit_request(self, request: "web.BaseRequest") -> Admitted:
        """`admit` for a request of the server, read as it stood on the wire.

        Clients say the same in most of their requests: a head that was admitted is so again, since
        nothing but what stands in it decides. Its length alone is read anew.
        """
        if request.version not in ((1, 0), (1, 1)):
            raise _refused("only HTTP/1.1 and HTTP/1.0 are spoken here")
        length, rest = _apart(request.raw_headers)
        head = (request.method, request.raw_path, rest)
        if length and (known := self.known.get(head)) is not None:
            return known if known.length == length else known.of(length)
        admitted = self.admit(request.method, request.raw_path, _decoded(request.raw_headers))
        if length:
            self.known.put(head, admitted, _size(head))
        return admitted

    def admit(self, method: str, target: str, headers: Sequence[tuple[str, str]]) -> Admitted:
        """The way in, for a request line and headers as they came. Raises `Refused`."""
        values = _by_name(headers)
        if _upgrades(values):
            raise Refused("upgrade-refused")
        _check_head(target, headers)
        _check_target(method, target)
        self._check_host(values.get("host", []))
        self._check_origin(values)
        shown, plain = _token_of(target)
        asks = browsers.asks(method, values)
        if asks:
            # Browsers send no token with the question; whoever then calls shows it.
            method = values[browsers.ASKS][0]
        public = asks or plain.partition("?")[0] == HEALTH
        client = "" if public else self._client(values, shown)
        found = match(method, plain, {name: each[0] for name, each in values.items()}, self.opened)
        length = _length(values)
        bare = asks or found.endpoint.treatment in (Treatment.CONTROL, Treatment.INTERNAL)
        if length != 0 and bare:
            # SECURITY: nothing reads a body here, so none may pass.
            raise _refused("this endpoint takes no body")
        kept, credentials = split(headers)
        return Admitted(
            found,
            client,
            kept,
            tuple(pair for pair in credentials if not self._known(token_in(*pair))),
            ", ".join(values["content-encoding"]) if "content-encoding" in values else None,
            length,
            _awaits(values),
            asks,
            name_of(kept, self.session_header),
        )

    def grant(self, headers: Mapping[str, str]) -> Headers:
        """What an answer tells the browser of a page that may call here; nothing for other
        clients. `headers`: without case."""
        origin = headers.get("origin", "")
        return browsers.grant(origin) if origin.lower() in self.origins else ()

    def _check_host(self, hosts: Sequence[str]) -> None:
        # SECURITY: a page in a browser can make any name resolve to this address, but not lie here.
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            raise _refused("its Host header is not one of this listener's names")

    def _check_origin(self, values: dict[str, list[str]]) -> None:
        origin = values.get("origin", [])
        if origin and origin[0].lower() not in self.origins:
            raise _refused("its Origin is not one of `listen.origins`")
        # SECURITY: a browser leaves Origin out of some requests that one site makes of another.
        sites = values.get("sec-fetch-site", [])
        if not origin and any(site.lower() not in ("same-origin", "none") for site in sites):
            raise _refused("another site asked the browser for it")

    def _client(self, values: dict[str, list[str]], shown: str) -> str:
        """The name of the client whose token was shown. A wrong token is never overlooked."""
        if not self.clients:
            return ""
        tokens = [*values.get("x-transom-token", []), *([shown] if shown else [])]
        names = {self._known(token) for token in tokens}
        if not tokens and self.by_key:
            pairs = [(name, value) for name, each in values.items() for value in each]
            names = {self._known(token_in(*pair)) for pair in pairs if is_credential(pair[0])}
            names.discard("")
        if len(names) != 1 or "" in names:
            raise Refused("client-unknown")
        return names.pop()

    def _known(self, token: str) -> str:
        """The client with this token, or `""`."""
        if not self.clients:
            return ""
        digest, found = sha256(token.encode()).digest(), ""
        for name, known in self.clients:
            # SECURITY: every client is compared, each in constant time.
            if hmac.compare_digest(digest, known):
                found = name
        return found


def dress(target: str, headers: Sequence[tuple[str, str]]) -> str:
    """The dialect in which an error about this request is best understood, whatever it holds."""
    values = {name.lower(): value for name, value in headers}
    return nearest(_token_of(target)[1], values)


def _refused(reason: str) -> Refused:
    return Refused("door-refused", reason=reason)


def _decoded(raw: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    try:
        return [(name.decode("ascii"), value.decode()) for name, value in raw]
    except UnicodeDecodeError:
        raise _refused("a header is not UTF-8") from None


def _by_name(headers: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(value)
    if len(values) < len(headers):
        for name in _ONCE & values.keys():
            if len(values[name]) > 1:
                raise _refused(f"the header {name} came more than once")
    return values


def _upgrades(values: dict[str, list[str]]) -> bool:
    if "upgrade" not in values:
        return False
    protocols = ",".join(values["upgrade"]).lower().split(",")
    return any(each.strip().partition("/")[0] == "websocket" for each in protocols)


def _check_head(target: str, headers: Sequence[tuple[str, str]]) -> None:
    names = [name for name, _ in headers]
    values = "\t".join([value for _, value in headers])  # a tab may stand in a value
    if _UNFIT.search(values) or "" in names or not _NAMES.fullmatch("".join(names)):
        raise _refused("a header holds characters that must not stand there")
    size = len(target) + len("".join(names)) + len(values.encode()) + 3 * len(names) + 1
    if size > HEAD_LIMIT:
        raise _refused(TOO_LARGE)


def _check_target(method: str, target: str) -> None:
    # SECURITY: two readers of one path must not see two paths; what could be read twice is refused.
    if method == "CONNECT" or not target.startswith("/"):
        raise _refused("only addresses of this listener are served, written as a path")
    if not _PRINTABLE.fullmatch(target) or "#" in target:
        raise _refused("its address holds characters that must not stand there")
    path = target.partition("?")[0]
    decoded = _SLASH.sub("/", path) if "%" in path else path
    if _BAD_PATH.search(path) or "//" in decoded:
        raise _refused("its path holds characters that no endpoint has")
    if not {".", ".."}.isdisjoint(decoded.split("/")):
        raise _refused("its path holds dot segments")


def _token_of(target: str) -> tuple[str, str]:
    """The client token of a prefix `/t/<token>/`, `""` if there is none, and the target without."""
    if hit := _TOKEN_PATH.match(target):
        rest = target[hit.end() :]
        return hit[1], rest if rest.startswith("/") else "/" + rest
    return "", target


def _length(values: dict[str, list[str]]) -> int | None:
    """Declared bytes of the body, None if chunked. What two readers could frame in two ways is
    refused (RFC 9112, 6.3)."""
    lengths, transfer = values.get("content-length", []), values.get("transfer-encoding", [])
    if transfer:
        if lengths or [each.lower() for each in transfer] != ["chunked"]:
            raise _refused("the end of its body cannot be told for certain")
        return None
    if not lengths:
        return 0
    if len(lengths) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise _refused("the length of its body cannot be told for certain")
    return int(lengths[0])


def _apart(raw: Raw) -> tuple[int, Raw]:
    """The length of a body and the other headers; 0 and all of them where there is no body, or
    where its length is not told once and as everybody writes it."""
    names = [name.lower() for name, _ in raw]
    # SECURITY: two of them are two ways to tell where a body ends, whatever else is known.
    if names.count(b"content-length") == 1:
        at = names.index(b"content-length")
        length = raw[at][1]
        if length.isdigit() and len(length) < 16:
            return int(length), (*raw[:at], *raw[at + 1 :])
    return 0, raw


def _size(head: Head) -> int:
    return len(head[1]) + sum(len(name) + len(value) for name, value in head[2])


def _awaits(values: dict[str, list[str]]) -> bool:
    expected = values.get("expect", [])
    if expected and expected[0].lower() != "100-continue":
        raise _refused("it expects what this listener does not do")
    return bool(expected)


def _names(listen: "Listen") -> Iterable[str]:
    yield from _LOOPBACK
    for name in (listen.host, *listen.names):
        if name not in _ANY_ADDRESS:
            bare = name.count(":") > 1 and not name.startswith("[")
            yield f"[{name}]".lower() if bare else name.lower()


def _ported(name: str) -> bool:
    return name.rpartition("]")[2].count(":") == 1


def _origins(listen: "Listen", names: Iterable[str], port: int) -> Iterable[str]:
    yield from (origin.lower().rstrip("/") for origin in listen.origins)
    for name in names:
        if not _ported(name):
            yield f"http://{name}" if port == 80 else f"http://{name}:{port}"
