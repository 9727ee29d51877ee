"""What an event is about, as a keyed digest: a history that comes again has the same events.

Owns the choice of what an event of a kind is about (`policies.kinds`) and the memory of digests.
It must not know what happens with them.
"""

from collections.abc import Sequence
from typing import Final

from policies.conversation import Conversation, Run
from policies.kinds import KINDS, PLAIN
from proxy.identity import conversation_id, event_id, run_id
from proxy.memory import Memory

_KEPT: Final = 16_384

_Known = tuple[str, str, str, bytes, int]


class Abouts:
    """The identities of events under one state key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._runs: Memory[_Known, bytes] = Memory(_KEPT)

    def event(
        self,
        kind: str,
        client: str,
        session: str,
        conversation: Conversation | None,
        at: int = -1,
        *more: str,
    ) -> bytes:
        """The digest of an event of `kind` at the message `at`; -1 is the newest run. `more` tells
        several events at one place apart."""
        about = KINDS.get(kind, PLAIN).about
        parts = [word.encode("utf-8", "surrogatepass") for word in more]
        if conversation is not None and about != "session":
            index = conversation.turn if about == "turn" else at
            parts.append(self._run(kind, client, session, conversation, index))
        return event_id(self._key, kind, client, session, *parts)

    def _run(
        self, kind: str, client: str, session: str, conversation: Conversation, at: int
    ) -> bytes:
        """The run that holds the message `at`; where none does, the message, or all there is."""
        messages, runs = conversation.messages, conversation.runs
        if not 0 <= at < len(messages):
            at = runs[-1].start if runs else len(messages) - 1
        if at < 0:
            return conversation_id(self._key, client, conversation)
        known = (kind, client, session, messages[at].digest, at)
        if (kept := self._runs.get(known)) is None:
            run = _holding(runs, at)
            kept = (
                messages[at].digest if run is None else run_id(self._key, client, conversation, run)
            )
            self._runs.put(known, kept, 1)
        return kept


def _holding(runs: Sequence[Run], at: int) -> Run | None:
    return next((run for run in reversed(runs) if run.start <= at < run.stop), None)
