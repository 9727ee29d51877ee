"""What a conversation is pinned to, and its form as text."""

import json

import pytest

from policies.pins import Pins, dumped, loaded, pinned_now
from policies.settings import Also, Envelope, Policies, ToolRule

FULL = Pins(
    Envelope(
        enabled=False,
        tools=(ToolRule("mail_*", "operator"), ToolRule("*", encode="json", max_chars=9)),
        reminder="request",
        also=(Also("lap*", "<f>", "</f>"),),
    ),
    explains=True,
    policy="7",
    markers="2",
    tables="3",
    minimality="strict",
)


@pytest.mark.parametrize("pins", [FULL, Pins(Envelope())])
def test_pins_come_back_as_they_were(pins: Pins) -> None:
    """Every setting that changes bytes survives as text."""
    assert loaded(dumped(pins)) == pins


def test_a_conversation_that_begins_now_has_the_settings_in_force() -> None:
    """And the versions of this build, so that it can be written."""
    pins = pinned_now(Policies(FULL.envelope))
    assert pins == Pins(FULL.envelope, minimality="dialogue")
    assert pins.writable


@pytest.mark.parametrize("part", ["policy", "markers", "tables"])
def test_what_a_newer_version_wrote_cannot_be_written_here(part: str) -> None:
    """Another policy text, marker or table would give other bytes."""
    value = json.loads(dumped(Pins(Envelope())))
    assert not loaded(json.dumps({**value, part: "99"})).writable


def test_what_an_older_version_did_not_know_has_its_default() -> None:
    """Pins outlive upgrades that bring new settings."""
    value = json.loads(dumped(FULL))
    del value["explains"], value["envelope"]["reminder"]
    old = loaded(json.dumps(value))
    assert (old.explains, old.envelope.reminder) == (False, "off")
    assert old.envelope.tools == FULL.envelope.tools


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "{}", '{"envelope":{}}', '{"envelope":{"tools":[3],"also":[]}}']
)
def test_anything_else_is_refused(text: str) -> None:
    """A damaged row is an error, never a default."""
    with pytest.raises(ValueError, match=r"no pins|Expecting"):
        loaded(text)
