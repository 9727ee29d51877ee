"""The outbound door on real sockets: what it sends, to whom, and what it calls that goes wrong."""

import asyncio
import contextlib
import gzip
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from policies.decision import Leg
from policies.prove import nothing_to_prove, unread
from proxy import connector, upstream
from proxy.answer import Answer
from proxy.config import Timeouts, UpstreamSettings
from proxy.demo.upstream import Fault, Framing, Recorded, Reply, ScriptedUpstream
from proxy.errors import Refused
from proxy.local import addresses
from proxy.upstream import VERSION, Outbound

BODY = b'{"model":"m","messages":[]}'
HEADERS = [("Content-Type", "application/json"), ("anthropic-beta", "a,b"), ("X-Odd", "1")]
SHORT = Timeouts(connect=2, first_byte=2, idle=2)
KEY = "key-of-" + "the-node"


def cloud(url: str, auth: Any = "caller", **more: Any) -> UpstreamSettings:
    return UpstreamSettings("claude", Leg.CLOUD, url, ("anthropic",), auth, **more)


def local(url: str, *dialects: str) -> UpstreamSettings:
    return UpstreamSettings("home", Leg.LOCAL, url, dialects or ("openai",), "none")


def by_cloud(out: Outbound, to: UpstreamSettings, **changed: Any) -> Any:
    given: dict[str, Any] = {
        "method": "POST",
        "path": "/v1/messages",
        "query": "",
        "headers": HEADERS,
        "credentials": [],
        "family": "anthropic",
        "cleared": unread(BODY, "test"),
    }
    return out.send_cloud(to, **{**given, **changed})


def at_home(out: Outbound, to: UpstreamSettings, **changed: Any) -> Any:
    given: dict[str, Any] = {
        "method": "POST",
        "path": "/v1/chat/completions",
        "query": "",
        "headers": HEADERS,
        "body": BODY,
        "model": "m",
    }
    return out.send_local(to, **{**given, **changed})


def about(server: ScriptedUpstream) -> list[Recorded]:
    """What was sent, but for the question whether a local server is an Ollama."""
    return [request for request in server.requests if request.path != VERSION]


async def body_of(answer: Answer) -> bytes:
    try:
        return b"".join([chunk async for chunk in answer.chunks])
    finally:
        answer.close()


async def broken_off(answer: Answer) -> tuple[bytes, str]:
    """What came before the answer broke off, and as what that was told."""
    got = b""
    try:
        async for chunk in answer.chunks:
            got += chunk
    except Refused as broken:
        return got, broken.code
    finally:
        answer.close()
    pytest.fail("the answer did not break off")


def hello(request: Recorded) -> Reply:
    return Reply.of({"hello": True})


@pytest.fixture
async def out() -> AsyncIterator[Outbound]:
    async with Outbound(SHORT) as outbound:
        yield outbound


async def test_what_is_sent_is_what_was_given(out: Outbound) -> None:
    """Names, values, order and repeats of headers stay; nothing is added but what a body needs."""
    given = [*HEADERS, ("anthropic-beta", "c"), ("accept", "*/*"), ("X-Umlaut", "näh")]
    async with ScriptedUpstream(hello) as server:
        answer = await by_cloud(out, cloud(server.url), query="beta=true&a=%2F", headers=given)
        assert json.loads(await body_of(answer)) == {"hello": True}
        (sent,) = server.received
    head, _, body = sent.partition(b"\r\n\r\n")
    assert body == BODY
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /v1/messages?beta=true&a=%2F HTTP/1.1"
    assert lines[1] == f"Host: 127.0.0.1:{server_port(lines)}"
    # CIMultiDict keeps repeats next to each other in the order given.
    assert sorted(lines[2:]) == sorted(
        [
            *(f"{name}: {value}" for name, value in given),
            "accept-encoding: identity",
            f"Content-Length: {len(BODY)}",
        ]
    )


def server_port(lines: list[str]) -> str:
    return lines[1].rpartition(":")[2]


@pytest.mark.parametrize(
    ("method", "length"), [("GET", None), ("HEAD", None), ("POST", "0"), ("DELETE", "0")]
)
async def test_a_request_without_a_body(out: Outbound, method: str, length: str | None) -> None:
    """A length only where the method is expected to have one; never chunked."""
    async with ScriptedUpstream(hello) as server:
        answer = await by_cloud(
            out, cloud(server.url), method=method, cleared=nothing_to_prove(), headers=[]
        )
        await body_of(answer)
        (request,) = server.requests
    assert request.method == method
    assert request.header("content-length") == (length or "")
    assert {name.lower() for name, _ in request.headers} <= {
        "host",
        "accept-encoding",
        "content-length",
    }


async def test_a_large_body_is_sent_whole_with_its_length(out: Outbound) -> None:
    """Above a megabyte it is written in pieces, and is still no chunked body."""
    large = b'{"a":"' + b"x" * 3_000_000 + b'"}'
    async with ScriptedUpstream(hello) as server:
        await body_of(await by_cloud(out, cloud(server.url), cleared=unread(large, "test")))
        (request,) = server.requests
    assert request.body == large
    assert request.header("content-length") == str(len(large))
    assert not request.header("transfer-encoding")


