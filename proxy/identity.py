"""Who is who: keyed digests that stay the same however a client repacks what it resends.

Owns the identity of a conversation, a run, a unit and a session. It must not know a store, a frame
or a header. A client is its configured name, never a credential, which is renewed all the time.
Left out everywhere: positions, boundaries between messages, cache marks, system messages, tools,
model, betas; clients change those from turn to turn (wire.md 1.1.6, 6).
"""

import hashlib
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from policies.conversation import Address, Conversation, Run, Unit
from policies.past import Past, settled
from proxy.said import text_digest

_MANY = 256
_LENGTHS = [size.to_bytes(8, "big") for size in range(_MANY)]
_PERSON = b"transom-identity"
_ASIDE = frozenset({"system", "developer"})

_Standing = dict[tuple[str, Address, bytes], int]
_Ids = tuple[dict[int, bytes], _Standing]


def conversation_id(key: bytes, client: str, conversation: Conversation) -> bytes:
    """32 bytes for the conversation that begins as `conversation` does: with what the user said
    before the model first answered. Where no user speaks, all that stands there counts, and where
    nothing stands, all such bodies of a client are one conversation."""
    about = (key, client)
    name: bytes | None = conversation.names.get(about)
    if name is None:
        common = (b"conversation", _bytes(client), _bytes(conversation.dialect))
        name = conversation.names[about] = _digest(key, (*common, *_opening(conversation)))
    return name


def run_id(key: bytes, client: str, conversation: Conversation, run: Run) -> bytes:
    """32 bytes for a run: its conversation, what is said and answered in it, and how many equal
    runs stand before it."""
    return run_ids(key, client, conversation, [run])[run.start]


def run_ids(
    key: bytes, client: str, conversation: Conversation, wanted: Sequence[Run]
) -> dict[int, bytes]:
    """First message of a run → its `run_id`, for the `wanted` ones."""
    root = conversation_id(key, client, conversation)
    ids: dict[int, bytes] = {}
    for run in wanted:
        before, mine = _numbered(conversation, answers_call=run.answers_call)[run.start]
        ids[run.start] = _digest(key, (b"run", root, b"%d" % before, *mine))
    return ids


def unit_ids(
    key: bytes, client: str, conversation: Conversation, wanted: Iterable[int] | None = None
) -> dict[int, bytes]:
    """Unit number → 32 bytes for its identity (DESIGN 3.2), for the `wanted` ones, in their order;
    of all, if none are named.

    Call id, tool, part and text; where there are no call ids, tool, text and how many equal units
    stand before it.
    """
    units = conversation.units
    common = (key, client, conversation.dialect)
    begun = _begun(key, b"unit", client, conversation.dialect)

    def extended(old: _Ids | None, start: int, stop: int) -> _Ids:
        ids, seen = ({}, _passed(conversation)) if old is None else (dict(old[0]), dict(old[1]))
        called = (*common, 0)
        for number, unit in enumerate(units[start:stop], start):
            about = called if unit.call else (*common, _standing(unit, seen))
            names = unit.names
            if (name := names.get(about)) is None:
                name = names[about] = _unit_id(begun, unit, about[-1])
            ids[number] = name
        return ids, seen

    def extend(old: _Ids | None, start: Past, stop: Past) -> _Ids:
        return extended(old, start.units, stop.units)

    past = conversation.past.units
    known = settled(conversation, ("units", key, client), extend) if past else None
    ids = extended(known, past, len(units))[0]
    return ids if wanted is None else {number: ids[number] for number in wanted}


def session_id(key: bytes, client: str, named: str, conversation: Conversation | None) -> bytes:
    """32 bytes for a session: what the client's headers name it (`sessions.name_of`), else the root
    of the conversation; empty where there is neither. No field of a body alone names a session:
    whoever writes into a body could join another's."""
    if named:
        return _digest(key, (b"session", _bytes(client), _bytes(named)))
    if conversation is None or not (conversation.messages or conversation.prompt):
        return b""
    return conversation_id(key, client, conversation)


def home_id(key: bytes, kind: bytes, client: str, about: bytes = b"") -> bytes:
    """32 bytes for a mark of what was said at home: its kind, whose it is, and what it is about."""
    return home_ids(key, kind, client, (about,))[0]


def home_ids(key: bytes, kind: bytes, client: str, abouts: Iterable[bytes]) -> list[bytes]:
    """The same for many marks of one kind, in order."""
    begun, ids = _begun(key, b"home", kind, client), list[bytes]()
    for about in abouts:
        digest = begun.copy()
        digest.update(_spelled((about,)))
        ids.append(digest.digest())
    return ids


