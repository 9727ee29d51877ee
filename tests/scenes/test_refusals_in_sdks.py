"""Every refusal in every SDK: the SDK's own typed exception, once, without a retry."""

import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import anthropic
import ollama
import openai
import pytest
from aiohttp.web import BaseRequest

from policies.decision import Leg
from policies.notices import NOTICES, TOLD
from policies.screening import Screen
from proxy import errand
from proxy.app import running
from proxy.config import ClientSettings, Config, Fallback, Listen, Timeouts, UpstreamSettings
from proxy.config.kinds import Rate
from proxy.demo.agents import NAMES, Agent, Setup, opened
from proxy.demo.files import NOTES, WALLET, folder
from proxy.demo.upstream import Fault, Recorded, Reply, Script, ScriptedUpstream
from proxy.demo.vendors import vendor
from proxy.dialects import ALL, framing
from proxy.door import Admitted, Door
from proxy.errors import Refused
from proxy.refusals import in_stream, refusal
from proxy.state.base import StateError
from proxy.state.memory import MemoryStore

DIALECTS = dict(
    zip(
        NAMES, ("anthropic_messages", "openai_chat", "openai_responses", "ollama_chat"), strict=True
    )
)
PACKAGE = Path(__file__).parents[2] / "proxy"
REFUSALS = [
    code for code, notice in NOTICES.items() if notice.status != TOLD and code != "rate-hard"
]
CLASSES: dict[str, dict[int, type[Exception]]] = {
    "anthropic": {
        400: anthropic.BadRequestError,
        401: anthropic.AuthenticationError,
        404: anthropic.NotFoundError,
        413: anthropic.APIStatusError,
        426: anthropic.APIStatusError,
        500: anthropic.InternalServerError,
        503: anthropic.InternalServerError,
        504: anthropic.InternalServerError,
    },
    "openai": {
        400: openai.BadRequestError,
        401: openai.AuthenticationError,
        404: openai.NotFoundError,
        413: openai.APIStatusError,
        426: openai.APIStatusError,
        500: openai.InternalServerError,
        503: openai.InternalServerError,
        504: openai.InternalServerError,
    },
}


def expected(name: str, status: int) -> type[Exception]:
    """The SDK's class for a status; Ollama's has one for all."""
    if name == "ollama":
        return ollama.ResponseError
    return CLASSES[name.partition("-")[0]][status]


def is_told(name: str, error: Exception, code: str) -> None:
    """The exception carries status, words and code as its SDK shows them."""
    assert isinstance(error, expected(name, NOTICES[code].status)), repr(error)
    assert f"[{code}]" in str(error)
    assert getattr(error, "status_code", None) == NOTICES[code].status
    if isinstance(error, openai.APIError):
        assert error.code == code.replace("-", "_")
    if isinstance(error, anthropic.APIStatusError):
        assert error.request_id


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


ALL_WAYS = [(name, stream) for name in NAMES for stream in (False, True)]


@pytest.fixture
async def door() -> AsyncIterator[ScriptedUpstream]:
    """Stands where Transom's door is, and counts."""
    async with ScriptedUpstream(vendor) as upstream:
        yield upstream


async def caught(agent: Agent) -> Exception:
    """What the SDK raises for one question."""
    with pytest.raises(agent.failures) as raised:
        await agent.ask("How are you?")
    return raised.value


async def test_every_dressed_refusal_is_raised_once(
    door: ScriptedUpstream, name: str, stream: bool
) -> None:
    """Whatever the notice, one request reaches the door and the typed exception names the code."""
    setup = Setup(door.url, "demo:1b", stream, {})
    async with opened(name, setup) as agent:
        for number, code in enumerate(REFUSALS, 1):
            door.script = refusing(name, code)
            is_told(name, await caught(agent), code)
            assert len(door.requests) == number, code


def refusing(name: str, code: str) -> Callable[[Recorded], Reply]:
    dressed = refusal(Refused(code), ALL[DIALECTS[name]], "req-1")
    assert isinstance(dressed.body, bytes)
    reply = Reply(dressed.status, tuple(dressed.headers.items()), (dressed.body,))
    return lambda _: reply


async def test_a_refusal_in_a_stream_that_has_begun_is_raised_once(
    door: ScriptedUpstream, name: str
) -> None:
    """The in-stream error of each dialect is raised by its SDK, and nothing is asked again."""
    setup = Setup(door.url, "demo:1b", True, {})
    async with opened(name, setup) as agent:
        for number, code in enumerate(("upstream-timeout", "egress-blocked"), 1):
            door.script = breaking(name, code)
            error = await caught(agent)
            assert f"[{code}]" in str(error)
            assert len(door.requests) == number


