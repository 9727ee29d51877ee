"""Filters over the values in an answer's events: what of them all is the same.

Owns that a value is read, edited and put back with all else of its event byte for byte, and that
nothing is held. It must not know what is edited.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from proxy.dialects.streams import Event
from proxy.lazyjson import Edit, Malformed, Node, read, splice


class Rewriting(ABC):
    """A filter that edits the value of each event, where it has one that can be read."""

    @abstractmethod
    def edits(self, root: Node) -> Iterable[Edit] | None:
        """What becomes of a value; None where its event goes."""

    def concerns(self, data: str) -> bool:
        """Whether there may be something to edit: a quick look at an event's text."""
        return bool(data)

    def event(self, event: Event) -> Iterable[Event]:
        """The event with its value edited; none where it goes."""
        data = event.data or ""
        if not self.concerns(data):
            return (event,)
        raw = data.encode("utf-8", "surrogatepass")
        try:
            document = read(raw)
            edits = self.edits(document.root)
            if edits is None:
                return ()
            edited = splice(document, list(edits))
        except Malformed:
            return (event,)
        # What carries the value, such as `data: `, and the end of the event stay as they are.
        if edited == raw or event.raw.count(raw) != 1:
            return (event,)
        self.done()
        told = edited.decode("utf-8", "replace")
        return (Event(event.raw.replace(raw, edited), told, event.name),)

    def done(self) -> None:
        """An event was edited."""
        return

    def held(self) -> None:
        """Nothing is ever held."""
        return

    def let_go(self) -> Iterable[Event]:
        """Nothing is held."""
        return ()

    def end(self) -> Iterable[Event]:
        """Nothing is held."""
        return ()
