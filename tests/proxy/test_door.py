"""What may come in, and what is refused before a byte of the body is read."""

from hashlib import sha256
from types import SimpleNamespace

import pytest
from aiohttp import HttpVersion
from hypothesis import given
from hypothesis import strategies as st

from policies.decision import Leg
from policies.notices import NOTICES
from proxy.config import ClientSettings, Config, Listen, UpstreamSettings
from proxy.door import HEAD_LIMIT, HEADS, Admitted, Door, dress
from proxy.errors import Refused

HOST = ("Host", "127.0.0.1:8787")
POST = [HOST, ("Content-Length", "2")]
TOKEN, OTHER = "laptop-token", "phone-token"
CALLER = UpstreamSettings("cloud", Leg.CLOUD, "https://api.example", ("anthropic",), "caller")
KEYED = UpstreamSettings("keyed", Leg.CLOUD, "https://b.example", ("openai",), "key", "k")


def client(name: str, token: str) -> ClientSettings:
    return ClientSettings(name, sha256(token.encode()).hexdigest())


def door(*, upstreams=(CALLER,), clients=(), opened=frozenset(), **listen) -> Door:
    config = Config(
        listen=Listen(**listen), upstreams=upstreams, clients=clients, endpoints_open=opened
    )
    return Door.of(config, 8787)


GUARDED = door(clients=(client("laptop", TOKEN), client("phone", OTHER)))
BY_KEY = door(clients=(client("laptop", TOKEN), client("phone", OTHER)), upstreams=(CALLER, KEYED))


def outcome(at: Door, method: str, target: str, headers) -> Admitted | Refused:
    try:
        return at.admit(method, target, headers)
    except Refused as refused:
        return refused


def code(method="POST", target="/v1/messages", headers=POST, at=None) -> str:
    result = outcome(at or door(), method, target, headers)
    return result.code if isinstance(result, Refused) else "in"


# Target


@pytest.mark.parametrize("method", ["GET", "POST", "CONNECT"])
@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:8787/v1/messages",
        "https://api.example/v1/messages",
        "api.example:443",
        "*",
        "",
        "v1/messages",
        "/v1\\messages",
        "/v1/messages;x=1",
        "/v1/messages#x",
        "/v1//messages",
        "//v1/messages",
        "/v1/../v1/messages",
        "/./v1/messages",
        "/v1/messages/..",
        "/%2e%2e/v1",
        "/v1/%2e/messages",
        "/v1%00/messages",
        "/v1/messages%20",
        "/v1/messages%5c",
        "/v1/m\tessages",
        "/v1/messages\x7f",
        "/v1/mäßig",
        "/v1/messages%252F",
        "/v1/models/a%2F..%2Fb",
        "/v1/%2Fmessages",
        "/v1/messages?a#b",
        "/v1/messages?a b",
        "/v1/messages%",
        "/t/tok//v1/messages",
    ],
)
def test_targets_that_two_readers_could_read_in_two_ways(method, target):
    """Proxy forms, backslashes, parameters, fragments, double slashes, dot segments, encodings."""
    assert code(method, target) == "door-refused"


def test_connect_is_refused_whatever_its_target():
    """No tunnel is opened, not even to an address that looks like a path."""
    assert code("CONNECT", "/v1/messages") == "door-refused"


@pytest.mark.parametrize("target", ["/v1/models/org%2Fname%3Atag", "/v1/models/qwen3:8b"])
def test_model_ids_may_hold_two_encodings(target):
    """`%2F` and `%3A` inside a model id are the only ones."""
    assert code("GET", target, [HOST]) == "in"


@pytest.mark.parametrize("target", ["/V1/messages", "/v1/messages/", "/v1%2Fmessages", "/nope"])
def test_plain_but_unknown_addresses(target):
    """An address that is merely wrong is told so."""
    assert code("POST", target) == "unknown-endpoint"