@pytest.mark.parametrize(
    ("base", "path", "target"),
    [
        ("", "/v1/models/a%2Fb:c", "/v1/models/a%2Fb:c"),
        ("/prefix", "/v1/messages", "/prefix/v1/messages"),
        ("", "/v1/./x/../y", "/v1/./x/../y"),
        ("", "/v1/a%7Eb'(c)", "/v1/a%7Eb'(c)"),
    ],
)
async def test_the_path_is_not_written_anew(
    out: Outbound, base: str, path: str, target: str
) -> None:
    """The table's path leaves byte for byte, below the prefix of the base URL."""
    async with ScriptedUpstream(hello) as server:
        await body_of(await by_cloud(out, cloud(server.url + base), path=path))
        assert server.requests[0].target == target


@pytest.mark.parametrize("thing", [BODY, bytearray(BODY), None, "Cleared"])
async def test_only_what_was_cleared_leaves_for_a_cloud(out: Outbound, thing: object) -> None:
    """Bytes, nothing, or a look-alike: a `TypeError`, and no connection was made."""

    class Likely:
        body = BODY
        reason = ""

    async with ScriptedUpstream(hello) as server:
        with pytest.raises(TypeError):
            await by_cloud(
                out, cloud(server.url), cleared=Likely() if thing == "Cleared" else thing
            )
        assert server.accepted == 0


async def test_a_local_send_takes_no_cloud_upstream(out: Outbound) -> None:
    """A mistake further in cannot carry an uncleared body to a cloud."""
    async with ScriptedUpstream(hello) as server:
        with pytest.raises(TypeError, match="not a local upstream"):
            await at_home(out, cloud(server.url))
        assert server.accepted == 0


CALLERS = [("Authorization", "Bearer mine"), ("x-api-key", "mine")]


@pytest.mark.parametrize(
    ("auth", "family", "seen"),
    [
        ("caller", "anthropic", {"authorization": "Bearer mine", "x-api-key": "mine"}),
        ("none", "anthropic", {}),
        ("key", "anthropic", {"x-api-key": KEY}),
        ("key", "openai", {"authorization": f"Bearer {KEY}"}),
        ("key", "ollama", {"authorization": f"Bearer {KEY}"}),
    ],
)
async def test_credentials_go_where_auth_says(
    out: Outbound, auth: str, family: str, seen: dict[str, str]
) -> None:
    """The caller's pass with `caller` alone; the node's own stands in the family's header."""
    async with ScriptedUpstream(hello) as server:
        to = cloud(server.url, auth, key=KEY if auth == "key" else None)
        await body_of(await by_cloud(out, to, family=family, credentials=CALLERS))
        (request,) = server.requests
    names = ("authorization", "x-api-key")
    assert {name: request.header(name) for name in names if request.header(name)} == seen


async def test_no_credential_slips_through_among_the_headers(out: Outbound) -> None:
    """Neither leg sends one that came by the wrong list, nor a client token, cookie or coding."""
    wrong = [
        *CALLERS,
        ("Cookie", "a=b"),
        ("X-Transom-Token", "t"),
        ("content-encoding", "zstd"),
        ("Transfer-Encoding", "chunked"),
        ("Accept-Encoding", "gzip"),
        ("Content-Length", "9"),
        ("Host", "elsewhere"),
        ("Expect", "100-continue"),
        ("Connection", "close"),
    ]
    async with ScriptedUpstream(hello) as server:
        await body_of(await by_cloud(out, cloud(server.url), headers=wrong))
        await body_of(await at_home(out, local(server.url), headers=wrong))
        for request in about(server):
            assert sorted((name.lower(), value) for name, value in request.headers) == [
                ("accept-encoding", "identity"),
                ("content-length", str(len(BODY))),
                ("host", f"127.0.0.1:{server.port}"),
            ]


async def test_a_header_that_would_leave_as_something_else_is_refused(out: Outbound) -> None:
    """The library drops lone surrogates while writing: what was screened is not what leaves."""
    async with ScriptedUpstream(hello) as server:
        for headers in ([("x-a", "ns\udc80ec1")], [("x-\ud800a", "b")]):
            with pytest.raises(Refused, match="door-refused"):
                await by_cloud(out, cloud(server.url), headers=headers)
            with pytest.raises(Refused, match="door-refused"):
                await at_home(out, local(server.url), headers=headers)
        assert about(server) == []


async def test_the_environment_names_no_proxy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Proxy variables and netrc are for other programs."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(netrc))
    async with ScriptedUpstream(hello) as server, ScriptedUpstream(hello) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        async with Outbound(SHORT) as out:
            await body_of(await by_cloud(out, cloud(server.url)))
            await body_of(await at_home(out, local(server.url)))
        assert (server.accepted, proxy.accepted) == (2, 0)
        assert not server.requests[0].header("authorization")


