"""What a message says, apart from how it is packed."""

import pytest

from proxy.said import said, text_digest, words_of

TEXT = {"type": "text", "text": "hello"}


@pytest.mark.parametrize(
    "packed",
    [
        "hello",
        {"role": "user", "content": "hello"},
        {"role": "user", "content": [TEXT]},
        {"role": "user", "content": [{**TEXT, "cache_control": {"type": "ephemeral"}}]},
        {"role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"role": "user", "content": [{"type": "text", "text": ""}, TEXT]},
    ],
)
def test_packaging_and_cache_marks_say_nothing(packed: object) -> None:
    """A string, a list with one text, with a mark or an empty text: one digest."""
    assert said(packed) == (text_digest("hello"),)


def test_other_words_order_and_kinds_say_something_else() -> None:
    """Texts differ, parts follow in order, a number is no text."""
    two = said({"content": [TEXT, {"type": "text", "text": "you"}]})
    assert two == (text_digest("hello"), text_digest("you"))
    assert said({"content": 7}) != said({"content": "7"})
    assert said({"content": [{"type": "image", "a": "b"}]}) != said(
        {"content": [{"type": "image", "a": ["b"]}]}
    )
    assert said({"content": None}) == ()


def test_a_kind_that_is_no_word_makes_no_text() -> None:
    """Such a part counts whole, as one of any other kind, and is not a user's words."""
    odd = [{"type": kind, "text": "hello"} for kind in ({}, ["text"], None)]
    assert len(said({"content": odd})) == 3
    assert text_digest("hello") not in said({"content": odd})
    assert words_of({"content": odd}) == ()


def test_words_of_a_user_come_with_the_way_to_them() -> None:
    """Results are not the user's words; empty texts are none."""
    message = {
        "content": [{"type": "tool_result", "content": "no"}, TEXT, {"type": "text", "text": ""}]
    }
    assert [(w.address, w.text) for w in words_of(message)] == [(("content", 1, "text"), "hello")]
    assert [w.text for w in words_of({"content": "hi"})] == ["hi"]
    assert words_of({"content": 7}) == words_of("x") == ()
