"""The gate, played through a real node: what is found, what is ambiguous, what may pass."""

import asyncio
import base64
import random
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from policies.decision import Leg
from policies.screening import Screen, rules, screen
from policies.screening.reading import Reading
from policies.screening.signs import Sentry
from policies.settings import Egress, Policies
from proxy.config import Config
from proxy.demo.upstream import Fault, Recorded, Reply
from tests.scenes.bodies import BODIES, PATHS, secret
from tests.scenes.staging import Heard, Stage, staged, whole
from tests.scenes.talk import request

DIALECTS = pytest.mark.parametrize("dialect", PATHS)
NOISE = random.Random(8)
OPAQUE = base64.b64encode(NOISE.randbytes(4000)).decode()
KEY = "gateway." + "-".join(f"{NOISE.randrange(100):02}" for _ in range(10))
"""A credential that no rule knows by its looks."""


def with_egress(**changes: Any) -> Callable[[Config], Config]:
    return lambda config: replace(config, policies=Policies(egress=Egress(**changes)))


def stays_home(stage: Stage, answer: Heard, code: str, kinds: set[str]) -> None:
    """A typed refusal and an error line; the upstream's socket has seen nobody."""
    assert (answer.status, answer.headers["x-transom-notice"]) == (400, code)
    assert answer.headers["x-should-retry"] == "false"
    assert f"[{code}]".encode() in answer.body
    assert stage.upstream.accepted == 0
    (line,) = stage.events("egress_blocked")
    assert line["level"] == "error"
    assert set(line["kinds"]) == kinds


AMBIGUOUS = {
    "a long run of base64 that is nothing": (OPAQUE, "opaque-run"),
    "the same, wrapped": (base64.encodebytes(NOISE.randbytes(4000)).decode(), "opaque-run"),
    "the same in hex": (NOISE.randbytes(3000).hex(), "opaque-run"),
    "the same in JSON in a string": (f'{{"a": "x\\n{OPAQUE}"}}', "opaque-run"),
    "text that is called a picture": (
        f"data:image/png;base64,{base64.b64encode(NOISE.randbytes(3000)).decode()}",
        "image-mismatch",
    ),
    "compressed content without end": (
        base64.b64encode(zlib.compress(bytes(3_000_000))).decode(),
        "work-exceeded",
    ),
    "text that costs more than its length": ("glpat-" * 30_000, "work-exceeded"),
}  # fmt: skip


@DIALECTS
@pytest.mark.parametrize("name", AMBIGUOUS)
async def test_ambiguous_body_does_not_leave_the_node(dialect: str, name: str) -> None:
    """What cannot be read for certain stays, in the place of a tool result."""
    text, kind = AMBIGUOUS[name]
    async with staged() as stage:
        answer = await stage.post(PATHS[dialect], BODIES[dialect](text))
        stays_home(stage, answer, "egress-ambiguous", {kind})


HELD: dict[str, tuple[str, dict[str, Any]]] = {
    "previous_response_id": ("openai_responses", {"previous_response_id": "resp_1"}),
    "conversation": ("openai_responses", {"conversation": {"id": "conv_1"}}),
    "prompt": ("openai_responses", {"prompt": {"id": "pmpt_1"}}),
    "container": ("anthropic_messages", {"container": "container_1"}),
    "item_reference": ("openai_responses", {"input": [{"type": "item_reference", "id": "i"}]}),
}


@pytest.mark.parametrize("name", HELD)
async def test_state_that_nobody_here_has_seen_does_not_leave(name: str) -> None:
    """What an upstream holds by an id is content that the screen cannot read."""
    dialect, more = HELD[name]
    async with staged() as stage:
        answer = await stage.post(PATHS[dialect], {**BODIES[dialect]("fine"), **more})
        stays_home(stage, answer, "egress-ambiguous", {"held-state"})