async def test_cookies_are_not_kept(out: Outbound) -> None:
    """What one answer sets, the next request does not bring back."""
    reply = Reply.of({}, headers=(("Set-Cookie", "a=b; Path=/"),))
    async with ScriptedUpstream(lambda request: reply) as server:
        for _ in range(2):
            await body_of(await by_cloud(out, cloud(server.url)))
        assert not server.requests[1].header("cookie")


@pytest.mark.parametrize("status", [200, 201, 204, 304, 400, 401, 403, 404, 429, 500, 503, 529])
@pytest.mark.parametrize("leg", list(Leg))
async def test_statuses_headers_and_error_bodies_pass(out: Outbound, status: int, leg: Leg) -> None:
    """Also what tells a client whether and when to try again."""
    passing = [
        ("Content-Type", "application/json"),
        ("Retry-After", "7"),
        ("x-should-retry", "true"),
        ("request-id", "req_1"),
        ("anthropic-ratelimit-tokens-remaining", "5"),
        ("X-Twice", "1"),
        ("X-Twice", "2"),
        ("Server", "upstream"),
    ]
    reply = Reply(status, passing, (b'{"error":{"type":"x"}}',))
    async with ScriptedUpstream(lambda request: reply) as server:
        if leg is Leg.CLOUD:
            answer = await by_cloud(out, cloud(server.url))
        else:
            answer = await at_home(out, local(server.url))
        body = await body_of(answer)
    assert answer.status == status
    assert [pair for pair in answer.headers if pair[0].lower() != "content-length"] == passing
    assert body == (b"" if status in (204, 304) else b'{"error":{"type":"x"}}')


async def test_headers_that_end_here(out: Outbound) -> None:
    """Hop-by-hop ones, those that `Connection` names, other ways in, our own names; cookies too
    where the credentials are not the caller's."""
    reply = Reply(
        200,
        [
            ("Connection", "keep-alive, X-Hop"),
            ("Keep-Alive", "timeout=5"),
            ("X-Hop", "1"),
            ("Proxy-Authenticate", "Basic"),
            ("Upgrade", "h2c"),
            ("Alt-Svc", 'h3=":443"'),
            ("X-Transom-Leg", "local"),
            ("Set-Cookie", "a=b"),
            ("X-Kept", "1"),
        ],
        (b"{}",),
        Framing.CHUNKED,
    )
    async with ScriptedUpstream(lambda request: reply) as server:
        to = cloud(server.url)
        callers = await by_cloud(out, to)
        assert callers.headers == [("Set-Cookie", "a=b"), ("X-Kept", "1")]
        await body_of(callers)
        for auth in ("key", "none"):
            answer = await by_cloud(out, cloud(server.url, auth, key=KEY))
            assert answer.headers == [("X-Kept", "1")]
            await body_of(answer)
        answer = await at_home(out, local(server.url))
        assert answer.headers == [("X-Kept", "1")]
        await body_of(answer)


async def test_headers_that_could_not_be_relayed(out: Outbound) -> None:
    """Bytes that are no UTF-8 are shown as such; control characters take the header with them."""
    raw = (
        b"HTTP/1.1 200 O\xffK\r\nX-Old: gr\xfc\xdf\r\nX-Bell: a\x07b\r\nContent-Length: 2\r\n\r\n{}"
    )
    async with ScriptedUpstream(lambda r: Reply(chunks=(raw,), framing=Framing.RAW)) as server:
        answer = await by_cloud(out, cloud(server.url))
        assert await body_of(answer) == b"{}"
    assert ("X-Old", "gr\ufffd\ufffd") in answer.headers
    assert "X-Bell" not in dict(answer.headers)
    assert (answer.reason or "").isprintable()


async def test_a_redirect_is_relayed_from_a_cloud_and_never_followed(out: Outbound) -> None:
    """The client sees where the cloud points; nothing goes there on its own."""
    async with ScriptedUpstream(hello) as other:
        for status in (301, 302, 303, 307, 308):
            to = f"{other.url}/elsewhere"
            reply = Reply(status, (("Location", to),), (b"gone",))
            async with ScriptedUpstream(lambda request, reply=reply: reply) as server:  # type: ignore[misc]
                answer = await by_cloud(out, cloud(server.url))
                assert (answer.status, dict(answer.headers)["Location"]) == (status, to)
                assert await body_of(answer) == b"gone"
                with pytest.raises(Refused) as refused:
                    await at_home(out, local(server.url))
                assert refused.value.code == "home-not-local"
        assert other.accepted == 0


