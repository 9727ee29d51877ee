"""The plan that makes a request minimal: the current turn leaves, not the whole house (DESIGN 3.6).

Owns which messages, parts and members stay. It must not know a dialect, which names the parts of a
message, nor how anything is taken out. `policies.turn_minimal` checks the result and shares no code
with this.

    strict     leading system text, what grants tools, the current turn
    dialogue   also what operator and model said in earlier turns: text, no calls, no results
    drop       earlier calls and results go, both halves of each pair
    elide      pairs stay, without what was given and what was found

Of what a model at home has said (`Conversation.home`) nothing stays; in a dialogue one line of ours
stands in its place.

From the start of the turn on everything stays, whatever it is. The plan is a function of the
history before the turn and of a window that the first request of the turn fixes, so the cut moves
only when a new turn starts.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise

from policies.conversation import Address, Conversation, Form, Half, Message, Origin
from policies.cut import Cut, Window
from policies.drop_notice import is_safe

_LEADING = frozenset({"system", "developer"})
_HEAD: Address = ("content", 0)
"""The first part of a message."""

_BELOW = 2
"""Length of a message's address: ways in a message start there."""


@dataclass(slots=True)
class _Stay:
    """What stays of one earlier message: `said` of its texts, or not; the halves of pairs; or a
    line of ours in its place, as it was said at `home`."""

    said: bool
    halves: Sequence[Half] = ()
    home: bool = False


@dataclass(slots=True)
class _Out:
    """What is left out of one message, and what is exchanged."""

    ways: Sequence[Address] = ()
    emptied: list[tuple[Address, Form]] = field(default_factory=list)


def leading(conversation: Conversation) -> int:
    """How many messages at the head are system or developer text."""
    for message in conversation.messages:
        if message.role not in _LEADING:
            return message.index
    return len(conversation.messages)


def plan(conversation: Conversation, window: Window) -> Cut | None:
    """What is taken out of `conversation` for `window`; None where no form of what has to stay is
    one that the upstream would take."""
    start, turn = leading(conversation), conversation.turn
    if window.mode == "off" or turn <= start:
        return Cut(window, turn)
    spans = _spans(conversation, start)
    staying = _staying(conversation, window, start, spans)
    if window.mode == "dialogue":
        _begin_with_user(conversation, staying, start)
    if not _may_stand(conversation, staying):
        return None
    digests: dict[int, bytes] = {}
    trimmed: dict[int, tuple[Address, ...]] = {}
    emptied: dict[int, tuple[tuple[Address, Form], ...]] = {}
    for index, stay in staying.items():
        if stay.home:
            continue
        message = conversation.messages[index]
        out = _left_out(message, stay, spans.get(index, ()))
        if out.ways:
            trimmed[index] = tuple([message.address + way for way in out.ways])
        if out.emptied:
            emptied[index] = tuple((message.address + way, form) for way, form in out.emptied)
        if index in trimmed or index in emptied:
            ways = [*out.ways, *(way for way, _ in out.emptied)]
            digests[index] = trimmed_digest(message.digest, ways)
    gone = frozenset(range(start, turn)).difference(staying)
    inside = window.mode == "dialogue"
    at = _first_user(conversation) if inside else start
    home = frozenset(index for index, stay in staying.items() if stay.home)
    return Cut(window, turn, gone, trimmed, emptied, digests, at, inside, home)


def trimmed_digest(digest: bytes, ways: Sequence[Address]) -> bytes:
    """The digest of a message without what `ways` lead to, from the message down."""
    return sha256(b"cut\0" + digest + repr(sorted(ways, key=repr)).encode()).digest()


def names_of(conversation: Conversation, cut: Cut) -> tuple[str, ...]:
    """The tools whose results do not leave, as they are called, in order, each once."""
    called: dict[str, str] = {}
    found: dict[str, None] = {}
    units = {unit.message: unit.tool for unit in conversation.units if unit.tool}
    for message in conversation.messages[: cut.turn]:
        called.update((call.id, call.name) for call in message.calls if call.id)
        if message.answers and (message.index in cut.gone or message.index in cut.trimmed):
            known = [called[call] for call in message.answers if call in called]
            found.update(dict.fromkeys(known or [units.get(message.index, "")]))
    return tuple(name for name in found if name)


def _heard_from(conversation: Conversation, start: int, turns: int | None) -> int:
    """The message from which on earlier turns are heard, if so many `turns` are."""
    if turns is None:
        return start
    begins = [run.start for run in conversation.runs if run.has_user and not run.answers_call]
    begins = begins[: bisect_left(begins, conversation.turn)]
    if turns == 0:
        return conversation.turn
    return start if turns >= len(begins) else begins[-turns]


