"""An upstream's answer as it arrives, played through a node."""

import pytest

from proxy.demo.upstream import Reply
from tests.scenes.bodies import BODIES
from tests.scenes.staging import staged

BODY = BODIES["openai_chat"]("fine")


async def heard(headers: list[tuple[str, str]], status: int = 200) -> dict[str, str]:
    async with staged(lambda recorded: Reply(status, headers, (b"{}",))) as stage:
        answer = await stage.post("/v1/chat/completions", BODY)
        assert (answer.status, answer.body) == (status, b"{}")
        return dict(answer.headers)


@pytest.mark.parametrize("status", [200, 302, 400, 401, 429, 500, 529])
async def test_status_and_headers_of_a_vendor_pass_as_they_are(status: int) -> None:
    """Rate limits, request ids, retry hints: what clients match on is not touched."""
    sent = [
        ("content-type", "application/json"),
        ("request-id", "r-1"),
        ("retry-after", "7"),
        ("x-should-retry", "true"),
        ("anthropic-ratelimit-requests-remaining", "3"),
    ]
    told = await heard(sent, status)
    assert {name: told[name] for name, _ in sent} == dict(sent)


async def test_what_is_for_this_hop_or_not_theirs_to_say_stays_here() -> None:
    """`alt-svc`, headers that Connection names, and words that are only the node's own."""
    told = await heard(
        [
            ("alt-svc", "h3"),
            ("connection", "x-hop"),
            ("x-hop", "1"),
            ("x-transom-leg", "local"),
            ("x-transom-notice", "adopted"),
            ("keep-alive", "timeout=9"),
        ]
    )
    assert not told.keys() & {"alt-svc", "x-hop", "x-transom-notice"}
    assert told["x-transom-leg"] == "cloud"