async def test_a_coded_answer_passes_as_it_is(out: Outbound) -> None:
    """None is asked for; one that comes all the same keeps its coding and is no stream to us."""
    packed = gzip.compress(b"data: a\n\n")
    headers = (("Content-Type", "text/event-stream"), ("Content-Encoding", "gzip"))
    async with ScriptedUpstream(lambda r: Reply(200, headers, (packed,))) as server:
        answer = await by_cloud(out, cloud(server.url))
        assert await body_of(answer) == packed
        assert server.requests[0].header("accept-encoding") == "identity"
    assert (answer.coded, answer.stream) == (True, "")
    assert dict(answer.headers)["Content-Encoding"] == "gzip"


async def refused(sending: Any) -> tuple[str, dict[str, str]]:
    with pytest.raises(Refused) as caught:
        await body_of(await sending)
    return caught.value.code, dict(caught.value.facts)


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def test_nobody_listens(out: Outbound) -> None:
    """Each leg calls it by its own name, and neither tries the other."""
    url = f"http://127.0.0.1:{closed_port()}"
    code, facts = await refused(by_cloud(out, cloud(url)))
    assert (code, facts["upstream"], facts["reason"]) == (
        "upstream-unreachable",
        "claude",
        "no connection",
    )
    code, facts = await refused(at_home(out, local(url)))
    assert (code, facts["upstream"]) == ("home-unavailable", "home")


RAW = {
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "half a status line": b"HTTP/1.1 2",
    "a bad status": b"HTTP/1.1 abc OK\r\n\r\n",
    "huge headers": b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 200_000 + b"\r\n\r\n",
    "too many headers": b"HTTP/1.1 200 OK\r\n" + b"X-A: a\r\n" * 2000 + b"\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    "only hints": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("raw", list(RAW.values()), ids=list(RAW))
async def test_an_answer_that_is_none(out: Outbound, raw: bytes) -> None:
    """Garbage and early ends are typed errors in our words, asked for once."""
    async with ScriptedUpstream(lambda r: Reply(chunks=(raw,), framing=Framing.RAW)) as server:
        code, facts = await refused(by_cloud(out, cloud(server.url)))
        assert code == "upstream-unreachable"
        assert facts["reason"] in {
            "what it answered is not HTTP",
            "it closed the connection before it answered",
            "it switched to another protocol",
        }
        code, _ = await refused(at_home(out, local(server.url)))
        assert code == "home-unavailable"
        assert len(server.requests) == 2


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.CLOSE])
@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_nothing_is_ever_sent_twice(out: Outbound, fault: Fault, method: str) -> None:
    """A kept connection that dies under a request is an error, also for methods that the library
    would repeat."""
    replies = iter([Reply.of({}), fault, Reply.of({})])
    async with ScriptedUpstream(lambda request: next(replies)) as server:
        given = {"method": method, "cleared": nothing_to_prove()}
        await body_of(await by_cloud(out, cloud(server.url), **given))
        code, _ = await refused(by_cloud(out, cloud(server.url), **given))
        assert code == "upstream-unreachable"
        assert (len(server.requests), server.accepted) == (2, 1)


async def test_a_connection_that_was_closed_meanwhile_is_not_used(out: Outbound) -> None:
    """Also when its end has arrived but nobody has looked yet: no error reaches the client."""
    listener = socket.create_server(("127.0.0.1", 0))
    seen: list[bytes] = []
    closed = threading.Event()

    def serve() -> None:
        for _ in range(2):
            accepted, _address = listener.accept()
            seen.append(accepted.recv(65536))
            accepted.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            time.sleep(0.05)
            accepted.close()
            closed.set()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        to = cloud(f"http://127.0.0.1:{listener.getsockname()[1]}")
        assert await body_of(await by_cloud(out, to)) == b"{}"
        closed.wait(2)  # the loop stands still, so the library still thinks it is open
        assert await body_of(await by_cloud(out, to)) == b"{}"
    finally:
        thread.join()
        listener.close()
    assert len(seen) == 2


async def test_connections_are_kept_and_used_again(out: Outbound) -> None:
    """One after the other goes over one connection; each leg has its own."""
    async with ScriptedUpstream(hello) as server:
        for _ in range(5):
            await body_of(await by_cloud(out, cloud(server.url)))
        assert server.accepted == 1
        await body_of(await at_home(out, local(server.url)))
        assert server.accepted == 2


@contextlib.asynccontextmanager
async def talker(words: bytes) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Says `words` to whoever connects, and keeps what it hears."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(words)
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                heard.append(data)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], heard


async def test_a_plain_server_behind_https(out: Outbound) -> None:
    """A failed handshake is a typed error on either leg, and no byte of the request was sent."""
    async with talker(b"HTTP/1.1 400 Bad Request\r\n\r\n") as (port, heard):
        url = f"https://127.0.0.1:{port}"
        code, facts = await refused(by_cloud(out, cloud(url)))
        assert (code, facts["reason"]) == ("upstream-unreachable", "no secure connection")
        code, _ = await refused(at_home(out, local(url)))
        assert code == "home-unavailable"
        assert b"messages" not in b"".join(heard)