@pytest.mark.parametrize("stream", [False, True])
async def test_state_that_came_through_here_may_be_leaned_on(stream: bool) -> None:
    """An id of an answer that this node relayed from that upstream passes, no other does. In a mode
    that shows less than everything none does (`tests/scenes/test_minimality.py`)."""

    def gives(recorded: Recorded) -> Reply:
        if not stream:
            return Reply.of({"id": "resp_given", "output": [{"id": "msg_given"}]})
        event = b'event: response.created\ndata: {"response":{"id":"resp_given"}}\n\n'
        return Reply(200, (("content-type", "text/event-stream"),), (event[:40], event[40:]))

    body = {**BODIES["openai_responses"]("fine"), "stream": stream}
    async with staged(gives, change=whole) as stage:
        path = PATHS["openai_responses"]
        assert (await stage.post(path, body)).status == 200
        again = await stage.post(path, {**body, "previous_response_id": "resp_given"})
        assert again.status == 200
        other = await stage.post(path, {**body, "previous_response_id": "resp_other"})
        assert other.headers["x-transom-notice"] == "egress-ambiguous"
        assert len(stage.upstream.requests) == 2


async def test_state_may_be_leaned_on_before_its_answer_has_ended() -> None:
    """A client goes on behind the last event, whenever the upstream ends the stream."""
    event = b'event: response.created\ndata: {"response":{"id":"resp_given"}}\n\n'

    def gives(recorded: Recorded) -> Reply:
        if b"resp_given" in recorded.body:
            return Reply.of({"id": "resp_next", "output": []})
        return Reply.stream([event, Fault.STALL])

    body = {**BODIES["openai_responses"]("fine"), "stream": True}
    async with staged(gives, change=whole) as stage:
        path, port = PATHS["openai_responses"], stage.node.parts.listener.port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(port, path, body))
        await asyncio.wait_for(reader.readuntil(b"resp_given"), 5)
        again = await stage.post(path, {**body, "previous_response_id": "resp_given"})
        writer.transport.abort()
        assert again.status == 200


@pytest.mark.parametrize("on_hit", ["refuse", "observe"])
@pytest.mark.parametrize(
    "parts",
    [
        [(Screen, "findings"), (Screen, "suspects")],
        [(Screen, "seam"), (Screen, "suspects")],
        [(Reading, "read")],
    ],
)
async def test_a_screen_that_fails_lets_nothing_leave(
    monkeypatch: pytest.MonkeyPatch, parts: list[tuple[type, str]], on_hit: str
) -> None:
    """Whatever breaks inside of it, and whatever is set for findings."""

    def fails(*args: object, **more: object) -> None:
        raise RuntimeError("on purpose")

    for part in parts:
        monkeypatch.setattr(*part, fails)
    async with staged(change=with_egress(on_hit=on_hit)) as stage:
        body = BODIES["anthropic_messages"](base64.b64encode(b"a line of text " * 9).decode())
        answer = await stage.post("/v1/messages", body)
        stays_home(stage, answer, "egress-ambiguous", {"screen-failed"})
        assert "on purpose" not in stage.log.getvalue()


