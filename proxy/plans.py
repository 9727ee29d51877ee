"""Plans of cuts that were made before: each request of a turn comes with the same history.

Owns their memory. It must not know how a cut is planned: what is remembered is what `plan` made of
the very same messages, tools and window.
"""

from operator import attrgetter
from typing import Final

from policies.conversation import Conversation
from policies.cut import Cut, Window
from policies.minimality import plan
from proxy.memory import Memory

_SPAN = attrgetter("span")

LIMIT: Final = 8 * 1024 * 1024
_ENTRY = 500  # bytes of one cut, with its slot
_PART = 400  # of what is left out of one message
_DIGEST = 40


class Plans:
    """`policies.minimality.plan`, asked again only for what is new; `asked` counts that."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._known: Memory[tuple[object, ...], tuple[Cut | None]] = Memory(limit)
        self.asked = 0

    def __call__(self, conversation: Conversation, window: Window) -> Cut | None:
        """See `plan`."""
        if any(map(_SPAN, conversation.units)):
            return plan(conversation, window)  # marks of spans are no part of a message
        turn = conversation.turn
        digests = tuple([message.digest for message in conversation.messages[:turn]])
        # Of the turn itself only the place of its first words counts.
        first = next((m.index for m in conversation.messages[turn:] if m.role == "user"), turn)
        home = conversation.home
        about = (conversation.dialect, window, turn, first, conversation.tools, digests, home)
        if (known := self._known.get(about)) is None:
            self.asked += 1
            known = (plan(conversation, window),)
            parts = 0 if known[0] is None else len(known[0].trimmed) + len(known[0].emptied)
            self._known.put(about, known, _ENTRY + _PART * parts + _DIGEST * len(digests))
        return known[0]
