"""An upstream's answer as it arrives, played through a node."""

from types import SimpleNamespace

import pytest
from multidict import CIMultiDict

from policies.decision import Leg
from proxy import incoming
from proxy.config import UpstreamSettings
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


@pytest.mark.parametrize(
    ("headers", "ended", "failure", "here"),
    [
        ({"content-length": "2"}, True, None, True),
        ({"transfer-encoding": "chunked"}, True, None, True),
        ({"content-length": "2"}, False, None, False),
        ({"content-length": "2"}, True, OSError(), False),
        ({}, True, None, False),
    ],
)
def test_only_an_answer_whose_end_is_told_has_come_whole(
    headers: dict[str, str], ended: bool, failure: Exception | None, here: bool
) -> None:
    """One that ends with its connection may have been cut short; chunk by chunk that is seen."""
    content = SimpleNamespace(is_eof=lambda: ended, exception=lambda: failure)
    response = SimpleNamespace(headers=CIMultiDict(headers), content=content)
    upstream = UpstreamSettings("x", Leg.CLOUD, "http://x.test", ("openai",), "none")
    assert incoming._Chunks(response, upstream, 1.0).here is here  # type: ignore[arg-type]