async def test_a_pattern_that_runs_out_of_time_has_read_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The deadline of a window: what it was set for is ambiguous."""
    mark, tools = screen.shipped()
    first = next(rule for rule in rules.load() if rule.id == "nsec")
    slow = replace(first, source=rb"nsec1(?:q|qq|q{3}|q{1,9})*!", reach=9999)
    monkeypatch.setattr(screen, "shipped", lambda: (mark, replace(tools, sentry=Sentry([slow]))))
    monkeypatch.setattr(rules, "FUSE", 0.01)
    async with staged() as stage:
        body = BODIES["anthropic_messages"]("nsec1" + "q" * 3000)
        stays_home(
            stage, await stage.post("/v1/messages", body), "egress-ambiguous", {"work-exceeded"}
        )


PDF = base64.b64encode(b"%PDF-1.7\n" + NOISE.randbytes(3000)).decode()
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + NOISE.randbytes(300)).decode()
URI = f"data:application/pdf;base64,{PDF}"


def coded(media: str, data: str) -> dict[str, str]:
    return {"type": "base64", "media_type": media, "data": data}


SHOWN: dict[str, tuple[str, dict[str, Any]]] = {
    "a document": (
        "anthropic_messages",
        {"type": "document", "source": coded("application/pdf", PDF)},
    ),
    "a picture": ("anthropic_messages", {"type": "image", "source": coded("image/png", PNG)}),
    "a file": ("openai_chat", {"type": "file", "file": {"file_data": URI}}),
    "sound": (
        "openai_chat",
        {"type": "input_audio", "input_audio": {"data": PNG, "format": "wav"}},
    ),
    "a file of Responses": ("openai_responses", {"type": "input_file", "file_data": URI}),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("opaque", ["allow", "home"])
async def test_what_has_no_text_leaves_only_where_the_owner_allows_it(
    name: str, opaque: str
) -> None:
    """`screen.opaque`: documents, pictures and sound."""
    dialect, part = SHOWN[name]
    body = BODIES[dialect]("fine")
    listed = body["input" if dialect == "openai_responses" else "messages"]
    listed[0] = {**listed[0], "content": [part]}
    async with staged(change=with_egress(opaque=opaque)) as stage:
        answer = await stage.post(PATHS[dialect], body)
        if opaque == "allow":
            assert answer.status == 200
        else:
            stays_home(stage, answer, "egress-ambiguous", {"opaque-content"})


async def test_what_the_vendor_sealed_is_not_opaque_to_it() -> None:
    """Thinking and encrypted items came from there; they leave with `opaque = "home"` too."""
    sealed = base64.b64encode(NOISE.randbytes(900)).decode()
    body = BODIES["anthropic_messages"]("fine", after=True)
    body["messages"][3]["content"] = [
        {"type": "redacted_thinking", "data": sealed},
        {"type": "thinking", "thinking": "hm", "signature": sealed},
        {"type": "text", "text": "Done."},
    ]
    items = BODIES["openai_responses"]("fine", after=True)
    items["input"][1:1] = [{"type": "reasoning", "summary": [], "encrypted_content": sealed}]
    async with staged(change=with_egress(opaque="home")) as stage:
        assert (await stage.post("/v1/messages", body)).status == 200
        assert (await stage.post("/v1/responses", items)).status == 200


CREDENTIALS = {
    "anthropic_messages": {"x-api-key": KEY},
    "openai_chat": {"authorization": f"Bearer {KEY}"},
    "openai_responses": {"authorization": f"Bearer {KEY}"},
    "ollama_chat": {"authorization": f"Bearer {KEY}"},
}


@DIALECTS
async def test_a_credential_leaves_in_its_own_header_alone(dialect: str) -> None:
    """Where it belongs it passes; in the body, in any form, in another header or in the query it is
    a secret like any other."""
    given, path, make = CREDENTIALS[dialect], PATHS[dialect], BODIES[dialect]
    coded = base64.b64encode(f"key {KEY}".encode()).decode()
    cases: list[tuple[str, dict[str, Any], dict[str, str]]] = [
        (path, make(f"env says {KEY}"), given),
        (path, make(f"coded {coded}"), given),
        (path, {**make("fine"), "metadata": {KEY: "1"}}, given),
        (path, make("fine"), {**given, "x-note": KEY}),
        (f"{path}?note={KEY}", make("fine"), given),
    ]
    async with staged() as stage:
        for target, body, headers in cases:
            answer = await stage.post(target, body, headers)
            assert answer.headers["x-transom-notice"] == "egress-blocked", target
        assert stage.upstream.accepted == 0
        assert {kind for line in stage.events("egress_blocked") for kind in line["kinds"]} == {
            "own_credential"
        }
        assert (await stage.post(path, make("fine"), given)).status == 200
        assert KEY.encode() in stage.upstream.received[0]
        assert KEY not in stage.log.getvalue()


async def test_a_gateways_credential_is_one() -> None:
    """`cf-aig-authorization` passes in its header, to this upstream, and nowhere else."""
    given = {"cf-aig-authorization": f"Bearer {KEY}"}
    make, path = BODIES["openai_chat"], PATHS["openai_chat"]
    async with staged() as stage:
        assert (await stage.post(path, make(f"env says {KEY}"), given)).status == 400
        assert stage.upstream.accepted == 0
        assert (await stage.post(path, make("fine"), given)).status == 200
        assert f"cf-aig-authorization: Bearer {KEY}".encode() in stage.upstream.received[0]


async def test_a_credential_that_changes_is_looked_for_in_what_was_clean() -> None:
    """A history is clean for one credential; for the next one it is searched again."""
    body = BODIES["anthropic_messages"](f"env says {KEY}")
    async with staged() as stage:
        assert (
            await stage.post("/v1/messages", body, {"x-api-key": KEY[::-1] + "x"})
        ).status == 200
        again = await stage.post("/v1/messages", body, {"x-api-key": KEY})
        assert again.headers.get("x-transom-notice") == "egress-blocked"
        assert len(stage.upstream.requests) == 1


async def test_the_owners_keys_do_not_leave_in_a_body() -> None:
    """The key of an upstream that Transom adds by itself is denied in what goes to any other."""

    def keyed(config: Config) -> Config:
        second = replace(config.upstreams[0], name="other", auth="key", key=KEY)
        return replace(config, upstreams=(*config.upstreams, second))

    async with staged(change=keyed) as stage:
        answer = await stage.post("/v1/messages", BODIES["anthropic_messages"](f"it is {KEY}"))
        stays_home(stage, answer, "egress-blocked", {"own_credential"})


@DIALECTS
async def test_match_kind_is_logged_never_its_content(dialect: str) -> None:
    """Kinds and places; no stretch of the value, and nothing of what stands beside it."""
    async with staged() as stage:
        answer = await stage.post(PATHS[dialect], BODIES[dialect](f"neighbour-7431 {secret()} end"))
        stays_home(stage, answer, "egress-blocked", {"nostr_key"})
        (line,) = stage.events("egress_blocked")
        assert all(re.fullmatch(r"[a-z_\[\]0-9.*]+", place) for place in line["places"])
        shown = stage.log.getvalue() + answer.body.decode()
        assert "neighbour" not in shown
        assert not [at for at in range(len(secret()) - 8) if secret()[at : at + 8] in shown]


@pytest.mark.parametrize("leg", [Leg.LOCAL])
async def test_nothing_of_this_is_asked_on_a_local_leg(leg: Leg) -> None:
    """Held state, opaque content and credentials stay at home anyway."""
    body = BODIES["ollama_chat"](f"{KEY} {secret()} {OPAQUE}")
    async with staged(leg=leg, change=with_egress(opaque="home")) as stage:
        answer = await stage.post("/api/chat", body, {"authorization": f"Bearer {KEY}"})
        assert answer.status == 200
        assert answer.headers["x-transom-leg"] == "local"


async def test_files_that_are_not_looked_for_are_noticed_without_their_names(
    tmp_path: Path,
) -> None:
    """One warning for a change of the secrets folder; what stands in it is nobody's business."""
    (tmp_path / "shopping-list").write_text("milk")
    async with staged(change=lambda config: replace(config, secrets_dir=str(tmp_path))) as stage:
        (line,) = [
            each for each in stage.events("notice") if each["notice"] == "secrets-file-skipped"
        ]
        assert (line["level"], line["times"]) == ("warning", 1)
        assert "shopping" not in stage.log.getvalue()
        assert (
            await stage.post("/v1/messages", BODIES["anthropic_messages"]("milk"))
        ).status == 200
