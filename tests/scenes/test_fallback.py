"""What must not leave is answered at home, in the caller's own dialect; the cloud hears nothing."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from proxy.config import Fallback
from proxy.demo.files import nsec
from proxy.demo.upstream import Fault, Recorded, Reply
from proxy.local import home
from proxy.state.base import StateError
from tests.scenes import bodies
from tests.scenes.hearth import MODEL, SAID, at_home, calls, lines, words
from tests.scenes.staging import Heard

PATHS = bodies.PATHS
SECRET = nsec()


def asking_for(dialect: str, *, stream: bool = False, result: str = "") -> dict[str, Any]:
    body: dict[str, Any] = getattr(bodies, dialect)(result or f"key = {SECRET}")
    return {**body, "stream": stream}


def text_of(dialect: str, answer: Heard, *, stream: bool) -> str:
    """What the answer says, read as its dialect has it."""
    if not stream:
        return _whole(dialect, answer.json())
    found = []
    for line in answer.body.decode().splitlines():
        data = line.removeprefix("data: ")
        if data.startswith("{"):
            found.append(_part(dialect, json.loads(data)))
    return "".join(found)


def _whole(dialect: str, value: dict[str, Any]) -> str:
    match dialect:
        case "anthropic_messages":
            return "".join(block["text"] for block in value["content"])
        case "openai_chat":
            return str(value["choices"][0]["message"]["content"])
        case "openai_responses":
            return "".join(part["text"] for item in value["output"] for part in item["content"])
        case _:
            return str(value["message"]["content"])


def _part(dialect: str, event: dict[str, Any]) -> str:
    match dialect:
        case "anthropic_messages":
            return str(event.get("delta", {}).get("text", ""))
        case "openai_chat":
            return "".join(c["delta"].get("content") or "" for c in event["choices"])
        case "openai_responses":
            return str(event["delta"]) if event["type"] == "response.output_text.delta" else ""
        case _:
            return str(event["message"]["content"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", PATHS)
async def test_a_blocked_request_is_answered_at_home(dialect: str, stream: bool) -> None:
    """With its status, its dialect, its model's name and the reason; no socket of the cloud."""
    async with at_home() as stage:
        answer = await stage.post(PATHS[dialect], asking_for(dialect, stream=stream))
        assert (answer.status, text_of(dialect, answer, stream=stream)) == (200, SAID)
        assert answer.headers["x-transom-leg"] == "local"
        assert answer.headers["x-transom-notice"] == "egress-blocked"
        assert bodies.MODEL.encode() in answer.body
        assert MODEL.encode() not in answer.body
        assert stage.upstream.accepted == 0
        (asked,) = stage.asked
        assert (asked["model"], asked["truncate"]) == (MODEL, False)
        result = asked["messages"][-1]["content"]
        assert SECRET in result
        assert result.startswith("[Data envelope")
    (diverted,) = stage.events("egress_diverted")
    assert (diverted["kinds"], diverted["leg"]) == (["nostr_key"], "local")
    assert not stage.events("egress_blocked")
    assert stage.events("request")[0]["upstream"] == "home"


@pytest.mark.parametrize("dialect", PATHS)
async def test_tools_are_called_from_home(dialect: str) -> None:
    """A call comes back under the name and in the shape that the client knows."""
    async with at_home(calls("read_file")) as stage:
        answer = await stage.post(PATHS[dialect], asking_for(dialect))
        assert answer.status == 200
        assert b'"read_file"' in answer.body
        assert stage.asked[0]["tools"][0]["function"]["name"] == "read_file"
    async with at_home(calls("rm_rf")) as stage:
        answer = await stage.post(PATHS[dialect], asking_for(dialect))
        assert "no such call can be made" in text_of(dialect, answer, stream=False)
        assert [line["times"] for line in stage.events("notice") if "times" in line] == [1]


