"""Ids that answers gave: by upstream, across chunks, never from a text in an answer."""

import json

import pytest

from proxy.relayed import Listener, Relayed


def heard(*chunks: bytes, entries: int = 100) -> Relayed:
    relayed = Relayed(entries)
    listener = Listener(relayed.by("openai"))
    for chunk in chunks:
        listener.chunk(chunk)
    listener.end()
    return relayed


@pytest.mark.parametrize(
    "answer",
    [
        b'{"id":"resp_1","object":"response"}',
        b'event: response.created\ndata: {"response": {"object": "x", "id" : "resp_1"}}\n\n',
        b'{"container": {"container_id":"resp_1"}}',
    ],
)
@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_ids_of_an_answer_are_remembered(answer, cut):
    """Whole or streamed, and wherever chunks end; for that upstream alone."""
    chunks = [answer[at : at + cut] for at in range(0, len(answer), cut)]
    relayed = heard(*chunks)
    assert "resp_1" in relayed.by("openai")
    assert "resp_1" not in relayed.by("other")
    assert "resp_2" not in relayed.by("openai")


def test_a_text_in_an_answer_gives_no_ids():
    """What a model says, or a tool result that it repeats, is not what the upstream gave."""
    said = json.dumps({"text": '{"id":"resp_1","x":"\\"id\\": \\"resp_2\\""}'}).encode()
    relayed = heard(said)
    assert "resp_1" not in relayed.by("openai")
    assert "resp_2" not in relayed.by("openai")


def test_the_oldest_ids_are_forgotten():
    """Memory is bounded; what is forgotten is ambiguous again."""
    relayed = heard(*(b'{"id":"r%d"}' % n for n in range(5)), entries=3)
    assert [f"r{n}" in relayed.by("openai") for n in range(5)] == [False, False, True, True, True]
    assert 7 not in relayed.by("openai")
