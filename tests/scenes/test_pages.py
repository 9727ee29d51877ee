"""Pages in a browser: those of listed origins call and read, all others get nothing out of it."""

from dataclasses import replace

import pytest

from proxy.config import ClientSettings, Config
from proxy.demo.upstream import Recorded, Reply
from tests.scenes.bodies import BODIES, secret
from tests.scenes.staging import staged

PAGE, OTHER = "http://localhost:3000", "https://evil.example"
QUESTION = {
    "origin": PAGE,
    "access-control-request-method": "POST",
    "access-control-request-headers": "anthropic-version,content-type,x-api-key",
    "access-control-request-private-network": "true",
    "sec-fetch-site": "cross-site",
}
BODY = BODIES["anthropic_messages"]("fine")


def listed(config: Config) -> Config:
    return replace(config, listen=replace(config.listen, origins=(PAGE,)))


def guarded(config: Config) -> Config:
    return replace(listed(config), clients=(ClientSettings("page", "0" * 64),))


@pytest.mark.parametrize("change", [listed, guarded])
async def test_the_question_of_a_listed_page_is_answered(change: object) -> None:
    """Without a token, which browsers do not send with it, and without asking the upstream."""
    async with staged(change=change) as stage:  # type: ignore[arg-type]
        answer = await stage.post("/v1/messages", b"", QUESTION, "OPTIONS")
        assert answer.status == 204
        told = {k: v for k, v in answer.headers.items() if k.startswith("access-control")}
        assert told == {
            "access-control-allow-origin": PAGE,
            "access-control-allow-methods": "POST",
            "access-control-allow-headers": QUESTION["access-control-request-headers"],
            "access-control-allow-private-network": "true",
            "access-control-expose-headers": "*",
            "access-control-max-age": "600",
        }
        assert stage.upstream.accepted == 0
        (line,) = stage.events("request")
        assert (line["endpoint"], line["status"]) == ("/v1/messages", 204)


async def test_a_listed_page_reads_answers_and_refusals() -> None:
    """Ours is the only word about it, and the upstream does not learn who asks."""

    def vendor(asked: Recorded) -> Reply:
        return Reply.of({"ok": True}, headers=(("Access-Control-Allow-Origin", OTHER),))

    page = {"origin": PAGE, "referer": PAGE + "/", "sec-fetch-site": "cross-site"}
    async with staged(vendor, change=listed) as stage:
        for body, status in ((BODY, 200), (b"{", 400)):
            answer = await stage.post("/v1/messages", body, page)
            assert answer.status == status
            assert answer.headers["access-control-allow-origin"] == PAGE
        blocked = BODIES["anthropic_messages"](secret())
        answer = await stage.post("/v1/messages", blocked, page)
        assert answer.headers["x-transom-notice"] == "egress-blocked"
        assert answer.headers["access-control-allow-origin"] == PAGE
        (asked,) = stage.upstream.requests
        assert PAGE not in repr(asked.headers)
        assert asked.header("sec-fetch-site") == ""


@pytest.mark.parametrize("origin", [OTHER, "null", PAGE + ".evil.example", "http://localhost"])
async def test_other_pages_get_no_leave(origin: str) -> None:
    """Neither for the question nor for a request; and nothing is sent on for them."""
    async with staged(change=listed) as stage:
        for method, body in (("OPTIONS", b""), ("POST", b"{}")):
            sent = {**QUESTION, "origin": origin}
            answer = await stage.post("/v1/messages", body, sent, method)
            assert (answer.status, answer.headers["x-transom-notice"]) == (400, "door-refused")
            assert not [name for name in answer.headers if name.startswith("access-control")]
        assert stage.upstream.accepted == 0


@pytest.mark.parametrize(
    ("path", "method", "body", "notice"),
    [
        ("/v1/nothing", "POST", b"", "unknown-endpoint"),
        ("/v1/messages", "DELETE", b"", "unknown-endpoint"),
        ("/v1/files", "POST", b"", "endpoint-refused"),
        ("/v1/messages", "POST", b"{}", "door-refused"),
    ],
)
async def test_a_question_about_what_is_not_served(
    path: str, method: str, body: bytes, notice: str
) -> None:
    """It is refused like the request itself would be, and the page may read why."""
    asked = {**QUESTION, "access-control-request-method": method}
    async with staged(change=listed) as stage:
        answer = await stage.post(path, body, asked, "OPTIONS")
        assert answer.headers["x-transom-notice"] == notice
        assert answer.headers["access-control-allow-origin"] == PAGE
        assert stage.upstream.accepted == 0


async def test_who_is_no_page_hears_nothing_of_it() -> None:
    """Other clients get the upstream's headers as they are."""
    own = (("Access-Control-Allow-Origin", "*"),)
    async with staged(lambda asked: Reply.of({}, headers=own), change=listed) as stage:
        answer = await stage.post("/v1/messages", BODY)
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "vary" not in answer.headers