def event_id(key: bytes, kind: str, client: str, session: str, *about: bytes) -> bytes:
    """32 bytes for an event: its kind, whose it is, and what it is about."""
    whose = (_bytes(client), _bytes(session))
    return _digest(key, (b"event", kind.encode("ascii"), *whose, b"%d" % len(about), *about))


def _numbered(
    conversation: Conversation, *, answers_call: bool
) -> Mapping[int, tuple[int, tuple[bytes, ...]]]:
    """First message of a run → how many equal runs stand before it, and what it says. A run that
    answers a call equals none that does not, so only those of one kind are looked at."""
    about = ("runs", answers_call)
    found: dict[int, tuple[int, tuple[bytes, ...]]] | None = conversation.names.get(about)
    if found is None:
        seen: Counter[tuple[bytes, ...]] = Counter()
        found = conversation.names[about] = {}
        for run in conversation.runs:
            if run.answers_call == answers_call:
                mine = _contents(conversation, run.start, run.stop)
                found[run.start] = seen[mine], mine
                seen[mine] += 1
    return found


def _opening(conversation: Conversation) -> Iterator[bytes]:
    messages = conversation.messages
    for run in conversation.runs:
        if run.has_user:
            for message in messages[run.start : run.stop]:
                if message.role == "user":
                    yield from conversation.said(message.index)
            return
    if conversation.prompt:
        yield from conversation.prompt
        return
    first = conversation.runs[:1]
    start, stop = (first[0].start, first[0].stop) if first else (0, len(messages))
    yield from _contents(conversation, start, stop, aside=())


def _contents(
    conversation: Conversation, start: int, stop: int, *, aside: Container[str] = _ASIDE
) -> tuple[bytes, ...]:
    """What is answered and said from message `start` to `stop`, but for those in a role of
    `aside`."""
    counted = [m for m in conversation.messages[start:stop] if m.role not in aside]
    answers = tuple(_bytes(call) for message in counted for call in message.answers)
    words = tuple(part for message in counted for part in conversation.said(message.index))
    return (b"%d" % len(answers), *answers, *words)


def _passed(conversation: Conversation) -> _Standing:
    """Units without a call id that are cut away: they stand before all others."""
    seen: _Standing = {}
    for unit in conversation.passed:
        if not unit.call:
            _standing(unit, seen)
    return seen


def _standing(unit: Unit, seen: _Standing) -> int:
    """How many units equal to this one, which has no call id, were `seen` before it."""
    same = unit.tool, unit.inner, _text(unit)
    before = seen.get(same, 0)
    seen[same] = before + 1
    return before


def _unit_id(begun: "hashlib.blake2b", unit: Unit, standing: int) -> bytes:
    if unit.call:
        parts = [b"call", _bytes(unit.call), b"%d" % unit.part]
    else:
        parts = [b"standing", b"%d" % standing]
    parts += (_bytes(unit.tool), b"%d" % len(unit.inner))
    for step in unit.inner:
        parts.append(b"index %d" % step if isinstance(step, int) else b"key " + _bytes(step))
    parts.append(_text(unit))
    digest = begun.copy()
    digest.update(_spelled(parts))
    return digest.digest()


@lru_cache(maxsize=256)
def _begun(key: bytes, *fields: bytes | str) -> "hashlib.blake2b":
    """The digest of much of a kind, as far as all of it begins alike."""
    spelled = _spelled(each if isinstance(each, bytes) else _bytes(each) for each in fields)
    return hashlib.blake2b(spelled, key=key, digest_size=32, person=_PERSON)


def _text(unit: Unit) -> bytes:
    return text_digest(unit.text) if unit.digest is None else unit.digest()


def _digest(key: bytes, fields: Iterable[bytes]) -> bytes:
    return hashlib.blake2b(_spelled(fields), key=key, digest_size=32, person=_PERSON).digest()


def _spelled(fields: Iterable[bytes]) -> bytes:
    parts: list[bytes] = []
    for value in fields:
        # SECURITY: without lengths two identities could run into the same bytes.
        size = len(value)
        parts += (_LENGTHS[size] if size < _MANY else size.to_bytes(8, "big"), value)
    return b"".join(parts)


def _bytes(text: str) -> bytes:
    # Lone surrogates pass on local legs, and header values hold any byte.
    return text.encode("utf-8", "surrogatepass")
