"""The text of an answer is gathered from a copy of it, in each dialect that a server may speak."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from proxy.dialects.streams import Kind
from proxy.local import texts
from proxy.local.texts import Texts


def heard(kind: Kind, *chunks: bytes) -> list[str]:
    found: list[Sequence[str]] = []
    observer = Texts(kind, found.append)
    for chunk in chunks:
        observer.chunk(chunk)
    observer.end()
    (told,) = found
    return list(told)


WHOLE = {
    b'{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"x"}]}': "a\n",
    b'{"choices":[{"message":{"content":"a"}},{"message":{}}]}': "a",
    b'{"object":"response","output":[{"content":[{"text":"a"}]},{"type":"r"}]}': "a\n",
    b'{"other":1}': "",
    b"no JSON": "",
}


@pytest.mark.parametrize("body", WHOLE)
def test_whole_answers(body: bytes) -> None:
    """Their text; of what is no answer nothing."""
    assert heard("", body[:5], body[5:]) == [WHOLE[body]]


def test_streams() -> None:
    """Deltas are joined, as they may be a letter long."""
    events = (
        b'data: {"type":"content_block_delta","delta":{"text":"a"}}\n\n'
        b'data: {"type":"response.output_text.delta","delta":"b"}\n\n'
        b'data: {"choices":[{"delta":{"content":"c"}}]}\n\n: hello\n\ndata: [DONE]\n\n'
    )
    assert heard("sse", *(events[at : at + 1] for at in range(len(events)))) == ["abc"]


def test_the_streams_of_the_vendors_have_text() -> None:
    """The recorded ones, but for those of Ollama, which is not asked this way."""
    folder = Path(__file__).parents[2] / "wire" / "streams"
    names = [each for each in folder.glob("*.txt") if "ollama" not in each.name]
    assert sum(bool("".join(heard("sse", each.read_bytes()))) for each in names) >= 3


def test_an_endless_answer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows is left out."""
    monkeypatch.setattr(texts, "MOST", 2)
    event = b'data: {"choices":[{"delta":{"content":"abc"}}]}\n\n'
    assert heard("sse", event * 3) == ["abc"]
