"""The words that a browser wants to hear, and whose question it is."""

import pytest

from proxy.browsers import ASKS, asks, grant, leave, without

ORIGIN = "https://app.example"


@pytest.mark.parametrize(
    ("method", "headers", "found"),
    [
        ("OPTIONS", {"origin": ORIGIN, ASKS: "POST"}, True),
        ("OPTIONS", {"origin": ORIGIN}, False),
        ("OPTIONS", {ASKS: "POST"}, False),
        ("POST", {"origin": ORIGIN, ASKS: "POST"}, False),
    ],
)
def test_a_question_has_a_method_of_its_own_and_both_headers(
    method: str, headers: dict[str, str], found: bool
) -> None:
    """Anything less is a request like any other, for the door to judge."""
    assert asks(method, headers) is found


def test_a_page_may_read_and_sends_no_cookie() -> None:
    """The origin as it came, every header to read, and caches told that answers differ."""
    told = dict(grant(ORIGIN))
    assert told["access-control-allow-origin"] == ORIGIN
    assert told["access-control-expose-headers"] == "*"
    assert told["vary"] == "Origin"
    assert "access-control-allow-credentials" not in told


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, {}),
        ({"access-control-request-headers": "x-api-key,content-type"}, {"headers": True}),
        ({"access-control-request-headers": "a\x00b"}, {}),
        ({"access-control-request-headers": "a" * 3000}, {}),
        ({"access-control-request-private-network": "true"}, {"private-network": True}),
        ({"access-control-request-private-network": "false"}, {}),
    ],
)
def test_what_is_asked_for_is_granted_and_no_more(
    asked: dict[str, str], told: dict[str, bool]
) -> None:
    """Header names come back only when they are some."""
    answer = dict(leave({ASKS: "POST", **asked}))
    assert answer.pop("access-control-allow-methods") == "POST"
    assert answer.pop("access-control-max-age") == "600"
    assert {name.removeprefix("access-control-allow-") for name in answer} == set(told)
    if "headers" in told:
        assert answer["access-control-allow-headers"] == asked["access-control-request-headers"]


def test_only_one_word_reaches_the_browser() -> None:
    """What the upstream said about its own pages is left out, whatever its case."""
    came = [("Access-Control-Allow-Origin", "*"), ("vary", "Accept"), ("x-a", "b")]
    assert without(came) == (("vary", "Accept"), ("x-a", "b"))