async def test_the_limit_to_connect_covers_the_handshake(out: Outbound) -> None:
    """A server that accepts and says nothing is not waited for as if it were thinking."""
    out.reload(Timeouts(connect=0.2, first_byte=5, idle=5), tailnet=False)
    async with talker(b"") as (port, _):
        code, facts = await refused(by_cloud(out, cloud(f"https://127.0.0.1:{port}")))
        assert (code, facts["reason"]) == ("upstream-unreachable", "no connection in time")


class Names(AbstractResolver):
    """Resolves by `addresses`, called anew for each connection; an exception is raised."""

    def __init__(self, *addresses: str | Exception | float) -> None:
        self.asked = 0
        self._addresses = addresses

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        answer = self._addresses[min(self.asked, len(self._addresses) - 1)]
        self.asked += 1
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, float):
            await asyncio.sleep(answer)
            raise OSError("late")
        return [
            ResolveResult(
                hostname=host, host=each, port=port, family=socket.AF_INET, proto=0, flags=0
            )
            for each in answer.split()
        ]

    async def close(self) -> None:
        """Nothing to close."""


async def test_a_name_that_nobody_knows() -> None:
    """A typed error that says so."""
    async with Outbound(SHORT, resolver=Names(OSError("no such name"))) as out:
        code, facts = await refused(by_cloud(out, cloud("http://cloud.test:1")))
        assert (code, facts["reason"]) == ("upstream-unreachable", "its name is not known")
        code, _ = await refused(at_home(out, local("http://home.test:1")))
        assert code == "home-unavailable"


async def test_the_limit_to_connect_covers_the_look_up() -> None:
    """A resolver that hangs costs `connect` seconds, not `first_byte`."""
    limits = Timeouts(connect=0.2, first_byte=5, idle=5)
    async with Outbound(limits, resolver=Names(3.0)) as out:
        began = time.monotonic()
        code, facts = await refused(by_cloud(out, cloud("http://cloud.test:1")))
        assert (code, facts["reason"]) == ("upstream-unreachable", "no connection in time")
        assert time.monotonic() - began < 1


@contextlib.asynccontextmanager
async def raw_server(host: str, seen: list[bytes], accepted: list[int]) -> AsyncIterator[int]:
    """Counts what it accepts and keeps what it reads; answers an empty object."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(1)
        seen.append(await reader.read(65536))
        if seen[-1]:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, host, 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_local_leg_connects_to_no_other_address(
    monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    """A name that leads elsewhere is refused before so much as a handshake."""
    monkeypatch.setattr(addresses, "LOCAL", (ip_network("127.0.0.1/32"),))
    seen: list[bytes] = []
    accepted: list[int] = []
    async with (
        raw_server("127.0.0.2", seen, accepted) as port,
        Outbound(SHORT, resolver=Names("127.0.0.2", "127.0.0.2 127.0.0.3")) as out,
    ):
        for _ in range(2):
            code, _ = await refused(at_home(out, local(f"{scheme}://home.test:{port}")))
            assert code == "home-not-local"
        assert accepted == []


async def test_a_local_leg_looks_at_the_peer_of_the_connection_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However a connection came about, zero bytes go to a peer that is not at home."""
    monkeypatch.setattr(addresses, "LOCAL", (ip_network("127.0.0.1/32"),))
    monkeypatch.setattr(
        connector.Connector, "_socket", lambda self, info: socket.socket(info[0], info[1], info[2])
    )
    seen: list[bytes] = []
    accepted: list[int] = []
    async with (
        raw_server("127.0.0.2", seen, accepted) as port,
        Outbound(SHORT, resolver=Names("127.0.0.2")) as out,
    ):
        code, _ = await refused(at_home(out, local(f"http://home.test:{port}")))
        assert code == "home-not-local"
        await asyncio.sleep(0.05)
        assert (len(accepted), seen) == (1, [b""])


async def test_each_connection_resolves_its_own_name() -> None:
    """A name that changes its mind is caught at the next connection."""
    reply = Reply.of({}, headers=(("Connection", "close"),))
    names = Names("127.0.0.1", "127.0.0.1", "8.8.8.8")
    async with (
        ScriptedUpstream(lambda request: reply) as server,
        Outbound(SHORT, resolver=names) as out,
    ):
        to = local(f"http://home.test:{server.port}")
        assert await body_of(await at_home(out, to)) == b"{}"
        code, _ = await refused(at_home(out, to))
        assert (code, names.asked, server.accepted) == ("home-not-local", 3, 2)


async def test_a_kept_connection_is_checked_as_well(
    monkeypatch: pytest.MonkeyPatch, out: Outbound
) -> None:
    """What was at home when it was made may not be so any more (`tailnet` was taken back)."""
    async with ScriptedUpstream(hello) as server:
        await body_of(await at_home(out, local(server.url)))
        monkeypatch.setattr(addresses, "LOCAL", ())
        code, _ = await refused(at_home(out, local(server.url)))
        assert (code, len(about(server))) == ("home-not-local", 1)


