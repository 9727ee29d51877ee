"""What of a local model's speech may reach the client: no call that nobody could carry out.

Owns that check, and how such a call is told instead. It must not know a dialect. A client that is
asked for a tool that it does not have asks the model again, and again (wire.md 5.4).
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from proxy.lazyjson import dump
from proxy.local.talk import Called, Named, Speech, Text


class Checked(Struct, frozen=True):
    """What may be said. `written_out`: how many calls became text."""

    speech: tuple[Speech, ...]
    written_out: int = 0


def checked(speech: Iterable[Speech], names: Mapping[str, Named]) -> Checked:
    """`speech` in which every call that is left names one of `names`, has an object for arguments,
    and one string for its `input` where the tool is a custom one. Other calls become text."""
    before = tuple(speech)
    after = tuple(_written_out(said) if _is_lost(said, names) else said for said in before)
    return Checked(after, sum(old is not new for old, new in zip(before, after, strict=True)))


def _is_lost(said: Speech, names: Mapping[str, Named]) -> bool:
    if not isinstance(said, Called):
        return False
    named = names.get(said.name)
    # SECURITY: a client carries out what it is asked for; half an object is not what was meant.
    if named is None or said.unread:
        return True
    return named.sort == "custom" and not isinstance(said.arguments.get("input"), str)


def _written_out(said: Speech) -> Text:
    """On a line of its own, as the text before it may not have ended one."""
    assert isinstance(said, Called)
    arguments = said.unread or dump(said.arguments).decode()
    return Text(f"\n[no such call can be made: {said.name}({arguments})]\n")
