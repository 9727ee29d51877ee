"""The ledger: who a framed unit is, and that its frame stays."""

import asyncio
import dataclasses
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from policies.conversation import Conversation, Message, Origin, Run, Unit
from policies.cut import Window
from policies.decision import Decision, Frame, FrameRow, Leg, Placed, Remembered, Turn
from policies.past import NONE, Past
from policies.pins import Pins
from policies.settings import Envelope, ToolRule
from proxy import ledger as ledgers
from proxy.errors import Refused
from proxy.identity import unit_ids
from proxy.ledger import Ledger
from proxy.ledger_front import DAY
from proxy.ledger_keys import keys_of
from proxy.state import StateError, open_store
from proxy.state.base import Claim, NoteClaim, Rows
from proxy.state.memory import MemoryStore

KEY = bytes(range(32))
UNIT = Unit(("messages", 0), "text", "tool:read", tool="read", call="call_1")


def conversation(*units: Unit, dialect: str = "anthropic_messages") -> Conversation:
    return Conversation(dialect, "m", False, (), (), 0, units, (), ())


def framed(rows: Iterable[FrameRow], known: Mapping[int, FrameRow] | None = None) -> Decision:
    frames = [Frame(number, row, known=False) for number, row in enumerate(rows)]
    return Decision(
        Leg.CLOUD,
        tuple(
            Frame(frame.unit, known[frame.unit], known=True)
            if known and frame.unit in known
            else frame
            for frame in frames
        ),
    )


def begun(decision: Decision) -> Decision:
    """As with the first request of a conversation."""
    pins = decision.pins or Pins(Envelope())
    return structs.replace(decision, pins=pins, turn=Turn.WITH)


def row(number: int) -> FrameRow:
    return FrameRow(f"{number:032x}", "read", intro=number % 2 == 0)


