"""The last look at the headers that leave."""

import pytest

from policies.decision import Leg
from proxy.config import UpstreamSettings
from proxy.errors import Refused
from proxy.sent_headers import credentials_for, plain, whole

CALLERS = [("Authorization", "Bearer caller"), ("x-api-key", "caller")]


def upstream(auth: str, key: str | None = None) -> UpstreamSettings:
    return UpstreamSettings("u", Leg.CLOUD, "https://a.example", ("openai",), auth, key)  # type: ignore[arg-type]


def test_credentials_go_where_the_owner_said() -> None:
    """`caller` passes the caller's; `key` sends our own in the family's header; `none` nothing."""
    assert credentials_for(upstream("caller"), CALLERS, "openai") == CALLERS
    ours = upstream("key", "ours")
    assert credentials_for(ours, CALLERS, "anthropic") == [("x-api-key", "ours")]
    assert credentials_for(ours, CALLERS, "openai") == [("authorization", "Bearer ours")]
    assert credentials_for(ours, CALLERS, "ollama") == [("authorization", "Bearer ours")]
    assert credentials_for(upstream("none"), CALLERS, "openai") == []


def test_what_the_door_should_have_kept_is_kept_here_too() -> None:
    """Credentials, our own, hop-by-hop and rewritten ones stay; the rest keeps its order."""
    mixed = [
        ("x-a", "1"), *CALLERS, ("X-Transom-Token", "t"), ("Connection", "close"),
        ("Content-Length", "9"), ("Cookie", "c"), ("anthropic-beta", "b"), ("x-a", "2"),
    ]  # fmt: skip
    assert plain(mixed) == [("x-a", "1"), ("anthropic-beta", "b"), ("x-a", "2")]


def test_answers_are_asked_for_uncoded_and_halves_of_characters_stay() -> None:
    """The coding is ours; a header that would be changed while it is written is refused."""
    assert whole([("a", "b")]) == [("a", "b"), ("accept-encoding", "identity")]
    with pytest.raises(Refused) as refused:
        whole([("a", "b\udc80")])
    assert refused.value.code == "door-refused"