# Host and Origin


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8787",
        "127.0.0.1",
        "localhost:8787",
        "LOCALHOST:8787",
        "[::1]:8787",
        "[::1]",
        "node.lan:8787",
        "node.lan",
        "proxy.example:443",
        "[fd00::5]:8787",
    ],
)
def test_names_of_the_listener(host):
    """Loopback names, `listen.host` and `listen.names`, with the real port, none, or their own."""
    at = door(host="fd00::5", names=("Node.lan", "proxy.example:443"))
    assert code(headers=[("Host", host), ("content-length", "2")], at=at) == "in"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8787",
        "127.0.0.1:80",
        "127.0.0.1.evil.example",
        "localhost.:8787",
        "127.0.0.2:8787",
        "0.0.0.0:8787",
        "",
        "127.0.0.1:8787,evil",
        "user@127.0.0.1:8787",
        "::1",
        "proxy.example",
        "proxy.example:8787",
        "127.1:8787",
        "2130706433:8787",
    ],
)
def test_foreign_hosts(host):
    """A name that is not the listener's is refused: a browser page may have rebound it."""
    at = door(host="0.0.0.0", names=("proxy.example:443",))
    assert code(headers=[("Host", host), ("content-length", "2")], at=at) == "door-refused"


@pytest.mark.parametrize("headers", [[], [HOST, HOST], [HOST, ("host", "localhost:8787")]])
def test_exactly_one_host(headers):
    """None is refused, and so are two, even equal ones."""
    assert code(headers=headers) == "door-refused"


@pytest.mark.parametrize(
    ("origin", "result"),
    [
        ("http://127.0.0.1:8787", "in"),
        ("http://localhost:8787", "in"),
        ("https://app.example", "in"),
        ("HTTPS://APP.example", "in"),
        ("https://app.example:444", "door-refused"),
        ("http://app.example", "door-refused"),
        ("http://localhost:3000", "door-refused"),
        ("http://localhost", "door-refused"),
        ("https://evil.example", "door-refused"),
        ("null", "door-refused"),
        ("", "door-refused"),
        ("*", "door-refused"),
    ],
)
def test_origins(origin, result):
    """Only the listener's own origin and the listed ones, as wholes."""
    at = door(origins=("https://app.example/",))
    assert code(headers=[*POST, ("Origin", origin)], at=at) == result


def test_own_origin_on_the_default_port():
    """On port 80 a browser leaves the port out."""
    at = Door.of(Config(listen=Listen(names=("node.lan",))), 80)
    headers = [("Host", "node.lan"), ("Origin", "http://node.lan")]
    assert code("GET", "/v1/models", headers, at) == "in"


@pytest.mark.parametrize(
    ("headers", "result"),
    [
        ([("Sec-Fetch-Site", "cross-site")], "door-refused"),
        ([("Sec-Fetch-Site", "same-site")], "door-refused"),
        ([("Sec-Fetch-Site", "none"), ("sec-fetch-site", "CROSS-SITE")], "door-refused"),
        ([("Sec-Fetch-Site", "same-origin")], "in"),
        ([("Sec-Fetch-Site", "none")], "in"),
        ([("Sec-Fetch-Mode", "cors")], "in"),
        ([("Sec-Fetch-Site", "cross-site"), ("Origin", "https://app.example")], "in"),
        ([("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example")], "door-refused"),
        ([("Origin", "https://app.example"), ("Origin", "https://app.example")], "door-refused"),
    ],
)
def test_requests_that_a_browser_makes_for_another_site(headers, result):
    """Without Origin the browser's own word counts; a listed Origin is welcome across sites."""
    at = door(origins=("https://app.example",))
    assert code(headers=[*POST, *headers], at=at) == result


# Upgrade


@pytest.mark.parametrize("target", ["/v1/responses", "/v1/messages", "/nope", "//x"])
@pytest.mark.parametrize("upgrade", ["websocket", "WebSocket", "h2c, websocket", "websocket/13"])
def test_websocket_is_answered_at_once(target, upgrade):
    """426 on any path, so that a client falls back without waiting."""
    headers = [HOST, ("Connection", "Upgrade"), ("Upgrade", upgrade)]
    assert code("GET", target, headers) == "upgrade-refused"
    assert NOTICES["upgrade-refused"].status == 426


