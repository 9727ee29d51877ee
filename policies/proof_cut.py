"""The proof's reading of a cut: which messages need not be there, what others may have lost.

Part of the proof, and as independent: it shares no code with what makes a plan, and finds the turn
and what is text alone by itself (`turn_minimal`). It must not know a dialect.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from policies.conversation import Address, Form
from policies.cut import Cut
from policies.proof_reading import ProofFailed
from policies.turn_minimal import (
    AT_HOME,
    RESULT,
    Heads,
    heads,
    is_notice,
    leading,
    may_stay,
    turn,
)

_BLANK_LINE = "\n\n"
_PARTS = ("text", "input_text")
_FORMS: Final[Mapping[Form, object]] = {
    Form.OBJECT: {},
    Form.JSON: "{}",
    Form.EMPTY: "",
    Form.RESULT: RESULT,
}

Ways = Sequence[Address]


class Shortened:
    """What a `cut` allows, checked against the list of messages `key` as it came, `raw`, before
    which `skipped` others stand that were proved before. `home`: those that were given at home."""

    def __init__(
        self, cut: Cut, key: str, raw: bytes, skipped: int, home: frozenset[int] = frozenset()
    ) -> None:
        self.cut = cut
        self.home = home
        self.start = 0
        found = _heads(raw, key)
        if not skipped:
            self.start = leading(found)
        begin = turn(found, whole=not skipped)
        last, first = max(cut.gone, default=-1), min(cut.gone, default=self.start)
        # SECURITY: a turn that is found elsewhere, or of which something goes, is a bug of ours.
        if (begin is not None and skipped + begin != cut.turn) or last >= cut.turn:
            raise ProofFailed(key)
        if first < self.start or (cut.window.notice and not is_notice(cut.window.notice)):
            raise ProofFailed(key)
        # SECURITY: what was given at home is left out, and only where it can be.
        if not cut.home <= home <= cut.gone | cut.home or max(home, default=-1) >= cut.turn:
            raise ProofFailed(key)

    def before(self, index: int) -> bool:
        """The message stands before the current turn, and is no leading one."""
        return self.start <= index < self.cut.turn

    def behind(self, skipped: int) -> bool:
        """No message behind so many stands before the current turn."""
        return max(self.start, skipped) >= self.cut.turn

    def ways(self, index: int) -> tuple[Ways, Sequence[tuple[Address, Form]]]:
        """The ways, from that message down, to what it has lost, and to what was exchanged."""
        lost = [way[2:] for way in self.cut.trimmed.get(index, ())]
        return lost, [(way[2:], form) for way, form in self.cut.emptied.get(index, ())]

    def about(self, index: int) -> bytes:
        """All of the plan that tells how that message leaves."""
        window = self.cut.window
        told = (self.ways(index), index in self.home, window.mode, window.strategy)
        return repr(told).encode()

    def digest(self, index: int, digest: bytes) -> bytes:
        """Under which digest that message was screened; empty where nothing of it is left."""
        if index in self.home:
            return b""
        lost, emptied = self.ways(index)
        if not lost and not emptied:
            return digest
        ways = sorted([*lost, *(way for way, _ in emptied)], key=repr)
        return hashlib.sha256(b"cut\0" + digest + repr(ways).encode()).digest()

    def left(self, message: object, index: int, at: str) -> object:
        """What of that message may be there, in the form in which it may."""
        if index in self.home:
            return {"role": "assistant", "content": AT_HOME}
        lost, emptied = self.ways(index)
        try:
            for way, form in emptied:
                _set(message, way, _FORMS[form])
            # From the end on, so that what is left out does not move what follows.
            for way in sorted(lost, key=_order, reverse=True):
                _drop(message, way)
        except (LookupError, TypeError):
            raise ProofFailed(at) from None
        return message

    def stays(self, message: object) -> bool:
        """What leaves in an earlier message is what may."""
        window = self.cut.window
        return may_stay(message, window.mode, elides=window.strategy == "elide")


def untold(message: object, came: object, notice: str) -> object:
    """`message` without the `notice` that it begins with, in the form of the one that `came`.
    `ValueError`: it does not begin so."""
    both = [value if isinstance(value, dict) else {} for value in (message, came)]
    content, theirs = (value.get("content") for value in both)
    match content:
        case [{"type": kind, "text": text, **more}, *rest]:
            if kind not in _PARTS or text != notice or more:
                raise ValueError("no notice")
            said: object = rest
            if isinstance(theirs, str):
                match rest:
                    case [{"type": again, "text": str(words), **others}]:
                        if again != kind or others:
                            raise ValueError("no notice")
                        said = words
                    case _:
                        raise ValueError("no notice")
        case str() if isinstance(theirs, str) and theirs and content.startswith(notice):
            said = content.removeprefix(notice).removeprefix(_BLANK_LINE)
            if notice + _BLANK_LINE + said != content:
                raise ValueError("no notice")
        case str() if content == notice and not theirs:
            said = theirs
        case _:
            raise ValueError("no notice")
    kept = {key: said if key == "content" else value for key, value in both[0].items()}
    return kept if "content" in both[1] else {k: v for k, v in kept.items() if k != "content"}


def _heads(raw: bytes, key: str) -> Heads:
    try:
        return heads(raw, key)
    except ValueError:
        listed: list[Any] = json.loads(raw)
        return heads(json.dumps([_head(item) for item in listed]).encode(), key)


def _head(item: Any) -> Mapping[str, Any]:
    """What is read of an item, where it has the shape that it should have."""
    if not isinstance(item, dict):
        return {}
    texts = ("type", "role", "id", "execution")
    found = {key: item[key] for key in texts if isinstance(item.get(key), str)}
    return {**found, "content": item.get("content")}


def _order(way: Address) -> tuple[tuple[bool, str | int], ...]:
    return tuple((isinstance(step, int), step) for step in way)


def _set(value: Any, way: Address, new: object) -> None:
    for step in way[:-1]:
        value = value[step]
    value[way[-1]]  # it has to be there
    value[way[-1]] = new


def _drop(value: Any, way: Address) -> None:
    for step in way[:-1]:
        value = value[step]
    del value[way[-1]]
