"""Upstreams that reset, stall, lie, answer garbage or never end: a typed error or a clean pass."""

import asyncio
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from policies.decision import Leg
from proxy.config import Config, Timeouts
from proxy.demo.upstream import Fault, Framing, Recorded, Reply, Script, Step
from tests.scenes.bodies import BODIES, PATHS
from tests.scenes.staging import Heard, Stage, staged
from tests.scenes.talk import Broken, Talk

CANARY = "a canary, of the upstream"
GONE = {Leg.CLOUD: "upstream-unreachable", Leg.LOCAL: "home-unavailable"}
LEGS = pytest.mark.parametrize("leg", Leg)
JSON = "content-type: application/json"
SSE = "content-type: text/event-stream"
NDJSON = "content-type: application/x-ndjson"


def answering(reply: Reply | Fault | Callable[[], Reply]) -> Script:
    """Answers like this, but for the question whether a model is local."""

    def script(asked: Recorded) -> Reply | Fault:
        if asked.path == "/api/show":
            return Reply.of({"details": {}})
        return reply() if callable(reply) else reply

    return script


def raw(*steps: Step) -> Reply:
    return Reply(chunks=steps, framing=Framing.RAW)


def head(*lines: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode()


def chunked(*pieces: bytes, end: bool = True) -> bytes:
    parts = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]
    return b"".join(parts) + (b"0\r\n\r\n" if end else b"")


def impatient(config: Config) -> Config:
    return replace(config, timeouts=Timeouts(connect=0.5, first_byte=0.4, idle=0.4))


def typed(heard: Heard, stage: Stage, status: int, code: str) -> None:
    """A refusal of ours, in the words of the catalogue alone."""
    assert (heard.status, heard.headers["x-transom-notice"]) == (status, code)
    assert "x-transom-leg" not in heard.headers
    assert f"[{code}]" in json.dumps(heard.json())
    quiet(stage)


def quiet(stage: Stage) -> None:
    assert CANARY not in stage.log.getvalue()
    assert "internal-error" not in stage.log.getvalue()


def talk_to(stage: Stage) -> Talk:
    return Talk(stage.node.parts.listener.port)


WHOLE_BODY = b'{"id":"m","text":"' + CANARY.encode() + b'"}'
EVENTS = (
    b'event: message_start\ndata: {"type":"message_start"}\n\n',
    b": ping\n\n",
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
)
LINES = (b'{"message":{"content":"a"},"done":false}\n', b'{"done":true}\n')
SHORT = {
    "whole": ("anthropic_messages", head(JSON, f"content-length: {len(WHOLE_BODY)}"), WHOLE_BODY),
    "sse": ("anthropic_messages", head(SSE, "transfer-encoding: chunked"), chunked(*EVENTS)),
    "ndjson": ("ollama_chat", head(NDJSON, "transfer-encoding: chunked"), chunked(*LINES)),
}


@pytest.mark.parametrize("shape", SHORT)
@pytest.mark.parametrize("fault", [Fault.RESET, Fault.CLOSE])
async def test_an_answer_lost_at_any_byte_is_never_taken_for_whole(
    shape: str, fault: Fault
) -> None:
    """Cut within the head it is a typed error; within the body a broken transfer, or for a stream
    cut between two events an error event; the log names it each time."""
    dialect, top, rest = SHORT[shape]
    answer = top + rest
    body = BODIES[dialect]("fine")
    async with staged() as stage, talk_to(stage) as talk:
        for end in range(len(answer)):
            stage.upstream.script = answering(raw(answer[:end], fault))
            try:
                heard = await talk.ask(PATHS[dialect], body)
            except Broken:
                assert end >= len(top)
            else:
                if heard.status == 200:
                    assert shape != "whole"
                    last = heard.body.rstrip().rpartition(b"\n")[2].removeprefix(b"data: ")
                    assert "[upstream-unreachable]" in json.dumps(json.loads(last))
                else:
                    assert end <= len(top)
                    typed(heard, stage, 503, "upstream-unreachable")
            told = [line["notice"] for line in stage.events("notice")]
            assert told == ["upstream-unreachable"] * (end + 1)
        assert len(stage.upstream.requests) == len(answer)
        quiet(stage)