def _staying(
    conversation: Conversation, window: Window, start: int, spans: Mapping[int, Sequence[Address]]
) -> dict[int, _Stay]:
    """Message → what stays of it, for the earlier ones of which something does."""
    turn, said = conversation.turn, window.mode == "dialogue"
    heard = _heard_from(conversation, start, window.turns)
    earlier = conversation.messages[start:turn]
    elides = window.strategy == "elide"
    pairs = _pairs(conversation, heard) if elides else {}
    staying: dict[int, _Stay] = {}
    for message in earlier:
        index = message.index
        halves = pairs.get(index, ())
        speaks = said and index >= heard and len(message.texts) > len(spans.get(index, ()))
        # SECURITY: nothing of what was given at home stays, not even an emptied call.
        if index in conversation.home:
            # Where one line stands already, another would say the same.
            if speaks and not (staying and next(reversed(staying.values())).home):
                staying[index] = _Stay(False, home=True)
            continue
        if speaks or halves or message.grants:
            staying[index] = _Stay(speaks, halves)
    return staying


def _pairs(conversation: Conversation, heard: int) -> dict[int, list[Half]]:
    """Earlier message, from `heard` on → the halves in it whose other half is there, too, of tools
    that are granted now. Where there are no ids, the result at a place answers the call at the same
    place. Calls that were made at home have no halves that stay."""
    messages = conversation.messages[heard : conversation.turn]
    named = {name for name in conversation.tools if is_safe(name)}
    waiting: dict[str, tuple[int, Half]] = {}
    queue: list[tuple[int, Half]] = []
    found: dict[int, list[Half]] = {}
    for message in messages:
        if message.index in conversation.home:
            queue = []
            for half in message.halves:
                waiting.pop(half.call, None)
            continue
        calls = [half for half in message.halves if half.form is not Form.RESULT]
        if message.calls:
            made_here = [(message.index, half) for half in calls]
            waiting |= {made[1].call: made for made in made_here if made[1].call}
            queue = made_here if len(calls) == len(message.calls) else []
        for half in message.halves:
            if half.form is not Form.RESULT:
                continue
            made = waiting.get(half.call) if half.call else next(iter(queue), None)
            if made is None:
                continue
            queue = [other for other in queue if other is not made]  # it is answered once
            waiting.pop(made[1].call, None)
            if made[1].name in named:
                found.setdefault(made[0], []).append(made[1])
                found.setdefault(message.index, []).append(half)
    return found


def _left_out(message: Message, stay: _Stay, spans: Sequence[Address]) -> _Out:
    ways = dict.fromkeys((*message.beside, *(spans if stay.said else message.texts)))
    emptied = [(half.emptied, half.form) for half in stay.halves if half.emptied is not None]
    staying = {half.way for half in stay.halves}
    for half in stay.halves:
        ways.pop(half.holder, None)
    for way, _ in emptied:
        ways.pop(way, None)  # what is exchanged is not left out as well
    holders = {half.holder for half in stay.halves}
    for half in message.halves:
        if half.holder in holders and half.way not in staying:
            ways[half.way] = None
    # What lies in a value that goes, or is exchanged, goes with it.
    outer = {*ways, *(way for way, _ in emptied)}
    return _Out([way for way in ways if not _within(way, outer)], emptied)


def _within(way: Address, others: set[Address]) -> bool:
    return any(way[:end] in others for end in range(1, len(way)))


def _spans(conversation: Conversation, start: int) -> dict[int, list[Address]]:
    """Earlier message → ways to texts of it in which others' words stand in marked spans."""
    found: dict[int, list[Address]] = {}
    for unit in conversation.units:
        if unit.span is not None and start <= unit.message < conversation.turn:
            inside = unit.address[_BELOW:]
            for way in conversation.messages[unit.message].texts:
                if inside[: len(way)] == way and way not in found.get(unit.message, ()):
                    found.setdefault(unit.message, []).append(way)
    return found


def _begin_with_user(conversation: Conversation, staying: dict[int, _Stay], start: int) -> None:
    """What came with a user first leaves with a user first; results do not count. Nor may the model
    speak first where it did so only behind something that does not leave, such as a summary."""
    first = conversation.messages[start]
    if first.role != "user" and _HEAD not in first.beside:
        return
    for index in sorted(staying):
        message, stay = conversation.messages[index], staying[index]
        if message.role == "user" and stay.said and not stay.halves:
            return
        if not message.grants:
            del staying[index]


def _may_stand(conversation: Conversation, staying: Mapping[int, _Stay]) -> bool:
    """Whether each message that grants something stands where it may."""
    messages = conversation.messages
    order = [*sorted(staying), conversation.turn]
    before: Message | None = None
    for index, after in pairwise(order):
        message = messages[index]
        if message.between and not (
            before is not None
            and (before.role == "user" or before.between)
            and (messages[after].origin is Origin.AGENT or messages[after].between)
        ):
            return False
        before = message
    return True


def _first_user(conversation: Conversation) -> int:
    """The first message of the user in the current turn."""
    return next(m.index for m in conversation.messages[conversation.turn :] if m.role == "user")
