"""Home is this node's own: whatever would lead the question elsewhere, nobody else hears a byte."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from proxy import app
from proxy.config import Config
from proxy.demo.files import nsec
from proxy.demo.upstream import Fault, Recorded, Reply, ScriptedUpstream
from proxy.local import addresses
from proxy.local.guard import FRESH, Guard
from proxy.upstream import Outbound
from tests.scenes import bodies
from tests.scenes.hearth import MODEL, SAID, Home, at_home, lines, ollama, says, words
from tests.scenes.nodes import served

PATHS = bodies.PATHS
SECRET = nsec()
CLOUD = ":".join(["gpt-oss", "120b-cloud"])
REMOTE = "https://ollama.com:443"
SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}


def asking(dialect: str = "anthropic_messages", **more: Any) -> dict[str, Any]:
    body: dict[str, Any] = getattr(bodies, dialect)(f"key = {SECRET}")
    return {**body, "stream": False, **more}


LED_BY = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "OLLAMA_HOST",
    "OLLAMA_CLOUD_HOST",
    "OPENAI_BASE_URL",
    "ANTHROPIC_BASE_URL",
)


@asynccontextmanager
async def trap() -> AsyncIterator[ScriptedUpstream]:
    """A server that nobody may so much as connect to."""
    async with ScriptedUpstream(lambda _: Fault.CLOSE) as other:
        yield other
        assert other.accepted == 0


def of_home(**changes: Any) -> Any:
    """A change of the configuration: home has these settings."""

    def change(config: Config) -> Config:
        away, home = config.upstreams
        return replace(config, upstreams=(away, replace(home, **changes)))

    return change


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("where", ["/api/chat", "/api/show", "/api/version", "/v1/messages"])
async def test_a_redirect_is_not_followed(where: str, status: int) -> None:
    """Of whichever question on the way home; the client is told, and the question stays."""
    speaks = ("ollama",) if where in ("/api/chat", "/api/show") else ("anthropic",)
    async with trap() as other:

        def script(recorded: Recorded) -> Reply | Fault:
            if recorded.path == where:
                return Reply(status, (("location", f"{other.url}{where}"),))
            if recorded.path == "/api/version":
                return Reply.of({"error": "not found"}, 404)
            return ollama(words())(recorded)

        async with at_home(script=script, speaks=speaks) as stage:
            answer = await stage.post("/v1/messages", asking())
            assert answer.headers["x-transom-notice"] == "home-not-local"
            assert [each.path for each in stage.home.requests][-1] == where
            assert stage.upstream.accepted == 0


async def test_no_proxy_and_no_other_home_of_the_environment(tmp_path: Path) -> None:
    """The variables by which clients and Ollama itself are led elsewhere lead this node nowhere."""
    async with trap() as other, ScriptedUpstream(ollama(words())) as home:
        address = other.url
        environ = dict.fromkeys(LED_BY, address)
        environ |= {"NO_PROXY": "", "no_proxy": "", "OLLAMA_API_KEY": "ollama-" + "k" * 20}
        config = (
            '[[upstream]]\nname = "away"\nleg = "cloud"\nauth = "caller"\n'
            f'base_url = "{address}"\ndialects = ["anthropic", "openai", "ollama"]\n'
            f'[[upstream]]\nname = "home"\nleg = "local"\nbase_url = "{home.url}"\nauth = "none"\n'
            f'dialects = ["ollama"]\nmodel = "{MODEL}"\n[fallback]\nupstream = "home"\n'
        )
        found = await asyncio.to_thread(_played, tmp_path, config, environ)
        for status, headers, body in found:
            assert (status, headers["x-transom-leg"]) == (200, "local")
            assert SAID.encode() in body
        sent = b"".join(home.received)
        assert b"authorization" not in sent.lower()
        assert environ["OLLAMA_API_KEY"].encode() not in sent


def _played(home: Path, config: str, environ: dict[str, str]) -> list[Any]:
    with served(home, config, environ=environ) as node:
        return [node.post(path, asking(dialect)) for dialect, path in PATHS.items()]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def clocked(stage: Home) -> Clock:
    """The clock by which the stage's node knows how old its knowledge of a name is."""
    clock = Clock()
    stage.node.parts.outbound._guard = Guard(clock)
    return clock