def breaking(name: str, code: str) -> Callable[[Recorded], Reply]:
    def script(request: Recorded) -> Reply:
        reply = vendor(request)
        begun = islice(reply.chunks, 2)
        last = in_stream(Refused(code), ALL[DIALECTS[name]])
        return Reply(200, reply.headers, (*begun, last), reply.framing)

    return script


@dataclass(frozen=True)
class Case:
    """How a notice is provoked through a real node, for every SDK.

    `config` is made from the default one, which sends everything to `up` as to a cloud;
    `script` answers there; `headers` go along with each request; `under` is a path below which the
    client looks for its API; `breach` breaks something inside the node first."""

    code: str
    config: Callable[[Config], Config] = lambda config: config
    script: Script = vendor
    headers: dict[str, str] = field(default_factory=dict)
    under: str = ""
    breach: Callable[[pytest.MonkeyPatch], None] = lambda _: None
    file: str = NOTES
    requests: int = 1


def upstreams(change: Callable[[UpstreamSettings], UpstreamSettings]) -> Callable[[Config], Config]:
    return lambda config: replace(config, upstreams=tuple(map(change, config.upstreams)))


def closed(upstream: UpstreamSettings) -> UpstreamSettings:
    """The same at a port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return replace(upstream, base_url=f"http://127.0.0.1:{taken.getsockname()[1]}")


def at_home(upstream: UpstreamSettings) -> UpstreamSettings:
    return replace(upstream, leg=Leg.LOCAL, auth="none", dialects=upstream.dialects)


def redirecting(request: Recorded) -> Reply:
    if request.path == "/api/show":
        return vendor(request)
    return Reply(307, (("location", request.target),))


def raising(where: object, name: str, error: Exception) -> Callable[[pytest.MonkeyPatch], None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return lambda patch: patch.setattr(where, name, fail)


def bare(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(framing, "wrap_untrusted", lambda field, text, **_: text)


def unreadable(patch: pytest.MonkeyPatch) -> None:
    for method in ("suspects", "findings"):
        raising(Screen, method, RuntimeError("x"))(patch)


def bounded(**limits: Any) -> Callable[[Config], Config]:
    """A turn that goes beyond these is refused."""

    def change(config: Config) -> Config:
        bounds = replace(config.policies.limits, style="error", **limits)
        return replace(config, policies=replace(config.policies, limits=bounds))

    return change


def capped(config: Config) -> Config:
    cut = replace(config.policies.minimality, max_outbound_chars=1)
    return replace(config, policies=replace(config.policies, minimality=cut))


def cramped(config: Config) -> Config:
    """There is a model at home, and no room in it."""
    base_url = config.upstreams[0].base_url
    home = UpstreamSettings("home", Leg.LOCAL, base_url, ("ollama",), "none", None, "home:1b")
    fallback = Fallback("home", max_context=16)
    return replace(config, upstreams=(*config.upstreams, home), fallback=fallback)


LAPTOP = (ClientSettings("laptop", sha256(b"another token").hexdigest()),)

CASES = [
    Case("egress-blocked", file=WALLET, requests=2),
    Case("egress-ambiguous", breach=unreadable),
    Case("home-not-local", upstreams(at_home), redirecting),
    Case("home-unavailable", upstreams(lambda upstream: at_home(closed(upstream)))),
    Case("unknown-endpoint", under="/nope"),
    Case("body-too-large", lambda c: replace(c, listen=replace(c.listen, max_body=100))),
    Case("body-invalid", headers={"content-encoding": "gzip"}),
    Case("coding-unknown", headers={"content-encoding": "br"}),
    Case("upstream-unreachable", upstreams(closed)),
    Case("upstream-timeout", lambda c: replace(c, timeouts=Timeouts(first_byte=0.05)),
         lambda _: Fault.STALL),
    Case("secrets-unreadable", lambda c: replace(c, secrets_dir="/nowhere/at/all")),
    Case("client-unknown", lambda c: replace(c, clients=LAPTOP)),
    Case("no-route", lambda c: replace(c, upstreams=())),
    Case("door-refused", headers={"origin": "https://elsewhere.example"}),
    Case("upgrade-refused", headers={"connection": "upgrade", "upgrade": "websocket"}),
    Case("state-unavailable", breach=raising(MemoryStore, "read", StateError("x"))),
    Case("framing-failed", breach=raising(framing, "wrap_untrusted", ValueError("x")), requests=2),
    Case("proof-failed", breach=bare, requests=2),
    Case("internal-error", breach=raising(errand, "choose", RuntimeError("x"))),
    Case("not-minimal", capped),
    Case("read-loop", bounded(same_result=(0, 0)), requests=2),
    Case("turn-limit", bounded(max_turns=0), requests=2),
    Case("home-only", breach=raising(MemoryStore, "marks", StateError("x"))),
    Case("home-context-too-small", cramped, file=WALLET, requests=2),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
async def test_a_provoked_refusal_is_raised_once(
    case: Case, door: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch, counted: list[str]
) -> None:
    """Through a real node, whole and streamed: as many requests pass Transom's door as the loop
    has rounds, the last one is refused, and the SDK raises its own exception at once."""
    case.breach(monkeypatch)
    door.script = case.script
    async with running(case.config(config(door))) as node:
        for name, stream in ALL_WAYS:
            counted.clear()
            setup = Setup(f"{node.url}{case.under}", "demo:1b", stream, folder())
            async with opened(name, setup) as agent:
                agent.client._client.headers.update(case.headers)
                with pytest.raises(agent.failures) as raised:
                    await agent.ask(f"Read {case.file}.")
            is_told(name, raised.value, case.code)
            assert len(counted) == case.requests, (name, counted)


def config(up: ScriptedUpstream) -> Config:
    return Config(
        listen=Listen(port=0),
        upstreams=tuple(
            UpstreamSettings(family, Leg.CLOUD, up.url, (family,), "caller")
            for family in ("anthropic", "openai", "ollama")
        ),
    )


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of all requests that came to Transom's door."""
    paths: list[str] = []
    admit = Door.admit_request

    def count(door: Door, request: BaseRequest) -> Admitted:
        paths.append(request.path)
        return admit(door, request)

    monkeypatch.setattr(Door, "admit_request", count)
    return paths


