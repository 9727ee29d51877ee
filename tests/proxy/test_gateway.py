"""The order of a request's story, its end and its line."""

import pytest

from proxy.demo.upstream import Fault, Reply
from tests.scenes.bodies import BODIES, PATHS
from tests.scenes.staging import staged

BODY = BODIES["anthropic_messages"]("fine")


async def test_every_request_has_one_line_however_it_ends() -> None:
    """Answered, refused at the door, refused for its body, unknown: one `request` line each."""
    async with staged() as stage:
        for path, body, status in (
            ("/v1/messages", BODY, 200),
            ("/v1/messages", b'{"a":1,"a":2}', 400),
            ("/v1/nothing", BODY, 404),
            ("/healthz", b"", 200),
        ):
            method = "GET" if path == "/healthz" else "POST"
            assert (await stage.post(path, body, method=method)).status == status
        lines = stage.events("request")
        assert [line["status"] for line in lines] == [200, 400, 404, 200]
        assert len({line["request"] for line in lines}) == 4
        assert lines[0]["endpoint"] == "/v1/messages"
        assert (lines[0]["frames"], lines[0]["verdict"]) == (1, "allow")
        assert lines[0]["bytes_out"] > 0


async def test_the_answer_names_the_request_as_the_log_does() -> None:
    """`x-transom-request` is in the answer, relayed or refused, and in the line."""
    async with staged() as stage:
        ids = [
            (await stage.post("/v1/messages", body)).headers["x-transom-request"]
            for body in (BODY, b"[]")
        ]
        assert [line["request"] for line in stage.events("request")] == ids


async def test_a_doubled_base_url_is_forgiven_and_told() -> None:
    """`/v1/v1/…` reaches the table's path, with a line for the owner."""
    async with staged() as stage:
        assert (await stage.post("/v1/v1/messages", BODY)).status == 200
        assert stage.upstream.requests[0].target == "/v1/messages"
        assert [line["problem"] for line in stage.events("notice")] == ["base-url-doubled"]


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_stream_that_breaks_off_ends_with_an_error_of_the_dialect(dialect: str) -> None:
    """Between two events: an in-stream error, and a line that says so."""
    kind = "application/x-ndjson" if dialect == "ollama_chat" else "text/event-stream"
    first = b'{"message":{}}\n' if dialect == "ollama_chat" else b"event: ping\ndata: {}\n\n"

    def breaks(recorded: object) -> Reply:
        if getattr(recorded, "path", "") == "/api/show":
            return Reply.of({"capabilities": []})
        return Reply.stream([first, Fault.RESET], kind)

    async with staged(breaks) as stage:
        answer = await stage.post(PATHS[dialect], {**BODIES[dialect]("fine"), "stream": True})
        assert answer.body.startswith(first)
        assert b"[upstream-unreachable]" in answer.body[len(first) :]
        assert "upstream-unreachable" in [line["notice"] for line in stage.events("notice")]


async def test_a_whole_answer_that_breaks_off_is_seen_broken_and_told() -> None:
    """No clean end for half an answer; the log has the reason."""

    def breaks(recorded: object) -> Reply:
        headers = [("content-type", "application/json")]
        return Reply(200, headers, (b'{"half":', b"1}")).cut(5, Fault.RESET)

    async with staged(breaks) as stage:
        answer = await stage.post("/v1/messages", BODY)
        assert len(answer.body) < int(answer.headers.get("content-length", "10"))
        assert "upstream-unreachable" in [line["notice"] for line in stage.events("notice")]
