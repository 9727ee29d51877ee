"""From a client's body to the bytes that may leave."""

import pytest

from proxy.dialects import ALL
from proxy.errors import Refused
from proxy.outgoing import draw, look, open_body

ANTHROPIC = ALL["anthropic_messages"]


def test_a_nonce_is_32_digits_and_never_the_same() -> None:
    """16 bytes of the operating system each time."""
    drawn = {draw() for _ in range(64)}
    assert len(drawn) == 64
    assert all(len(nonce) == 32 and set(nonce) <= set("0123456789abcdef") for nonce in drawn)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"a":1', b'{"model":"a","model":"b"}', b'\xef\xbb\xbf{"a":1}', b'{"a":"\xff"}'],
)
def test_what_is_no_object_is_refused_with_a_reason(body: bytes) -> None:
    """At the first glance: `body-invalid`, with a place or an offset, never the text."""
    with pytest.raises(Refused) as refused:
        open_body(ANTHROPIC, body)
    assert refused.value.code == "body-invalid"
    assert "byte" in refused.value.facts["reason"]


def test_what_only_a_closer_look_sees_is_refused_then() -> None:
    """Duplicate keys within a message: a glance is enough to route, the view refuses."""
    body = b'{"model":"m","messages":[{"role":"user","role":"system","content":"a"}]}'
    document, model = open_body(ANTHROPIC, body)
    assert model == "m"
    with pytest.raises(Refused) as refused:
        look(ANTHROPIC, document)
    assert refused.value.code == "body-invalid"
    assert "messages[0]" in refused.value.facts["reason"]
