"""What must read the same next turn: frames, pins, turns, placed texts keep their first day's form.

Owns the order of looking up. It must not know frames' words, a dialect, what is kept in memory
(`ledger_front`), what makes two units the same (`identity`) or what follows from what is known
(`policies.envelope`).
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from types import MappingProxyType
from typing import Final

from policies import cut
from policies import pins as pinned
from policies.conversation import Conversation
from policies.cut import Window
from policies.decision import Claimed, Decision, Frame, FrameRow, Remembered, Turn
from policies.envelope.epoch import begins_anew, is_strange
from policies.envelope.remind import beside
from policies.past import NONE, Past, settled
from policies.provenance import Trust, trust_of
from proxy.errors import Refused
from proxy.identity import conversation_id
from proxy.ledger_front import DAY, MOST_HITS, Absent, Digests, Front
from proxy.ledger_keys import Keys, Known, keys_of, run_names
from proxy.memory import Memory
from proxy.state.base import FrameStore

MOST_TURNED = 1024
"""Histories whose turns are remembered by name: a loop of tools begins none."""

MANY = 2000
"""Units whose digests are worked out in a thread, or the event loop would wait for them."""

_NONE: Mapping[int, Window] = MappingProxyType({})

_TURNS: Final = {turn.value: turn for turn in Turn}.__getitem__


@dataclass(frozen=True, slots=True)
class _Sure:
    """The rows of the first units, without a gap, the frames with them, and when the oldest of them
    was kept."""

    rows: Mapping[int, FrameRow]
    frames: tuple[Frame, ...] = ()
    at: float = inf


_UNSURE: Final = _Sure(MappingProxyType({}))


class Ledger:
    """Recall and claim over one store. All failures are `Refused("state-unavailable")`; what a
    local leg does then is in `unclaimed`. `keep`: seconds that rows live after their last use;
    `clock`: seconds, however counted."""

    def __init__(
        self,
        store: FrameStore,
        key: bytes,
        *,
        keep: float = 45 * DAY,
        most_hits: int = MOST_HITS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._key = key
        self._front = Front(store, keep=keep, most=most_hits, clock=clock)
        self._turned: Known = Memory(MOST_TURNED)
        self._about = object()  # what is remembered by this ledger, among what others do

    @property
    def keep(self) -> float:
        """Seconds that rows live after their last use."""
        return self._front.keep

    @keep.setter
    def keep(self, seconds: float) -> None:
        self._front.keep = seconds

    async def window(
        self, client: str, conversation: Conversation, *, route: str = "", absent: Absent
    ) -> Window | None:
        """How much of the conversation the current turn shows on `route`, empty for all that say
        nothing of it by themselves; None where no request of it has said so yet. What `recall` asks
        for is read along where the turn shows all of it; it is to be told what is `absent`, to
        which is added what there is no row for."""
        named = partial(keys_of, self._key, client, conversation, known=self._turned, route=route)
        keys, turn = named(units=False), conversation.turn
        window = keys.window(turn)
        if (noted := self._front.note(window)) is not None:
            return _window(noted)

        def along() -> Digests:
            units = conversation.units
            within = units and units[0].message >= turn and len(units) < MANY
            beside = [keys.conversation, keys.turns[turn], keys.anew(turn)]
            return [*named().units.values()] if within else [], beside

        found = await self._front.look((), [window], along=along, absent=absent)
        return _window(found.notes[window]) if window in found.notes else None

    async def recall(
        self,
        client: str,
        conversation: Conversation,
        *,
        windows: bool = False,
        known: Mapping[int, Window] = _NONE,
        route: str = "",
        absent: Absent | None = None,
    ) -> Remembered:
        """All that is known about the conversation, its turns and its units, of what was ever
        claimed for `client`, which is the configured name, never a credential. One read at most as
        long as everything was sent from here. `windows`: of its turns, too, where the one of the
        current turn is not in memory; `known` are those that were looked up already, `absent` what
        was not found then. `route`: as in `window`."""
        absent = set() if absent is None else absent
        keys = await self._keys(client, conversation, route)
        shown = self._windows(keys, conversation) if windows else {}
        notes = [keys.conversation, *self._turns(keys, conversation), *shown.values()]
        sure = self._sure(client, conversation, keys)
        rest = range(len(sure.frames), len(keys.units))
        units = [keys.units[number] for number in rest]
        claimed = partial(self._claimed, keys, conversation, len(sure.frames))
        found = await self._front.look(units, notes, claimed, absent=absent)
        rows, framed, noted = dict(sure.rows), found.frames, found.notes
        rows.update([(n, framed[one]) for n in rest if (one := keys.units[n]) in framed])
        turns = {at: _TURNS(noted[one]) for at, one in keys.turns.items() if one in noted}
        wide = {at: _window(noted[one]) for at, one in shown.items() if one in noted}
        wide |= known
        begun = noted.get(keys.conversation)
        pins = None if begun is None else _pins(begun)
        late: Mapping[int, FrameRow] = {}
        anew: tuple[int, ...] = ()
        placed: Mapping[int, str] = {}
        if is_strange(conversation, rows, turns, wide, len(sure.frames)):
            late, anew = await self._strange(client, conversation, keys, turns, absent)
        if pins is not None and (behind := beside(conversation, pins.envelope.reminder)):
            texts = await self._front.look((), [keys.placed(n) for n in behind])
            found_texts = ((n, texts.notes.get(keys.placed(n))) for n in behind)
            placed = {number: text for number, text in found_texts if text is not None}
        followed = await self._followed(keys, rows)
        return Remembered(
            rows, late, turns, anew, placed, pins, wide, followed=followed, sure=sure.frames
        )

    async def claim(
        self, client: str, conversation: Conversation, decision: Decision, *, route: str = ""
    ) -> Claimed:
        """The rows that hold for all frames of `decision`. What is new is written in one
        transaction before this returns; where someone was first, the row of the first holds. Where
        someone has noted something else, nothing is written and nothing is agreed upon."""
        rows = {frame.unit: frame.row for frame in decision.frames}
        fresh = [frame for frame in decision.frames if not frame.known]
        if not fresh and not _writes(decision):
            return Claimed(rows)
        keys = await self._keys(client, conversation, route)
        digests = {f.unit: keys.late(f.unit) if f.late else keys.units[f.unit] for f in fresh}
        notes = self._notes(client, conversation, decision, keys) if _writes(decision) else {}
        winners = await self._front.claim(
            [(digests[frame.unit], frame.row) for frame in fresh], notes.items()
        )
        if notes and any(winners.notes.get(digest) != text for digest, text in notes.items()):
            return Claimed({}, agreed=False)
        # What was only proposed gives way to what somebody wrote first.
        rows.update([(number, winners.frames[digest]) for number, digest in digests.items()])
        return Claimed(rows)

    async def _keys(self, client: str, conversation: Conversation, route: str) -> Keys:
        named = partial(keys_of, self._key, client, conversation, known=self._turned, route=route)
        return named() if len(conversation.units) < MANY else await asyncio.to_thread(named)

    def root(self, client: str, conversation: Conversation) -> bytes:
        """What the conversation is called, whatever its turn."""
        return conversation_id(self._key, client, conversation)

    @staticmethod
    def unclaimed(decision: Decision) -> Claimed:
        """The rows as they were proposed: known ones and fresh ones that nobody has written down.
        For a local leg whose ledger is down; the next turn will read differently."""
        return Claimed({frame.unit: frame.row for frame in decision.frames})

    def _turns(self, keys: Keys, conversation: Conversation) -> Iterable[bytes]:
        """The digests of the turns. Where nothing has to be explained or framed, and had not when
        the conversation began, none was noted: a plain chat needs no read."""
        hit = self._front.hit(keys.conversation)
        plain = hit is not None and isinstance(hit[0], str) and not _pins(hit[0]).explains
        return (
            ()
            if plain and not conversation.units and not conversation.tools
            else keys.turns.values()
        )

    def _windows(self, keys: Keys, conversation: Conversation) -> Mapping[int, bytes]:
        """The digests of the windows that matter: where the one of the current turn is known, it
        says by itself how the turn is read."""
        current = {conversation.turn: keys.window(conversation.turn)}
        if self._front.hit(current[conversation.turn]) or conversation.since:
            return current
        return {turn: keys.window(turn) for turn in keys.turns}

    def _sure(self, client: str, conversation: Conversation, keys: Keys) -> _Sure:
        """The rows of the conversation's past, where memory held all of them lately."""
        if not conversation.past.units:
            return _UNSURE
        since, about = self._front.since(), (self._about, client)

        def extend(old: _Sure | None, start: Past, stop: Past) -> _Sure:
            if old is None or old.at < since:
                old, start = _UNSURE, NONE
            hits = [self._front.hit(keys.units[n]) for n in range(start.units, stop.units)]
            rows, frames, at = dict(old.rows), [*old.frames], old.at
            for number, hit in enumerate(hits, start.units):
                if hit is None or hit[1] < since or not isinstance(hit[0], FrameRow):
                    return _UNSURE
                rows[number], at = hit[0], min(at, hit[1])
                frames.append(Frame(number, hit[0], True))
            return _Sure(rows, tuple(frames), at)

        found = settled(conversation, about, extend)
        if found is _UNSURE or found.at < since:
            # Next time memory may hold them, and again.
            conversation.past.kept.pop(about, None)
            return _UNSURE
        return found

    def _claimed(self, keys: Keys, conversation: Conversation, sure: int) -> frozenset[bytes]:
        """Digests of units that are claimed anyhow if memory does not hold them: the claim tells
        what the store knows of them, and until then nothing depends on it. No model has read them,
        and the pins have them framed."""
        hit = self._front.hit(keys.conversation)
        envelope = _pins(hit[0]).envelope if hit is not None and isinstance(hit[0], str) else None
        if envelope is None or not envelope.enabled:
            return frozenset()
        rules, fresh = envelope.tools, [*enumerate(conversation.units[sure:], sure)]
        if rules:
            fresh = [(n, u) for n, u in fresh if trust_of(u.source, rules) is not Trust.OPERATOR]
        return frozenset([keys.units[n] for n, unit in fresh if not unit.answered])

    async def _followed(self, keys: Keys, rows: Mapping[int, FrameRow]) -> Mapping[int, str]:
        """Names of notes by the unit beside which they are remembered, whose row tells of them."""
        told = [number for number, row in rows.items() if row.followed]
        if not told:
            return {}
        names = (await self._front.look((), [keys.followed(number) for number in told])).notes
        found = ((number, names.get(keys.followed(number))) for number in told)
        return {number: name for number, name in found if name is not None}

    async def _strange(
        self,
        client: str,
        conversation: Conversation,
        keys: Keys,
        turns: Mapping[int, Turn],
        absent: Absent,
    ) -> tuple[Mapping[int, FrameRow], tuple[int, ...]]:
        """Late rows by unit, and the messages at which a view began anew within a turn."""
        asked = begins_anew(conversation, turns)
        late = {number: keys.late(number) for number in keys.units} if asked else {}
        found = await self._front.look(
            [*late.values()], [*map(keys.anew, keys.turns)], absent=absent
        )
        starts: tuple[int, ...] = ()
        if found.notes:
            names = run_names(self._key, client, conversation)
            runs = set(found.notes.values())
            starts = tuple(at for at, name in names.items() if name in runs)
        if starts and not asked:  # it began anew for the sake of thinking that is gone by now
            late = {number: keys.late(number) for number in keys.units}
            found = await self._front.look([*late.values()], ())
        rows = {n: found.frames[one] for n, one in late.items() if one in found.frames}
        return rows, starts

    def _notes(
        self, client: str, conversation: Conversation, decision: Decision, keys: Keys
    ) -> dict[bytes, str]:
        notes = {keys.placed(p.unit): p.text for p in decision.placed if not p.known}
        notes |= {keys.followed(n.unit): n.name for n in decision.notes if not n.known}
        if decision.pins is not None:
            notes[keys.conversation] = pinned.dumped(decision.pins)
        if decision.window is not None:
            notes[keys.window(conversation.turn)] = cut.dumped(decision.window)
        if decision.turn is not None:
            notes[keys.turns[conversation.turn]] = decision.turn.value
        if decision.anew:
            newest = conversation.runs[-1].start
            names = run_names(self._key, client, conversation)
            notes[keys.anew(conversation.turn)] = names[newest]
        return notes


def _writes(decision: Decision) -> bool:
    """Whether there is more to write than frames."""
    new = any(not placed.known for placed in decision.placed)
    new = new or any(not note.known for note in decision.notes)
    again = decision.turn is not None or decision.window is not None or decision.anew
    return new or again or decision.pins is not None


def _window(text: str) -> Window:
    try:
        return cut.loaded(text)
    except ValueError as error:
        raise Refused("state-unavailable") from error


def _pins(text: str) -> pinned.Pins:
    try:
        return pinned.loaded(text)
    except ValueError as error:
        raise Refused("state-unavailable") from error
