"""The memory of facts: known messages are not opened again, and it stays within its bound."""

import gc
import json
import threading
from sys import getsizeof

import pytest

from policies.conversation import Message, ToolCall, Unit
from policies.screening.parts import SEAM
from proxy.dialects.anthropic_messages import AnthropicMessages
from proxy.dialects.facts import Facts, FactStore, Found, size
from proxy.dialects.notes import Notes
from proxy.dialects.opened import Opened, opened
from proxy.lazyjson import Node, read


def body(*texts: str) -> bytes:
    messages = [{"role": "user", "content": [{"type": "text", "text": text}]} for text in texts]
    return json.dumps({"model": "m", "messages": messages}).encode()


def test_a_known_message_is_not_opened_again() -> None:
    """A history with one new message opens that one and nothing else."""
    dialect = AnthropicMessages()
    dialect.view(read(body("a", "b", "c")))
    before = dialect.store.opened
    dialect.view(read(body("a", "b", "c", "d")))
    assert dialect.store.opened == before + 1


def test_remembered_facts_change_no_view() -> None:
    """A view from memory equals a view from scratch."""
    remembering, document = AnthropicMessages(), read(body("a", "b", "a"))
    first = remembering.view(document)
    assert remembering.view(document) == first == AnthropicMessages().view(document)


def test_the_same_bytes_in_another_role_are_other_facts() -> None:
    """A member and a message with equal bytes have different digests."""
    document = read(b'{"messages":[{"role":"user"}],"metadata":{"role":"user"}}')
    message, member = AnthropicMessages().view(document).pieces
    assert message.digest != member.digest


def test_the_store_is_bounded_in_bytes_and_forgets_the_oldest() -> None:
    """What was used last is kept; what alone exceeds the bound is not."""
    facts = [Facts(found=(Found((), letter * 1000),)) for letter in "abc"]
    store = FactStore(size(facts[0]) * 2)
    store.put(b"a", facts[0])
    store.put(b"b", facts[1])
    assert store.get(b"a") is facts[0]
    store.put(b"c", facts[2])
    assert store.get(b"b") is None
    assert store.get(b"a") is facts[0]
    assert len(store) == 2
    store.put(b"big", Facts(calls=(ToolCall("i", "n", "x" * 10_000),)))
    assert store.get(b"big") is None
    assert store.bytes <= size(facts[0]) * 2


@pytest.mark.parametrize("parts", [["", "a"], [""] * 10_000, ["\u5b57" * 2000], ["a" * 2000]])
def test_no_more_is_kept_of_an_ending_than_is_counted(parts: list[str]) -> None:
    """Much text of the Far East, and thousands of parts without any, are read again instead."""
    (message,) = AnthropicMessages().view(read(body().replace(b"[]", dumped(parts)))).pieces[1:]
    assert message.texts is not None
    assert message.ending is not None
    said = message.texts().contents
    kept = message.ending()
    assert "".join(kept) == "".join(said)[-SEAM:]
    assert (message.ending() is kept) == (sum(map(getsizeof, kept)) <= 1200)


def dumped(parts: list[str]) -> bytes:
    return json.dumps([{"role": "user", "content": parts}]).encode()


def test_nothing_of_a_document_outlives_it() -> None:
    """After a view, the store holds no node of the body."""
    dialect = AnthropicMessages()
    dialect.view(read(body("a" * 10_000, "b")))
    gc.collect()
    assert not [thing for thing in gc.get_objects() if isinstance(thing, Node | Opened)]


def test_what_is_put_out_is_gone() -> None:
    """Facts and what was made of them go with the last who knows them, without a collection: the
    collector does not look into facts, so a circle through them would stay for ever."""
    call = {"type": "tool_use", "id": "c", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c"}
    dialect = AnthropicMessages(FactStore(40_000))

    def alive() -> int:
        return sum(isinstance(each, Message | Unit) for each in gc.get_objects())

    before = alive()
    gc.disable()
    try:
        for number in range(300):
            messages = [
                {"role": "user", "content": f"text {number}"},
                {"role": "assistant", "content": [{**call, "input": {"n": number}}]},
                {"role": "user", "content": [{**result, "content": f"result {number}"}]},
            ]
            seen = dialect.view(read(json.dumps({"messages": messages}).encode()))
            assert [len(each.signs()) for each in seen.messages] == [0, 1, 0]
            assert [len(each.results()) for each in seen.messages] == [0, 0, 1]
        del seen
        assert alive() - before <= 2 * len(dialect.store) < 300
    finally:
        gc.enable()


def test_a_store_that_threads_share_keeps_its_count() -> None:
    """Large bodies are read in threads: facts put in and put out at once leave the bytes exact."""
    room = 40 * size(Facts(role="user"))
    store = FactStore(room)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for number in range(3000):
                digest = (number * (seed + 3) % 97).to_bytes(2)
                if store.get(digest) is None:
                    store.put(digest, Facts(role="user"))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert store.bytes == len(store) * size(Facts(role="user")) <= room


def test_a_message_is_made_for_its_own_place() -> None:
    """Facts that threads share never hand out the message of another place."""
    facts, wrong = Facts(role="user"), []

    def work(index: int) -> None:
        made = (facts.message(index, ("messages", index), b"d").index for _ in range(3000))
        wrong.extend(found for found in made if found != index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_facts_show_no_text() -> None:
    """Neither in a traceback nor in a log."""
    facts = Facts("user", found=(Found(("content",), "what they wrote"),))
    assert "what they wrote" not in repr(facts)
    assert "15 characters" in repr(facts)


def test_what_a_reader_holds_shows_no_text() -> None:
    """A failure in the middle of a message prints what a reader has at hand, and none of it."""
    node = read(b'{"m": {"role": "user", "content": "what they wrote"}}').root.child("m")
    assert node is not None
    message, notes = opened(node), Notes()
    notes.text(message.fields().get("content") or message)
    for thing in (message, message.fields(), message.get("content"), notes):
        assert "wrote" not in repr(thing)
    assert repr(message.get("content")) == "Opened(str at ('content',))"
