"""Lists that begin as last time: the same view as from scratch, whatever comes behind."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.conversation import Conversation, Message, Origin, Piece
from policies.loops import polls, reads, repeats, rounds_of, same_result
from policies.screening.parts import ending
from proxy.dialects.anthropic_messages import AnthropicMessages
from proxy.dialects.beginnings import LEAST, Beginnings, passed, remember, shared
from proxy.dialects.facts import Facts
from proxy.identity import unit_ids
from proxy.json_node import Node
from proxy.lazyjson import Malformed, read
from proxy.memory import Memory

BIG = json.dumps("x" * LEAST)
STYLES: list[dict[str, Any]] = [{}, {"separators": (",", ":")}, {"indent": 1}]


def message(number: int, size: int = 400) -> dict[str, Any]:
    if number % 2:
        name = "WRITE" if number % 23 == 0 else "read"
        use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": {"n": number % 4}}
        return {"role": "assistant", "content": [use]}
    if number % 20 == 0:
        return {"role": "user", "content": f"{number} go on"}
    text = f"{number} " + "word " * (size // 5)
    result = {"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": text}
    return {"role": "user", "content": [result]}


def body(messages: list[Any], style: dict[str, Any], tool: str = "a") -> bytes:
    """With members above the messages, one of which declares a `tool`, and behind them."""
    above = {"model": "m", "tools": [{"name": tool}], "odd": 0}
    given = {**above, "messages": messages, "system": [{"type": "text", "text": "é"}], "n": 1}
    return json.dumps(given, **style).encode()


def same(one: Conversation, two: Conversation) -> bool:
    strands = [[_read(piece) for piece in c.pieces] for c in (one, two)]
    said = [[c.said(m.index) for m in c.messages] for c in (one, two)]
    counts = [counted(conversation) for conversation in (one, two)]
    return one == two and strands[0] == strands[1] and said[0] == said[1] and counts[0] == counts[1]


def _read(piece: Piece) -> tuple[object, ...]:
    """All that is read from a piece, in each way."""
    assert piece.texts is not None
    last = None if piece.ending is None else piece.ending()
    assert last in (None, ending(piece.texts().contents))
    assert piece.ending is None or piece.ending() == last
    return piece.strands(), piece.texts(), last


def counted(conversation: Conversation) -> list[object]:
    """What is worked out about a history, and carried over from its beginning."""
    rounds = rounds_of(conversation)
    numbers = {len(rounds), max(0, len(rounds) - 1), len(rounds) // 2, 0}
    found: list[object] = [unit_ids(b"k" * 32, "c", conversation)]
    for number in sorted(numbers):
        found += [count(rounds, number) for count in (same_result, repeats, polls)]
        found += [rounds.size(number), reads(rounds, number, str.isupper, "upper")]
    return found


EDITS = st.lists(
    st.tuples(st.sampled_from(["grow", "cut", "change", "drop", "declare"]), st.integers(0, 99)),
    max_size=5,
)


@given(EDITS, st.sampled_from(STYLES))
@settings(max_examples=40)
def test_a_view_from_a_known_beginning_is_the_view_from_scratch(
    edits: list[tuple[str, int]], style: dict[str, Any]
) -> None:
    """Histories that grow, are cut, changed in the middle or lose a message, or stand below another
    tool."""
    history, tool = [message(number) for number in range(60)], "a"
    dialect = AnthropicMessages()
    dialect.view(read(body(history, style)))
    for edit, number in edits:
        at = number % len(history) if history else 0
        match edit:
            case "grow":
                history = [*history, message(number)]
            case "cut":
                history = history[: at + 1]
            case "change":
                history = [*history[:at], message(at, 37 + number), *history[at + 1 :]]
            case "declare":
                tool = "abc"[number % 3]
            case _:
                history = [*history[:at], *history[at + 1 :]]
        raw = body(history, style, tool)
        fresh = AnthropicMessages().view(read(raw))
        assert same(dialect.view(read(raw, known=dialect.known(raw))), fresh)
        assert same(dialect.view(read(raw)), fresh)


def listed(raw: bytes) -> Node:
    node = read(b'{"messages": ' + raw + b"}").root.get("messages")
    assert node is not None
    return node


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        (f"[{BIG}, 1, 0]", f"[{BIG}, 12]", 1),
        (f"[{BIG}, 1, 0]", f"[{BIG}, 1]", 1),
        (f"[{BIG}, 1, 0]", f"[{BIG}, 1, 2]", 1),
        (f"[{BIG}, {{}}, 0]", f"[{BIG}, {{}}]", 2),
        (f"[{BIG}, true, 0]", f"[{BIG}, true]", 1),
        (f'[{BIG}, "a", 0]', f'[{BIG}, "a\\""]', 1),
        (f"[{BIG}, [1], 0]", f"[{BIG}, [1]  ]", 2),
        (f"[{BIG}, [1], 0]", f"[{BIG}]", 1),
        (f"[{BIG}, 0]", f"[  {BIG}]", 0),
        (f"[{BIG}]", f"[{BIG}]", 0),
        ("[]", f"[{BIG}]", 0),
        (f"[{BIG}, 0]", "[]", 0),
    ],
)
def test_only_whole_items_are_known(before: str, after: str, known: int) -> None:
    """A number that goes on is another one; so is a string with one more letter."""
    memory: Beginnings = Memory(10**6)
    old, new = listed(before.encode()), listed(after.encode())
    digests = old.item_digests(b"")
    facts = [Facts(role="user")] * len(digests)
    messages = [
        Message(n, ("messages", n), "user", Origin.OPERATOR, digest)
        for n, digest in enumerate(digests)
    ]
    remember(old, facts, messages, memory)
    found = shared(new, memory)
    assert (len(found.spans), len(found.digests), len(found.facts)) == (known,) * 3
    items = new.items(found.spans)
    assert [item.raw for item in items] == [item.raw for item in listed(after.encode()).items()]
    assert list(found.digests) == new.item_digests(b"")[:known]


def test_small_lists_and_bodies_with_half_surrogates_are_not_kept() -> None:
    """The first cost nothing, the second have a shadow that the bytes alone do not tell."""
    memory: Beginnings = Memory(10**6)
    for raw in (b"[1]", b'["\\ud800", ' + BIG.encode() + b"]"):
        node = listed(raw)
        remember(node, [], [], memory)
        assert not shared(node, memory).spans
    assert len(memory) == 0


def test_the_longest_list_of_a_kind_is_kept_until_a_new_one_comes() -> None:
    """Going back does not forget what came later; a fork replaces it. The bound holds."""
    dialect = AnthropicMessages()
    history = [message(number) for number in range(80)]
    forked = [*history[:60], message(99), message(98)]
    (raw, short, fork) = (body(each, {}) for each in (history, history[:60], forked))
    dialect.view(read(raw))
    (kept,) = dialect.store.beginnings._kept.values()
    dialect.view(read(short))
    assert next(iter(dialect.store.beginnings._kept.values())) is kept
    dialect.view(read(fork))
    ((now, cost),) = dialect.store.beginnings._kept.values()
    assert len(now.known.spans) == 61
    assert dialect.store.beginnings.used == cost >= len(raw) // 2


def test_a_known_beginning_hides_no_fault_behind_it() -> None:
    """A new message with equal keys or too deep is refused as ever."""
    dialect = AnthropicMessages()
    history = [message(number) for number in range(60)]
    raw = body(history, {})
    dialect.view(read(raw))
    for wrong in (b'{"role": "user", "role": "user"}', b"[" * 99 + b"]" * 99):
        with pytest.raises(Malformed):
            dialect.view(read(raw[: raw.rindex(b"]", 0, -50)] + b", " + wrong + b"]}", judge=False))


def test_of_a_known_body_only_the_end_is_looked_at() -> None:
    """The messages are those of last time; what is asked of one of them is read where it is kept,
    and no node of the new body is made for it. What stands above them is not hashed again."""
    dialect = AnthropicMessages()
    history = [message(number) for number in range(60)]
    first = dialect.view(read(body(history, {})))
    raw = body([*history, message(99), message(98)], {})
    document = read(raw, judge=False, known=dialect.known(raw))
    second = dialect.view(document)
    assert all(one is two for one, two in zip(first.messages[:59], second.messages, strict=False))
    assert second.pieces[5].strands() == first.pieces[5].strands()
    above = zip(first.pieces[:3], second.pieces, strict=False)
    assert all(one.digest is two.digest for one, two in above)
    (listed,) = [node for node in document.root.children() if len(node.item_spans()) == 62]
    assert listed._opened is not None
    assert sorted(listed._opened.items) == [59, 60, 61]


def test_pieces_of_forks_are_read_each_from_its_own() -> None:
    """Two histories that begin alike share the pieces of their beginning, and no others, whichever
    came last; and of all bodies that came the last one alone is kept."""
    dialect = AnthropicMessages()
    history = [message(number) for number in range(60)]
    forks = [[*history, *map(message, more)] for more in ((61, 62, 63), (81, 84, 85, 86), (61, 62))]
    raws = [body(each, {}) for each in forks]
    dialect.view(read(body(history, {})))
    memory = dialect.store.beginnings
    ((key, (first, cost)),) = memory._kept.items()
    documents = [read(raw, known=dialect.known(raw)) for raw in raws]
    seen, kept = [], []
    for document in documents:
        memory.renew(key, first, cost)  # as for threads that look at once
        seen.append(dialect.view(document))
        kept += [each for each, _ in memory._kept.values()]
    assert seen[0].pieces[5] is seen[1].pieces[5]
    for each, fork in zip(kept, forks, strict=True):
        memory.renew(key, each, cost)
        raws.append(body([*fork, message(88)], {}))
        seen.append(dialect.view(read(raws[-1], known=dialect.known(raws[-1]))))
        assert seen[-1].pieces[3 + 60] is each.pieces[60]  # behind what stands above
    for one, raw in zip(seen, raws, strict=True):
        fresh = AnthropicMessages().view(read(raw)).pieces
        assert [p.strands() for p in one.pieces] == [p.strands() for p in fresh]
    for number in range(63, 69, 2):
        forks[2] += [message(number), message(number + 1)]
        raw = body(forks[2], {})
        dialect.view(read(raw, known=dialect.known(raw)))
        ((last, _),) = memory._kept.values()
        assert all(each.body is raw for each in last.held)


@pytest.mark.parametrize("style", STYLES)
def test_what_passed_is_not_read_again(style: dict[str, Any]) -> None:
    """A body that nobody looked into is known where it goes on, up to its last message, and is
    viewed then as from scratch; kept anew only where much of it is new."""
    history = [message(number) for number in range(80)]
    dialect = AnthropicMessages()
    first = body(history, style)
    assert dialect.known(first) is None
    dialect.passed(read(first))
    begun = dialect.known(first)
    assert begun is not None
    assert len(begun.raw) == first.rindex(b"{", 0, first.rindex(b'"role"') + 1)
    longer = body([*history[:-1], message(99), message(100)], style)
    document = read(longer, known=dialect.known(longer))
    assert document.root.source.known is begun
    dialect.passed(document)
    assert dialect.known(longer) is begun
    assert same(dialect.view(document), AnthropicMessages().view(read(longer)))
    grown = body(history * 2, style)
    dialect = AnthropicMessages()
    dialect.passed(read(first))
    dialect.passed(read(grown, known=dialect.known(grown)))
    assert len(getattr(dialect.known(grown), "raw", b"")) > len(first)


def test_faults_behind_what_passed_are_found() -> None:
    """What is new is read as strictly as ever."""
    history = [message(number) for number in range(80)]
    dialect = AnthropicMessages()
    first = body(history, {})
    dialect.passed(read(first))
    begun = dialect.known(first)
    assert begun is not None
    for wrong in (b'{"a":]', b"1 2]", b'"\xff"]', b"{}}", b'{}], "model": "n"'):
        broken = bytes(begun.raw) + wrong + b"}"
        assert dialect.known(broken) is begun
        with pytest.raises(Malformed):
            read(broken, known=begun)
        with pytest.raises(Malformed):
            read(broken)


@pytest.mark.parametrize(
    "raw", [b"[]", b"[1]", b'"x"', b"{}", BIG.encode(), b"[%b]" % BIG.encode()]
)
def test_nothing_is_kept_of_what_is_short_or_no_list(raw: bytes) -> None:
    """Or has no message before the last."""
    memory: Beginnings = Memory(10**6)
    passed(listed(raw), memory)
    passed(None, memory)
    assert len(memory) == 0