async def test_a_cloud_may_be_anywhere() -> None:
    """The list is for local legs."""
    seen: list[bytes] = []
    async with (
        raw_server("127.0.0.1", seen, []) as port,
        Outbound(SHORT, resolver=Names("127.0.0.1")) as out,
    ):
        assert await body_of(await by_cloud(out, cloud(f"http://cloud.test:{port}"))) == b"{}"
    assert f"Host: cloud.test:{port}".encode() in seen[0]


async def test_a_reload_changes_what_comes_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """`tailnet` and the limits count from the next request on."""
    monkeypatch.setattr(addresses, "LOCAL", ())
    monkeypatch.setattr(addresses, "TAILNET", ip_network("127.0.0.0/8"))
    async with ScriptedUpstream(hello) as server, Outbound(SHORT) as out:
        assert (await refused(at_home(out, local(server.url))))[0] == "home-not-local"
        out.reload(Timeouts(connect=1, first_byte=0.1, idle=1), tailnet=True)
        assert await body_of(await at_home(out, local(server.url)))
        server.script = lambda request: Fault.STALL
        assert (await refused(at_home(out, local(server.url))))[0] == "upstream-timeout"


@pytest.mark.parametrize("leg", list(Leg))
async def test_an_upstream_that_never_answers(leg: Leg) -> None:
    """The limit to the first byte is a typed error, and the connection is closed at once."""
    limits = Timeouts(connect=5, first_byte=0.2, idle=5)
    async with ScriptedUpstream(lambda r: Fault.STALL) as server, Outbound(limits) as out:
        to = cloud(server.url) if leg is Leg.CLOUD else local(server.url)
        code, facts = await refused(by_cloud(out, to) if leg is Leg.CLOUD else at_home(out, to))
        assert (code, facts["phase"]) == ("upstream-timeout", " (no first byte)")
        async with asyncio.timeout(1):
            await server.connections[0].closed.wait()


async def test_a_slow_first_byte_within_the_limit_is_no_error(out: Outbound) -> None:
    """A cold model may take its time; there is no limit on the whole."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    steps = (0.4, head, 0.2, b"data: 1\n\n", 0.2, b"data: 2\n\n")
    slow = Reply(chunks=steps, framing=Framing.RAW)
    out.reload(Timeouts(connect=0.2, first_byte=2, idle=0.3), tailnet=False)
    async with ScriptedUpstream(lambda request: slow) as server:
        answer = await by_cloud(out, cloud(server.url))
        assert answer.stream == "sse"
        assert await body_of(answer) == b"data: 1\n\ndata: 2\n\n"


@pytest.mark.parametrize("framing", [Framing.LENGTH, Framing.CHUNKED, Framing.CLOSE])
@pytest.mark.parametrize("after", [0, 1, 5, 17])
async def test_an_answer_that_is_reset_is_never_taken_for_whole(
    out: Outbound, framing: Framing, after: int
) -> None:
    """At any byte, in any framing, also where the end of the connection is the end of the body."""
    whole = Reply(200, (), (b"0123456789abcdefgh", b"z" * 1000), framing)
    async with ScriptedUpstream(lambda request: whole.cut(after, Fault.RESET)) as server:
        answer = await by_cloud(out, cloud(server.url))
        got, code = await broken_off(answer)
    assert code == "upstream-unreachable"
    assert b"0123456789abcdefgh".startswith(got)


@pytest.mark.parametrize("framing", [Framing.LENGTH, Framing.CHUNKED])
async def test_an_answer_that_ends_early_is_never_taken_for_whole(
    out: Outbound, framing: Framing
) -> None:
    """A clean close before the promised end is a broken answer."""
    whole = Reply(200, (), (b"0123456789",), framing)
    async with ScriptedUpstream(lambda request: whole.cut(4)) as server:
        code, facts = await refused(at_home(out, local(server.url)))
    assert (code, facts["upstream"]) == ("home-unavailable", "home")


async def test_an_answer_may_end_with_its_connection(out: Outbound) -> None:
    """Where no length is promised, a clean close is the end."""
    reply = Reply(200, (), (b"0123", b"456"), Framing.CLOSE)
    async with ScriptedUpstream(lambda request: reply) as server:
        assert await body_of(await by_cloud(out, cloud(server.url))) == b"0123456"


async def test_silence_in_the_middle_of_an_answer(out: Outbound) -> None:
    """The idle limit counts between two chunks; the connection is closed."""
    out.reload(Timeouts(connect=1, first_byte=5, idle=0.2), tailnet=False)
    reply = Reply.stream([b"data: 1\n\n", 0.1, b"data: 2\n\n", Fault.STALL])
    async with ScriptedUpstream(lambda request: reply) as server:
        answer = await by_cloud(out, cloud(server.url))
        assert await broken_off(answer) == (b"data: 1\n\ndata: 2\n\n", "upstream-timeout")
        async with asyncio.timeout(1):
            await server.connections[0].closed.wait()


async def test_a_client_that_is_slow_to_read_is_no_silence(out: Outbound) -> None:
    """Time between two reads is the reader's own."""
    out.reload(Timeouts(connect=1, first_byte=5, idle=0.2), tailnet=False)
    reply = Reply.stream([b"data: 1\n\n", 0.05, b"data: 2\n\n"])
    async with ScriptedUpstream(lambda request: reply) as server:
        answer = await by_cloud(out, cloud(server.url))
        async for _ in answer.chunks:
            await asyncio.sleep(0.5)


