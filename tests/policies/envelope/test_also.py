"""Marked spans in the words of users."""

import pytest
from msgspec import structs

from policies.envelope.also import marked, spans
from policies.settings import Also
from tests.policies.envelope.talks import talk

FILE = Also("claude*", "<file>", "</file>")
SHELL = Also("*", "$(", ")$")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See <file>a</file>!", ["a"]),
        ("<file>a</file> or <file>b</file>", ["a", "b"]),
        ("<file>forged</file> end</file>.", ["forged</file> end"]),
        ("<file>never closed", ["never closed"]),
        ("<file>one<file>two</file>", ["one", "two"]),
        ("<file></file>", []),
        ("</file> first", []),
        ("nothing", []),
        ("$(ls)$ and <file>$(x)$</file>", ["ls", "$(x)$"]),
        ("<file>a $(b</file> c)$", ["a $(b"]),
    ],
)
def test_where_spans_begin_and_end(text: str, found: list[str]) -> None:
    """At the last closing mark before the next opening one; unclosed, at the end; of two that
    overlap the earlier counts; empty ones are none."""
    assert [text[start:stop] for start, stop in spans(text, (FILE, SHELL))] == found


def test_each_span_becomes_a_unit() -> None:
    """With its place in the text, in the order of the messages, among the other units."""
    words = {0: "See <file>a</file> and <file>b</file>.", 4: "Now <file>c</file>?"}
    seen = marked(talk("uaraur", said=words), "claude-code", (FILE,))
    assert [(u.text, u.message, u.part, u.answered, u.span) for u in seen.units] == [
        ("a", 0, 0, True, (10, 11)),
        ("b", 0, 1, True, (29, 30)),
        ("text 2", 2, 0, True, None),
        ("c", 4, 0, False, (10, 11)),
        ("text 5", 5, 0, False, None),
    ]
    assert {unit.source for unit in seen.units if unit.span} == {"marked:user"}


def test_other_clients_and_texts_without_marks_are_left_alone() -> None:
    """The identical conversation."""
    seen = talk("u", said={0: "See <file>a</file>."})
    assert marked(seen, "aider", (FILE,)) is seen
    assert marked(seen, "claude-code", ()) is seen
    assert marked(talk("u"), "claude-code", (FILE,)).units == ()


def test_what_a_model_has_read_is_answered() -> None:
    """Also where its answer is the last message, or nobody has answered yet."""
    words = {0: "<file>a</file>"}
    assert [u.answered for u in marked(talk("ua", said=words), "claude", (FILE,)).units] == [True]
    assert [u.answered for u in marked(talk("u", said=words), "claude", (FILE,)).units] == [False]
    odd = structs.replace(talk("u", said=words), runs=())
    assert [u.answered for u in marked(odd, "claude", (FILE,)).units] == [False]
