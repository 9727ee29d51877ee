"""What the endurance run takes for a whole answer: a cut that is so taken must be counted."""

import pytest

from bench.rude import ANSWERS, looks_whole


@pytest.mark.parametrize("answer", ANSWERS)
def test_only_the_whole_looks_whole(answer: bytes) -> None:
    """At every byte but the last it does not."""
    cuts = [looks_whole(answer[:end]) for end in range(len(answer) + 1)]
    assert cuts == [False] * len(answer) + [True]


def test_a_stream_that_ends_with_an_error_is_none() -> None:
    """Though its transfer ends as it should; nor is a refusal."""
    stream = ANSWERS[1].replace(b"event: message_stop", b"event: error")
    assert not looks_whole(stream)
    assert not looks_whole(ANSWERS[0].replace(b"200 OK", b"503 No"))