@contextlib.asynccontextmanager
async def deaf_server() -> AsyncIterator[int]:
    """Accepts and reads nothing."""
    accepted: list[asyncio.StreamWriter] = []

    def deafen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        accepted.append(writer)

    server = await asyncio.start_server(deafen, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        for writer in accepted:
            writer.transport.abort()
        await asyncio.sleep(0)


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def cancelled(sending: Any, seconds: float = 0.1) -> None:
    task = asyncio.ensure_future(sending)
    await asyncio.sleep(seconds)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_who_leaves_while_connecting_leaves_nothing() -> None:
    """A look-up under way is given up."""
    async with Outbound(SHORT, resolver=Names(1.0)) as out:
        await cancelled(by_cloud(out, cloud("http://cloud.test:1")))


async def test_who_leaves_while_uploading_stops_the_upload(out: Outbound) -> None:
    """What was not written yet is never written: a close that first wrote it would never end."""
    async with deaf_server() as port:
        large = unread(b"x" * 30_000_000, "test")
        sending = by_cloud(out, cloud(f"http://127.0.0.1:{port}"), cleared=large)
        task = asyncio.ensure_future(sending)
        await asyncio.sleep(0.2)
        during = open_files()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(1):
            while open_files() >= during:
                await asyncio.sleep(0.01)


async def test_who_leaves_before_the_first_byte_closes_the_upstream(out: Outbound) -> None:
    """Within a second, and the connection is not used again."""
    async with ScriptedUpstream(lambda request: Fault.STALL) as server:
        await cancelled(by_cloud(out, cloud(server.url)))
        async with asyncio.timeout(1):
            await server.connections[0].closed.wait()


async def test_who_leaves_in_the_middle_closes_the_upstream(out: Outbound) -> None:
    """`close` gives up the rest at once; after the end it leaves the kept connection alone."""
    reply = Reply.stream([b"data: 1\n\n", Fault.STALL])
    async with ScriptedUpstream(lambda request: reply) as server:
        answer = await by_cloud(out, cloud(server.url))
        await anext(answer.chunks)
        answer.close()
        async with asyncio.timeout(1):
            await server.connections[0].closed.wait()
        server.script = hello
        answer = await by_cloud(out, cloud(server.url))
        await body_of(answer)
        answer.close()
        await body_of(await by_cloud(out, cloud(server.url)))
        assert server.accepted == 2


async def test_a_thousand_answers_at_once(out: Outbound) -> None:
    """No stream waits for another to end."""
    out.reload(Timeouts(connect=20, first_byte=20, idle=20), tailnet=False)
    count, begun = 1000, asyncio.Event()
    reply = Reply.stream([b"data: 1\n\n", begun, b"data: 2\n\n"])
    async with ScriptedUpstream(lambda request: reply) as server:
        to = cloud(server.url)
        answers = await asyncio.gather(*(by_cloud(out, to) for _ in range(count)))
        firsts = await asyncio.gather(*(anext(answer.chunks) for answer in answers))
        assert set(firsts) == {b"data: 1\n\n"}
        assert server.accepted == count
        begun.set()
        rests = await asyncio.gather(*(body_of(answer) for answer in answers))
        assert set(rests) == {b"data: 2\n\n"}


SHOWN = {"details": {"format": "gguf"}, "model_info": {}}


def ollama(show: Callable[[dict[str, object]], Reply]) -> Callable[[Recorded], Reply]:
    def script(request: Recorded) -> Reply:
        return show(request.json()) if request.path == "/api/show" else Reply.of({"done": True})

    return script


async def test_a_local_model_is_asked_about_first(out: Outbound) -> None:
    """By this very name, over the same door, without the client's headers; then once a minute."""
    async with ScriptedUpstream(ollama(lambda asked: Reply.of(SHOWN))) as server:
        for _ in range(2):
            answer = await at_home(
                out, local(server.url, "ollama"), path="/api/chat", model="qwen3:8b"
            )
            assert await body_of(answer) == b'{"done":true}'
        assert [request.path for request in server.requests] == [
            "/api/show",
            "/api/chat",
            "/api/chat",
        ]
        assert server.requests[0].json() == {"model": "qwen3:8b"}
        assert not server.requests[0].header("x-odd")


@pytest.mark.parametrize("path", ["/api/chat", "/v1/messages", "/v1/chat/completions"])
async def test_a_remote_model_gets_nothing_but_the_question(out: Outbound, path: str) -> None:
    """Whatever dialect is spoken to it; the refusal is typed."""
    remote = {**SHOWN, "remote_host": "https://ollama.com", "remote_model": "big"}
    async with ScriptedUpstream(ollama(lambda asked: Reply.of(remote))) as server:
        to = local(server.url, "ollama", "anthropic", "openai")
        code, facts = await refused(at_home(out, to, path=path, model="private"))
        assert (code, facts["reason"]) == ("home-not-local", "this model runs on a remote host")
        assert [request.path for request in server.requests] == ["/api/show"]
        assert BODY not in b"".join(server.received)


@pytest.mark.parametrize("dialects", [("ollama",), ("openai",)])
async def test_the_name_of_a_cloud_model_is_refused_unasked(
    out: Outbound, dialects: tuple[str, ...]
) -> None:
    """On any local server, whatever it says it speaks."""
    async with ScriptedUpstream(hello) as server:
        code, _ = await refused(at_home(out, local(server.url, *dialects), model="x:1b-Cloud"))
        assert (code, server.accepted) == ("home-not-local", 0)


async def test_a_model_that_is_not_there_is_told_in_the_servers_words(out: Outbound) -> None:
    """Its 404 is the answer, and the request itself stays here."""
    said = Reply.of({"error": "model 'x' not found"}, 404)
    async with ScriptedUpstream(ollama(lambda asked: said)) as server:
        answer = await at_home(out, local(server.url, "ollama"), path="/api/chat", model="x")
        assert answer.status == 404
        assert await body_of(answer) == b'{"error":"model \'x\' not found"}'
        assert len(server.requests) == 1


async def test_a_body_whose_model_was_not_seen_is_not_sent(out: Outbound) -> None:
    """Ollama would read `MODEL`; requests without a body, and `/api/show` itself, run no model."""
    async with ScriptedUpstream(hello) as server:
        to = local(server.url, "ollama")
        for body in (b'{"MODEL":"x:cloud"}', b"{}"):
            code, _ = await refused(at_home(out, to, path="/api/chat", model="", body=body))
            assert code == "home-not-local"
        assert server.accepted == 0
        for given in (
            {"method": "GET", "path": "/api/tags", "body": b"", "model": ""},
            {"path": "/api/show", "body": b'{"model":"m"}', "model": ""},
        ):
            assert (await at_home(out, to, **given)).status == 200


@pytest.mark.parametrize(
    "version",
    [Reply(404), Reply.of({"error": "what?"}), Reply.of(["0.1"]), Reply.of({"version": 7})],
)
async def test_other_local_servers_are_asked_for_their_kind_alone(
    out: Outbound, version: Reply
) -> None:
    """They have no `/api/show`; once a minute they are asked whether they are an Ollama."""
    async with ScriptedUpstream(lambda r: version if r.path == VERSION else hello(r)) as server:
        for _ in range(2):
            await body_of(await at_home(out, local(server.url)))
        paths = [request.path for request in server.requests]
        assert paths == [VERSION, "/v1/chat/completions", "/v1/chat/completions"]


async def test_an_ollama_under_another_name_is_one(out: Outbound) -> None:
    """Declared for another dialect only, its models are vouched for all the same."""

    def script(request: Recorded) -> Reply:
        match request.path:
            case "/api/version":
                return Reply.of({"version": "0.9.0"})
            case "/api/show":
                model = request.json()["model"]
                return Reply.of({"remote_host": "https://far.test"} if model == "far" else SHOWN)
            case _:
                return hello(request)

    async with ScriptedUpstream(script) as server:
        code, _ = await refused(at_home(out, local(server.url), model="far"))
        assert code == "home-not-local"
        code, _ = await refused(at_home(out, local(server.url), model=""))
        assert code == "home-not-local"
        assert (await at_home(out, local(server.url), model="near")).status == 200
        paths = [request.path for request in server.requests]
        assert paths == [VERSION, "/api/show", "/api/show", "/v1/chat/completions"]


async def test_an_endless_description_is_given_up(
    out: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is held without bound, and what could not be read is not local."""
    monkeypatch.setattr(upstream, "SHOW_LIMIT", 100)
    endless = ollama(lambda asked: Reply.of({"license": "x" * 200}))
    async with ScriptedUpstream(endless) as server:
        code, _ = await refused(at_home(out, local(server.url, "ollama"), path="/api/chat"))
        assert code == "home-not-local"


async def test_a_server_that_is_down_is_down_for_the_question_too(out: Outbound) -> None:
    """The one error is that of the leg."""
    to = local(f"http://127.0.0.1:{closed_port()}", "ollama")
    assert (await refused(at_home(out, to)))[0] == "home-unavailable"


async def test_an_unused_answer_leaves_no_connection_behind(out: Outbound) -> None:
    """Who decides not to relay an answer closes it."""
    async with ScriptedUpstream(lambda r: Reply.stream([b"x", Fault.STALL])) as server:
        answer = await by_cloud(out, cloud(server.url))
        answer.close()
        async with asyncio.timeout(1):
            await server.connections[0].closed.wait()