class Watched(MemoryStore):
    """Counts what is asked for in each call: frames, notes."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[tuple[int, int]] = []
        self.writes: list[tuple[int, int]] = []

    async def read(
        self, frames: Sequence[bytes], notes: Sequence[bytes] = (), *, refresh: float = 0.0
    ) -> Rows:
        self.reads.append((len(frames), len(notes)))
        return await super().read(frames, notes, refresh=refresh)

    async def claim(self, frames: Iterable[Claim], notes: Iterable[NoteClaim] = ()) -> Rows:
        frames, notes = [*frames], [*notes]
        self.writes.append((len(frames), len(notes)))
        return await super().claim(frames, notes)


class Broken(MemoryStore):
    """Can neither read nor write."""

    async def read(
        self, frames: Sequence[bytes], notes: Sequence[bytes] = (), *, refresh: float = 0.0
    ) -> Rows:
        raise StateError("the state failed: OperationalError")

    async def claim(self, frames: Iterable[Claim], notes: Iterable[NoteClaim] = ()) -> Rows:
        raise StateError("the state did not answer in time")


async def test_a_unit_keeps_its_row_on_every_later_turn() -> None:
    """Claimed once, recalled ever after, also by a ledger that starts anew on the same store."""
    store = Watched()
    first = conversation(UNIT)
    ledger = Ledger(store, KEY)
    assert await ledger.recall("laptop", first) == Remembered({})
    claimed = await ledger.claim("laptop", first, framed([row(1)]))
    assert claimed.rows == {0: row(1)}
    for one in (ledger, Ledger(store, KEY)):
        assert (await one.recall("laptop", first)).rows == {0: row(1)}
        assert (await one.claim("laptop", first, framed([row(2)]))).rows == {0: row(1)}


async def test_known_rows_need_no_read_and_no_transaction() -> None:
    """Hits are answered from memory; a decision without new frames writes nothing."""
    store = Watched()
    ledger = Ledger(store, KEY)
    turn = conversation(UNIT, structs.replace(UNIT, part=1))
    await ledger.recall("laptop", turn)
    await ledger.claim("laptop", turn, begun(framed([row(1), row(2)])))
    remembered = await ledger.recall("laptop", turn)
    claimed = await ledger.claim("laptop", turn, framed([row(8), row(9)], remembered.rows))
    assert claimed.rows == {0: row(1), 1: row(2)}
    assert (await ledger.claim("laptop", turn, Decision(Leg.LOCAL))).rows == {}
    assert (store.reads, store.writes) == ([(2, 2)], [(2, 2)])


async def test_a_turn_reads_and_writes_only_what_is_new() -> None:
    """One write of the new frames, which also tells of those that somebody else has written; all
    rows come back in the order of the frames."""
    store = Watched()
    ledger = Ledger(store, KEY)
    old = [structs.replace(UNIT, call=f"c{number}") for number in range(5)]
    await ledger.claim("laptop", conversation(*old), begun(framed(map(row, range(5)))))
    turn = conversation(*old, UNIT, structs.replace(UNIT, part=1))
    remembered = await ledger.recall("laptop", turn)
    assert remembered.rows == {number: row(number) for number in range(5)}
    claimed = await ledger.claim("laptop", turn, framed(map(row, range(7)), remembered.rows))
    assert list(claimed.rows.items()) == [(number, row(number)) for number in range(7)]
    assert (store.reads, store.writes) == ([], [(5, 2), (2, 0)])


@pytest.mark.parametrize(
    ("unit", "pins", "read"),
    [
        ({}, Pins(Envelope()), False),
        ({"answered": True}, Pins(Envelope()), True),
        ({}, Pins(Envelope(tools=(ToolRule("read", trust="operator"),))), True),
        ({}, Pins(Envelope(enabled=False)), True),
    ],
    ids=["claimed", "answered", "trusted", "off"],
)
async def test_only_what_is_claimed_anyhow_is_not_asked_for(
    unit: dict[str, bool], pins: Pins, read: bool
) -> None:
    """A unit that a model has read, or that gets no frame, may have been framed by another process
    or in another conversation: it keeps that frame, so it is asked for. A claim asks by itself."""
    store = Watched()
    await Ledger(store, KEY).claim("laptop", conversation(UNIT), framed([row(1)]))
    ledger = Ledger(store, KEY)
    await ledger.claim("laptop", conversation(), begun(Decision(Leg.CLOUD, pins=pins)))
    turn = conversation(structs.replace(UNIT, **unit))
    remembered = await ledger.recall("laptop", turn)
    assert remembered.rows == ({0: row(1)} if read else {})
    assert store.reads == ([(1, 0)] if read else [])
    assert (await ledger.claim("laptop", turn, framed([row(2)]))).rows == {0: row(1)}


async def test_frames_need_not_cover_all_units() -> None:
    """Units that are not framed take no part: numbers are those of the conversation."""
    ledger = Ledger(MemoryStore(), KEY)
    turn = conversation(*(structs.replace(UNIT, call=f"c{number}") for number in range(4)))
    decision = Decision(Leg.CLOUD, (Frame(1, row(1), known=False), Frame(3, row(3), known=False)))
    assert (await ledger.claim("laptop", turn, decision)).rows == {1: row(1), 3: row(3)}
    assert (await ledger.recall("laptop", turn)).rows == {1: row(1), 3: row(3)}


@pytest.mark.parametrize(
    "change",
    [
        {"call": "call_2"},
        {"tool": "mail"},
        {"part": 1},
        {"text": "text "},
        {"inner": ("stdout",)},
        {"call": ""},
    ],
    ids=str,
)
async def test_what_makes_a_unit_another(change: dict[str, str]) -> None:
    """Call, tool, part, leaf and text are identity: with another one the unit is unknown."""
    ledger = Ledger(MemoryStore(), KEY)
    await ledger.claim("laptop", conversation(UNIT), framed([row(1)]))
    other = conversation(structs.replace(UNIT, **change))
    assert (await ledger.recall("laptop", other)).rows == {}


async def test_client_dialect_and_key_are_identity() -> None:
    """What one client or dialect has claimed another does not know, nor does another key."""
    store = MemoryStore()
    await Ledger(store, KEY).claim("laptop", conversation(UNIT), framed([row(1)]))
    ledger = Ledger(store, KEY)
    assert (await ledger.recall("phone", conversation(UNIT))).rows == {}
    assert (await ledger.recall("laptop", conversation(UNIT, dialect="openai_chat"))).rows == {}
    foreign = Ledger(store, bytes(32))
    assert (await foreign.recall("laptop", conversation(UNIT))).rows == {}


async def test_position_and_packaging_are_not_identity() -> None:
    """A client may move and merge: address, message, source and the like do not count."""
    ledger = Ledger(MemoryStore(), KEY)
    await ledger.claim("laptop", conversation(UNIT), framed([row(1)]))
    moved = structs.replace(
        UNIT, address=("messages", 9, "content"), source="tool:other", message=9, answered=True
    )
    before = structs.replace(UNIT, call="call_0")
    assert (await ledger.recall("laptop", conversation(before, moved))).rows == {1: row(1)}


async def test_without_call_ids_equal_units_are_told_apart_by_their_rank() -> None:
    """The first of two equal results stays the first, whatever comes between or behind."""
    ledger = Ledger(MemoryStore(), KEY)
    bare = structs.replace(UNIT, call="", part=3)
    other = structs.replace(bare, text="other")
    leaf = structs.replace(bare, inner=("stdout",))
    await ledger.claim("laptop", conversation(bare, leaf), framed([row(1), row(2)]))
    grown = conversation(other, bare, UNIT, bare, leaf, structs.replace(bare, part=0))
    assert (await ledger.recall("laptop", grown)).rows == {1: row(1), 4: row(2)}
    decision = Decision(Leg.CLOUD, (Frame(3, row(4), known=False), Frame(5, row(6), known=False)))
    assert (await ledger.claim("laptop", grown, decision)).rows == {3: row(4), 5: row(6)}


async def test_the_same_unit_twice_in_one_body_has_one_row() -> None:
    """Two units with equal identity share the row of the first, claimed in one go."""
    ledger = Ledger(MemoryStore(), KEY)
    twice = conversation(UNIT, UNIT)
    assert (await ledger.claim("laptop", twice, framed([row(1), row(2)]))).rows == {
        0: row(1),
        1: row(1),
    }


async def test_lone_surrogates_have_an_identity() -> None:
    """They pass on local legs, so a unit that holds one is remembered like any other."""
    ledger = Ledger(MemoryStore(), KEY)
    odd = conversation(structs.replace(UNIT, text="\ud800", call="\udfff", inner=("\ud800", 3)))
    await ledger.claim("laptop", odd, framed([row(1)]))
    assert (await ledger.recall("laptop", odd)).rows == {0: row(1)}


FIELDS = st.tuples(*[st.sampled_from(["", "a", "b", "ab", "\x00", "call", "0"])] * 4)


@settings(max_examples=50)
@given(st.lists(FIELDS, min_size=2, max_size=6, unique=True), st.booleans())
async def test_no_two_identities_run_into_the_same_bytes(
    fields: list[tuple[str, str, str, str]], leaves: bool
) -> None:
    """Moving characters from one field to the next gives another unit."""
    units = [
        structs.replace(UNIT, call=f"x{a}", tool=b, text=c, inner=(d,) if leaves else (d, 0))
        for a, b, c, d in fields
    ]
    digests = unit_ids(KEY, "laptop", conversation(*units), range(len(units)))
    assert all(one != other for one, other in combinations(digests.values(), 2))


async def test_the_memory_in_front_is_bounded_and_keeps_what_is_used() -> None:
    """The oldest hit goes first; one that was asked for is not the oldest."""
    store = Watched()
    ledger = Ledger(store, KEY, most_hits=4)
    turns = [conversation(structs.replace(UNIT, call=f"c{number}")) for number in range(3)]
    for number in (0, 1):
        await ledger.claim("laptop", turns[number], begun(framed([row(number)])))
    await ledger.recall("laptop", turns[0])
    await ledger.claim("laptop", turns[2], framed([row(2)]))
    for number in (0, 2, 1):
        read = structs.replace(turns[number].units[0], answered=True)
        turn = structs.replace(turns[number], units=(read,))
        assert (await ledger.recall("laptop", turn)).rows == {0: row(number)}
    assert store.reads == [(1, 0)]


async def test_a_state_that_fails_is_a_refusal() -> None:
    """Neither reading nor writing fails silently; the refusal carries no words of the database."""
    ledger = Ledger(Broken(), KEY)
    with pytest.raises(Refused) as reading:
        await ledger.recall("laptop", conversation(UNIT))
    with pytest.raises(Refused) as writing:
        await ledger.claim("laptop", conversation(UNIT), framed([row(1)]))
    assert reading.value.code == writing.value.code == "state-unavailable"
    assert not reading.value.facts
    assert not writing.value.facts


async def test_a_local_leg_can_go_on_with_fresh_nonces() -> None:
    """Without a ledger the proposed rows hold, for this request only."""
    ledger = Ledger(Broken(), KEY)
    assert ledger.unclaimed(framed([row(1), row(2)], {0: row(7)})).rows == {0: row(7), 1: row(2)}


MESSAGES = tuple(
    Message(n, ("messages", n), role, Origin.OPERATOR, b"", answers=("c",) * answers)
    for n, (role, answers) in enumerate(
        [("user", 0), ("assistant", 0), ("user", 1), ("assistant", 0)] * 2
    )
)
SAID = ((b"hi",), (), (b"r",), (), (b"on",), (), (b"s",), ())
RUNS = (
    Run(0, 1, False, True),
    Run(2, 3, True, True),
    Run(4, 5, False, True),
    Run(6, 7, True, True),
)
RESULTS = (
    structs.replace(UNIT, message=2, answered=True),
    structs.replace(UNIT, call="c2", message=6),
)
TALK = Conversation(
    "d",
    "m",
    False,
    MESSAGES[:7],
    RUNS,
    4,
    RESULTS,
    ("read",),
    (),
    said=SAID.__getitem__,
    reminds=True,
)


async def test_pins_and_turns_come_back() -> None:
    """What was noted at a conversation's first request and at a turn's is known ever after; who
    was first is told to all others."""
    store = MemoryStore()
    ledger = Ledger(store, KEY)
    pins = Pins(Envelope(reminder="request"))
    noted = Decision(Leg.CLOUD, pins=pins, turn=Turn.ANEW)
    assert (await ledger.claim("laptop", TALK, noted)).agreed
    for one in (ledger, Ledger(store, KEY)):
        remembered = await one.recall("laptop", TALK)
        assert (remembered.pins, remembered.turns) == (pins, {4: Turn.ANEW})
        assert (await one.claim("laptop", TALK, noted)).agreed
        for other in (
            structs.replace(noted, turn=Turn.RAW),
            structs.replace(noted, pins=Pins(Envelope())),
        ):
            assert not (await one.claim("laptop", TALK, other)).agreed


async def test_a_late_row_is_another_row_of_the_unit() -> None:
    """A unit may read otherwise in views that begin anew behind it; each keeps its own frame."""
    ledger = Ledger(MemoryStore(), KEY)
    late = Decision(Leg.CLOUD, (Frame(0, row(1), known=False, late=True),), turn=Turn.ANEW)
    assert (await ledger.claim("laptop", TALK, late)).rows == {0: row(1)}
    remembered = await ledger.recall("laptop", TALK)
    assert (remembered.rows, remembered.late) == ({}, {0: row(1)})
    await ledger.claim("laptop", TALK, framed([row(2)]))
    remembered = await ledger.recall("laptop", TALK)
    assert (remembered.rows, remembered.late) == ({0: row(2)}, {0: row(1)})


async def test_a_new_beginning_within_a_turn_is_found_again() -> None:
    """It is kept by what is said in its run, so it is found wherever that has moved."""
    ledger = Ledger(MemoryStore(), KEY)
    assert (await ledger.claim("laptop", TALK, Decision(Leg.CLOUD, anew=True))).agreed
    assert (await ledger.recall("laptop", TALK)).anew == (6,)
    merged = structs.replace(TALK, units=TALK.units[:1])
    assert (await ledger.recall("laptop", merged)).anew == (6,)


async def test_late_rows_are_not_asked_for_where_no_view_begins_anew() -> None:
    """Without thinking in the history none does; but one may have begun within a turn, for the sake
    of thinking that the client has left out since."""
    store = Watched()
    messages = TALK.messages
    thought = structs.replace(messages[1], sealed=True)
    thinking = structs.replace(TALK, messages=(messages[0], thought, *messages[2:]))
    late = Decision(Leg.CLOUD, (Frame(0, row(1), known=False, late=True),))
    await Ledger(store, KEY).claim("laptop", TALK, late)
    assert (await Ledger(store, KEY).recall("laptop", thinking)).late == {0: row(1)}
    store.reads.clear()
    assert (await Ledger(store, KEY).recall("laptop", TALK)).late == {}
    assert [frames for frames, _ in store.reads] == [len(TALK.units), 0]
    await Ledger(store, KEY).claim("laptop", TALK, Decision(Leg.CLOUD, anew=True))
    remembered = await Ledger(store, KEY).recall("laptop", TALK)
    assert (remembered.late, remembered.anew) == ({0: row(1)}, (6,))


async def test_placed_texts_stand_beside_their_unit() -> None:
    """A text comes back where the pins have a reminder, for this conversation alone."""
    ledger = Ledger(MemoryStore(), KEY)
    placed = (Placed(6, "[operator] on", 1, ("messages", 4, "content"), known=False),)
    decision = Decision(Leg.CLOUD, pins=Pins(Envelope(reminder="request")), placed=placed)
    assert (await ledger.claim("laptop", TALK, decision)).agreed
    assert (await ledger.recall("laptop", TALK)).placed == {1: "[operator] on"}
    other = (dataclasses.replace(placed[0], text="[operator] off"),)
    assert not (await ledger.claim("laptop", TALK, structs.replace(decision, placed=other))).agreed
    elsewhere = structs.replace(TALK, said=((b"other",), *SAID[1:]).__getitem__)
    assert (await ledger.recall("laptop", elsewhere)).placed == {}


async def test_a_plain_chat_needs_no_read() -> None:
    """Without tools and results nothing was ever noted of its turns, so nothing is asked for."""
    store = Watched()
    ledger = Ledger(store, KEY)
    chat = structs.replace(TALK, units=(), tools=())
    await ledger.recall("laptop", chat)
    await ledger.claim("laptop", chat, Decision(Leg.CLOUD, pins=Pins(Envelope())))
    for _ in range(3):
        assert (await ledger.recall("laptop", chat)).pins == Pins(Envelope())
    assert store.reads == [(0, 3)]


@pytest.mark.parametrize("turn", [0, 4], ids=["of this turn", "of earlier ones"])
async def test_what_a_first_request_needs_is_looked_up_at_once(turn: int) -> None:
    """With how much the turn shows its units and its new beginning, as far as nothing of them can
    be cut away. What was absent then is not asked for again, and what was there is found."""
    store = Watched()
    began = structs.replace(TALK, turn=turn)
    await Ledger(store, KEY).claim("laptop", began, framed([row(1)]))
    ledger, absent = Ledger(store, KEY), set[bytes]()
    assert await ledger.window("laptop", began, absent=absent) is None
    remembered = await ledger.recall("laptop", began, known={}, absent=absent)
    assert remembered.rows == {0: row(1)}
    assert (await Ledger(store, KEY).recall("laptop", began)).rows == {0: row(1)}
    # Beside those of this turn: how the other one is read, and its units where they come earlier.
    assert store.reads[:2] == ([(2, 4), (0, 1)] if turn == 0 else [(0, 4), (2, 1)])


async def test_memory_asks_the_store_once_a_day() -> None:
    """So the store sees what is in use, and the row of a used unit is never forgotten."""
    now = [0.0]
    store = Watched()
    ledger = Ledger(store, KEY, clock=lambda: now[0])
    turn = conversation(UNIT)
    await ledger.claim("laptop", turn, begun(framed([row(1)])))
    now[0] = DAY - 1
    await ledger.recall("laptop", turn)
    assert store.reads == []
    now[0] = DAY + 1
    assert (await ledger.recall("laptop", turn)).rows == {0: row(1)}
    await ledger.recall("laptop", turn)
    assert store.reads == [(1, 2)]
    ledger.keep = 3600.0
    now[0] += 1801
    await ledger.recall("laptop", turn)
    assert store.reads == [(1, 2), (1, 2)]


async def test_a_window_is_read_again_once_a_day() -> None:
    """Within the day from memory, whoever has written it; a new ledger on the store finds it."""
    now = [0.0]
    store = Watched()
    ledger = Ledger(store, KEY, clock=lambda: now[0])
    noted = Decision(Leg.CLOUD, pins=Pins(Envelope()), window=Window("strict"))
    assert (await ledger.claim("laptop", TALK, noted)).agreed
    for later, reads in ((0.0, 0), (DAY - 1, 0), (DAY + 1, 1), (DAY + 2, 1)):
        now[0] = later
        assert await ledger.window("laptop", TALK, absent=set()) == Window("strict")
        assert len(store.reads) == reads
    assert await Ledger(store, KEY).window("laptop", TALK, absent=set()) == Window("strict")
    assert await ledger.window("phone", TALK, absent=set()) is None


def grown(units: int, past: Past, before: Past) -> Conversation:
    """A history of results, all but the last of them answered."""
    many = [
        structs.replace(UNIT, call=f"call_{n}", message=n, answered=n < units - 1)
        for n in range(units)
    ]
    return structs.replace(conversation(*many), past=past, before=before)


async def test_what_is_sure_of_a_history_is_what_the_store_says() -> None:
    """While it grows, for another client, once a day, and when memory lacks a row of it."""
    now = [0.0]
    store = Watched()
    ledger = Ledger(store, KEY, clock=lambda: now[0])
    before, pasts = NONE, [Past(messages=n, units=n) for n in range(8)]
    for units in range(1, 8):
        turn = grown(units, pasts[units - 1], before)
        seen = await ledger.recall("laptop", turn)
        assert seen.rows == {number: row(number) for number in range(units - 1)}
        assert [*seen.rows] == sorted(seen.rows)
        assert seen.sure == tuple(Frame(n, row(n), True) for n in range(units - 1))
        decision = framed([row(n) for n in range(units)], seen.rows)
        await ledger.claim("laptop", turn, begun(decision) if units == 1 else decision)
        before = pasts[units - 1]
    assert (await ledger.recall("phone", turn)).rows == {}
    reads = len(store.reads)
    now[0] = DAY + 1
    for _ in range(2):
        again = await ledger.recall("laptop", turn)
        assert again.rows == {number: row(number) for number in range(7)}
    assert (len(again.sure), len(store.reads)) == (6, reads + 1)
    lost = Ledger(store, KEY, most_hits=3)
    for _ in range(2):
        assert (await lost.recall("laptop", turn)).rows == again.rows
    assert (await lost.recall("laptop", turn)).sure == ()


async def test_pins_that_cannot_be_read_are_a_refusal() -> None:
    """A damaged row is a state that cannot be used, not a conversation that begins."""
    store = MemoryStore()
    keys = keys_of(KEY, "laptop", TALK)
    await store.claim([], [(keys.conversation, "{}")])
    with pytest.raises(Refused, match="state-unavailable"):
        await Ledger(store, KEY).recall("laptop", TALK)


async def test_no_nonce_shows_in_what_is_printed() -> None:
    """Rows and what holds them hide the nonce when they are shown."""
    ledger = Ledger(MemoryStore(), KEY)
    claimed = await ledger.claim("laptop", conversation(UNIT), framed([row(0xBEEF)]))
    assert "beef" not in repr(claimed) + repr(framed([row(0xBEEF)])) + repr(ledger)


SCRIPT = """
import asyncio, json, os, pathlib, secrets, signal, sys
from policies.conversation import Conversation, Unit
from policies.decision import Decision, Frame, FrameRow, Leg
from proxy.ledger import Ledger
from proxy.state import open_store

