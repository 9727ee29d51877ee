"""The model that the client asked for, in answers of another one.

Owns where answers name their model. Clients choose settings by that name, and give up where it is
another (wire.md 5.3). It must not know who answers.
"""

from collections.abc import Iterable
from typing import Final

from proxy.dialects.streams import Event
from proxy.lazyjson import Document, Malformed, Replace, dump, read, splice

_PLACES: Final = (("model",), ("message", "model"), ("response", "model"))


class Echo:
    """A filter that writes `model` over the name in each event; all else stays byte for byte."""

    def __init__(self, model: str) -> None:
        self._model = dump(model)

    def event(self, event: Event) -> Iterable[Event]:
        """The event under the other name, where it has one."""
        if event.data is None or '"model"' not in event.data:
            return (event,)
        raw = event.data.encode("utf-8", "surrogatepass")
        named = self._named(raw)
        # What carries the value, such as `data: `, and the end of the event stay as they are.
        if named is None or event.raw.count(raw) != 1:
            return (event,)
        return (Event(event.raw.replace(raw, named), named.decode("utf-8", "replace"), event.name),)

    def held(self) -> None:
        """Nothing is ever held."""
        return

    def let_go(self) -> Iterable[Event]:
        """Nothing is held."""
        return ()

    def end(self) -> Iterable[Event]:
        """Nothing is held."""
        return ()

    def _named(self, raw: bytes) -> bytes | None:
        try:
            document = read(raw)
            ways = [way for way in _PLACES if _is_text(document, way)]
            return splice(document, [Replace(way, self._model) for way in ways])
        except Malformed:
            return None


def _is_text(document: Document, way: tuple[str, ...]) -> bool:
    node = document.root
    for name in way:
        inner = node.get(name)
        if inner is None:
            return False
        node = inner
    return node.text() is not None