@LEGS
@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 2", head(JSON)[:-2]])
async def test_silence_before_the_answer(leg: Leg, before: bytes) -> None:
    """Nothing, half a status line, half a head: 504 when the limit is over, and no connection."""
    script = answering(raw(before, Fault.STALL))
    async with staged(script, leg, impatient) as stage, talk_to(stage) as talk:
        heard = await talk.ask("/v1/messages", BODIES["anthropic_messages"]("fine"))
        typed(heard, stage, 504, "upstream-timeout")
        async with asyncio.timeout(1):
            await stage.upstream.connections[-1].closed.wait()


@LEGS
@pytest.mark.parametrize("shape", SHORT)
@pytest.mark.parametrize("begun", [0, 1, 2])
async def test_silence_within_the_answer(leg: Leg, shape: str, begun: int) -> None:
    """A stream ends with an error event of its dialect, a whole answer breaks, and the upstream is
    left. `begun`: how many pieces came before."""
    dialect, top, _ = SHORT[shape]
    pieces = {"whole": (WHOLE_BODY[:9], WHOLE_BODY[9:15]), "sse": EVENTS, "ndjson": LINES}[shape]
    came = b"".join(pieces[:begun]) if shape == "whole" else chunked(*pieces[:begun], end=False)
    script = answering(raw(top, came, Fault.STALL))
    async with staged(script, leg, impatient) as stage, talk_to(stage) as talk:
        if shape == "whole":
            with pytest.raises(Broken):
                await talk.ask(PATHS[dialect], BODIES[dialect]("fine"))
        else:
            heard = await talk.ask(PATHS[dialect], BODIES[dialect]("fine"))
            assert heard.body.startswith(b"".join(pieces[:begun]))
            assert b"[upstream-timeout]" in heard.body
        async with asyncio.timeout(1):
            await stage.upstream.connections[-1].closed.wait()
        assert [line["notice"] for line in stage.events("notice")] == ["upstream-timeout"]


GARBAGE = {
    "another protocol's banner": b"SSH-2.0-OpenSSH_9.6\r\n",
    "an old version": b"HTTP/0.9 200 OK\r\n\r\n",
    "the next version": b"HTTP/2 200 OK\r\n\r\n",
    "no status": b"HTTP/1.1 \r\n\r\n",
    "a status of letters": b"HTTP/1.1 abc OK\r\n\r\n",
    "a status of two digits": b"HTTP/1.1 20 OK\r\n\r\n",
    "a status of four digits": b"HTTP/1.1 2000 OK\r\n\r\n",
    "a status below all": b"HTTP/1.1 000 OK\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    "zeroes": bytes(5000),
    "a header without a colon": b"HTTP/1.1 200 OK\r\nnothing\r\n\r\n",
    "a header without a name": b"HTTP/1.1 200 OK\r\n: x\r\n\r\n",
    "two lengths": head("content-length: 1", "content-length: 2") + b"ab",
    "a length of letters": head("content-length: many") + b"ab",
    "a negative length": head("content-length: -1") + b"ab",
    "an unasked switch": head("upgrade: x", status="101 Switching Protocols"),
    "a huge header": b"HTTP/1.1 200 OK\r\nx-a: " + b"a" * 200_000 + b"\r\n\r\n",
    "a huge reason": b"HTTP/1.1 200 " + b"a" * 200_000 + b"\r\n\r\n",
    "too many headers": b"HTTP/1.1 200 OK\r\n" + b"x-a: a\r\n" * 2000 + b"\r\n",
}


