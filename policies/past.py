"""What was worked out about the beginning of a conversation, and holds for as long as it stands.

Owns how far that beginning goes, and the carrying over of what is known of a shorter one. It must
not know what is worked out. A client sends its whole history with every turn, so whatever walks
over all of it costs more with each; here only what is new is walked over.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from policies.conversation import Conversation

Value = TypeVar("Value")

_MOST: Final = 32
"""Things that are kept of one beginning: each is asked for under settings that seldom change."""


@dataclass(slots=True, eq=False)
class Past:
    """The beginning of a history: its first messages up to an output of the model, the runs and
    units among them, which the model has answered, and the pieces of those messages, of which
    `first` is the number of the first one. Where a later body begins so, byte for byte, they are
    the same again. `kept`: what was worked out about them, and about nothing else."""

    messages: int = 0
    runs: int = 0
    units: int = 0
    first: int = 0
    kept: dict[object, Any] = field(default_factory=dict, repr=False)

    def keep(self, name: object, value: object) -> None:
        """Keep what was worked out under `name`, which holds all that it depends on."""
        if len(self.kept) >= _MOST:
            self.kept.clear()
        self.kept[name] = value


NONE: Final = Past()
"""Where nothing is known. Nothing is ever kept in it."""


def settled(
    conversation: "Conversation",
    name: object,
    extend: Callable[[Value | None, Past, Past], Value],
) -> Value:
    """What is known under `name` of the conversation's past. `extend` makes it from what is known
    of the past before that: of None and nothing, if nothing is. Its value is never changed."""
    now, before = conversation.past, conversation.before
    found: Value | None = now.kept.get(name)
    if found is None:
        old: Value | None = before.kept.get(name)
        found = extend(old, NONE if old is None else before, now)
        now.keep(name, found)
    return found


def texts_of(conversation: "Conversation") -> Mapping[int, str]:
    """Unit number → its text, for all units."""
    units = conversation.units

    def extend(old: dict[int, str] | None, start: Past, stop: Past) -> dict[int, str]:
        return {**(old or {}), **{n: units[n].text for n in range(start.units, stop.units)}}

    known = settled(conversation, texts_of, extend)
    return {**known, **{n: units[n].text for n in range(conversation.past.units, len(units))}}
