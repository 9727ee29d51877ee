"""Answers of a local model, told through the writers, for the tests of all of them."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from proxy.demo.upstream import Framing, Reply
from proxy.dialects.streams import Edge, Event, decoder, kind_of
from proxy.lazyjson import Document, read
from proxy.local.talk import Called, Ended, Named, Speech, Text, Thinking
from proxy.local.writers import Writer, writer
from tests.scenes.bodies import MODEL

KEY = "0123456789ab"
NOW = 1_790_000_000
DIALECTS = ("anthropic_messages", "openai_chat", "openai_responses", "ollama_chat")
NAMES = {
    "read_file": Named("read_file"),
    "crm__lookup": Named("lookup", namespace="crm"),
    "patch": Named("apply patch", sort="custom"),
}
PATH = {"path": 'a "näh" 🧅.txt', "lines": [1, 2.5, 10**30], "deep": {"null": None}}
ESTIMATE, READ, WRITTEN = 90, 70, 12


@dataclass(frozen=True)
class Answer:
    """What the model says, and what a client must read in it."""

    speech: Sequence[Speech]
    text: str = ""
    thought: str = ""
    calls: Sequence[tuple[str, Any]] = field(default=())
    reason: str = "stop"


def over(reason: Any = "stop") -> Ended:
    return Ended(reason, READ, WRITTEN)


LOOK = {"id": 7}
ANSWERS = {
    "text": Answer((Text("Hello "), Text("wörld 🧅\n"), Text(" "), over()), "Hello wörld 🧅\n "),
    "thinking": Answer(
        (Thinking("Let me "), Thinking("see."), Text("\n\n"), Text("Yes."), over()),
        "\n\nYes.",
        "Let me see.",
    ),
    "call": Answer((Called("read_file", PATH, "call_abc123"), over()), calls=[("read_file", PATH)]),
    "parallel": Answer(
        (Called("read_file", PATH), Called("crm__lookup", LOOK), Called("read_file", {}), over()),
        calls=[("read_file", PATH), ("lookup", LOOK), ("read_file", {})],
    ),
    "text and call": Answer(
        (Text("I look."), Text("\n\n"), Called("read_file", PATH), Text(" \n"), over()),
        "I look.\n\n",
        calls=[("read_file", PATH)],
    ),
    "blank before a call": Answer(
        (Text("\n"), Text("\n"), Called("read_file", PATH), over()), calls=[("read_file", PATH)]
    ),
    "length": Answer((Text("It is cut o"), over("length")), "It is cut o", reason="length"),
    "empty": Answer((over(),)),
    "structured": Answer((Text('{"title"'), Text(': "A"}'), over()), '{"title": "A"}'),
}


def asking(asked: Any = None) -> Document:
    return read(json.dumps(asked or {}).encode())


def make(dialect: str, *, stream: bool, asked: Any = None, **how: Any) -> Writer:
    return writer(
        dialect,
        model=MODEL,
        stream=stream,
        now=NOW,
        names=NAMES,
        asked=asking(asked),
        **{"thinking": True, "key": KEY, **how},
    )


def pieces(teller: Writer, speech: Sequence[Speech], *, alive: int = 0) -> Iterator[bytes]:
    """What the writer gives, call by call, with signs of life in between."""
    yield teller.begin(ESTIMATE)
    for said in speech:
        yield b"".join(teller.keep_alive() for _ in range(alive))
        yield teller.say(said)
    yield teller.end()


def told(dialect: str, speech: Sequence[Speech], *, stream: bool, **how: Any) -> bytes:
    return b"".join(pieces(make(dialect, stream=stream, **how), speech))


def events(dialect: str, speech: Sequence[Speech], **how: Any) -> list[Any]:
    """The events of a stream, as JSON; every piece of it ends between two of them."""
    teller = make(dialect, stream=True, **how)
    kind = kind_of(teller.headers["content-type"])
    edge, reader = Edge(kind), decoder(kind)
    found: list[Event] = []
    for piece in pieces(teller, speech):
        edge.feed(piece)
        assert edge.clean
        found += reader.feed(piece)
    assert not reader.end()
    return [json.loads(e.data) for e in found if e.data is not None and e.data != "[DONE]"]


def added_ids(answer: bytes) -> list[str]:
    """The ids of the calls in an answer, in order, each once for every call."""
    found = re.findall(
        r'"(?:tool_use","id|call_id)":"([^"]*)"|"id":"([^"]*)","(?:type":"function|function)"',
        answer.decode(),
    )
    ids = ["".join(each) for each in found]
    if b'"call_id"' in answer and b"response.created" in answer:
        ids = [*dict.fromkeys(ids)]
    return ids


def script(
    dialect: str, speech: Sequence[Speech], *, stream: bool, bytewise: bool = False, **how: Any
) -> Callable[[object], Reply]:
    """A server that gives this answer, in pieces of one byte where `bytewise`."""
    alive = how.pop("alive", 0)
    teller = make(dialect, stream=stream, **how)
    parts = [*pieces(teller, speech, alive=alive)]
    if bytewise:
        whole = b"".join(parts)
        parts = [whole[at : at + 1] for at in range(len(whole))]
    answer = Reply(200, tuple(teller.headers.items()), tuple(parts), Framing.CHUNKED)
    return lambda request: answer
