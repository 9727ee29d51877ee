"""From a document to a `Conversation`: what all dialects do alike.

Owns pieces, the walk over the messages, the memory of facts, and the one place where a call id
becomes a tool's name. It must not know a vendor: a `Reading` says how one message is read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import sha256

from policies.conversation import (
    Address,
    Conversation,
    Message,
    Piece,
    Run,
    Strand,
    ToolCall,
    Unit,
)
from policies.past import NONE, Past
from proxy.dialects.beginnings import Shared, remember, shared, worth_it
from proxy.dialects.facts import Facts, FactStore, Found, piece_of
from proxy.dialects.notes import Notes
from proxy.dialects.opened import Opened, opened
from proxy.dialects.runs import leading, runs_of, turn_of
from proxy.json_batch import parse_all
from proxy.lazyjson import Document, Kind, Malformed, Node
from proxy.said import Said, said, words_of

MESSAGE = b"message\0"
"""Salt of the digest of a message or item: its role in the body, part of what makes it equal."""

_SHORT = 128  # bytes of a member that is likely to come again, and takes longer to hash

MOST_MEMBERS = 1_000
MOST_MESSAGES = 100_000
"""Far more than anyone sends. Each member and message is looked at on its own, which takes some
hundred microseconds: a small body full of them would keep a thread busy for a minute."""


def _always(model: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Reading:
    """How one dialect is read. `list_key` names the member that holds the messages, `fields` all
    known members. `message` and `member` note what one message, or one other member, says.
    `streams` is what an absent `stream` means. `named` says that a result's own word for its tool
    beats its call id, and that a result with neither answers the call at the same place. `plain`
    says that one string may stand in place of the messages, `reminds` that a message of ours may
    follow results. `notes` says of a model whether it takes system text there."""

    dialect: str
    list_key: str
    fields: frozenset[str]
    message: Callable[[Opened, Notes], None]
    member: Callable[[str, Opened, Notes], None]
    streams: bool = False
    named: bool = False
    plain: bool = False
    reminds: bool = False
    notes: Callable[[str], bool] = _always


@dataclass(slots=True)
class _Seen:
    """What the walk gathers: `facts` with something notable, `said` those of the messages, which
    are `listed`, `prompt` what a string in their place says, `words` what messages say that were
    asked. `before`: what of them was walked over earlier, `fresh`: enough is new to remember all of
    them, `first`: number of their piece, `above`: digest and facts of the members before them."""

    pieces: list[Piece] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    facts: list[tuple[Address, Facts]] = field(default_factory=list)
    said: list[Facts] = field(default_factory=list)
    listed: Node | None = None
    prompt: Said = ()
    words: dict[int, Said] = field(default_factory=dict)
    before: Past = NONE
    fresh: bool = False
    first: int = 0
    above: dict[str, tuple[bytes, Facts]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Walked:
    """What a walk over messages has found, and the names that were given by then."""

    runs: tuple[Run, ...]
    units: tuple[Unit, ...]
    names: "_Names"


def view(document: Document, reading: Reading, store: FactStore) -> Conversation:
    """Read `document`. Wrong shapes are left alone and noted; raises `Malformed` for an object that
    had to be opened and cannot be read for certain (duplicate keys)."""
    seen = _Seen()
    model, stream = "", reading.streams
    members = document.root.members() if document.root.kind is Kind.OBJECT else ()
    if len(members) > MOST_MEMBERS:
        raise Malformed(f"more than {MOST_MEMBERS} members", (), 0)
    common = Shared()
    for key, node in members:
        if key == reading.list_key and node.kind is Kind.ARRAY:
            seen.listed, common = node, shared(node, store.beginnings)
    for key, node in members:
        if node is seen.listed:
            _messages(node, common, reading, store, seen)
            continue
        if key not in reading.fields:
            _check_case(document.root, key, reading.fields)
        _member(key, node, common.above.get(key), reading, store, seen)
        if key == "model":
            model = node.text() or ""
        elif key == "stream" and node.raw != b"null":
            stream = node.raw == b"true"
    start = leading(seen.messages)
    runs, units, past = _walked(seen, reading, store, start)
    facts = seen.facts
    return Conversation(
        reading.dialect,
        model,
        stream,
        tuple(seen.messages),
        runs,
        turn_of(runs, start),
        units,
        tuple(dict.fromkeys([name for _, fact in facts for name in fact.tools])),
        tuple(seen.pieces),
        tuple([base + way for base, fact in facts for way in fact.opaque]),
        tuple([base + way for base, fact in facts for way in fact.unknown]),
        tuple(dict.fromkeys([name for _, fact in facts for name in fact.held])),
        seen.prompt,
        partial(_said, seen),
        partial(_words, seen),
        reading.reminds,
        tuple(dict.fromkeys([pair for _, fact in facts for pair in fact.leans])),
        notes=reading.notes(model),
        leaning=tuple([(base + way, pair) for base, fact in facts for way, pair in fact.leaning]),
        past=past,
        before=seen.before,
    )


def _check_case(root: Node, key: str, fields: frozenset[str]) -> None:
    if (folded := key.casefold()) in fields:
        root.get(folded)  # SECURITY: raises; `{"Messages": …}` must not pass for an unknown field


def member_piece(key: str, node: Node, digest: bytes = b"") -> Piece:
    """The piece of one top-level member: its key, then everything below. `digest`: where known."""
    digest = digest or (_short if node.size <= _SHORT else _digest)(key, node.raw)
    strands, texts = partial(node.strands, keyed=True), partial(node.texts, keyed=True)
    return Piece(node.address, digest, strands, node.size, texts)


def _digest(key: str, raw: bytes) -> bytes:
    # A lone surrogate in a key is refused when its strands are read; here it only must not fail.
    return sha256(b"member:" + key.encode("utf-8", "surrogatepass") + b"\0" + raw).digest()


_short = lru_cache(maxsize=1024)(_digest)
"""The same for what stands in every other request, as the name of a model does."""


def _member(
    key: str,
    node: Node,
    known: tuple[bytes, Facts] | None,
    reading: Reading,
    store: FactStore,
    seen: _Seen,
) -> None:
    digest, facts = (b"", None) if known is None else known
    piece = member_piece(key, node, digest)
    seen.pieces.append(piece)
    facts = facts or store.get(piece.digest)
    if facts is None:
        notes = Notes()
        plain = reading.plain and node.kind is Kind.STRING
        if key in reading.fields and key != reading.list_key:
            reading.member(key, opened(node), notes)
        elif key != reading.list_key or not plain:
            node.judge()
            notes.unknown.append(())
        facts = notes.facts()
        store.put(piece.digest, facts)
    if facts.notable:
        seen.facts.append((node.address, facts))
    if seen.listed is not None and node.offset < seen.listed.offset:
        seen.above[key] = piece.digest, facts
    if key == reading.list_key and reading.plain:
        seen.prompt = said(node.text())


def _messages(node: Node, common: Shared, reading: Reading, store: FactStore, seen: _Seen) -> None:
    count, same = len(node.item_spans(common.spans)), len(common.facts)
    if count > MOST_MESSAGES:
        raise Malformed(f"more than {MOST_MESSAGES} messages", node.address, node.offset)
    new = node.item_digests(MESSAGE, same)
    made = len(common.messages)
    items = [node.item(number) for number in range(made, count)]
    seen.said = [*common.facts, *_facts(new, items[same - made :], reading, store)]
    seen.messages += common.messages
    seen.pieces += common.pieces
    rest = [*zip(range(made, count), items, (*common.digests, *new), strict=True)]
    seen.pieces += [
        piece_of(seen.said[number], item.address, digest, item.size, item.strands, item.texts)
        for number, item, digest in rest
    ]
    seen.messages += [
        seen.said[number].message(number, item.address, digest) for number, item, digest in rest
    ]
    seen.facts += [
        (message.address, facts)
        for message, facts in zip(seen.messages, seen.said, strict=True)
        if facts.notable
    ]
    seen.before, seen.fresh = common.past, len(new) > 1 and worth_it(node)
    seen.first = len(seen.pieces) - count


def _facts(
    digests: Sequence[bytes], items: Sequence[Node], reading: Reading, store: FactStore
) -> list[Facts]:
    """What each of the `items` says, known or read now."""
    known = [*map(store.get, digests)]
    each = zip(digests, items, known, strict=True)
    made = _read({digest: item for digest, item, facts in each if facts is None}, reading, store)
    return [facts or made[digest] for digest, facts in zip(digests, known, strict=True)]


def _read(new: Mapping[bytes, Node], reading: Reading, store: FactStore) -> dict[bytes, Facts]:
    """The facts of messages that are not known, by digest. Each step is taken for all of them
    before the next one, which is a quarter faster."""
    if len(new) > 1:
        parse_all(tuple(new.values()))
    parsed = [opened(item) for item in new.values()]
    noted: list[Notes] = []
    for message in parsed:
        notes = Notes()
        reading.message(message, notes)
        noted.append(notes)
    made = {digest: notes.facts() for digest, notes in zip(new, noted, strict=True)}
    store.put_all(made)
    return made


def _said(seen: _Seen, index: int) -> Said:
    # Facts keep no long lists; for as long as one request lasts, they are kept here.
    if (words := seen.words.get(index)) is None:
        words = seen.words[index] = seen.said[index].said(_item(seen, index).value)
    return words


def _item(seen: _Seen, index: int) -> Node:
    assert seen.listed is not None
    return seen.listed.item(index)


def _words(seen: _Seen, index: int) -> tuple[Strand, ...]:
    message = seen.messages[index]
    found = words_of(_item(seen, index).value()) if message.role == "user" else ()
    return tuple(Strand(message.address + one.address, one.text) for one in found)


def _walked(
    seen: _Seen, reading: Reading, store: FactStore, start: int
) -> tuple[tuple[Run, ...], tuple[Unit, ...], Past]:
    """The runs from message `start` on, the units, and how much of both will be there next time if
    the body begins so again: nothing that follows changes what the model has answered."""
    before = seen.before
    old: _Walked | None = before.kept.get(_Walked)
    spoken = [facts.spoken for facts in seen.said]
    last = _last(spoken, len(spoken))
    names = _Names(reading.named) if old is None else old.names.copy()
    runs, units = ((), ()) if old is None else (old.runs, old.units)
    runs = (*runs, *runs_of(seen.messages, spoken, max(start, before.messages)))
    if not seen.fresh or seen.listed is None:
        rest = _units(seen, names, range(before.messages, len(spoken)), last)
        return runs, (*units, *rest), before if before is not NONE else Past()
    settled = _last(spoken, len(spoken) - 1) + 1
    units = (*units, *_units(seen, names, range(before.messages, settled), last))
    done = tuple([run for run in runs if run.stop <= settled])
    past = Past(settled, len(done), len(units), seen.first)
    past.keep(_Walked, _Walked(done, units, names.copy()))
    units = (*units, *_units(seen, names, range(settled, len(spoken)), last))
    remember(seen.listed, seen.said, seen.messages, store.beginnings, past, seen.above)
    return runs, units, past


def _last(spoken: Sequence[bool], stop: int) -> int:
    """The last message before `stop` that is output of the model, -1 if there is none."""
    for index in range(stop - 1, -1, -1):
        if spoken[index]:
            return index
    return -1


def _units(seen: _Seen, names: "_Names", numbers: range, last: int) -> Iterator[Unit]:
    """The units in the order of the body, each with the name of the tool that it comes from. `last`
    is the newest output of the model."""
    for number in numbers:
        message, facts = seen.messages[number], seen.said[number]
        if message.calls:
            names.called(message)
        if facts.found:
            tools = names.all_of(facts.found)
            yield from facts.units(message, tools, answered=number < last)
        if message.answers:
            names.answered(len(message.answers))


class _Names:
    """Call id → name of the tool, for the calls made so far; the newest call of an id counts."""

    def __init__(self, named: bool) -> None:
        self._named = named
        self._by_id: dict[str, str] = {}
        self._open: Sequence[ToolCall] = ()
        self._place = 0

    def copy(self) -> "_Names":
        """The same, to go on from."""
        other = _Names(self._named)
        other._by_id, other._open, other._place = dict(self._by_id), self._open, self._place
        return other

    def called(self, message: Message) -> None:
        for call in message.calls:
            if call.id:
                self._by_id[call.id] = call.name
        self._open = message.calls
        self._place = 0

    def answered(self, results: int) -> None:
        self._place += results

    def all_of(self, found: Sequence[Found]) -> tuple[str, ...]:
        """The tool of each piece; none for what has a source of its own."""
        known = self._by_id.get
        if not self._named:
            return tuple(["" if f.source else known(f.call, "") or f.name for f in found])
        return tuple(["" if f.source else self._of(f) for f in found])

    def _of(self, found: Found) -> str:
        return found.name or self._by_id.get(found.call, "") or self._at_place()

    def _at_place(self) -> str:
        return self._open[self._place].name if self._place < len(self._open) else ""
