"""Rounds of a turn, and how often they go round. Counted from the body: restarts forget nothing.

Owns what a round is, when two are alike, and the counts. It must not know a bound, by which
`policies.limits` judges. A round is what the model called at once and what came back. Source for
what is counted: the incidents in injection.md 5.
"""

import json
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from operator import attrgetter

from policies.conversation import Conversation, Run, ToolCall
from policies.past import Past, settled

CYCLES = (2, 3, 4)
"""Lengths of cycles, in rounds."""

_STOP = attrgetter("stop")
_SORTED = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_Place = tuple[int, int, int]


def signature(call: ToolCall) -> bytes:
    """SHA-256 of a call: the tool and its arguments, whatever their white space and order of keys.
    Arguments that are no JSON count as they stand."""
    return sha256(_bytes(call.name) + b"\0" + _canonical(call.arguments)).digest()


def _canonical(arguments: str) -> bytes:
    try:
        return _bytes(_SORTED.encode(json.loads(arguments)))
    except (ValueError, RecursionError):
        return _bytes(arguments.strip())


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Round:
    """`calls`: signatures of what was called at once, in no order; none where the history holds
    only the results. `results`: digests of what came back, in no order."""

    calls: tuple[bytes, ...]
    results: tuple[bytes, ...]


@dataclass(slots=True)
class Rounds:
    """The rounds of the current turn, oldest first. Each is read when a count asks for it, so a
    turn whose rounds all differ costs a look at its newest ones."""

    conversation: Conversation
    runs: tuple[Run, ...]
    _begin: int
    _read: dict[int, Round] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def turn(self) -> int:
        """The message at which the turn begins."""
        return self._begin

    def __getitem__(self, number: int) -> Round:
        found = self._read.get(number)
        if found is None:
            found = self._read[number] = self._round(number)
        return found

    def size(self, count: int) -> int:
        """Bytes of the results in the first `count` rounds."""
        stop = self.runs[count - 1].stop if count else self._begin
        start = self._since(self.conversation.past)
        if stop < start:
            return self._bytes(self._begin, stop)
        known = settled(self.conversation, ("size", self._begin), self._sized)
        return known + self._bytes(start, stop)

    def tools(self, number: int) -> list[str]:
        """Names of the tools that were called in a round."""
        messages = self.conversation.messages
        between = messages[self._made_from(number) : self.runs[number].start]
        return [call.name for message in between for call in message.calls]

    def within(self, past: Past) -> int:
        """How many of the first rounds lie in a past."""
        return bisect_right(self.runs, past.messages, key=_STOP)

    def _since(self, past: Past) -> int:
        return max(self._begin, past.messages)

    def _sized(self, old: int | None, start: Past, stop: Past) -> int:
        return (old or 0) + self._bytes(self._since(start), self._since(stop))

    def _bytes(self, start: int, stop: int) -> int:
        return sum([message.size for message in self.conversation.messages[start:stop]])

    def _made_from(self, number: int) -> int:
        return self.runs[number - 1].stop if number else self._begin

    def _round(self, number: int) -> Round:
        run, begin = self.runs[number], self._made_from(number)
        if run.stop > self.conversation.past.messages:
            return self._reading(begin, run)
        known = settled(self.conversation, "rounds", _copied)
        place = begin, run.start, run.stop
        if (found := known.get(place)) is None:
            found = known[place] = self._reading(begin, run)
        return found

    def _reading(self, begin: int, run: Run) -> Round:
        messages = self.conversation.messages
        made = [m for m in messages[begin : run.start] if m.calls]
        back = [m for m in messages[run.start : run.stop] if m.answers]
        return Round(
            tuple(sorted([sign for m in made for sign in m.signs()])),
            tuple(sorted([digest for m in back for digest in m.results()])),
        )


def _copied(old: dict[_Place, Round] | None, start: Past, stop: Past) -> dict[_Place, Round]:
    """The rounds of a past that were read, by their place in it: more are read when they are asked
    for. Two histories may go on from one past, and neither sees the other's."""
    return {} if old is None else dict(old)


def rounds_of(conversation: Conversation) -> Rounds:
    """The rounds since the current turn began."""
    turn, found = conversation.turn, []
    for run in reversed(conversation.runs):
        if run.start < turn:
            break
        if run.answers_call:
            found.append(run)
    return Rounds(conversation, tuple(reversed(found)), turn)


def same_result(rounds: Rounds, count: int) -> int:
    """How many of the first `count` rounds, at their end, are alike: same calls, same results."""
    return _alike(rounds, count, 1, _whole)


def repeats(rounds: Rounds, count: int) -> int:
    """How often a cycle of `CYCLES` rounds has gone round at the end of the first `count` rounds,
    results included; the first time counts. Rounds that are all alike are no cycle."""
    return max(_round_trips(rounds, count, length, _whole) for length in CYCLES)


def polls(rounds: Rounds, count: int) -> int:
    """How often the same was called at the end of the first `count` rounds, whatever came back: in
    each round, or in a cycle of rounds."""
    trips = (_round_trips(rounds, count, length, _calls) for length in CYCLES)
    return max(_alike(rounds, count, 1, _calls), *trips)


def reads(
    rounds: Rounds, count: int, writes: Callable[[str], bool | None], name: object = None
) -> int:
    """How many rounds called nothing that writes, at the end of the first `count` rounds. `writes`
    says of a tool whether it does; None: it does not count. `name`: by what `writes` says so."""

    known: dict[str, bool | None] = {}

    def since(least: int, count: int) -> tuple[int, bool]:
        found = 0
        for number in range(count - 1, least - 1, -1):
            reads_only = False
            for tool in rounds.tools(number):
                kind = known[tool] if tool in known else known.setdefault(tool, writes(tool))
                if kind:
                    return found, True
                reads_only = reads_only or kind is False
            found += reads_only
        return found, False

    def extend(old: int | None, start: Past, stop: Past) -> int:
        found, wrote = since(rounds.within(start), rounds.within(stop))
        return found if wrote else found + (old or 0)

    least = rounds.within(rounds.conversation.past)
    if name is None or count < least:
        return since(0, count)[0]
    found, wrote = since(least, count)
    if wrote:
        return found
    return found + settled(rounds.conversation, ("reads", rounds.turn, name), extend)


_Part = tuple[tuple[bytes, ...], tuple[bytes, ...]]


def _whole(one: Round) -> _Part:
    return one.calls, one.results


def _calls(one: Round) -> _Part:
    return one.calls, ()


def _alike(rounds: Rounds, count: int, length: int, part: Callable[[Round], _Part]) -> int:
    """How many rounds at the end are each like the one `length` before it, and those `length`."""
    if not count or not rounds[count - 1].calls:
        return 0
    number = count - 1
    while number >= length and part(rounds[number]) == part(rounds[number - length]):
        number -= 1
    found = count - number - 1
    return found + length if found or length == 1 else 0


def _round_trips(rounds: Rounds, count: int, length: int, part: Callable[[Round], _Part]) -> int:
    found = _alike(rounds, count, length, part)
    if found < 2 * length:
        return 0
    cycle = {part(rounds[number]) for number in range(count - length, count)}
    return found // length if len(cycle) > 1 else 0