async def test_clean_requests_leave_as_ever() -> None:
    """Home is for what must not leave."""
    async with at_home() as stage:
        answer = await stage.post("/v1/messages", asking_for("anthropic_messages", result="fine"))
        assert answer.headers["x-transom-leg"] == "cloud"
        assert (stage.upstream.accepted, stage.home.accepted) == (1, 0)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda c: replace(c, fallback=Fallback("nobody")), "no such upstream"),
        (lambda c: replace(c, upstreams=tuple(replace(u, model="") for u in c.upstreams)), "none"),
        (
            lambda c: replace(
                c, policies=replace(c.policies, egress=replace(c.policies.egress, on_hit="refuse"))
            ),
            "refuse",
        ),
    ],
)
async def test_without_a_home_it_is_refused(change: Any, why: str) -> None:
    """As it was before: a typed refusal, and nobody is asked."""
    async with at_home(change=change) as stage:
        answer = await stage.post("/v1/messages", asking_for("anthropic_messages"))
        assert (answer.status, answer.headers["x-transom-notice"]) == (400, "egress-blocked")
        assert "x-transom-leg" not in answer.headers
        assert (stage.upstream.accepted, stage.home.accepted) == (0, 0)


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/v1/responses/input_tokens"])
async def test_counts_are_estimated_at_home(path: str) -> None:
    """A number, never an error, and nothing leaves."""
    dialect = "anthropic_messages" if "messages" in path else "openai_responses"
    body = asking_for(dialect)
    del body["stream"]
    async with at_home() as stage:
        answer = await stage.post(path, body)
        assert (answer.status, answer.json()["input_tokens"] > 20) == (200, True)
        assert (stage.upstream.accepted, stage.home.accepted) == (0, 0)


@pytest.mark.parametrize("dialect", PATHS)
async def test_the_text_says_so_where_the_owner_wants_it(dialect: str) -> None:
    """`fallback.explain = "text"`: the reason stands before the answer."""
    async with at_home(explain="text") as stage:
        answer = await stage.post(PATHS[dialect], asking_for(dialect))
        said = text_of(dialect, answer, stream=False)
        assert said.startswith("[egress-blocked] ")
        assert said.partition(" Answered here, by ")[2].partition(".\n\n")[2] == SAID
        assert SECRET not in said


async def test_an_answer_that_is_to_be_json_stays_json() -> None:
    """A sentence before it would break it; the headers say why."""
    body = asking_for("openai_chat")
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    form = {"type": "json_schema", "json_schema": {"name": "t", "schema": schema}}
    async with at_home(words('{"title": "x"}'), explain="text") as stage:
        asked = {**body, "tools": [], "response_format": form}
        answer = await stage.post("/v1/chat/completions", asked)
        assert json.loads(text_of("openai_chat", answer, stream=False)) == {"title": "x"}
        assert stage.asked[0]["format"] == schema


