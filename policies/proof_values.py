"""The proof's comparison of two values: the client's, and what leaves in its place.

Part of the proof, and as independent: it shares no code with what it checks. It must not know where
in a body the values stand, nor what was screened.
"""

from collections.abc import Container

from policies import proof_json as own
from policies.proof_frames import Frames
from policies.proof_reading import WRAPPING, ProofFailed, inner, parsed

_ROLES = frozenset({"system", "developer"})


class Values:
    """What may differ: `frames` that were claimed, and `authored` texts that were inserted.
    `placed` counts values of ours that were met."""

    def __init__(self, frames: Frames, authored: Container[str]) -> None:
        self.frames = frames
        self.authored = authored
        self.placed = 0

    def system(self, came: object, sent: object) -> bool:
        """System text with authored text after it, in one of the ways that dialects allow."""
        match came, sent:
            case None, _:
                return self.is_authored(sent)
            case str(), str():
                head = f"{came}\n\n" if came else ""
                return sent.startswith(head) and sent[len(head) :] in self.authored
            case str(), [first, *rest]:
                return first == {"type": "text", "text": came} and self.is_authored(rest)
            case _:
                return False

    def same(self, came: object, sent: object, at: str) -> None:
        """`sent` is `came` but for frames and inserted authored values; else `ProofFailed`."""
        match came, sent:
            case dict(), dict():
                if list(came) != list(sent):
                    raise ProofFailed(at)
                for key, before in came.items():
                    after = sent[key]
                    if not (type(before) is type(after) is str and before == after):
                        self.same(before, after, f"{at}.{inner(key)}")
            case list(), list():
                self.elements(came, sent, at)
            case str(), str() if type(came) is type(sent) is str:
                frames = self.frames
                if came != sent and not frames.meet(came, sent) and not frames.within(came, sent):
                    self.inside(came, sent, at)
            case _:
                # Numbers are kept as their own tokens: 1.0 is not 1, and -0 is not 0.
                if type(came) is not type(sent) or came != sent:
                    raise ProofFailed(at)

    def elements(self, came: list[object], sent: list[object], at: str) -> None:
        met = 0
        for number, value in enumerate(sent):
            # What is not even equal is not identical, and that is soon seen.
            if met < len(came) and value == came[met] and own.identical(value, came[met]):
                met += 1
            elif not self.is_authored(value):
                if met == len(came):
                    raise ProofFailed(f"{at}[{number}]")
                self.same(came[met], value, f"{at}[{number}]")
                met += 1
        if met < len(came):
            raise ProofFailed(f"{at}[{met}]")

    def inside(self, came: str, sent: str, at: str) -> None:
        """Strings that are JSON objects themselves: the same rule for their leaves."""
        if not came.lstrip().startswith("{"):
            raise ProofFailed(at)
        before, after = parsed(came.encode(), at), parsed(sent.encode(), at)
        self.same(before, after, at)

    def is_authored(self, value: object) -> bool:
        """Every text in it is one of ours, and there is at least one."""
        ours = self._ours(value)
        self.placed += ours or 0
        return ours or False

    def _ours(self, value: object) -> bool | None:
        """Whether there is a text of ours in `value`; None where one stands in it that is neither
        ours nor stands round those of ours."""
        if type(value) is str:
            if value in self.authored:
                return True
            return False if value in WRAPPING or value in _ROLES else None
        if type(value) is dict:
            parts = [part for pair in value.items() for part in pair]
        elif type(value) is list:
            parts = value
        else:
            return None
        found = False
        for part in parts:
            if (ours := self._ours(part)) is None:
                return None
            found = found or ours
        return found
