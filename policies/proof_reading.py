"""How the proof opens values, names places and fails.

Part of the proof, and as independent: it shares no code with what it checks. It must not know what
may stand where.
"""

from collections.abc import Sequence

from policies import proof_json as own
from policies.conversation import Address
from policies.proof_plan import without

WRAPPING = frozenset({"type", "text", "role", "content", "message", "input_text"})
"""Keys and values of the JSON that surrounds a text of ours."""

_SHOWN = frozenset({"messages", "input", "system", "instructions", "tools", "model", "metadata"})


class ProofFailed(Exception):
    """The finished body holds something that was not accounted for. `place` is safe to show."""

    def __init__(self, place: str) -> None:
        super().__init__(f"not accounted for: {place or 'the body'}")
        self.place = place


def shown(key: str) -> str:
    """A top-level key as it may be told."""
    return key if key in _SHOWN else "*"


def inner(key: str) -> str:
    """A key further down as it may be told."""
    return key if key in WRAPPING or key in _SHOWN else "*"


def less(message: object, ways: Sequence[Address], at: str) -> object:
    """`message` without the thinking that `ways` lead to."""
    try:
        return without(message, ways) if ways else message
    except (ValueError, IndexError):
        raise ProofFailed(at) from None


def members(body: bytes) -> own.Opened:
    """The members of a body."""
    try:
        return own.members(body)
    except (ValueError, RecursionError):
        raise ProofFailed("") from None


def parsed(raw: bytes, at: str) -> object:
    """A value whole, which stands `at` that place."""
    try:
        return own.parsed(raw)
    except (ValueError, RecursionError):
        raise ProofFailed(at) from None


def pair(one: bytes, two: bytes, at: str) -> tuple[object, object]:
    """Two values whole, to be compared, which stand `at` that place."""
    try:
        return own.pair(one, two)
    except (ValueError, RecursionError):
        raise ProofFailed(at) from None