def test_every_refusal_is_provoked_that_a_node_gives() -> None:
    """A new notice needs a case above. One of the two others has its words in an answer that goes
    on without the call; the other is of a part that is still to come."""
    never = {"tool-refused", "memory-refused"}
    assert {case.code for case in CASES} | {"endpoint-refused"} == set(REFUSALS) - never
    raised = "".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    assert not [code for code in never if f'Refused("{code}"' in raised]


async def test_a_client_that_is_too_fast_waits_as_it_is_told(
    door: ScriptedUpstream, name: str, stream: bool
) -> None:
    """429 with `retry-after`: the SDKs that retry do so after that time, and the answer is there;
    Ollama's raises its error, which says when. Nothing is sent before that."""
    rates = (Rate(1, 1.0), Rate(1, 1.0))
    async with running(replace(config(door), requests=rates)) as node:
        setup = Setup(node.url, "demo:1b", stream, {})
        async with opened(name, setup) as agent:
            await agent.ask("How are you?")
            sent = len(door.requests)
            begun = time.monotonic()
            if name == "ollama":
                with pytest.raises(ollama.ResponseError, match=r"\[rate-hard\]") as raised:
                    await agent.ask("And you?")
                assert raised.value.status_code == 429
                assert "more than 1 in 1 second" in str(raised.value)
                assert len(door.requests) == sent
            else:
                assert await agent.ask("And you?")
                assert time.monotonic() - begun >= 0.9
                assert (len(setup.sent), len(door.requests)) == (3, sent + 1)


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.STALL])
async def test_an_upstream_that_breaks_off_is_raised_once(
    fault: Fault, name: str, door: ScriptedUpstream, counted: list[str]
) -> None:
    """After the stream has begun, the dialect's own in-stream error ends it, and the SDK raises."""
    door.script = lambda request: Reply.stream(
        (*islice(vendor(request).chunks, 2), fault), vendor(request).headers[0][1]
    )
    async with (
        running(replace(config(door), timeouts=Timeouts(idle=0.1))) as node,
        opened(name, Setup(node.url, "demo:1b", True, folder())) as agent,
    ):
        error = await caught(agent)
    code = "upstream-unreachable" if fault is Fault.RESET else "upstream-timeout"
    assert f"[{code}]" in str(error)
    assert len(counted) == 1


async def test_a_closed_endpoint_is_refused_once(
    door: ScriptedUpstream, counted: list[str]
) -> None:
    """Endpoints that nobody screens are refused in the caller's own error, and nothing leaves."""
    async with running(config(door)) as node, AsyncExitStack() as stack:
        clients: list[Any] = []
        for name in NAMES:
            setup = Setup(node.url, "demo:1b", False, {})
            clients.append((await stack.enter_async_context(opened(name, setup))).client)
        calls = [
            ("anthropic", lambda: clients[0].messages.batches.list()),
            ("openai", lambda: clients[1].files.list()),
            ("openai", lambda: clients[2].batches.retrieve("batch_1")),
            ("ollama", lambda: clients[3].pull("demo:1b")),
        ]
        for number, (name, call) in enumerate(calls, 1):
            with pytest.raises(expected(name, 400)) as raised:
                await call()
            is_told(name, raised.value, "endpoint-refused")
            assert len(counted) == number
    assert door.accepted == 0