def test_other_upgrades_are_ignored():
    """RFC 9110, 7.8: a server may ignore Upgrade; Java clients offer h2c on every request."""
    headers = [
        *POST,
        ("Connection", "Upgrade, HTTP2-Settings"),
        ("Upgrade", "h2c"),
        ("HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA"),
    ]
    assert door().admit("POST", "/v1/messages", headers).headers == ()


# Clients


@pytest.mark.parametrize(
    ("target", "headers", "name"),
    [
        ("/v1/messages", [("X-Transom-Token", TOKEN)], "laptop"),
        ("/v1/messages", [("x-transom-token", OTHER)], "phone"),
        (f"/t/{TOKEN}/v1/messages?beta=true", [], "laptop"),
        (f"/t/{OTHER}/v1/v1/messages", [("authorization", "Bearer elsewhere")], "phone"),
        (f"/t/{TOKEN}/v1/messages", [("X-Transom-Token", TOKEN)], "laptop"),
    ],
)
@pytest.mark.parametrize("at", [GUARDED, BY_KEY], ids=["caller", "key"])
def test_tokens_in_their_own_places(at, target, headers, name):
    """The header and the path prefix name the client; the upstream's path holds no prefix."""
    admitted = at.admit("POST", target, [*POST, *headers])
    assert admitted.client == name
    assert admitted.match.path == "/v1/messages"
    assert admitted.headers == ()


@pytest.mark.parametrize("target", [f"/t/{TOKEN}", f"/t/{TOKEN}/", f"/t/{TOKEN}?x=1"])
def test_a_base_url_that_ends_in_the_token(target):
    """The bare prefix is the root."""
    assert GUARDED.admit("GET", target, [HOST]).match.path == "/"


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("/v1/messages", []),
        ("/v1/messages", [("x-transom-token", "")]),
        ("/v1/messages", [("x-transom-token", "wrong")]),
        ("/v1/messages", [("x-transom-token", TOKEN), ("x-transom-token", "wrong")]),
        ("/v1/messages", [("x-transom-token", TOKEN), ("x-transom-token", OTHER)]),
        ("/v1/messages", [("x-transom-token", sha256(TOKEN.encode()).hexdigest())]),
        ("/t/wrong/v1/messages", []),
        ("/t/wrong/v1/messages", [("x-transom-token", TOKEN)]),
        (f"/t/{TOKEN}/v1/messages", [("x-transom-token", OTHER)]),
        (f"/T/{TOKEN}/v1/messages", []),
        ("/t/" + "x" * 257 + "/v1/messages", []),
        ("/nope", []),
        ("/v1/messages", [("authorization", "Bearer wrong")]),
        ("/v1/messages", [("x-api-key", "wrong"), ("x-transom-token", "wrong")]),
    ],
)
@pytest.mark.parametrize("at", [GUARDED, BY_KEY], ids=["caller", "key"])
def test_wrong_missing_or_contradicting_tokens(at, target, headers):
    """Every token that is shown must be right and mean one client."""
    assert code(target=target, headers=[*POST, *headers], at=at) == "client-unknown"


@pytest.mark.parametrize(
    "header",
    [
        ("Authorization", f"Bearer {TOKEN}"),
        ("authorization", f"bearer {TOKEN}"),
        ("X-Api-Key", TOKEN),
    ],
)
def test_a_token_where_an_sdk_puts_its_key(header):
    """Counts only where some upstream has a key of ours; is taken out either way."""
    admitted = BY_KEY.admit("POST", "/v1/messages", [*POST, header])
    assert (admitted.client, admitted.credentials) == ("laptop", ())
    assert code(headers=[*POST, header], at=GUARDED) == "client-unknown"
    shown = GUARDED.admit("POST", "/v1/messages", [*POST, header, ("x-transom-token", TOKEN)])
    assert shown.credentials == ()


def test_two_clients_in_one_request():
    """Two keys that are tokens of two clients contradict each other."""
    headers = [*POST, ("authorization", f"Bearer {TOKEN}"), ("x-api-key", OTHER)]
    assert code(headers=headers, at=BY_KEY) == "client-unknown"


def test_the_callers_own_key_stays_beside_the_token():
    """Only the client token is removed; the vendor's key is what the upstream needs."""
    headers = [*POST, ("x-api-key", "vendor"), ("authorization", f"Bearer {TOKEN}")]
    admitted = BY_KEY.admit("POST", "/v1/messages", headers)
    assert admitted.credentials == (("x-api-key", "vendor"),)


