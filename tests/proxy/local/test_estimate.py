"""How many tokens a request takes, from above."""

import pytest

from proxy.lazyjson import dump
from proxy.local.asked import talk
from proxy.local.estimate import PICTURE, tokens, tokens_of
from proxy.local.talk import Call, Said, Talk, Tool

EMPTY = tokens(Talk("m", True, ()))


def of(text: str) -> int:
    """What a message costs more than an empty one."""
    return tokens(Talk("m", True, (Said("user", text),))) - tokens(Talk("m", True, (Said("user"),)))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        # Counted with the vocabulary of Qwen: 152,000 pieces, each digit its own.
        ("The pier was built in eighteen months, and nobody minded the cost of it.", 16),
        ("1234567890" * 20, 200),
        ("a3f09c" * 40, 201),
        ("QmFzZTY0IGlzIGRlbnNlIGFuZCBzaG9ydA" * 8, 185),
        ("日本語の文章はとても長いです。", 9),
        ("Привет, как дела? Всё хорошо.", 12),
        ("🙂" * 30, 30),
        ("𠀀𠀁𠀂" * 10, 90),
        ('{"a":[1,2,{"b":null}],"c":"d"}', 16),
        ("\t\tif (x == y) { return foo(bar); }\n" * 10, 130),
        ("0.731,12.05,9.9\n" * 20, 320),
    ],
)
def test_it_is_more_than_a_vocabulary_takes(text: str, pieces: int) -> None:
    """Prose, digits, hashes, base64, other scripts, JSON, code; and at most four times as many."""
    assert pieces <= of(text) <= 4 * pieces


def test_all_of_a_request_counts() -> None:
    """Text, calls, thinking, pictures, tools and the form of the answer."""
    word = "wordwordword" * 10
    for more in (
        Talk("m", True, (Said("user", word),)),
        Talk("m", True, (Said("assistant", thinking=word),)),
        Talk("m", True, (Said("assistant", calls=(Call("a", "b", {"c": word}),)),)),
        Talk("m", True, (), tools=(Tool("a", word, {}),)),
        Talk("m", True, (), tools=(Tool("a", "", {"description": word}),)),
        Talk("m", True, (), form={"description": word}),
    ):
        assert tokens(more) >= EMPTY + len(word) // 3
    seen = Talk("m", True, (Said("user", images=("A" * 9_999, "B")),))
    assert EMPTY + 2 * PICTURE <= tokens(seen) <= EMPTY + 2 * PICTURE + 50


def test_half_a_surrogate_pair_counts_too() -> None:
    """It is no crash."""
    assert of("\ud83d") > 0


def test_a_body_that_nobody_has_read_is_estimated_from_above() -> None:
    """It is no less than what is made of it, and an empty one is not nothing."""
    body = dump({"model": "m", "messages": [{"role": "user", "content": "word " * 1_000}]})
    assert tokens(talk("openai_chat", body)) <= tokens_of(body) <= 2 * len(body)
    assert tokens_of(b"") > 0


@pytest.mark.parametrize(
    ("some", "thirds"), [("a ", 2), ("7", 4 + 1), ("-", 2), ("\U00020000", 12)]
)
def test_a_long_text_counts_as_its_parts(some: str, thirds: int) -> None:
    """Each character by its kind, however many there are; a long run a third more for each."""
    count = 100_000
    assert tokens_of((some * count).encode()) == tokens_of(b"") - (-thirds * count // 3)