@LEGS
@pytest.mark.parametrize("name", GARBAGE)
async def test_garbage_is_a_typed_error(leg: Leg, name: str) -> None:
    """What cannot be read for certain is no answer. Asked once; the words are ours."""
    script = answering(raw(GARBAGE[name]))
    async with staged(script, leg, impatient) as stage, talk_to(stage) as talk:
        heard = await talk.ask("/v1/messages", BODIES["anthropic_messages"]("fine"))
        typed(heard, stage, 503, GONE[leg])
        assert sum(one.path == "/v1/messages" for one in stage.upstream.requests) == 1


def endless(piece: bytes, first: bytes = b"") -> Callable[[], Reply]:
    def steps() -> Iterator[Step]:
        yield first
        while True:
            yield piece

    return lambda: Reply(chunks=steps(), framing=Framing.RAW)


ENDLESS = {
    "status line": endless(b"a" * 8192, b"HTTP/1.1 200 "),
    "headers": endless(b"x-a: a\r\n" * 512, b"HTTP/1.1 200 OK\r\n"),
    "one header": endless(b"a" * 8192, b"HTTP/1.1 200 OK\r\nx-a: "),
    "hints": endless(head("link: x", status="103 Early Hints") * 64),
    "continuations": endless(head(status="100 Continue") * 64),
}


@pytest.mark.parametrize("name", ENDLESS)
async def test_a_head_without_end_is_given_up(name: str) -> None:
    """By its size where that has a bound, else by the time until the first byte."""
    script = answering(ENDLESS[name])
    async with staged(script, change=impatient) as stage, talk_to(stage) as talk:
        heard = await talk.ask("/v1/messages", BODIES["anthropic_messages"]("fine"))
        assert heard.headers["x-transom-notice"] in {"upstream-unreachable", "upstream-timeout"}
        async with asyncio.timeout(1):
            await stage.upstream.connections[-1].closed.wait()
        quiet(stage)


BROKEN_BODIES = {
    "less than its length": head(JSON, "content-length: 100") + b'{"a":1}',
    "a chunk that is none": head(SSE, "transfer-encoding: chunked") + b"zz\r\n",
    "a chunk cut short": head(SSE, "transfer-encoding: chunked") + b"ff\r\ndata: half",
    "a chunk size too large": head(SSE, "transfer-encoding: chunked") + b"f" * 40 + b"\r\n",
    "no last chunk": head(JSON, "transfer-encoding: chunked") + chunked(b"{", end=False),
    "a coding and a length": head(JSON, "transfer-encoding: chunked", "content-length: 7")
    + b"{}     ",
}


@pytest.mark.parametrize("name", BROKEN_BODIES)
async def test_a_body_that_lies_about_itself_breaks(name: str) -> None:
    """It never arrives as if it were whole."""
    script = answering(raw(BROKEN_BODIES[name]))
    async with staged(script) as stage, talk_to(stage) as talk:
        try:
            heard = await talk.ask("/v1/messages", BODIES["anthropic_messages"]("fine"))
        except Broken:
            pass
        else:
            assert heard.status == 503 or b"[upstream-unreachable]" in heard.body
        quiet(stage)


async def test_bytes_behind_an_answer_are_nobodys() -> None:
    """More than the length said: the answer is what was said, and the connection is not used for
    the next one, whose answer those bytes would pass for."""
    smuggled = head(JSON, "content-length: 12") + b'{"evil":"1"}'
    script = answering(raw(head(JSON, "content-length: 7") + b'{"a":1}' + smuggled, Fault.STALL))
    async with staged(script) as stage, talk_to(stage) as talk:
        body = BODIES["anthropic_messages"]("fine")
        for _ in range(2):
            heard = await talk.ask("/v1/messages", body)
            assert (heard.status, heard.body) == (200, b'{"a":1}')
        assert stage.upstream.accepted == 2