async def test_a_name_that_becomes_remote_is_asked_about_after_a_minute() -> None:
    """`ollama cp` puts a model of a cloud under any name; then it is asked nothing more."""
    async with at_home() as stage:
        clock = clocked(stage)
        assert (await stage.post("/v1/messages", asking())).status == 200
        stage.home.script = ollama(words(), remote_host=REMOTE)
        clock.now += FRESH
        answer = await stage.post("/v1/messages", asking())
        assert answer.headers["x-transom-notice"] == "home-not-local"
        assert (len(stage.asked), stage.upstream.accepted) == (1, 0)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_name_that_becomes_remote_within_the_minute_tells_on_itself(stream: bool) -> None:
    """Its first line does; nothing of it is told, and the next request is not sent at all."""
    away = [{"remote_host": REMOTE, "remote_model": "big", **json.loads(line)}
            for line in lines({"content": SAID})]  # fmt: skip
    told = tuple(json.dumps(line).encode() + b"\n" for line in away)
    async with at_home() as stage:
        clocked(stage)
        assert (await stage.post("/v1/messages", asking())).status == 200
        stage.home.script = ollama(
            Reply.stream(told, "application/x-ndjson"), remote_host=REMOTE, remote_model="big"
        )
        for _ in range(2):
            answer = await stage.post("/v1/messages", asking(stream=stream))
            assert answer.headers["x-transom-notice"] == "home-not-local"
            assert SAID.encode() not in answer.body
        assert (len(stage.asked), stage.upstream.accepted) == (2, 0)


@pytest.mark.parametrize("prefer", ["cloud", "local"])
@pytest.mark.parametrize("speaks", [("ollama",), ("anthropic",)])
@pytest.mark.parametrize("name", [CLOUD, "qwen3:cloud", "QWEN3:Cloud", "q3-coder:480B-CLOUD "])
async def test_a_name_of_the_cloud_is_asked_nothing(
    name: str, speaks: Sequence[str], prefer: str
) -> None:
    """Not even what it is: a local Ollama would hand that on as well."""
    change = of_home(model=name)
    async with at_home(change=change, speaks=speaks, prefer=prefer) as stage:
        answer = await stage.post("/v1/messages", asking())
        assert answer.headers["x-transom-notice"] == "home-not-local"
        assert (stage.home.accepted, stage.upstream.accepted) == (0, 0)


class Names(AbstractResolver):
    """Resolves to one address after the other, one for each connection."""

    def __init__(self, *hosts: str) -> None:
        self._hosts = [*hosts]

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        at = self._hosts.pop(0)
        return [
            ResolveResult(
                hostname=host, host=at, port=port, family=socket.AF_INET, proto=0, flags=0
            )
        ]

    async def close(self) -> None:
        """Nothing to close."""


