"""What no screen can read: state held upstream, content without text."""

import pytest

from policies.conversation import Conversation, Message, Origin
from policies.elsewhere import held, opaque

ENTRIES = {"messages": (), "runs": (), "turn": 0, "units": (), "tools": (), "pieces": ()}


def conversation(**more: object) -> Conversation:
    return Conversation("d", "m", False, **ENTRIES | more)


@pytest.mark.parametrize(
    ("names", "leans", "found"),
    [
        ((), (), ()),
        (("previous_response_id",), (("previous_response_id", "resp_1"),), ()),
        (
            ("previous_response_id",),
            (("previous_response_id", "resp_2"),),
            ("previous_response_id",),
        ),
        (("file_id",), (("file_id", "resp_1"), ("file_id", "f")), ("file_id",)),
        (("prompt",), (("prompt", ""),), ("prompt",)),
        (("prompt",), (), ("prompt",)),
        ((), (("container", "c"),), ("container",)),
    ],
)
def test_held_state_is_ambiguous_unless_vouched_for(names, leans, found):
    """Every id of a name has to be one that the upstream gave; a name without id never is."""
    seen = held(conversation(held=names, leans=leans), {"resp_1"})
    assert tuple(finding.place for finding in seen) == found
    assert {finding.family for finding in seen} <= {"ambiguous"}


def test_content_without_text_is_placed_and_what_the_vendor_sealed_is_not():
    """Documents, pictures and sound; not encrypted items and not thinking."""
    block = ("messages", 0, "content", 1)
    message = Message(0, ("messages", 0), "assistant", Origin.AGENT, b"", thoughts=(block,))
    addresses = (
        ("messages", 1, "content", 0, "source"),
        block,
        ("input", 3, "encrypted_content"),
        ("input", 4, "output"),
    )
    seen = opaque(conversation(messages=(message,), opaque=addresses))
    assert [finding.place for finding in seen] == [
        "messages[1].content[0].source",
        "input[4].output",
    ]
