"""What of a local model's speech may reach the client: no call that nobody could carry out.

Owns that check, and how such a call is told instead. It must not know a dialect. A client that is
asked for a tool that it does not have asks the model again, and again (wire.md 5.4).
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from proxy.lazyjson import dump
from proxy.local.talk import Called, Named, Speech, Text


class Lost(Struct, frozen=True):
    """A call that became text: its tool, as the model has it, and whether there is such a one, so
    that it is what the call gave it that cannot be carried out."""

    name: str
    declared: bool


class Checked(Struct, frozen=True):
    """What may be said, and the calls that became text."""

    speech: tuple[Speech, ...]
    lost: tuple[Lost, ...] = ()


def checked(speech: Iterable[Speech], names: Mapping[str, Named]) -> Checked:
    """`speech` in which every call that is left names one of `names`, has an object for arguments,
    and one string for its `input` where the tool is a custom one. Other calls become text."""
    told: list[Speech] = []
    lost: list[Lost] = []
    for said in speech:
        if isinstance(said, Called) and _is_lost(said, names):
            lost.append(Lost(said.name, said.name in names))
            told.append(_written_out(said))
        else:
            told.append(said)
    return Checked(tuple(told), tuple(lost))


def _is_lost(said: Called, names: Mapping[str, Named]) -> bool:
    named = names.get(said.name)
    # SECURITY: a client carries out what it is asked for; half an object is not what was meant.
    if named is None or said.unread:
        return True
    return named.sort == "custom" and not isinstance(said.arguments.get("input"), str)


def _written_out(said: Called) -> Text:
    """On a line of its own, as the text before it may not have ended one."""
    arguments = said.unread or dump(said.arguments).decode()
    return Text(f"\n[no such call can be made: {said.name}({arguments})]\n")