async def test_a_name_that_resolves_elsewhere_for_the_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At home when it is asked about its model, and another machine a moment later."""
    monkeypatch.setattr(addresses, "LOCAL", (ip_network("127.0.0.1/32"),))
    names = Names("127.0.0.1", "127.0.0.2")
    monkeypatch.setattr(app, "Outbound", partial(Outbound, resolver=names))
    heard: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(9))
        writer.close()

    def script(recorded: Recorded) -> Reply | Fault:
        reply = ollama(words())(recorded)
        assert isinstance(reply, Reply)
        return replace(reply, headers=(*reply.headers, ("connection", "close")))

    def by_name(config: Config) -> Config:
        url = config.upstreams[1].base_url.replace("127.0.0.1", "home.test")
        changed: Config = of_home(base_url=url)(config)
        return changed

    async with at_home(script=script, change=by_name) as stage:
        server = await asyncio.start_server(hear, "127.0.0.2", stage.home.port)
        async with server:
            answer = await stage.post("/v1/messages", asking())
        assert answer.headers["x-transom-notice"] == "home-not-local"
        assert [each.path for each in stage.home.requests] == ["/api/show"]
        assert (heard, stage.upstream.accepted) == ([], 0)


@pytest.mark.parametrize("prefer", ["cloud", "local"])
@pytest.mark.parametrize("speaks", [("ollama",), ("anthropic",)])
async def test_a_side_request_for_a_search_reaches_nobody(
    speaks: Sequence[str], prefer: str
) -> None:
    """Claude Code asks for a search in a request of its own, which only the tool of a server could
    answer. With a secret in it no server may; an Ollama would search with its own cloud."""
    asked = asking(
        tools=[SEARCH],
        tool_choice={"type": "tool", "name": "web_search"},
        messages=[{"role": "user", "content": f"Perform a web search for the query: {SECRET}"}],
    )

    def script(recorded: Recorded) -> Reply | Fault:
        if recorded.path in ("/api/show", "/api/version"):
            return ollama(words())(recorded)
        return says({"content": "searched"})

    async with at_home(script=script, speaks=speaks, prefer=prefer) as stage:
        answer = await stage.post("/v1/messages", asked)
        assert answer.headers["x-transom-notice"] == "home-not-local"
        asked_for = {each.path for each in stage.home.requests}
        assert asked_for <= {"/api/show", "/api/version"}
        assert SECRET.encode() not in b"".join(stage.home.received)
        assert stage.upstream.accepted == 0


LEAVING = [
    ("POST", "/api/push"),
    ("POST", "/api/pull"),
    ("POST", "/api/create"),
    ("POST", "/api/copy"),
    ("DELETE", "/api/delete"),
    ("POST", "/api/blobs/sha256:" + "0" * 64),
    ("POST", "/api/me"),
    ("POST", "/api/signout"),
    ("POST", "/api/experimental/web_search"),
]


@pytest.mark.parametrize("prefer", ["cloud", "local"])
@pytest.mark.parametrize(("method", "path"), LEAVING)
async def test_what_would_leave_through_ollama_is_refused(
    method: str, path: str, prefer: str
) -> None:
    """Home is no answer to it, and nobody is asked."""
    async with at_home(prefer=prefer) as stage:
        answer = await stage.post(path, {"model": MODEL, "insecure": True}, method=method)
        assert (answer.status, answer.headers["x-transom-notice"]) == (400, "endpoint-refused")
        assert (stage.home.accepted, stage.upstream.accepted) == (0, 0)


async def test_an_ollama_client_that_asks_for_a_remote_model_is_for_the_cloud() -> None:
    """It is screened like any other: clean it goes there, else home and under the name that was
    asked for."""
    async with at_home() as stage:
        clean = {**bodies.ollama_chat("nothing special"), "model": CLOUD, "stream": False}
        assert (await stage.post("/api/chat", clean)).headers["x-transom-leg"] == "cloud"
        answer = await stage.post("/api/chat", asking("ollama_chat", model=CLOUD))
        assert answer.headers["x-transom-leg"] == "local"
        assert answer.json()["model"] == CLOUD
        assert stage.asked[0]["model"] == MODEL
        assert SECRET.encode() not in b"".join(stage.upstream.received)


async def test_a_remote_model_on_a_local_server_is_not_asked() -> None:
    """Where the client's own server is the local one, such a name would lead through it."""

    def only(config: Config) -> Config:
        return replace(config, upstreams=config.upstreams[1:])

    async with at_home(change=only) as stage:
        for model in (CLOUD, "kimi:cloud"):
            clean = {**bodies.ollama_chat("nothing special"), "model": model}
            answer = await stage.post("/api/chat", clean)
            assert answer.headers["x-transom-notice"] == "home-not-local"
        assert (stage.home.accepted, stage.upstream.accepted) == (0, 0)