def test_every_client_is_compared(monkeypatch):
    """The number of comparisons tells nothing about which client it was."""
    seen = []
    monkeypatch.setattr(
        "proxy.door.hmac", SimpleNamespace(compare_digest=lambda a, b: seen.append(b))
    )
    code(headers=[*POST, ("x-transom-token", TOKEN)], at=GUARDED)
    assert seen == [known for _, known in GUARDED.clients]


def test_without_clients_everyone_is_nameless():
    """A token that nobody asked for is not needed, and still goes nowhere."""
    admitted = door().admit("POST", f"/t/{TOKEN}/v1/messages", [*POST, ("X-Transom-Token", "x")])
    assert (admitted.client, admitted.headers) == ("", ())


def test_without_clients_every_key_is_the_callers():
    """Nothing is compared where nobody is known."""
    headers = [*POST, ("x-api-key", "vendor")]
    assert door().admit("POST", "/v1/messages", headers).credentials == (("x-api-key", "vendor"),)


def test_health_needs_no_token():
    """A container's probe knows no token; other addresses do not profit."""
    assert GUARDED.admit("GET", "/healthz", [HOST]).client == ""
    assert code("GET", "/healthz/x", [HOST], GUARDED) == "client-unknown"


def test_nothing_shows_a_token():
    """Neither what was admitted nor the door shows a token or its hash when printed."""
    admitted = BY_KEY.admit("POST", f"/t/{TOKEN}/v1/messages", [*POST, ("x-api-key", "vendor")])
    printed = repr(admitted) + repr(BY_KEY)
    for secret in (TOKEN, "vendor", sha256(TOKEN.encode()).hexdigest()):
        assert secret not in printed


# Framing and headers


