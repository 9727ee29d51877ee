"""An answer's events, opened and written anew where something in them has to change.

Owns the way from an event to its JSON and back. It must not know a dialect's events: a `Surgeon`
says what becomes of each. Values that nobody edits keep their bytes.
"""

from collections.abc import Iterable
from typing import Final, Protocol

from policies.notices import words
from proxy.dialects.base import Dialect
from proxy.dialects.streams import Event
from proxy.edits import Edit, Replace
from proxy.errors import Refused
from proxy.filtering import Filter
from proxy.lazyjson import Document, Malformed, Node, read, splice

LEFT: Final = words("tool-refused", {})
"""What an answer says of which nothing else would be left."""

Out = Iterable[bytes] | None
"""JSON objects that go on in place of an event; None: the event itself."""


class Surgeon(Protocol):
    """Decides about the JSON objects in the events of one answer."""

    def whole(self, document: Document) -> Out:
        """What becomes of the body of a whole answer."""
        ...

    def part(self, document: Document) -> Out:
        """What becomes of one event of a stream."""
        ...


class Editing(Filter):
    """A filter that opens every event for a surgeon. Events that carry no object pass. Raises
    `Refused` for an object that cannot be read for certain."""

    def __init__(self, dialect: Dialect, surgeon: Surgeon, *, stream: bool) -> None:
        self._dialect = dialect
        self._stream = stream
        self._operate = surgeon.part if stream else surgeon.whole

    def event(self, event: Event) -> Iterable[Event]:
        """See `Filter`."""
        if event.data is None or not event.data.lstrip().startswith("{"):
            return (event,)
        try:
            done = self._operate(read(event.data.encode()))
        except Malformed:
            # SECURITY: what two readers could read in two ways may hold what was to be dropped.
            raise Refused("upstream-unreachable", reason="its answer cannot be read") from None
        if done is None:
            return (event,)
        stream, encode = self._stream, self._dialect.encode
        return [Event(encode(data, stream=stream), data.decode()) for data in done]


def edited(document: Document, edits: Iterable[Edit]) -> Out:
    """The object with the `edits`; the event itself where there are none."""
    given = list(edits)
    return [splice(document, given)] if given else None


def word(node: Node | None, key: str) -> str:
    """The string in the member `key`, empty where there is none."""
    found = None if node is None else node.get(key)
    return "" if found is None else found.text() or ""


def number(node: Node | None, key: str) -> int:
    """The whole number in the member `key`, -1 where there is none."""
    found = None if node is None else node.get(key)
    raw = b"" if found is None else found.raw
    return int(raw) if raw.isdigit() and len(raw) < 10 else -1


def items(node: Node | None, key: str) -> tuple[Node, ...]:
    """The items in the member `key`; none where it is no list."""
    found = None if node is None else node.get(key)
    return () if found is None else tuple(found.items())


def renumbered(node: Node, key: str, by: int) -> list[Edit]:
    """The number in the member `key`, less `by`."""
    found = node.get(key)
    now = number(node, key)
    return (
        [] if found is None or now < 0 or not by else [Replace(found.address, b"%d" % (now - by))]
    )
