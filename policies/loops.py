"""Rounds of a turn, and how often they go round. Counted from the body: restarts forget nothing.

Owns what a round is, when two are alike, and the counts. It must not know a bound, by which
`policies.limits` judges. A round is what the model called at once and what came back. Source for
what is counted: the incidents in injection.md 5.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from policies.conversation import Conversation, Run, ToolCall

CYCLES = (2, 3, 4)
"""Lengths of cycles, in rounds."""


def signature(call: ToolCall) -> bytes:
    """SHA-256 of a call: the tool and its arguments, whatever their white space and order of keys.
    Arguments that are no JSON count as they stand."""
    return sha256(_bytes(call.name) + b"\0" + _canonical(call.arguments)).digest()


def _canonical(arguments: str) -> bytes:
    try:
        value = json.loads(arguments)
        return _bytes(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
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

    def __getitem__(self, number: int) -> Round:
        found = self._read.get(number)
        if found is None:
            found = self._read[number] = self._round(number)
        return found

    def size(self, count: int) -> int:
        """Bytes of the results in the first `count` rounds."""
        stop = self.runs[count - 1].stop if count else self._begin
        return sum([message.size for message in self.conversation.messages[self._begin : stop]])

    def tools(self, number: int) -> list[str]:
        """What was called in that round, by name."""
        begin = self.runs[number - 1].stop if number else self._begin
        made = self.conversation.messages[begin : self.runs[number].start]
        return [call.name for message in made for call in message.calls]

    def _round(self, number: int) -> Round:
        run, messages = self.runs[number], self.conversation.messages
        begin = self.runs[number - 1].stop if number else self._begin
        made = [m for m in messages[begin : run.start] if m.calls]
        back = [m for m in messages[run.start : run.stop] if m.answers]
        return Round(
            tuple(sorted([sign for m in made for sign in m.signs()])),
            tuple(sorted([digest for m in back for digest in m.results()])),
        )


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


def reads(rounds: Rounds, count: int, writes: Callable[[str], bool | None]) -> int:
    """How many rounds called nothing that writes, at the end of the first `count` rounds. `writes`
    says of a tool whether it does; None: it does not count."""
    found, known = 0, dict[str, bool | None]()
    for number in range(count - 1, -1, -1):
        reads_only = False
        for tool in rounds.tools(number):
            kind = known[tool] if tool in known else known.setdefault(tool, writes(tool))
            if kind:
                return found
            reads_only = reads_only or kind is False
        found += reads_only
    return found


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
