"""How the proof opens values and names places."""

import pytest

from policies.proof_reading import ProofFailed, inner, less, members, parsed, shown


def test_places_are_told_in_known_words_alone() -> None:
    """A key of somebody else's choice may be the secret itself."""
    assert [shown("messages"), shown("text"), shown("hunter2")] == ["messages", "*", "*"]
    assert [inner("messages"), inner("text"), inner("hunter2")] == ["messages", "text", "*"]


def test_what_is_no_json_fails_with_its_place() -> None:
    """Equal keys, depth and damage alike."""
    assert members(b'{"a":1}').members == (("a", b"1"),)
    assert parsed(b'"x"', "here") == "x"
    for body in (b"[1", b'{"a":1,"a":1}'):
        with pytest.raises(ProofFailed, match="the body"):
            members(body)
    with pytest.raises(ProofFailed, match="here"):
        parsed(b"[" * 100_000, "here")


def test_a_plan_that_leads_elsewhere_fails_with_its_place() -> None:
    """No ways: the message itself."""
    message = {"content": [{"type": "text", "text": "t"}]}
    assert less(message, [], "here") is message
    with pytest.raises(ProofFailed, match="here"):
        less(message, [("content", 0)], "here")