@pytest.mark.parametrize("coding", ["gzip", "br", "gzip, gzip", "whatever"])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_coded_answers_pass_as_they_are(coding: str, kind: str) -> None:
    """None was asked for; one that comes all the same is the client's to undo, byte for byte."""
    came = gzip.compress(b'{"a":1}')
    headers = (("content-type", kind), ("content-encoding", coding))
    script = answering(Reply(200, headers, (came[:5], came[5:]), Framing.CHUNKED))
    async with staged(script) as stage, talk_to(stage) as talk:
        sent = {"accept-encoding": "gzip, br"}
        heard = await talk.ask("/v1/messages", BODIES["anthropic_messages"]("fine"), sent)
        assert (heard.status, heard.body) == (200, came)
        assert heard.headers["content-encoding"] == coding
        assert stage.upstream.requests[0].header("accept-encoding") in ("", "identity")


@LEGS
async def test_hints_before_an_answer_are_not_the_answer(leg: Leg) -> None:
    """1xx are between the two of them; the answer that follows is passed."""
    early = head(status="100 Continue") + head("link: x", status="103 Early Hints")
    script = answering(raw(early + head(JSON, "content-length: 7") + b'{"a":1}'))
    async with staged(script, leg) as stage, talk_to(stage) as talk:
        heard = await talk.ask("/v1/messages", BODIES["anthropic_messages"]("fine"))
        assert (heard.status, heard.body) == (200, b'{"a":1}')
        assert "link" not in heard.headers


@LEGS
@pytest.mark.parametrize("status", [204, 205, 304])
async def test_answers_without_a_body(leg: Leg, status: int) -> None:
    """They end at once, and both connections go on."""
    async with staged(answering(Reply(status)), leg) as stage, talk_to(stage) as talk:
        for _ in range(3):
            heard = await talk.ask("/v1/messages", BODIES["anthropic_messages"]("fine"))
            assert (heard.status, heard.body) == (status, b"")
        assert (talk.opened, stage.upstream.accepted) == (1, 1)


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
async def test_a_body_where_none_may_be(status: str) -> None:
    """Bytes behind such a head reach nobody and spoil no later answer: they are seen with the head
    and it is refused, or later and the connection is not used again."""
    more = head(JSON, "content-length: 7", status=status) + b'{"a":1}'
    async with staged(answering(raw(more, Fault.STALL))) as stage, talk_to(stage) as talk:
        for number in range(3):
            heard = await talk.ask("/v1/messages", BODIES["anthropic_messages"]("fine"))
            if heard.status == 503:
                typed(heard, stage, 503, "upstream-unreachable")
            else:
                assert (heard.status, heard.body) == (int(status[:3]), b"")
            assert stage.upstream.accepted == number + 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects(status: int) -> None:
    """A cloud's is the client's to follow; at home it is refused, as another model would answer."""
    reply = Reply(status, (("location", "http://127.0.0.1:1/v1/messages"),))
    body = BODIES["anthropic_messages"]("fine")
    async with staged(answering(reply)) as stage, talk_to(stage) as talk:
        heard = await talk.ask("/v1/messages", body)
        assert (heard.status, heard.headers["location"]) == (status, reply.headers[0][1])
        assert stage.upstream.accepted == 1
    async with staged(answering(reply), Leg.LOCAL) as stage, talk_to(stage) as talk:
        typed(await talk.ask("/v1/messages", body), stage, 400, "home-not-local")


@LEGS
async def test_head_requests_have_no_body(leg: Leg) -> None:
    """The length of an answer to HEAD is told and nothing follows it, so the next answer fits."""
    reply = Reply(200, (("content-type", "text/plain"), ("content-length", "17")))
    async with staged(lambda asked: reply, leg) as stage, talk_to(stage) as talk:
        for _ in range(2):
            heard = await talk.ask("/", method="HEAD", headers={"user-agent": "ollama/0"})
            assert (heard.status, heard.headers["content-length"]) == (200, "17")
        assert talk.opened == 1
