"""Calls that nobody could carry out never reach the client as calls."""

from typing import Any

import pytest

from proxy.local.spoken import Lost, checked
from proxy.local.talk import Called, Ended, Named, Text, Thinking

NAMES = {"read": Named("read"), "crm__find": Named("find", "function", "crm"), "sh": Named("sh")}
NAMES["patch"] = Named("patch", "custom")


@pytest.mark.parametrize(
    "said",
    [
        Text("read({})"),
        Thinking("read"),
        Ended("length", 1, 2),
        Called("read", {}),
        Called("crm__find", {"id": 7}, "call_1"),
        Called("patch", {"input": "*** Begin"}),
        Called("patch", {"input": "", "more": 1}),
    ],
)
def test_what_can_be_carried_out_stays_as_it_is(said: Any) -> None:
    """The very same values, in their order, and nothing is counted."""
    both = checked((said, Ended()), NAMES)
    assert both.speech == (said, Ended())
    assert both.speech[0] is said
    assert both.lost == ()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (Called("write", {"path": "ä"}), 'write({"path":"ä"})'),
        (Called("find", {"id": 7}), 'find({"id":7})'),  # the caller's name, which is not the one
        (Called("", {}), "({})"),
        (Called("read", {}, unread="[1]"), "read([1])"),
        (Called("read", {}, unread='{"path": '), 'read({"path": )'),
        (Called("patch", {}), "patch({})"),
        (Called("patch", {"input": {"a": 1}}), 'patch({"input":{"a":1}})'),
    ],
)
def test_what_cannot_becomes_text(said: Called, told: str) -> None:
    """With all that the model said, so that it is not lost, on a line of its own; and told, with
    whether its tool is there at all."""
    both = checked((Text("a"), said, Called("sh", {})), NAMES)
    assert both.speech[0] == Text("a")
    assert both.speech[2] == Called("sh", {})
    written = both.speech[1]
    assert isinstance(written, Text)
    text = written.text
    assert told in text
    assert (text[0], text[-1]) == ("\n", "\n")
    assert both.lost == (Lost(said.name, said.name in NAMES),)


def test_each_one_is_counted() -> None:
    """A model that repeats itself is told of as often."""
    assert checked([Called("no", {})] * 3, NAMES).lost == (Lost("no", False),) * 3