path, times, then = sys.argv[1], int(sys.argv[2]), sys.argv[3]
units = tuple(Unit(("m", n), f"text {n}", "tool:r", tool="r", call=f"c{n}") for n in range(3))
conversation = Conversation("anthropic_messages", "m", False, (), (), 0, units, (), ())

async def ask(ledger):
    remembered = await ledger.recall("laptop", conversation)
    nonce = secrets.token_hex(16)
    rows = [FrameRow(nonce, "r", intro=n == 0) for n in range(3)]
    frames = tuple(
        Frame(n, remembered.rows.get(n, row), known=n in remembered.rows)
        for n, row in enumerate(rows)
    )
    claimed = await ledger.claim("laptop", conversation, Decision(Leg.CLOUD, frames))
    return [claimed.rows[n].nonce for n in range(3)]

async def main():
    store = open_store(f"sqlite://{path}")
    ledger = Ledger(store, store.key)
    sys.stdin.readline()
    answers = await asyncio.gather(*(ask(ledger) for _ in range(times)))
    print(json.dumps(answers), flush=True)
    if then == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    await store.close()

asyncio.run(main())
"""


def _start(path: Path, times: int, then: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path), str(times), then],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def test_two_processes_and_many_identical_first_requests_get_one_nonce(tmp_path: Path) -> None:
    """2 processes x 25 parallel first requests on one file: every answer is the same."""
    processes = [_start(tmp_path / "transom.db", 25, "close") for _ in range(2)]
    for process in processes:
        assert process.stdin
        process.stdin.write(b"\n")
        process.stdin.flush()
    answers = [answer for one in processes for answer in json.loads(one.communicate()[0])]
    assert [process.returncode for process in processes] == [0, 0]
    assert len(answers) == 50
    assert len({nonce for answer in answers for nonce in answer}) == 1


async def test_a_claim_survives_a_kill_before_the_request_was_sent(tmp_path: Path) -> None:
    """SIGKILL right after the claim: the next process recalls the same rows."""
    process = _start(tmp_path / "transom.db", 1, "die")
    answer = json.loads(process.communicate(b"\n")[0])
    assert process.returncode == -signal.SIGKILL
    store = open_store(f"sqlite://{tmp_path / 'transom.db'}")
    units = tuple(Unit(("x",), f"text {n}", "", tool="r", call=f"c{n}") for n in range(3))
    remembered = await Ledger(store, store.key).recall("laptop", conversation(*units))
    await store.close()
    assert [[remembered.rows[number].nonce for number in range(3)]] == answer
    assert [remembered.rows[number].intro for number in range(3)] == [True, False, False]


async def test_parallel_first_requests_in_one_process_agree(tmp_path: Path) -> None:
    """All of them recall nothing, all claim, one wins."""
    store = open_store(f"sqlite://{tmp_path / 'transom.db'}")
    ledger = Ledger(store, store.key)
    turn = conversation(UNIT)
    assert all(
        not one.rows
        for one in await asyncio.gather(*(ledger.recall("laptop", turn) for _ in range(20)))
    )
    claims = await asyncio.gather(
        *(ledger.claim("laptop", turn, framed([row(number)])) for number in range(20))
    )
    await store.close()
    assert len({claimed.rows[0] for claimed in claims}) == 1


async def test_digests_of_very_many_units_are_not_worked_out_on_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A result in thousands of parts; they are the same digests as ever."""
    seen: list[bool] = []
    real = ledgers.keys_of

    def noted(*args: Any, **more: Any) -> object:
        seen.append(threading.current_thread() is threading.main_thread())
        return real(*args, **more)

    monkeypatch.setattr(ledgers, "keys_of", noted)
    monkeypatch.setattr(ledgers, "MANY", 3)
    few, many = ([Unit((), f"text {n}", "tool:x", "x", "c", n) for n in range(m)] for m in (2, 4))
    ledger = Ledger(MemoryStore(), b"k" * 32)
    await ledger.recall("", conversation(*few))
    await ledger.recall("", conversation(*many))
    assert seen == [True, False]