@pytest.mark.parametrize(
    "headers",
    [
        [("Content-Length", "2"), ("content-length", "2")],
        [("Content-Length", "2"), ("Transfer-Encoding", "chunked")],
        [("Transfer-Encoding", "gzip, chunked")],
        [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")],
        [("Transfer-Encoding", "identity")],
        [("Content-Length", "+2")],
        [("Content-Length", "-1")],
        [("Content-Length", "2, 2")],
        [("Content-Length", "0x2")],
        [("Content-Length", "")],
        [("Content-Length", "²")],
        [("Content-Length", "9" * 16)],
        [("Expect", "202-accepted")],
        [("Expect", "100-continue"), ("expect", "100-continue")],
        [("Authorization", "Bearer a"), ("authorization", "Bearer b")],
        [("Content-Type", "application/json"), ("content-type", "text/plain")],
        [("x", "a\nb")],
        [("x", "a\x00")],
        [("x y", "a")],
        [("", "a")],
        [("x", "\ud800")],
    ],
)
def test_framing_and_headers_with_two_meanings(headers):
    """Whatever two readers could understand in two ways is refused."""
    assert code(headers=[HOST, *headers]) == "door-refused"


def test_what_is_known_about_the_body():
    """Length, codings and expectation are read once, here."""
    at = door()
    plain = at.admit("POST", "/v1/messages", [HOST])
    assert (plain.length, plain.has_body, plain.codings, plain.awaits) == (0, False, None, False)
    coded = at.admit(
        "POST",
        "/v1/messages",
        [
            *POST,
            ("Content-Encoding", "gzip"),
            ("content-encoding", "zstd"),
            ("Expect", "100-Continue"),
        ],
    )
    assert (coded.length, coded.has_body, coded.codings, coded.awaits) == (
        2,
        True,
        "gzip, zstd",
        True,
    )
    chunked = at.admit("POST", "/v1/messages", [HOST, ("Transfer-Encoding", "Chunked")])
    assert (chunked.length, chunked.has_body) == (None, True)
    assert plain.dialect == "anthropic_messages"


@pytest.mark.parametrize(
    ("method", "target"),
    [("GET", "/v1/models"), ("GET", "/healthz"), ("HEAD", "/"), ("GET", "/api/ps")],
)
@pytest.mark.parametrize("body", [("Content-Length", "2"), ("Transfer-Encoding", "chunked")])
def test_no_body_where_none_is_read(method, target, body):
    """A body at an endpoint that takes none would pass unread; it is refused."""
    assert code(method, target, [HOST, body]) == "door-refused"
    assert code(method, target, [HOST, ("Content-Length", "0")]) == "in"


def test_the_head_is_bounded_exactly():
    """64 kB of request line and headers pass, one byte more does not."""
    used = len("/v1/models") + sum(len(part) + 2 for part in HOST) + len("x") + 4
    fits = [HOST, ("x", "y" * (HEAD_LIMIT - used))]
    assert code("GET", "/v1/models", fits) == "in"
    assert code("GET", "/v1/models", [HOST, ("x", "y" * (HEAD_LIMIT - used + 1))]) == "door-refused"


def test_closed_endpoints_open_by_configuration():
    """`endpoints.open` reaches the table."""
    assert code("POST", "/v1/files") == "endpoint-refused"
    assert code("POST", "/v1/files", at=door(opened=frozenset({"files"}))) == "in"


def test_a_request_of_the_server_is_read_as_it_stood_on_the_wire():
    """The raw target and the raw headers count; a header that is not UTF-8 is refused."""
    raw = ((b"Host", b"localhost:8787"), (b"x-name", "Jürgen".encode()))
    request = SimpleNamespace(
        method="GET", raw_path="/v1/models/a%3Ab", raw_headers=raw, version=HttpVersion(1, 1)
    )
    admitted = door().admit_request(request)
    assert (admitted.match.path, admitted.headers) == ("/v1/models/a:b", (("x-name", "Jürgen"),))
    for version in ((2, 0), (0, 9), (1, 2)):
        request.version = HttpVersion(*version)
        with pytest.raises(Refused, match="door-refused"):
            door().admit_request(request)
    request.version = HttpVersion(1, 0)
    request.raw_headers = ((b"Host", b"localhost:8787"), (b"x-name", b"\xff"))
    with pytest.raises(Refused, match="door-refused"):
        door().admit_request(request)


HEAD = (
    (b"Host", b"localhost:8787"),
    (b"Content-Length", b"7"),
    (b"x-name", b"a"),
    (b"Authorization", b"Bearer mine"),
)


def wire(raw=HEAD, method="POST", target="/v1/messages", version=(1, 1)) -> SimpleNamespace:
    return SimpleNamespace(
        method=method, raw_path=target, raw_headers=tuple(raw), version=HttpVersion(*version)
    )


def let_in(at: Door, request: SimpleNamespace) -> Admitted | str:
    try:
        return at.admit_request(request)
    except Refused as refused:
        return refused.code


def test_a_head_that_was_admitted_is_known(monkeypatch):
    """The second time nothing is judged anew but the length, which is the request's own."""
    at = door()
    first = at.admit_request(wire())
    monkeypatch.delattr(Door, "admit")
    second = at.admit_request(wire([*HEAD[:1], *HEAD[2:], (b"content-length", b"900")]))
    assert (first.length, second.length) == (7, 900)
    assert second.of(7) == first


@pytest.mark.parametrize(
    "request_",
    [
        wire([*HEAD, (b"Content-Length", b"7")]),
        wire([*HEAD, (b"content-length", b"8")]),
        wire([*HEAD, (b"Transfer-Encoding", b"chunked")]),
        wire([*HEAD, (b"Origin", b"http://evil.example")]),
        wire([(b"Host", b"evil.example"), *HEAD[1:]]),
        wire([HEAD[0], (b"Content-Length", b"+7"), *HEAD[2:]]),
        wire([HEAD[0], (b"Content-Length", b""), *HEAD[2:]]),
        wire(target="/v1/nothing"),
        wire(method="DELETE"),
        wire(version=(2, 0)),
    ],
)
def test_nothing_else_passes_for_a_known_head(request_):
    """What differs in a byte is judged by itself, and two lengths are never one."""
    at = door()
    at.admit_request(wire())
    assert let_in(at, request_) in ("door-refused", "unknown-endpoint")


def test_known_heads_are_bounded_and_never_of_who_was_refused():
    """Strangers fill no memory, and clients only so much."""
    at = door()
    let_in(at, wire([(b"Host", b"evil.example"), *HEAD[1:]]))
    assert len(at.known) == 0
    for number in range(64):
        at.admit_request(wire([*HEAD, (b"x-long", b"%d" % number + b"y" * 40_000)]))
    assert 0 < at.known.used <= HEADS


@given(st.lists(st.lists(st.sampled_from([
    *HEAD, HEAD[1], (b"content-length", b"0"), (b"Transfer-Encoding", b"chunked"),
    (b"Connection", b"x-name"), (b"x-transom-token", TOKEN.encode()),
    (b"x-transom-token", OTHER.encode()), (b"Content-Encoding", b"gzip"),
]), max_size=6), max_size=4))  # fmt: skip
def test_a_door_that_remembers_is_the_door_that_does_not(heads):
    """Whatever came before, a request is judged as if it were the first."""
    at = door(clients=(client("laptop", TOKEN), client("phone", OTHER)))
    for raw in heads:
        request = wire([HEAD[0], *raw])
        fresh = door(clients=(client("laptop", TOKEN), client("phone", OTHER)))
        assert let_in(at, request) == let_in(fresh, request)


def test_refusals_are_dressed_past_the_token():
    """The dialect of an error is that of the path behind the prefix."""
    assert dress("/t/tok/v1/models", [("Anthropic-Version", "x")]) == "anthropic_messages"
    assert dress("/t/tok/api/tags", []) == "ollama_chat"
    assert dress("\x00", []) == "openai_chat"


@pytest.mark.parametrize("canary", ["sk-canary-value"])
def test_refusals_repeat_nothing(canary):
    """No refusal's facts hold what the client sent, wherever it was put."""
    attempts = [
        ("POST", f"/v1/{canary}", POST),
        ("POST", f"/v1/messages/{canary}", POST),
        ("POST", f"http://{canary}/v1/messages", POST),
        ("POST", f"/v1/messages?{canary}^", POST),
        ("POST", f"/t/{canary}/v1/nope", POST),
        ("POST", f"/v1/files/{canary}", POST),
        ("POST", "/v1/messages", [("Host", canary)]),
        ("POST", "/v1/messages", [HOST, ("Origin", canary)]),
        ("POST", "/v1/messages", [HOST, ("Content-Length", canary)]),
        ("POST", "/v1/messages", [HOST, ("Expect", canary)]),
        ("POST", "/v1/messages", [HOST, (f"{canary} x", "y")]),
    ]
    for method, target, headers in attempts:
        refused = outcome(door(), method, target, headers)
        assert isinstance(refused, Refused), target
        assert canary not in "".join(refused.facts.values())


NAMES = [
    "host",
    "Host",
    "origin",
    "content-length",
    "transfer-encoding",
    "x-transom-token",
    "authorization",
    "upgrade",
    "connection",
    "expect",
    "sec-fetch-site",
    "x y",
    "x-any",
]


@given(
    st.sampled_from(["GET", "POST", "CONNECT", "OPTIONS"]),
    st.text(max_size=40) | st.text("/v1.%2FtT:?;#\\messages", max_size=40),
    st.lists(
        st.tuples(
            st.sampled_from(NAMES),
            st.text(max_size=20) | st.sampled_from([HOST[1], "chunked", "2", TOKEN, "close"]),
        ),
        max_size=6,
    ),
    st.sampled_from([door(), GUARDED, BY_KEY]),
)
def test_admits_or_refuses_and_never_anything_else(method, target, headers, at):
    """Whatever comes, the door answers with a way in or with a code of the catalogue."""
    result = outcome(at, method, target, headers)
    if isinstance(result, Refused):
        assert result.code in NOTICES
    else:
        lines = [name.lower() for name, _ in (*result.headers, *result.credentials)]
        assert not {"host", "connection", "x-transom-token", "content-length"}.intersection(lines)
        assert all(TOKEN not in value for _, value in result.credentials)
        assert next(value for name, value in headers if name.lower() == "host").lower() in at.hosts
    assert dress(target, headers)