FAILURES: dict[str, Any] = {
    "refused": Fault.RESET,
    "silent end": Fault.CLOSE,
    "500": Reply.of({"error": "out of memory"}, 500),
    "404": Reply.of({"error": "model not found"}, 404),
    "503": Reply.of({"error": "busy"}, 503),
    "redirect": Reply(307, (("location", "http://127.0.0.1:9/api/chat"),)),
    "error line": Reply.stream((b'{"error":"it broke"}\n',), "application/x-ndjson"),
    "garbage": Reply.stream((b"<html>\n",), "application/x-ndjson"),
    "no end": Reply.stream(lines({"content": "half"})[:1], "application/x-ndjson"),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("dialect", PATHS)
async def test_never_the_cloud_instead(dialect: str, failure: str, stream: bool) -> None:
    """Home fails, however: an error in the caller's dialect, and the cloud hears nothing."""
    async with at_home(FAILURES[failure]) as stage:
        answer = await stage.post(PATHS[dialect], asking_for(dialect, stream=stream))
        if answer.status == 200:  # it had begun to speak
            assert stream
            assert b"home-unavailable" in answer.body.replace(b"_", b"-")
        else:
            assert answer.headers["x-transom-notice"] in ("home-unavailable", "home-not-local")
            assert "x-transom-leg" not in answer.headers
        assert SECRET.encode() not in answer.body
        assert stage.upstream.accepted == 0


async def test_what_does_not_fit_is_said_so() -> None:
    """No silent truncation: the numbers, and nobody is asked."""
    body = asking_for("openai_chat", result=f"{SECRET} " + "word " * 60_000)
    async with at_home() as stage:
        answer = await stage.post("/v1/chat/completions", body)
        assert (answer.status, answer.headers["x-transom-notice"]) == (
            400,
            "home-context-too-small",
        )
        assert (stage.asked, stage.upstream.accepted) == ([], 0)


@pytest.mark.parametrize(
    "shown", [{"remote_host": "https://ollama.com:443"}, {"remote_model": "big"}]
)
async def test_a_model_that_runs_elsewhere_is_not_asked(shown: dict[str, str]) -> None:
    """A name of this machine may stand for a model of a cloud."""
    async with at_home(**shown) as stage:
        answer = await stage.post("/v1/messages", asking_for("anthropic_messages"))
        assert answer.headers["x-transom-notice"] == "home-not-local"
        assert (stage.asked, stage.upstream.accepted) == ([], 0)


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_cold_model_is_waited_for(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs of life of the dialect until it speaks; then the whole answer, as ever."""
    monkeypatch.setattr("proxy.local.telling.HOLD", 0.05)
    monkeypatch.setattr("proxy.local.telling.QUIET", 0.05)
    slow = Reply.stream((0.3, *words().chunks), "application/x-ndjson")
    async with at_home(slow) as stage:
        answer = await stage.post(PATHS[dialect], asking_for(dialect, stream=True))
        assert text_of(dialect, answer, stream=True) == SAID
        assert b"\n\n\n" not in answer.body
        alive = {
            "anthropic_messages": b'{"type":"ping"}',
            "openai_chat": b": keep-alive",
            "openai_responses": b'"keepalive"',
            "ollama_chat": b'"done":false',
        }
        assert answer.body.count(alive[dialect]) >= 3


async def test_a_failure_after_the_first_byte_is_told_in_the_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The status has gone out; the dialect's error event ends the stream."""
    monkeypatch.setattr("proxy.local.telling.HOLD", 0.05)
    late = Reply.stream((0.3, b'{"error":"it broke"}\n'), "application/x-ndjson")
    async with at_home(late) as stage:
        answer = await stage.post("/v1/messages", asking_for("anthropic_messages", stream=True))
        assert answer.status == 200
        assert b"event: error" in answer.body
        assert b"home-unavailable" in answer.body
        assert stage.upstream.accepted == 0


async def test_home_that_is_busy_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes when all seats are taken is told at once, and seats are given back."""
    monkeypatch.setattr(home, "SEATS", 1)
    gate = asyncio.Event()
    async with at_home(Reply.stream((gate, *words().chunks), "application/x-ndjson")) as stage:
        first = asyncio.create_task(stage.post("/v1/messages", asking_for("anthropic_messages")))
        async with asyncio.timeout(5):
            while not stage.asked:
                await asyncio.sleep(0.01)
        second = await stage.post("/v1/messages", asking_for("anthropic_messages"))
        assert second.status == 503
        assert b"busy" in second.body
        gate.set()
        assert (await first).status == 200
        assert (await stage.post("/v1/messages", asking_for("anthropic_messages"))).status == 200
        assert stage.node.parts.hearth.home.busy == 0


async def test_a_client_that_leaves_stops_the_model() -> None:
    """Within a second, whether it waits for the first word or for more."""
    for chunks in ((Fault.STALL,), (*lines({"content": "half"})[:1], Fault.STALL)):
        async with at_home(Reply.stream(chunks, "application/x-ndjson")) as stage:
            body = json.dumps(asking_for("anthropic_messages", stream=True)).encode()
            port = stage.node.parts.listener.port
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            head = f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
            length = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            writer.write((head + length).encode() + body)
            async with asyncio.timeout(5):
                while not stage.asked:
                    await asyncio.sleep(0.01)
            writer.transport.abort()
            asked = next(c for c in stage.home.connections if b"/api/chat" in bytes(c.received))
            async with asyncio.timeout(1):
                await asked.closed.wait()
            assert stage.node.parts.hearth.home.busy == 0


@pytest.mark.parametrize("stream", [False, True])
async def test_a_server_that_speaks_the_dialect_is_asked_in_it(stream: bool) -> None:
    """Straight on: the body as it came but for the model; the answer under the asked name."""
    said = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL}
    whole = Reply.of({**said, "content": [{"type": "text", "text": SAID}], "usage": {}})
    events = (
        {"type": "message_start", "message": {**said, "content": []}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": SAID}},
        {"type": "message_stop"},
    )
    streamed = Reply.stream(
        tuple(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)
    )

    def script(recorded: Recorded) -> Reply:
        if recorded.path == "/api/version":
            return Reply.of({"error": "not found"}, 404)
        assert recorded.path == "/v1/messages"
        return streamed if stream else whole

    async with at_home(script=script, speaks=("anthropic",)) as stage:
        body = asking_for("anthropic_messages", stream=stream)
        body["tools"].append({"type": "web_search_20250305", "name": "web_search"})
        answer = await stage.post("/v1/messages", body, {"x-api-key": "mine"})
        assert text_of("anthropic_messages", answer, stream=stream) == SAID
        assert bodies.MODEL.encode() in answer.body
        assert MODEL.encode() not in answer.body
        sent = json.loads(stage.home.requests[-1].body)
        assert (sent["model"], len(sent["tools"])) == (MODEL, 1)
        assert stage.home.requests[-1].header("x-api-key") == ""
        assert stage.upstream.accepted == 0


async def test_what_home_cannot_be_asked_is_refused_as_it_was() -> None:
    """State that the cloud holds, endpoints without a conversation: the refusal stands."""
    async with at_home() as stage:
        leaning = {"model": "m", "input": "go on", "previous_response_id": "resp_1"}
        answer = await stage.post("/v1/responses", leaning)
        assert answer.headers["x-transom-notice"] == "egress-ambiguous"
        answer = await stage.post("/v1/embeddings", {"model": "m", "input": SECRET})
        assert answer.headers["x-transom-notice"] == "egress-blocked"
        assert (stage.upstream.accepted, stage.home.accepted) == (0, 0)


LEANING = {
    "anthropic_messages": {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
    "openai_chat": {"type": "file", "file": {"file_id": "file_1"}},
    "openai_responses": {"type": "input_file", "file_id": "file_1"},
}


@pytest.mark.parametrize("speaks", ["ollama", "its own"])
@pytest.mark.parametrize("dialect", LEANING)
async def test_a_file_that_only_the_vendor_has_is_not_left_out_in_silence(
    dialect: str, speaks: str
) -> None:
    """Whichever way home takes: refused, with what to do, and no model is asked."""
    tongue = "ollama" if speaks == "ollama" else dialect.partition("_")[0]

    def script(recorded: Recorded) -> Reply:
        return Reply.of({"error": "not found"}, 404)

    async with at_home(script=script, speaks=(tongue,)) as stage:
        named = {"x-claude-code-session-id": "one"}
        assert (await stage.post(PATHS[dialect], asking_for(dialect), named)).status == 503
        asked = len(stage.home.requests)
        body = asking_for(dialect, result="nothing special")
        key = "input" if dialect == "openai_responses" else "messages"
        # Another beginning in this session, which stays.
        body[key] = [{"role": "user", "content": [LEANING[dialect]]}]
        answer = await stage.post(PATHS[dialect], body, named)
        assert (answer.status, answer.headers["x-transom-notice"]) == (400, "home-not-local")
        assert b"`file_id`" in answer.body
        assert (stage.upstream.accepted, len(stage.home.requests)) == (0, asked)


@pytest.mark.parametrize("stream", [False, True])
async def test_marks_that_cannot_be_written_keep_the_answer_back(stream: bool) -> None:
    """What could not be kept at home later is not told to whoever asked, in no word of it."""

    async def fails(*_: object) -> None:
        raise StateError("no")

    async with at_home() as stage:
        stage.node.parts.store.mark = fails  # type: ignore[method-assign]
        answer = await stage.post("/v1/messages", asking_for("anthropic_messages", stream=stream))
        assert (answer.status, answer.headers["x-transom-notice"]) == (503, "state-unavailable")
        assert not [word for word in SAID.split() if len(word) > 5 and word.encode() in answer.body]
        assert stage.upstream.accepted == 0
