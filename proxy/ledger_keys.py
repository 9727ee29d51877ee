"""Under which digests the ledger keeps what belongs to one request.

Owns the kinds of notes and how each is named after a conversation, turn or unit (`identity`). It
must not know a store.
"""

from collections.abc import Mapping
from functools import partial
from hashlib import sha256

from msgspec import Struct, field

from policies.conversation import Conversation, Run
from policies.envelope.epoch import turns_of
from proxy.identity import conversation_id, run_ids, unit_ids
from proxy.memory import Memory


class Keys(Struct, frozen=True):
    """`conversation`: its pins. `turns`: first message of a turn → how it is read. `units`: unit
    number → its row. `places`: first message of a turn → how many runs stand before it. `route`:
    the route of the request, where it says by itself how much a turn shows."""

    conversation: bytes
    turns: Mapping[int, bytes]
    units: Mapping[int, bytes]
    places: Mapping[int, int] = field(default_factory=dict)
    route: str = ""

    def late(self, unit: int) -> bytes:
        """The row of a unit in views that begin anew behind it."""
        return _about(b"late", self.units[unit])

    def anew(self, turn: int) -> bytes:
        """The run within a turn at which the view begins anew."""
        return _about(b"anew", self.turns[turn])

    def window(self, turn: int) -> bytes:
        """How much of the conversation a turn shows. Of two histories that come to the same words,
        but not by as many runs, each has its own."""
        # SECURITY: a turn that a wider route began must not be shown as wide to a narrower one.
        kind = b"window %d" % self.places.get(turn, 0) + self.route.encode()
        return _about(kind, self.turns[turn])

    def placed(self, unit: int) -> bytes:
        """The text that stands beside a unit in this conversation."""
        return _about(b"placed", self.conversation + self.units[unit])

    def followed(self, unit: int) -> bytes:
        """The note that stands behind the run of a unit in this conversation."""
        return _about(b"followed", self.conversation + self.units[unit])


Turns = tuple[bytes, Mapping[int, bytes], Mapping[int, int]]
"""The name of a conversation, and of its turns `turns` and `places` as `Keys` has them."""

Known = Memory[tuple[object, ...], Turns]
"""What a history is up to the words of the operator that begin its newest turn → its turns."""


def keys_of(
    key: bytes,
    client: str,
    conversation: Conversation,
    *,
    units: bool = True,
    known: Known | None = None,
    route: str = "",
) -> Keys:
    """The digests for a request of `client`, which is the configured name, on `route`. Keyed with
    `key`. Worked out once for a request; `known` is what was worked out for others under this
    key."""
    about = (Keys, key, client, units, route)
    keys: Keys | None = conversation.names.get(about)
    if keys is None:
        root, turns, places = _turns(key, client, conversation, known)
        names = unit_ids(key, client, conversation) if units else {}
        keys = conversation.names[about] = Keys(root, turns, names, places, route)
    return keys


def _turns(key: bytes, client: str, conversation: Conversation, known: Known | None) -> Turns:
    """Of the conversation, worked out once for a request."""
    about = (_turns, key, client)
    turns: Turns | None = conversation.names.get(about)
    if turns is None:
        found = _named if known is None else partial(_remembered, known)
        turns = conversation.names[about] = found(key, client, conversation)
        conversation.names[key, client] = turns[0]
    return turns


def _remembered(known: Known, key: bytes, client: str, conversation: Conversation) -> Turns:
    stop = next((run.stop for run in conversation.runs if run.start == conversation.turn), 0)
    if not stop:
        return _named(key, client, conversation)
    # No turn begins behind the newest one, and what follows changes no name before it.
    said = sha256(b"".join([message.digest for message in conversation.messages[:stop]])).digest()
    about = (client, conversation.dialect, conversation.since, conversation.turn, said)
    if (turns := known.get(about)) is None:
        turns = _named(key, client, conversation)
        known.put(about, turns, 1)
    return turns


def _named(key: bytes, client: str, conversation: Conversation) -> Turns:
    root = conversation_id(key, client, conversation)
    runs = {run.start: run for run in conversation.runs}
    starts = turns_of(conversation)
    ids = run_ids(key, client, conversation, [runs[start] for start in starts if start in runs])
    # Where no run begins the turn, the whole history is it.
    turns = {start: ids.get(start) or _about(b"whole", root) for start in starts}
    places = {run.start: n for n, run in enumerate(conversation.runs) if run.start in turns}
    return root, turns, places


def run_names(key: bytes, client: str, conversation: Conversation) -> dict[int, str]:
    """First message of a run → its name in a note."""
    runs: tuple[Run, ...] = conversation.runs
    return {at: one.hex() for at, one in run_ids(key, client, conversation, runs).items()}


def _about(kind: bytes, digest: bytes) -> bytes:
    return sha256(kind + b"\0" + digest).digest()
